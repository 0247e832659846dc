"""The Benchmark tab: a suite of prompts, its table, and its files."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.components import Component

from compare.lab import Lab
from compare.page import words
from compare.page.benchmark import Benchmarks
from compare.page.benchmark_words import BENCHMARK
from compare.page.charts_tab import chart
from compare.page.controls import DEFAULT_TOKENS, method_boxes, number_field, numerics_radio
from compare.page.job_events import Places, on_run
from compare.page.labels import i18n
from compare.page.view import component

_SUITES = ("quick", "humaneval", "file")


def benchmark_tab(lab: Lab, entropy: gr.Plot, num_threads: int) -> None:
    """Make the tab's components where they stand, and their events on `lab`.

    `entropy`: the plot of another tab that a suite's prompts are drawn in; `num_threads`: how many
    jobs may be under way or refused at once.
    """
    controls = _controls(lab)
    with gr.Row():
        run = gr.Button(i18n("bench_run"), variant="primary", scale=3, elem_id="ssd-bench-run")
        stop = gr.Button(
            i18n("bench_stop"), interactive=False, scale=1, min_width=120, elem_id="ssd-bench-stop"
        )
    said = {**BENCHMARK, **words.METHOD_WORDS}
    view = component("benchmark", ("still.js", "bench_table.js", "benchmark.js"), said)
    figure = chart("sorted")
    with gr.Row():
        files = [_download(kind) for kind in ("records", "csv", "report")]
    with gr.Row():
        load = gr.File(
            label=i18n("bench_load"),
            file_types=[".jsonl"],
            height=150,
            elem_id="ssd-bench-load",
        )
    _wire(lab, controls, (run, stop, load), (view, figure, entropy, *files), num_threads)


def _wire(
    lab: Lab,
    controls: tuple[Component, ...],
    pressed: tuple[gr.Button, gr.Button, gr.File],
    made: tuple[Component, ...],
    num_threads: int,
) -> None:
    """`made`: the view, and what `benchmark_files.results` updates."""
    callbacks = Benchmarks(lab)
    run, stop, load = pressed
    view, *results = made
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    on_run([run.click], controls, callbacks, Places(view, (run, stop), results), num_threads)
    stop.click(callbacks.stop, queue=False, **quiet)
    load.upload(callbacks.load, load, [view, *results], **quiet)


def _controls(lab: Lab) -> tuple[Component, ...]:
    """The controls, as `benchmark.Form` has them."""
    with gr.Row(equal_height=False):
        with gr.Column(min_width=280):
            suite = gr.Radio(
                [(i18n(f"suite_{name}"), name) for name in _SUITES],
                value="quick",
                label=i18n("bench_suite"),
                elem_id="ssd-bench-suite",
            )
            file = gr.File(
                label=i18n("bench_file"),
                file_types=[".jsonl", ".json"],
                height=150,
                elem_id="ssd-bench-file",
            )
        with gr.Column(min_width=280):
            methods = method_boxes("bench_methods", lab.methods, "ssd-bench-methods")
            with gr.Row(elem_classes="ssd-numbers"):
                repeats = _number("repeats", 1)
                limit = _number("bench_limit", 12)
                tokens = _number("new_tokens", min(DEFAULT_TOKENS, lab.limits.max_new_tokens))
            with gr.Row(elem_classes="ssd-numbers"):
                temperature = _number("bench_temperature", 0, step=0.05)
                top_k = _number("top_k", 0)
                seed = _number("seed", 0)
            numerics = numerics_radio("ssd-bench-numerics")
    return suite, file, methods, repeats, limit, tokens, temperature, top_k, seed, numerics


def _number(key: str, value: int, step: float = 1) -> gr.Number:
    elem_id = f"ssd-bench-{key.replace('_', '-').removeprefix('bench-')}"
    return number_field(key, value, elem_id, step=step, min_width=100)


def _download(kind: str) -> gr.DownloadButton:
    return gr.DownloadButton(
        i18n(f"bench_{kind}"),  # type: ignore[arg-type]
        interactive=False,
        elem_id=f"ssd-bench-{kind}",
    )
