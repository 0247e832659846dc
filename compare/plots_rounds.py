"""Figures of the rounds of a run: where the time went, what a pass settled, who proposed it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from compare.plots import GREY, Words, blank_figure, called, colour
from compare.step_record import ORIGINS, STAGES

STAGE_COLOURS = {"ngram": "#009E73", "draft": "#0077BB", "target": "#D55E00", "other": GREY}
_HATCHES = {"ngram": "/", "draft": "|", "target": "", "other": "."}
_MOST_BARS = 60

Record = Mapping[str, Any]


def round_times(record: Record, words: Words) -> go.Figure:
    """Milliseconds of each round of a run, stacked by stage; several rounds a bar above sixty.

    The stages add up to the round: what has no name is shown as `other`. `words`: `rounds`,
    `milliseconds`, the `stage_...` names and `tokens`.
    """
    figure = blank_figure(words["rounds"], words["milliseconds"])
    steps = record["steps"]
    size = max(1, math.ceil(len(steps) / _MOST_BARS))
    bins = [steps[at : at + size] for at in range(0, len(steps), size)]
    numbers = [1 + size * at for at in range(len(bins))]
    settled = [sum(len(step["tokens"]) for step in each) for each in bins]
    for stage in reversed(STAGES):
        figure.add_bar(
            x=numbers,
            y=[_mean_ms(each, stage) for each in bins],
            name=words[f"stage_{stage}"],
            marker=_marker(stage),
            customdata=settled,
            hovertemplate="%{x}: %{y:.2f} ms · " + words["tokens"] + ": %{customdata}",
        )
    figure.update_layout(barmode="stack", bargap=0.15)
    return figure


def _mean_ms(steps: Sequence[Record], stage: str) -> float:
    return round(1000 * float(sum(step["seconds"][stage] for step in steps)) / len(steps), 4)


def _marker(stage: str) -> dict[str, Any]:
    """Colour and, as a second channel, a hatch."""
    hatch = {"shape": _HATCHES[stage], "fillmode": "overlay", "fgcolor": "#FFFFFF", "size": 6}
    marker = {"color": STAGE_COLOURS[stage], "pattern": {**hatch, "solidity": 0.15}}
    return {**marker, "line": {"width": 0}}


def settled_counts(records: Sequence[Record], names: Words, words: Words) -> go.Figure:
    """How many rounds settled 1, 2, 3 ... tokens, a bar a method, and the mean as a line.

    `words`: `tokens_a_pass`, `share_of_passes` and `mean`.
    """
    figure = blank_figure(words["tokens_a_pass"], words["share_of_passes"])
    by_method: dict[str, Counter[int]] = {}
    for record in records:
        counts = by_method.setdefault(record["method"], Counter())
        counts.update(len(step["tokens"]) for step in record["steps"])
    for method, counts in by_method.items():
        if not counts:
            continue
        total = counts.total()
        mean = sum(size * number for size, number in counts.items()) / total
        sizes = range(1, max(counts) + 1)
        figure.add_bar(
            x=list(sizes),
            y=[round(counts[size] / total, 5) for size in sizes],
            name=f"{called(method, names)} ({words['mean']} {mean:.2f})",
            marker={"color": colour(method)},
            customdata=[[counts[size], total] for size in sizes],
            hovertemplate="%{x}: %{customdata[0]}/%{customdata[1]}",
        )
        figure.add_vline(x=mean, line={"color": colour(method), "width": 1.5, "dash": "dash"})
    figure.update_layout(barmode="group", bargap=0.2)
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    figure.update_xaxes(dtick=1)
    return figure


def origins(records: Sequence[Record], names: Words, words: Words) -> go.Figure:
    """Two bars a method: who proposed what stands, and what became of each stage's proposals.

    `words`: `origin_...`, `proposed`, `accepted`, `stands` and `guesses`.
    """
    figure = blank_figure(words["tokens"], "")
    methods = dict.fromkeys(record["method"] for record in records if record["steps"])
    rows: list[tuple[str, Counter[str]]] = []
    for method in reversed(methods):
        steps = [s for record in records if record["method"] == method for s in record["steps"]]
        name = called(method, names)
        proposed = Counter(origin for step in steps for origin in step["tree"]["origins"][1:])
        if proposed:
            rows.append((f"{name}: {words['guesses']}", proposed))
        rows.append((f"{name}: {words['stands']}", Counter(o for s in steps for o in s["origins"])))
    for origin in ORIGINS:
        figure.add_bar(
            y=[label for label, _ in rows],
            x=[counts[origin] for _, counts in rows],
            name=words[f"origin_{origin}"],
            orientation="h",
            marker=_marker(origin),
            hovertemplate="%{y}: %{x}",
        )
    figure.update_layout(barmode="stack", bargap=0.35, margin={"l": 150})
    figure.update_yaxes(automargin=True, tickfont={"size": 12})
    return figure
