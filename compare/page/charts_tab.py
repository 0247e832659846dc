"""The Charts tab: figures of the run that is shown."""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr

from compare import plots
from compare.page import words
from compare.page.labels import i18n
from compare.page.shown import Follower, Shown, Update


def charts_tab() -> Follower:
    """The tab's components, made where they stand, and how they follow the shown run."""
    with gr.Row(elem_classes="ssd-charts"):
        latency = gr.Plot(label=i18n("latency"), elem_classes="ssd-plot", min_width=300)
        acceptance = gr.Plot(label=i18n("acceptance"), elem_classes="ssd-plot", min_width=300)
    return Follower((latency, acceptance), _draw)


def _draw(shown: Shown, language: words.Language) -> Sequence[Update]:
    names = words.dictionary(words.METHODS, language)
    axes = words.dictionary(words.PLOT, language)
    return plots.latency(shown.records, names, axes), plots.acceptance(shown.summary, names, axes)
