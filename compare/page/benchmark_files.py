"""What a benchmark hands out: figures over its prompts, and files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import gradio as gr

from compare import plots_prompts
from compare.digest import Digests
from compare.metrics import summary
from compare.page import words
from compare.page.charts_tab import drawn, entropy_figure
from compare.page.charts_words import AXES
from compare.page.shown import Update
from compare.report import report_html
from compare.report_csv import csv_text

NUM_RESULTS = 5
_NAME = "benchmark"
RECORDS = f"{_NAME}.jsonl"


@dataclass(frozen=True)
class Measured:
    """A record file that was read or written: its first line, and its runs summed up."""

    environment: Mapping[str, Any]
    digests: Digests

    @cached_property
    def summary(self) -> dict[str, Any]:
        """As `compare summary --json` prints it."""
        return summary(self.environment, self.digests)


def results(
    measured: Measured, path: Path, folder: Path, language: words.Language
) -> tuple[Update, ...]:
    """`NUM_RESULTS` updates: two figures, and the files, made in `folder`.

    The figures are of the sorted speed-ups and of speed-up against entropy; the files are the
    records, a copy of those at `path`, the table and the report.
    """
    names = words.dictionary(words.METHODS, language)
    axes = words.dictionary(AXES, language)
    files = {suffix: folder / f"{_NAME}.{suffix}" for suffix in ("jsonl", "csv", "html")}
    if path != files["jsonl"]:
        shutil.copyfile(path, files["jsonl"])
    files["csv"].write_text(csv_text(measured.environment, measured.digests), "utf-8")
    report = report_html(measured.environment, measured.digests, language)
    files["html"].write_text(report, "utf-8")
    return (
        drawn(plots_prompts.sorted_speedups(measured.summary, names, axes)),
        entropy_figure(measured.summary, language),
        *(gr.update(value=str(file), interactive=True) for file in files.values()),
    )
