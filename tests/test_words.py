"""The page's words: in both languages, with the same blanks, and all that the scripts ask for."""

from __future__ import annotations

import re

import pytest

from compare.page import terms, words
from compare.page.benchmark_words import BENCH_LABELS, BENCHMARK
from compare.page.charts_words import AXES, CHARTS
from compare.page.race_words import RACE
from compare.page.share_words import SHARE
from compare.page.step_words import STEP
from compare.page.view import _RACE, _STEP, WEB

DICTIONARIES = {
    "labels": words.LABELS,
    "methods": words.METHODS,
    "race": RACE,
    "step": STEP,
    "share": SHARE,
    "bench_labels": BENCH_LABELS,
    "benchmark": BENCHMARK,
    "charts": CHARTS,
    "axes": AXES,
    "terms": terms._WORDS,
}
METHODS = {f"method_{name}": pair for name, pair in words.METHODS.items()}
BLANK = re.compile(r"\{\w+\}")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SAME = {"Top-k", "N-gram", "Hugging Face generate", "llama.cpp", "{n}"}


@pytest.mark.parametrize("name", DICTIONARIES)
def test_every_word_is_there_in_both_languages(name: str) -> None:
    for key, (english, chinese) in DICTIONARIES[name].items():
        assert english.strip() and chinese.strip(), key
        assert sorted(BLANK.findall(english)) == sorted(BLANK.findall(chinese)), key
        assert not CHINESE.search(english), key
        assert CHINESE.search(chinese) or english == chinese or key == "top_k", key


@pytest.mark.parametrize(
    ("scripts", "known"),
    [
        (_RACE, {**RACE, **METHODS}),
        (_STEP, {**RACE, **METHODS, **STEP}),
        (("link.js", "export.js"), SHARE),
    ],
)
def test_scripts_ask_only_for_words_that_are_there(
    scripts: tuple[str, ...], known: dict[str, tuple[str, str]]
) -> None:
    for script in scripts:
        for key in re.findall(r'say\("(\w+)"[,)]', (WEB / script).read_text("utf-8")):
            assert key in known, f"{script} says {key}"


def test_the_browser_language_decides() -> None:
    assert words.language("zh-CN,zh;q=0.9") == "zh-CN"
    assert words.language("zh-TW") == words.language("") == words.language("de") == "en"


def test_every_chip_has_a_label_and_settings() -> None:
    for chip in words.PROMPTS:
        assert chip in words.LABELS
        assert words.chip_settings(chip).keys() == words.CHIP_SETTINGS.keys()
