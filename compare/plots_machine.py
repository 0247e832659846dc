"""Figures of the machine: what a pass costs by its width, and how far it is from its limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from compare.plots import GREY, Words, blank_figure, called, colour

_TARGET, _DRAFT = "#D55E00", "#0077BB"
_TICKS = [step * 10**power for power in range(-1, 6) for step in (1, 2, 5)]
_ITEM_BYTES = {"bfloat16": 2.0, "float16": 2.0, "float32": 4.0}

Record = Mapping[str, Any]
Curve = list[tuple[int, float]]


def curves(environment: Mapping[str, Any]) -> dict[str, Curve]:
    """Measured pass times of a record's `environment`: model -> (width, seconds), ascending."""
    measured = environment.get("pair", {}).get("pass_seconds", {})
    return {
        model: sorted((int(width), float(seconds)) for width, seconds in times.items())
        for model, times in measured.items()
    }


def pass_times(
    environment: Mapping[str, Any], records: Sequence[Record], names: Words, words: Words
) -> go.Figure:
    """Measured milliseconds of a pass by its width, and the widths that the methods chose.

    A circle on the target's curve is a chosen width (root included), its area how often it was.
    `words`: `width`, `milliseconds`, `target`, `draft` and `chosen`.
    """
    figure = blank_figure(words["width"], words["milliseconds"])
    found = curves(environment)
    for model, hue, dash in (("target", _TARGET, "solid"), ("draft", _DRAFT, "dash")):
        if model in found:
            figure.add_scatter(
                x=[width for width, _ in found[model]],
                y=[round(1000 * seconds, 4) for _, seconds in found[model]],
                name=words[model],
                mode="lines+markers",
                line={"color": hue, "width": 2, "dash": dash},
                marker={"size": 6, "color": hue},
                hovertemplate="%{x}: %{y:.1f} ms",
            )
    if found.get("target"):
        for method in dict.fromkeys(record["method"] for record in records):
            own = [record for record in records if record["method"] == method]
            _add_chosen(figure, method, own, found["target"], names, words)
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(rangemode="tozero")
    return figure


def _add_chosen(
    figure: go.Figure,
    method: str,
    records: Sequence[Record],
    curve: Curve,
    names: Words,
    words: Words,
) -> None:
    chosen = Counter(len(s["tree"]["tokens"]) for record in records for s in record["steps"])
    if set(chosen) <= {1}:
        return
    widths = sorted(chosen)
    most = max(chosen.values())
    figure.add_scatter(
        x=widths,
        y=[round(1000 * at(curve, width), 4) for width in widths],
        name=f"{called(method, names)}: {words['chosen']}",
        mode="markers",
        marker={
            "color": "rgba(0,0,0,0)",
            "size": [round(6 + 22 * (chosen[width] / most) ** 0.5, 1) for width in widths],
            "line": {"color": colour(method), "width": 2},
        },
        customdata=[chosen[width] for width in widths],
        hovertemplate="%{x}: %{customdata}×",
    )


def at(curve: Curve, width: int) -> float:
    """Seconds of a pass of `width` tokens: between two measured widths on the line."""
    for (low, before), (high, after) in pairwise(curve):
        if low <= width <= high:
            return before + (after - before) * (width - low) / (high - low)
    first, last = curve[0], curve[-1]
    return first[1] if width < first[0] else last[1] * width / last[0]


def roofline(environment: Mapping[str, Any], records: Sequence[Record], words: Words) -> go.Figure:
    """Operations a second of the target's passes against operations a byte, both on log axes.

    Every weight is read once a pass and used in a multiplication and an addition a token; what a
    one-token pass reads is known from the reference's runs. The ceilings are the highest bandwidth
    and the highest rate that these passes reached: measured, not the maker's. Empty where the
    record does not say enough. `words`: `intensity`, `operations`, `memory_ceiling`,
    `arithmetic_ceiling`, `tokens`.
    """
    figure = blank_figure(words["intensity"], words["operations"])
    curve = curves(environment).get("target")
    read = _bytes_a_pass(records)
    item = _ITEM_BYTES.get(environment.get("pair", {}).get("precision", ""))
    if not curve or read is None or item is None:
        return figure
    work = 2 * read / item
    points = [(work * width / read, work * width / seconds / 1e9) for width, seconds in curve]
    bandwidth = max(rate / intensity for intensity, rate in points)
    peak = max(rate for _, rate in points)
    low, high = 0.6 * points[0][0], 1.6 * points[-1][0]
    ridge = peak / bandwidth
    for key, x, y, dash in (
        ("memory_ceiling", (low, ridge), (low * bandwidth, peak), "dash"),
        ("arithmetic_ceiling", (ridge, high), (peak, peak), "dot"),
    ):
        line = {"color": GREY, "width": 2, "dash": dash}
        figure.add_scatter(x=x, y=y, name=words[key], mode="lines", line=line, hoverinfo="skip")
    figure.add_scatter(
        x=[round(intensity, 4) for intensity, _ in points],
        y=[round(rate, 4) for _, rate in points],
        name=words["target"],
        mode="markers+text",
        marker={"color": _TARGET, "size": 9},
        text=[str(width) for width, _ in curve],
        textposition="top center",
        hovertemplate="%{text} " + words["tokens"] + ": %{y:.1f}",
    )
    figure.update_xaxes(type="log", tickvals=_TICKS)
    figure.update_yaxes(type="log", tickvals=_TICKS)
    return figure


def _bytes_a_pass(records: Sequence[Record]) -> float | None:
    """What a pass of the target reads on average, from runs that only it took part in."""
    own = [r for r in records if r["method"] == "autoregressive" and r.get("bytes_read")]
    passes = sum(len(record["steps"]) for record in own)
    return sum(record["bytes_read"] for record in own) / passes if passes else None
