"""The recorded runs that ship with the page: what a visitor sees before any model is loaded.

`python -m compare.page.remake` makes them anew on the machine at hand, with `compare run`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from compare.page.reading import opened, shown_of
from compare.page.shown import Shown
from compare.record_words import ids_in
from compare.step_record import Json
from compare.suites import load_suite

FOLDER = Path(__file__).parent / "recorded"
NAMES = ("usual", "loses")
WORDS = FOLDER / "words.json"


def suite_path(name: str) -> Path:
    """The suite that the recording called `name` was made on."""
    return FOLDER / f"{name}.suite.jsonl"


def record_path(name: str) -> Path:
    """The record file of the recording called `name`."""
    return FOLDER / f"{name}.jsonl"


@cache
def recordings() -> tuple[Shown, ...]:
    """The recorded runs, a prompt each, the one to be shown first in front."""
    words = {int(token): word for token, word in json.loads(WORDS.read_text("utf-8")).items()}
    return tuple(shown for name in NAMES for shown in _of(name, words))


def _of(name: str, words: Mapping[int, str]) -> list[Shown]:
    def said(records: list[Json]) -> Mapping[int, str]:
        return {token: words[token] for token in ids_in(records) if token in words}

    file = opened(record_path(name))
    texts = {p.id: p.text for p in load_suite(str(suite_path(name)), lambda told: None).prompts}
    return [
        replace(shown_of(file, prompt_id, "recorded", said), prompt=texts[prompt_id])
        for prompt_id in file.prompt_ids
    ]
