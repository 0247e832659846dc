"""HTML from values: nothing that is not markup by type gets in as markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from compare.markup import Markup, data_block, element, escaped, joined, visible
from tests.hostile_records import HOSTILE


def test_text_is_escaped_and_markup_is_not() -> None:
    inner = element("b", "<i>")
    assert inner == "<b>&lt;i&gt;</b>"
    assert element("p", inner, " & ") == "<p><b>&lt;i&gt;</b> &amp; </p>"
    assert element("p", class_='a" onclick="x') == '<p class="a&quot; onclick=&quot;x"></p>'
    assert joined(["<", Markup("<br>")]) == "&lt;<br>"


def test_a_sum_of_markup_and_text_is_text() -> None:
    assert not isinstance(element("b", "x") + "<i>", Markup)


def test_what_hides_or_turns_text_is_shown_as_such() -> None:
    assert (
        visible("a\x00b\ud800c\u202ed\u2066e\x9ff\x7f")
        == "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ufffd"
    )
    kept = "line\nbreak\ttab 春 é 🏁 \u05d0\u200d"
    assert visible(kept) == kept
    escaped(HOSTILE).encode("utf-8")


def test_a_data_block_holds_any_text_and_ends_where_it_should() -> None:
    block = data_block("figures", {HOSTILE: [HOSTILE, 1.5, None]})

    class Reader(HTMLParser):
        """Collects what a browser would see."""

        def __init__(self) -> None:
            super().__init__()
            self.tags: list[str] = []
            self.text = ""

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.tags.append(tag)

        def handle_data(self, data: str) -> None:
            self.text += data

    reader = Reader()
    reader.feed(block)
    assert reader.tags == ["script"]
    assert json.loads(reader.text) == {HOSTILE: [HOSTILE, 1.5, None]}
