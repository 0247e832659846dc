"""The Learn tab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compare.page import words
from compare.page.learn_words import LEARN
from compare.page.lesson_facts import facts, named
from compare.page.lessons import glossary, lessons
from compare.page.recordings import recordings
from compare.page.view import component
from compare.plots_machine import curves

_SCRIPTS = (
    "inline.js",
    "figures.js",
    "figures_cost.js",
    "figures_guess.js",
    "figures_text.js",
    "lesson.js",
    "learn.js",
)

_TRY_DEFAULTS = {
    "temperature": "0",
    "top_k": "0",
    "top_p": "1",
    "seed": "0",
    "nodes": "0",
    "chain": "0",
    "ngram": "1",
    "numerics": "exact",
    "tab": "race",
}
"""Where a lesson's button puts the controls that it does not name."""


def learn_tab() -> None:
    """Make the tab's components where they stand."""
    component("learn", _SCRIPTS, LEARN, _constants())


def _constants() -> Mapping[str, Any]:
    """What the scripts draw: the texts in every language, with the recorded runs' numbers."""
    shown = recordings()
    found = facts(shown)
    return {
        "LESSONS": {
            language: lessons(language, named(found, _names(language)))
            for language in words.LANGUAGES
        },
        "GLOSSARY": {language: glossary(language) for language in words.LANGUAGES},
        "CURVES": curves(shown[0].environment),
        "PROMPTS": words.PROMPTS,
        "TRY_DEFAULTS": _TRY_DEFAULTS,
    }


def _names(language: words.Language) -> Mapping[str, str]:
    """What the recorded prompts are called: as the buttons that set them."""
    labels = words.labels(language)
    return {key: labels[key] for key in words.PROMPTS}
