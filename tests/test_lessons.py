"""Lessons and glossary: both languages say the same things, and nothing in them leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from compare.page import words
from compare.page.learn_tab import _SCRIPTS, _TRY_DEFAULTS
from compare.page.learn_words import LEARN
from compare.page.lesson_facts import facts
from compare.page.lessons import glossary, lessons
from compare.page.recordings import recordings
from compare.page.view import WEB

FOLDER = Path(words.__file__).parent / "lessons"
README = Path(words.__file__).parents[2] / "README.md"
CONTROLS = {
    *("prompt", "pair", "tokens", "temperature", "top_k", "top_p", "seed", "methods"),
    *("precision", "numerics", "nodes", "chain", "penalty", "repeats", "ngram", "tab"),
}


def every_lesson(language: words.Language) -> list[dict[str, Any]]:
    return lessons(language, facts(recordings()))


def texts(blocks: list[dict[str, Any]]) -> list[str]:
    found = []
    for block in blocks:
        found += [block.get("text", ""), *block.get("items", [])]
        for choice in block.get("choices", []):
            found += [choice["text"], choice["reply"]]
    return found


def test_there_are_six_lessons_of_the_same_shape_in_both_languages() -> None:
    english, chinese = every_lesson("en"), every_lesson("zh-CN")
    assert [lesson["name"] for lesson in english] == [
        *("memory", "guess", "tree", "stage", "text", "loses")
    ]
    for ours, theirs in zip(english, chinese, strict=True):
        assert ours["name"] == theirs["name"] and ours["title"] != theirs["title"]
        pairs = zip(ours["blocks"], theirs["blocks"], strict=True)
        for block, other in pairs:
            assert block["kind"] == other["kind"]
            for key in ("settings",):
                assert block.get(key) == other.get(key)
            rights = [[c["is_right"] for c in b.get("choices", [])] for b in (block, other)]
            assert rights[0] == rights[1]


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_every_lesson_asks_before_it_tells(language: words.Language) -> None:
    for lesson in every_lesson(language):
        kinds = [block["kind"] for block in lesson["blocks"]]
        assert kinds.index("question") < kinds.index("reveal") < kinds.index("short")
        assert {"figure", "try", "look"} <= set(kinds)
        assert kinds.count("question") == kinds.count("reveal")
        for block in lesson["blocks"]:
            if block["kind"] == "question":
                assert sum(choice["is_right"] for choice in block["choices"]) == 1
                assert all(choice["reply"] for choice in block["choices"])


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_every_fact_is_known_from_the_recorded_runs(language: words.Language) -> None:
    known = facts(recordings())
    for path in FOLDER.glob(f"[0-9]-*.{language}.txt"):
        wanted = set(re.findall(r"\{(\w+)\}", path.read_text("utf-8")))
        assert wanted <= known.keys(), f"{path.name}: {wanted - known.keys()}"


def test_a_paragraph_with_an_unknown_fact_is_left_out() -> None:
    known = facts(recordings())
    without = {name: value for name, value in known.items() if name != "ms_1"}
    full, less = (lessons("en", each)[0]["blocks"] for each in (known, without))
    assert len(full) - len(less) == 1


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_terms_figures_and_settings_lead_somewhere(language: words.Language) -> None:
    known = glossary(language)
    source = "".join((WEB / name).read_text("utf-8") for name in _SCRIPTS)
    for lesson in every_lesson(language):
        for text in texts(lesson["blocks"]):
            for term in re.findall(r"\[\[(\w+)", text):
                assert term in known, f"{lesson['name']}: {term}"
        for block in lesson["blocks"]:
            if block["kind"] == "figure":
                assert f"figures.{block['text']} = " in source
            if block["kind"] == "try":
                assert block["settings"].keys() <= CONTROLS
                assert block["settings"]["prompt"] in words.PROMPTS
                assert set(block["settings"]["methods"].split(",")) <= words.METHODS.keys()
    assert _TRY_DEFAULTS.keys() <= CONTROLS


def test_the_glossaries_have_the_same_terms() -> None:
    english, chinese = glossary("en"), glossary("zh-CN")
    assert list(english) == list(chinese) and len(english) >= 40
    assert all(entry["name"] and entry["text"] for entry in (*english.values(), *chinese.values()))


def test_the_scripts_have_words_for_all_they_say() -> None:
    for name in _SCRIPTS:
        said = re.findall(r"""(?:say|slider|chooser)\("(\w+)\"""", (WEB / name).read_text("utf-8"))
        assert set(said) <= LEARN.keys(), f"{name}: {set(said) - LEARN.keys()}"


def test_the_count_from_the_readme_is_the_readmes() -> None:
    """A lesson quotes one row of the README's table."""
    row = next(line for line in README.read_text("utf-8").splitlines() if "hf-generate  " in line)
    found = re.search(r"same ids in (\d+) of (\d+)", row)
    assert found is not None
    equal, total = found.groups()
    english = (FOLDER / "5-text.en.txt").read_text("utf-8")
    chinese = (FOLDER / "5-text.zh-CN.txt").read_text("utf-8")
    assert f"the same ids as this lab in {equal} of {total} answers" in english
    assert f"{total} 个回答里有 {equal} 个与本实验室的编号相同" in chinese
