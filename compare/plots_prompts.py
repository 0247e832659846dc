"""Figures over the prompts of a suite: how much each gained, and what that depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

from compare.plots import GREY, Words, blank_figure, called, colour, dash, symbol

_REFERENCE = "autoregressive"
_EACH_TOLD = 20  # prompts up to which each has its number on the axis
_TICKS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)

Json = Mapping[str, Any]


def sorted_speedups(summary: Json, names: Words, words: Words) -> go.Figure:
    """The speed-up on every prompt, the slowest first, a line a method (figure 2 of the paper).

    The axis of speed-ups is logarithmic; at 1 nothing is gained. `words`: `prompts_sorted` and
    `speedup`.
    """
    figure = blank_figure(words["prompts_sorted"], words["speedup"])
    for method, rows in _methods(summary):
        figure.add_scatter(
            x=list(range(1, len(rows) + 1)),
            y=[round(row["speedup"], 4) for row in rows],
            name=called(method, names),
            mode="lines+markers",
            line={"color": colour(method), "dash": dash(method)},
            marker={"symbol": symbol(method), "size": 8},
            text=[_safe(row) for row in rows],
            hovertemplate="%{text}: %{y:.2f}×",
        )
    _scale(figure)
    most = max((len(rows) for _, rows in _methods(summary)), default=1)
    figure.update_xaxes(range=[0.5, most + 0.5], dtick=1 if most <= _EACH_TOLD else None)
    return figure


def speedup_by_entropy(summary: Json, names: Words, words: Words) -> go.Figure:
    """The speed-up on a prompt against how undecided the target was over its answer, in bits.

    Prompts whose entropy is not known are left out. `words`: `entropy` and `speedup`.
    """
    figure = blank_figure(words["entropy"], words["speedup"])
    for method, rows in _methods(summary):
        known = [row for row in rows if row["entropy"] is not None]
        figure.add_scatter(
            x=[round(row["entropy"] / math.log(2), 4) for row in known],
            y=[round(row["speedup"], 4) for row in known],
            name=called(method, names),
            mode="markers",
            marker={
                "color": colour(method),
                "symbol": symbol(method),
                "size": 9,
            },
            text=[_safe(row) for row in known],
            hovertemplate="%{text}: %{y:.2f}×",
        )
    _scale(figure)
    figure.update_xaxes(rangemode="tozero")
    return figure


def _methods(summary: Json) -> list[tuple[str, Sequence[Json]]]:
    """The methods that were measured against the reference, with a row a prompt."""
    rows = summary.get("per_prompt") or {}
    return [(m, found) for m, found in rows.items() if found and m != _REFERENCE]


def _safe(row: Json) -> str:
    """The prompt's id as words: plotly.js knows some tags, and an id may hold anything."""
    return escape(str(row["prompt_id"])[:60], quote=False)


def _scale(figure: go.Figure) -> None:
    figure.update_yaxes(type="log", tickvals=_TICKS, ticktext=[f"{x:g}×" for x in _TICKS])
    figure.add_hline(y=1, line={"color": GREY, "width": 2})
