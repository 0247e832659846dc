"""What a benchmark hands out: figures over its prompts, and files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import gradio as gr

from compare import plots_prompts
from compare.page import words
from compare.page.charts_tab import drawn, entropy_figure
from compare.page.charts_words import AXES
from compare.page.shown import Update


@dataclass(frozen=True)
class Results:
    """The outputs of a finished or loaded benchmark, in the tab's order."""

    COUNT: ClassVar[int] = 3

    sorted_speedups: Update
    entropy: Update
    records: Update

    @property
    def updates(self) -> tuple[Update, ...]:
        """One for each output."""
        return self.sorted_speedups, self.entropy, self.records


def results(
    found: Mapping[str, Any], path: Path, folder: Path, language: words.Language
) -> Results:
    """The results of the record file at `path` whose summary is `found`, its files in `folder`."""
    names = words.dictionary(words.METHODS, language)
    axes = words.dictionary(AXES, language)
    records = folder / "benchmark.jsonl"
    if path != records:
        shutil.copyfile(path, records)
    return Results(
        drawn(plots_prompts.sorted_speedups(found, names, axes)),
        entropy_figure(found, language),
        _offered(records),
    )


def _offered(path: Path) -> Update:
    return gr.update(value=str(path), interactive=True)
