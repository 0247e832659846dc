"""Figures of a whole record file, for its report. They show in light and dark alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

import plotly.graph_objects as go

from compare.digest import Digests
from compare.markup import escaped
from compare.plots import COLOURS, GREY, SYMBOLS, blank_figure
from compare.plots import acceptance as acceptance_by_depth
from compare.plots_prompts import sorted_speedups, speedup_by_entropy
from compare.plots_rounds import STAGE_COLOURS
from compare.step_record import ORIGINS, STAGES

_MORE_COLOURS = ("#7B61C9", "#A6761D", "#5B7F00", "#B5527F")
_MORE_SYMBOLS = ("triangle-up", "triangle-down", "cross", "x", "star", "hexagon")
_STAGE_SHAPES = {"ngram": "/", "draft": ".", "target": "", "other": "x"}
_TICKS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
_ROW = 46  # pixels
_LEGEND_COLUMNS = 4
_LABEL = 28  # characters

Words = Mapping[str, str]
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Look:
    """How a method is drawn everywhere in one report."""

    colour: str
    symbol: str


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """A colour and a symbol for each method, its own where it has one."""
    colours, symbols = iter(_MORE_COLOURS * len(methods)), iter(_MORE_SYMBOLS * len(methods))
    found: dict[str, Look] = {}
    for method in methods:
        is_new = all(look.colour != COLOURS.get(method) for look in found.values())
        colour = COLOURS[method] if method in COLOURS and is_new else next(colours)
        found[method] = Look(colour, SYMBOLS.get(method) or next(symbols))
    return found


def figures(summary: Json, digests: Digests, words: Words) -> dict[str, go.Figure]:
    """The figures that the runs allow, by the key of their title in `words`."""
    found = {
        "speedup_title": speedups(summary, words),
        "ranked_title": ranked(summary, words),
        "entropy_title": by_entropy(summary, words),
        "settled_title": settled(summary, digests, words),
        "acceptance_title": acceptance_by_depth(summary, {}, words),
        "stages_title": stages(summary, words),
        "origins_title": origins(summary, words),
    }
    return {key: _framed(figure) for key, figure in found.items() if figure.data}


def _framed(figure: go.Figure) -> go.Figure:
    """The figure with its legend at the foot and room for it; its title stands in the page."""
    rows = -(-sum(trace.showlegend is not False for trace in figure.data) // _LEGEND_COLUMNS)
    figure.update_layout(
        margin={"t": 20, "b": 60 + 20 * rows},
        legend={"yref": "container", "y": 0, "yanchor": "bottom", "traceorder": "normal"},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": GREY},
    )
    figure.update_xaxes(title={"standoff": 8})
    return figure


def _name(method: str) -> str:
    """A method's name as a label: plotly takes labels for HTML, and has little room."""
    return escaped(method if len(method) <= _LABEL else f"{method[: _LABEL - 1]}…")


def speedups(summary: Json, words: Words) -> go.Figure:
    """The median speed-up of each method with its interval, and each prompt's as a faint dot."""
    rows = _compared(summary)
    figure = blank_figure(words["speedup"], "")
    drawn = looks(list(summary["methods"]))
    values: list[float] = []
    for at, (method, data) in enumerate(reversed(rows)):
        found, prompts = data["speedup"], summary["per_prompt"][method]
        values += [found["low"], found["high"], *(row["speedup"] for row in prompts)]
        _add_dots(figure, prompts, at, drawn[method])
        _add_interval(figure, found, at, drawn[method], words)
    if rows:
        _scale(figure.update_xaxes, values)
        names = [f"{_name(m)} (n={data['prompts']})" for m, data in reversed(rows)]
        figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=names, showgrid=False)
        figure.update_yaxes(range=[-0.6, len(rows) - 0.4], automargin=True)
        figure.add_vline(x=1, line={"color": GREY, "dash": "dot", "width": 1.5})
        figure.update_layout(height=120 + _ROW * len(rows))
    return figure


def _add_dots(figure: go.Figure, rows: Sequence[Json], at: int, look: Look) -> None:
    """The prompts of a method, spread a little so that equal ones do not hide each other."""
    spread = [at - 0.28 + 0.08 * (number % 3) for number in range(len(rows))]
    figure.add_scatter(
        x=[_short(row["speedup"]) for row in rows],
        y=spread,
        mode="markers",
        marker={"color": look.colour, "size": 6, "opacity": 0.5},
        text=[escaped(row["prompt_id"]) for row in rows],
        hovertemplate="%{text}: %{x:.2f}×<extra></extra>",
        showlegend=False,
    )


def _add_interval(figure: go.Figure, found: Json, at: int, look: Look, words: Words) -> None:
    median, low, high = found["median"], found["low"], found["high"]
    label = f"{median:.2f}× [{low:.2f}, {high:.2f}]"
    if low <= 1 <= high:
        label += f" {words['covers_one']}"
    figure.add_scatter(
        x=[_short(median)],
        y=[at],
        mode="markers+text",
        marker={"color": look.colour, "size": 12, "symbol": look.symbol},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [_short(high - median)],
            "arrayminus": [_short(median - low)],
            "color": look.colour,
            "thickness": 2,
            "width": 6,
        },
        text=[label],
        textposition="top center",
        hoverinfo="skip",
        showlegend=False,
        cliponaxis=False,
    )


def ranked(summary: Json, words: Words) -> go.Figure:
    """Each method's speed-ups by prompt from the slowest on, as the paper's figure 2."""
    return _told_apart(sorted_speedups(summary, {}, words), summary)


def by_entropy(summary: Json, words: Words) -> go.Figure:
    """Speed-up of each prompt against how unsure the target was there, where that is known."""
    told = {**words, "entropy": words["entropy_axis"]}
    figure = _told_apart(speedup_by_entropy(summary, {}, told), summary)
    figure.data = [trace for trace in figure.data if trace.x]
    return figure


def _told_apart(figure: go.Figure, summary: Json) -> go.Figure:
    """The figure, whose traces are the methods compared, with each in its own look."""
    drawn = looks(list(summary["methods"]))
    for trace, (method, _) in zip(figure.data, _compared(summary), strict=True):
        look = drawn[method]
        trace.update(marker={"color": look.colour, "symbol": look.symbol}, name=_name(method))
        if trace.mode == "lines+markers":
            trace.update(line={"color": look.colour})
    return figure


def settled(summary: Json, digests: Digests, words: Words) -> go.Figure:
    """How often one pass of the target settled so many tokens, and the mean."""
    figure = blank_figure(words["tokens_axis"], words["share_of_passes"])
    drawn = looks(list(summary["methods"]))
    for method, data in summary["methods"].items():
        counts = sum((run.settled for run in digests.of_method(method)), Counter[int]())
        if not counts or max(counts) == 1:  # the reference, and decoders that guess nothing
            continue
        figure.add_bar(
            x=list(range(1, max(counts) + 1)),
            y=[_short(counts[n] / counts.total()) for n in range(1, max(counts) + 1)],
            name=f"{_name(method)} {data['tokens_per_step']:.2f}",
            marker={"color": drawn[method].colour, "line": {"width": 0}},
            hovertemplate="%{x}: %{y:.1%}",
        )
    figure.update_layout(barmode="group", bargap=0.2)
    figure.update_xaxes(dtick=1 if _widest(figure) <= 16 else None)
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    return figure


def _widest(figure: go.Figure) -> int:
    return max((len(trace.x) for trace in figure.data), default=0)


def stages(summary: Json, words: Words) -> go.Figure:
    """Milliseconds a token by stage of the decode, all runs of a method together."""
    rows = {m: data for m, data in summary["methods"].items() if data["tokens"]}
    shares = {
        stage: [1000 * data["seconds"][stage] / data["tokens"] for data in rows.values()]
        for stage in STAGES
    }
    return _stacked(shares, list(rows), (words["milliseconds"], ".1f"), words)


def origins(summary: Json, words: Words) -> go.Figure:
    """The share of the tokens that each stage proposed first."""
    rows = {m: data for m, data in summary["methods"].items() if data["tokens"]}
    shares = {
        origin: [data["origins"][origin] / data["tokens"] for data in rows.values()]
        for origin in ORIGINS
    }
    figure = _stacked(shares, list(rows), (words["share_of_tokens"], ".0%"), words)
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    return figure


def _stacked(
    shares: Mapping[str, Sequence[float]],
    methods: Sequence[str],
    axis: tuple[str, str],
    words: Words,
) -> go.Figure:
    """Lying bars, one a method, of the parts in `shares`; `axis`: its title and number format."""
    title, form = axis
    figure = blank_figure(title, "")
    for part, values in shares.items():
        if any(values):
            figure.add_bar(
                x=[_short(value) for value in values],
                y=[_name(method) for method in methods],
                name=words[part],
                orientation="h",
                marker={
                    "color": STAGE_COLOURS[part],
                    "pattern": {
                        "shape": _STAGE_SHAPES[part],
                        "size": 7,
                        "solidity": 0.2,
                        "fillmode": "overlay",
                        "fgcolor": "#ffffff",
                        "fgopacity": 0.6,
                    },
                    "line": {"width": 0},
                },
                hovertemplate=f"%{{y}}, {words[part]}: %{{x:{form}}}<extra></extra>",
            )
    figure.update_layout(barmode="stack", bargap=0.35, height=130 + _ROW * len(methods))
    figure.update_yaxes(autorange="reversed", automargin=True, type="category", showgrid=False)
    return figure


def _compared(summary: Json) -> list[tuple[str, Json]]:
    """The methods that have a speed-up, the reference left out."""
    return [
        (method, data)
        for method, data in summary["methods"].items()
        if data["speedup"] is not None and method != summary["reference"]
    ]


def _scale(update: Any, values: Sequence[float]) -> None:
    """A logarithmic axis around `values` and 1, with ticks at round ratios."""
    low, high = 0.9 * min([*values, 1.0]), 1.12 * max([*values, 1.0])
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    update(
        type="log",
        range=[log10(low), log10(high)],
        tickvals=ticks,
        ticktext=[f"{tick:g}×" for tick in ticks],
        tickangle=0,
    )


def _short(value: float) -> float:
    return float(f"{value:.5g}")
