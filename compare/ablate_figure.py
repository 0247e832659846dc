"""The ablation drawn: one self-contained HTML file, a panel for each effect and temperature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from compare.ablate import Cell

_COLOURS = {"none": "#7A7A7A", "katz": "#D55E00", "match": "#0077BB", "both": "#009E73"}
_SYMBOLS = {"none": "circle", "katz": "square", "match": "triangle-up", "both": "diamond"}
_DASHES = ("dot", "solid", "dash", "dashdot")
_EFFECTS: dict[str, Callable[[Cell], float | None]] = {
    "tokens per target pass": lambda cell: cell.tokens_per_pass,
    "draft passes per round": lambda cell: cell.draft_passes_per_round,
    "MB read per token": lambda cell: _scaled(cell.bytes_per_token, 1e-6),
    "speed-up over autoregressive": lambda cell: cell.latency,
    "N-gram ms per round": lambda cell: _scaled(cell.ngram_s_per_round, 1e3),
}
_PANEL = 300  # pixels

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Ablation of staged decoding</title>
<style>
:root {{ color-scheme: light dark; --text: #1c1c1c; --page: #ffffff; }}
@media (prefers-color-scheme: dark) {{ :root {{ --text: #e6e6e6; --page: #151515; }} }}
@media print {{ :root {{ --text: #1c1c1c; --page: #ffffff; }} }}
body {{ margin: 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--page); }}
.js-plotly-plot text {{ fill: var(--text) !important; }}
</style>
<h1>Ablation of staged decoding</h1>
<p>Tree size, depth and second stage, each with a fixed tree; all combinations and autoregressive
ran interleaved on the same prompts. The colour is what the N-gram draws on, the dash the depth.</p>
{figure}
</html>
"""


def ablation_page(cells: Sequence[Cell]) -> str:
    """The HTML page; it needs no network."""
    figure = ablation_figure(cells)
    drawn = figure.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    return _PAGE.format(figure=drawn)


def ablation_figure(cells: Sequence[Cell]) -> go.Figure:
    """A row of panels for each temperature, a column for each effect, over the tree's size."""
    temperatures = list(dict.fromkeys(cell.temperature for cell in cells))
    titles = [f"{effect}, T = {t:g}" for effect in _EFFECTS for t in temperatures]
    figure = make_subplots(
        rows=len(_EFFECTS), cols=len(temperatures), subplot_titles=titles, vertical_spacing=0.06
    )
    for column, temperature in enumerate(temperatures, start=1):
        here = [cell for cell in cells if cell.temperature == temperature]
        for row, effect in enumerate(_EFFECTS.values(), start=1):
            for line in _lines(here, effect):
                is_named = row == column == 1
                figure.add_scatter(**line, showlegend=is_named, row=row, col=column)
            figure.update_xaxes(type="category", row=row, col=column)
    figure.update_xaxes(title_text="nodes a round", row=len(_EFFECTS))
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(gridcolor="rgba(122,122,122,0.25)", rangemode="tozero")
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        height=_PANEL * len(_EFFECTS),
        legend={"orientation": "h", "y": 1.03, "yanchor": "bottom"},
        margin={"t": 110},
    )
    return figure


def _lines(
    cells: Sequence[Cell], effect: Callable[[Cell], float | None]
) -> Iterator[dict[str, Any]]:
    """What to draw of one temperature: a line for each second stage and depth."""
    depths = list(dict.fromkeys(cell.depth for cell in cells))
    for sources in dict.fromkeys(cell.sources for cell in cells):
        for number, depth in enumerate(depths):
            line = [cell for cell in cells if (cell.sources, cell.depth) == (sources, depth)]
            name = f"N-gram {sources}, depth {depth}"
            yield {
                "x": [cell.nodes for cell in line],
                "y": [effect(cell) for cell in line],
                "name": name,
                "legendgroup": name,
                "mode": "lines+markers",
                "line": {"color": _COLOURS[sources], "dash": _DASHES[number % len(_DASHES)]},
                "marker": {"symbol": _SYMBOLS[sources], "size": 8},
                "hovertemplate": "%{x} nodes: %{y:.3g}",
            }


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale
