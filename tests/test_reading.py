"""From a record file to what the page shows, and what is refused on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compare.page.reading import MAX_RECORD_BYTES, opened, shown_of, words_with
from compare.page.shown import Shown
from compare.page.stream import stream_of
from compare.record_file import RecordReader, RecordWriter
from compare.record_words import words_of
from compare.records import RunKey
from tests.fake_engine import CONTROL, Script
from tests.records_by_hand import ENVIRONMENT, failed, guessed, plain

CODEC = Script(("a", "<b>", "é", "${1}"))


def written(path: Path, *records: Any) -> Path:
    writer = RecordWriter.create(path, ENVIRONMENT)
    for record in records:
        writer.append(record)
    writer.close()
    return path


def test_a_prompt_of_a_file_is_shown_with_its_own_runs_only(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.jsonl",
        plain((1, 2, 3, 4, 5, 6), RunKey("autoregressive", "one")),
        guessed(RunKey("staged", "one")),
        plain((1, 2), RunKey("autoregressive", "two")),
        failed(RunKey("staged", "three")),
    )
    file = opened(path)
    assert file.prompt_ids == ("one", "two")
    shown = shown_of(file, "one", "imported", words_with(CODEC))
    assert [run["method"] for run in shown.records] == ["autoregressive", "staged"]
    assert shown.summary["methods"]["staged"]["verdicts"]["IDENTICAL"] == 1
    assert shown.words[1] == b"<b>".hex() and (shown.source, shown.name) == ("imported", "one")
    assert shown_of(file, "one", "imported", words_with(None)).words == {}


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.truncate(MAX_RECORD_BYTES + 1)
    with pytest.raises(ValueError, match=r"x.jsonl has 64 MB.*may have 64 MB"):
        opened(path)


def test_the_lines_of_what_is_shown_are_the_file_again(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonl", plain((1, 2), RunKey("autoregressive", "one")))
    shown = shown_of(opened(path), "one", "imported", words_with(CODEC))
    assert shown.lines == path.read_text("utf-8")
    again = tmp_path / "y.jsonl"
    again.write_text(shown.lines, "utf-8")
    assert list(RecordReader(again).lines()) == list(RecordReader(path).lines())


def test_half_a_character_survives_an_export(tmp_path: Path) -> None:
    shown = Shown({"note": "\ud83d"}, [], [], {}, {})
    assert json.loads(shown.lines)["note"] == "\ud83d"
    shown.lines.encode("utf-8")


def test_a_stream_of_a_shown_run_holds_no_markup() -> None:
    shown = Shown({}, [{"text": "</script><img src=x>"}], [], {}, {1: "=<b>"}, "<i>")
    text = stream_of(shown)
    assert "<" not in text and text.count("\n") == 3
    kinds = [json.loads(line)["type"] for line in text.splitlines()]
    assert kinds == ["job", "shown", "ended"]
    assert json.loads(text.splitlines()[1])["prompt"] == "<i>"


def test_two_streams_of_one_run_differ_in_their_first_line() -> None:
    shown = Shown({}, [], [], {}, {})
    assert stream_of(shown).splitlines()[0] != stream_of(shown).splitlines()[0]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "environment"),
        ("hello\n", "line 1"),
        ('{"kind": "environment", "schema": 99}\n', "schema 99"),
        ('{"kind": "environment", "schema": 1}\n', "no run that succeeded"),
        ('{"kind": "environment", "schema": 1}\n{"kind": "run"}\n', "line 2"),
        ('{"kind": "environment", "schema": 1, "x": NaN}\n', "line 1"),
        ('{"kind": "environment", "schema": 1}\n' + "[" * 5000 + "\n", "line 2"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=word):
        opened(path)


def test_words_are_of_every_id_that_a_view_shows() -> None:
    data = guessed(RunKey("staged", "one")).to_json()
    data["prompt_ids"] = [CONTROL, *range(200, 300)]
    data["steps"][0]["details"] = {
        "target": [[[70, 0.5]], [[71, 0.5, 1.0]]],
        "draft": [None, [[72, 0.5]]],
        "entropy": [0.0, 0.0],
        "inner": [{"wanted": [[]], "ahead": [[73, 74]]}],
    }
    words = words_of([data], CODEC)
    assert {1, 2, 3, 4, 5, 6, 9, 70, 71, 72, 73, 74, 299} <= words.keys()
    assert 200 not in words  # far from the prompt's end
    assert words_of([{**data, "prompt_ids": [CONTROL]}], CODEC)[CONTROL] == "=<|end|>"
