"""The page: its components, and which callback each of them calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from gradio.events import api

from compare.job import Limits
from compare.lab import Lab
from compare.page import words
from compare.page.api import compare_endpoint
from compare.page.callbacks import Callbacks
from compare.page.view import CSS, race_view

DEFAULT_METHODS = ("autoregressive", "speculative", "staged")
_PRECISIONS = ("auto", "bf16", "fp32", "fp16")
_DEFAULT_TOKENS = 64
_WEIGHTS = (400, 700)  # the bundled semibold files lack most letters
_TITLE = '<div class="ssd-title"><h1>Staged speculative decoding lab</h1></div>'

i18n = gr.I18n(en=words.labels("en"), **{"zh-CN": words.labels("zh-CN")})


def build(lab: Lab) -> gr.Blocks:
    """The page on `lab`, its queue set up."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    callbacks = Callbacks(lab)
    num_threads = lab.limits.max_queue + 1
    page: gr.Blocks = gr.Blocks(
        title="Staged speculative decoding lab",
        analytics_enabled=False,
        delete_cache=(3600, 3600),
    )
    with page:
        gr.HTML(
            html_template=_TITLE,
            js_on_load=None,
            apply_default_css=False,
        )
        with gr.Row(equal_height=False):
            with gr.Column(scale=3, min_width=300):
                prompt, run, stop = _prompt()
            with gr.Column(scale=2, min_width=300):
                settings = _settings(lab.limits)
        advanced = _advanced(lab.methods)
        race = race_view(DEFAULT_METHODS)
        charts = _charts()
        started = gr.on(
            [run.click, prompt.submit],
            callbacks.run,
            [prompt, *settings, *advanced],
            [race, run, stop, *charts],
            show_progress="hidden",
            concurrency_id="engine",
            concurrency_limit=num_threads,
            api_visibility="private",
            trigger_mode="once",
        )
        assert started is not None
        stop.click(callbacks.stop, queue=False, show_progress="hidden", api_visibility="private")
        api(
            compare_endpoint(lab),
            api_name="compare",
            concurrency_id="engine",
            concurrency_limit=num_threads,
        )
    page.queue(max_size=4 * num_threads, api_open=True)
    return page


def _prompt() -> tuple[gr.Textbox, gr.Button, gr.Button]:
    prompt = gr.Textbox(
        value=words.PROMPTS["chip_code"],
        label=i18n("prompt"),
        placeholder=i18n("prompt_hint"),
        lines=4,
        max_lines=12,
        elem_id="ssd-prompt",
    )
    with gr.Row(elem_classes="ssd-chips"):
        for key, text in words.PROMPTS.items():
            chip = gr.Button(i18n(key), size="sm", variant="secondary")
            chip.click(_setter(text), outputs=prompt, queue=False, api_visibility="private")
    with gr.Row():
        run = gr.Button(i18n("run"), variant="primary", scale=3, min_width=120, elem_id="ssd-run")
        stop = gr.Button(
            i18n("stop"), variant="secondary", interactive=False, scale=1, elem_id="ssd-stop"
        )
    return prompt, run, stop


def _setter(text: str) -> Callable[[], str]:
    return lambda: text


def _settings(limits: Limits) -> tuple[gr.components.Component, ...]:
    """New tokens, temperature, top-k, top-p and seed."""
    tokens = gr.Slider(
        1,
        limits.max_new_tokens,
        min(_DEFAULT_TOKENS, limits.max_new_tokens),
        step=1,
        label=i18n("new_tokens"),
        elem_id="ssd-new-tokens",
    )
    temperature = gr.Slider(0, 2, 0, step=0.05, label=i18n("temperature"))
    with gr.Row():
        top_k = gr.Number(0, label=i18n("top_k"), precision=0, minimum=0, min_width=90)
        top_p = gr.Number(1, label=i18n("top_p"), minimum=0, maximum=1, step=0.05, min_width=90)
        seed = gr.Number(0, label=i18n("seed"), precision=0, minimum=0, min_width=90)
    return tokens, temperature, top_k, top_p, seed


def _advanced(methods: tuple[str, ...]) -> tuple[gr.components.Component, ...]:
    """Lanes, precision, numerics, nodes and repetition penalty."""
    default = [name for name in DEFAULT_METHODS if name in methods]
    with gr.Accordion(i18n("advanced"), open=False):
        lanes = gr.CheckboxGroup(
            [(i18n(f"method_{name}"), name) for name in methods], value=default, label=i18n("lanes")
        )
        with gr.Row():
            precision = gr.Dropdown(list(_PRECISIONS), value="auto", label=i18n("precision"))
            numerics = gr.Radio(
                [(i18n("exact"), "exact"), (i18n("fast"), "fast")],
                value="exact",
                label=i18n("numerics"),
            )
            nodes = gr.Number(0, label=i18n("nodes"), precision=0, minimum=0, maximum=127)
            penalty = gr.Number(1, label=i18n("penalty"), minimum=0.05, step=0.05)
    return lanes, precision, numerics, nodes, penalty


def _charts() -> tuple[gr.Plot, gr.Plot]:
    """The charts; the styles hide their row while they are empty.

    They are always mounted: a plot that is given its value as its row becomes visible may lose it.
    """
    with gr.Row(elem_classes="ssd-charts"):
        latency = gr.Plot(label=i18n("latency"), elem_classes="ssd-plot", min_width=300)
        acceptance = gr.Plot(label=i18n("acceptance"), elem_classes="ssd-plot", min_width=300)
    return latency, acceptance


def _theme() -> gr.themes.Base:
    theme: gr.themes.Base = gr.themes.Default(
        primary_hue="zinc",
        secondary_hue="zinc",
        neutral_hue="zinc",
        font=(gr.themes.LocalFont("IBM Plex Sans", weights=_WEIGHTS), "system-ui", "sans-serif"),
        font_mono=(gr.themes.LocalFont("IBM Plex Mono", weights=_WEIGHTS), "monospace"),
    ).set(
        button_primary_background_fill="*neutral_900",
        button_primary_background_fill_hover="*neutral_700",
        button_primary_background_fill_dark="*neutral_100",
        button_primary_background_fill_hover_dark="*neutral_300",
        button_primary_text_color_dark="*neutral_900",
        slider_color="*neutral_700",
        slider_color_dark="*neutral_300",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
    )
    return theme


def launch_settings() -> Mapping[str, Any]:
    """What `launch` is given besides its address: looks, words, and what is switched off."""
    return {
        "theme": _theme(),
        "css_paths": [CSS],
        "i18n": i18n,
        "show_error": False,
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "max_file_size": "2mb",
        "footer_links": ["api", "settings"],
        "quiet": True,
    }
