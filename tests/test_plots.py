"""Figures: the numbers in them, and that they stay inside what the page's plotly.js knows."""

from __future__ import annotations

from typing import Any

import pytest

from compare import plots
from compare.page import words
from compare.page.charts_words import AXES as AXES_WORDS

AXES = words.dictionary(AXES_WORDS, "en")
NAMES = words.dictionary(words.METHODS, "en")
RECORD = {
    "method": "staged",
    "seconds": {"prefill": 0.5},
    "steps": [{"time": 0.1, "tokens": [1, 2, 3]}, {"time": 0.3, "tokens": [4]}],
}
SUMMARY: dict[str, Any] = {
    "methods": {
        "autoregressive": {"acceptance_by_depth": None},
        "staged": {
            "acceptance_by_depth": [
                {"depth": 1, "tried": 10, "accepted": 8},
                {"depth": 2, "tried": 4, "accepted": 0},
                {"depth": 3, "tried": 0, "accepted": 0},
            ]
        },
    }
}


def test_latency_counts_tokens_from_the_prompt_on() -> None:
    line, end = plots.latency([RECORD], NAMES, AXES).data
    assert list(line.x) == [0.5, 0.6, 0.8] and list(line.y) == [0, 3, 4]
    assert line.line.shape == "hv" and line.name == "Staged"
    assert list(end.text) == ["0.80 s"]


def test_a_run_without_steps_draws_nothing() -> None:
    assert not plots.latency([{**RECORD, "steps": []}], NAMES, AXES).data


def test_acceptance_shows_rates_intervals_and_n() -> None:
    rates, counts = plots.acceptance(SUMMARY, NAMES, AXES).data
    assert list(rates.y) == [0.8, 0.0]
    assert list(rates.marker.symbol) == ["diamond", "diamond-open"]
    assert rates.error_y.array[0] == pytest.approx(0.143, abs=1e-3)
    assert list(counts.text) == ["n", "10", "4"]


def test_figures_have_no_background_and_no_template() -> None:
    for figure in (plots.latency([RECORD], NAMES, AXES), plots.acceptance(SUMMARY, NAMES, AXES)):
        layout = figure.layout
        assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
        assert len(figure.to_json()) < 4000
