"""Figures of a comparison, for a page or a report. They show in light and dark alike."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from compare.intervals import wilson
from compare.naming import base_name

COLOURS = {
    "autoregressive": "#D55E00",
    "speculative": "#0077BB",
    "staged": "#009E73",
    "tree": "#CC79A7",
    "lookup": "#EE3377",
}
DASHES = {"autoregressive": "dot", "speculative": "dash", "staged": "solid"}
SYMBOLS = {"autoregressive": "circle", "speculative": "square", "staged": "diamond"}
GREY = "#7A7A7A"
_FEW = 5

Words = Mapping[str, str]


def colour(method: str) -> str:
    """The colour of a method, whatever sizes follow its name."""
    return COLOURS.get(base_name(method), GREY)


def dash(method: str) -> str:
    """The dash of a method's line."""
    return DASHES.get(base_name(method), "solid")


def symbol(method: str) -> str:
    """The symbol of a method's points."""
    return SYMBOLS.get(base_name(method), "circle")


def called(method: str, names: Words) -> str:
    """What a method is called, with the sizes that follow its name, safe for plotly.js."""
    base = base_name(method)
    sizes = method[len(base) + 1 :]
    name = names.get(base, base)
    return escape(f"{name} {sizes}" if sizes else name, quote=False)


def latency(records: Sequence[Mapping[str, Any]], names: Words, words: Words) -> go.Figure:
    """Tokens against seconds since the prompt, a step line for each record that has steps.

    `names`: what a method is called. `words`: `seconds` and `tokens`, the axes' titles.
    """
    figure = blank_figure(words["seconds"], words["tokens"])
    lines = [_line(record) for record in records if record["steps"]]
    ends = sorted(line.times[-1] for line in lines)
    for line in lines:
        rank = ends.index(line.times[-1])
        _add_line(figure, line, called(line.method, names), rank)
    if ends:
        figure.update_xaxes(range=[0, 1.2 * ends[-1]])
        figure.update_yaxes(range=[0, 1.12 * max(line.counts[-1] for line in lines)])
    return figure


@dataclass(frozen=True)
class _Line:
    """Tokens by time: `counts[i]` from `times[i]` on."""

    method: str
    times: tuple[float, ...]
    counts: tuple[int, ...]


def _line(record: Mapping[str, Any]) -> _Line:
    start = record["seconds"]["prefill"]
    times = (start, *(start + step["time"] for step in record["steps"]))
    counts = itertools.accumulate((len(step["tokens"]) for step in record["steps"]), initial=0)
    return _Line(record["method"], times, tuple(counts))


def _add_line(figure: go.Figure, line: _Line, name: str, rank: int) -> None:
    """Draw a line and its end, labelled on a side by `rank` so that close ends do not overlap."""
    end = round(line.times[-1], 5)
    figure.add_scatter(
        x=[round(time, 5) for time in line.times],
        y=list(line.counts),
        name=name,
        mode="lines",
        line={"shape": "hv", "color": colour(line.method), "width": 2, "dash": dash(line.method)},
        hovertemplate="%{y} · %{x:.3f} s",
    )
    figure.add_scatter(
        x=[end],
        y=[line.counts[-1]],
        mode="markers+text",
        marker={"color": colour(line.method), "size": 8, "symbol": symbol(line.method)},
        text=[f"{end:.2f} s"],
        textposition=("top left", "bottom right", "top right")[rank % 3],
        hoverinfo="skip",
        showlegend=False,
    )


def acceptance(summary: Mapping[str, Any], names: Words, words: Words) -> go.Figure:
    """Acceptance by depth, given that the parent was accepted, with Wilson intervals and n.

    Hollow where fewer than five were tried. `words`: `depth` and `rate`, the axes' titles.
    """
    figure = blank_figure(words["depth"], words["rate"])
    methods = [(n, m) for n, m in summary["methods"].items() if m.get("acceptance_by_depth")]
    for order, (method, found) in enumerate(methods):
        shift = 0.12 * (order - (len(methods) - 1) / 2)
        _add_rates(figure, method, called(method, names), found, shift)
        _add_counts(figure, method, found, -0.08 - 0.075 * order)
    tick_values = [0, 0.25, 0.5, 0.75, 1]
    floor = -0.06 - 0.075 * max(1, len(methods))
    figure.update_yaxes(range=[floor, 1.04], tickformat=".0%", tickvals=tick_values)
    figure.update_xaxes(dtick=1)
    return figure


def _add_rates(
    figure: go.Figure, method: str, name: str, found: Mapping[str, Any], shift: float
) -> None:
    rows = [row for row in found["acceptance_by_depth"] if row["tried"]]
    rates = [row["accepted"] / row["tried"] for row in rows]
    bounds = [wilson(row["accepted"], row["tried"]) for row in rows]
    points = list(zip(rates, bounds, strict=True))
    few = [row["tried"] < _FEW for row in rows]
    figure.add_scatter(
        x=[row["depth"] + shift for row in rows],
        y=[round(rate, 5) for rate in rates],
        name=name,
        mode="markers",
        marker={
            "color": colour(method),
            "size": 10,
            "symbol": [f"{symbol(method)}-open" if is_few else symbol(method) for is_few in few],
            "line": {"color": colour(method), "width": 2},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [round(high - rate, 5) for rate, (_, high) in points],
            "arrayminus": [round(rate - low, 5) for rate, (low, _) in points],
            "color": colour(method),
            "thickness": 1.5,
            "width": 4,
        },
        customdata=[[row["accepted"], row["tried"]] for row in rows],
        hovertemplate="%{y:.0%} · %{customdata[0]}/%{customdata[1]}",
    )


def _add_counts(figure: go.Figure, method: str, found: Mapping[str, Any], y: float) -> None:
    """A row of how many were tried, below the points, behind the method's symbol."""
    rows = [row for row in found["acceptance_by_depth"] if row["tried"]]
    figure.add_scatter(
        x=[0.4, *(row["depth"] for row in rows)],
        y=[y] * (1 + len(rows)),
        mode="markers+text",
        marker={
            "color": colour(method),
            "size": [7] + [0] * len(rows),
            "symbol": symbol(method),
            "opacity": 1,
            "line": {"width": 0},
        },
        text=["n", *(str(row["tried"]) for row in rows)],
        textposition=["middle right", *("middle center" for _ in rows)],
        textfont={"size": 11},
        hoverinfo="skip",
        showlegend=False,
    )


def blank_figure(x_title: str, y_title: str) -> go.Figure:
    """An empty figure without a background of its own; the page's styles colour its text."""
    axis = {"gridcolor": "rgba(122,122,122,0.25)", "zeroline": False, "linecolor": GREY}
    return go.Figure(
        layout={
            "template": "none",
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "height": 400,
            "margin": {"l": 56, "r": 16, "t": 44, "b": 88},
            "font": {"size": 12},
            # Above: below, it would lie on the axis' title where it takes several lines.
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "xaxis": {**axis, "title": {"text": x_title}},
            "yaxis": {**axis, "title": {"text": y_title}},
            "hovermode": "closest",
        }
    )
