"""The Charts tab: figures of the run that is shown, and one over the prompts of a suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gradio as gr
import plotly.graph_objects as go

from compare import plots, plots_machine, plots_prompts, plots_rounds
from compare.lab_run import STEPPED, stepped
from compare.page import words
from compare.page.charts_words import AXES, CHARTS
from compare.page.shown import Follower, Shown, Update
from compare.page.view import component
from compare.step_record import Json

_ROWS = (("latency", "rounds"), ("acceptance", "settled"), ("origins", "passes"), ("roofline",))
_DRAWN = tuple(key for row in _ROWS for key in row)


@dataclass(frozen=True)
class Charts:
    """`follower` draws the shown run; `entropy` is drawn from a suite's summary."""

    follower: Follower
    entropy: gr.Plot


def charts_tab() -> Charts:
    """The tab's components, made where they stand."""
    made: dict[str, gr.Plot] = {}
    for row in _ROWS:
        with gr.Row(equal_height=False, elem_classes="ssd-chart-row"):
            made |= {key: chart(key) for key in row}
            if row == _ROWS[-1]:
                made["entropy"] = chart("entropy")
    follower = Follower(tuple(made[key] for key in _DRAWN), _draw)
    return Charts(follower, made["entropy"])


def chart(key: str) -> gr.Plot:
    """A chart with its words above it, made where it stands."""
    with gr.Column(elem_classes="ssd-chart", min_width=320):
        component(
            f"chart-{key}",
            ("chart.js",),
            {**CHARTS, **words.METHOD_WORDS},
            {"CHART": key, "STEPPED": list(STEPPED)},
        )
        return gr.Plot(show_label=False, container=False, elem_classes="ssd-plot", min_width=300)


def _draw(shown: Shown, language: words.Language) -> Sequence[Update]:
    """A figure for each of `_DRAWN`, nothing where there would be nothing in it."""
    names = words.dictionary(words.METHODS, language)
    axes = words.dictionary(AXES, language)
    runs = [record for record in shown.records if record["error"] is None]
    first = [record for record in runs if record["repeat"] == 0]
    guessing = stepped([record["method"] for record in first])
    rounds = next((record for record in first if record["method"] == guessing), None)
    figures: dict[str, Callable[[], go.Figure | None]] = {
        "latency": lambda: plots.latency(first, names, axes),
        "rounds": lambda: rounds and plots_rounds.round_times(rounds, axes),
        "acceptance": lambda: plots.acceptance(shown.summary, names, axes),
        "settled": lambda: plots_rounds.settled_counts(runs, names, axes),
        "origins": lambda: plots_rounds.origins(runs, names, axes),
        "passes": lambda: plots_machine.pass_times(shown.environment, runs, names, axes),
        "roofline": lambda: plots_machine.roofline(shown.environment, runs, axes),
    }
    return [drawn(figures[key]()) for key in _DRAWN]


def drawn(figure: go.Figure | None) -> Update:
    """The figure, None where there is nothing in it."""
    if figure is None or not any(trace.x for trace in figure.data):
        return None
    return figure.update_layout(height=400, margin={"t": 56})


def entropy_figure(summary: Json, language: words.Language) -> Update:
    """The speed-up of a suite's prompts against the target's entropy."""
    names = words.dictionary(words.METHODS, language)
    axes = words.dictionary(AXES, language)
    return drawn(plots_prompts.speedup_by_entropy(summary, names, axes))
