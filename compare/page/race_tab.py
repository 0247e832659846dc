"""The Race tab: the prompt, the settings and the lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from compare.job import Limits
from compare.lab import Lab
from compare.naming import DEFAULT_METHODS
from compare.page import words
from compare.page.controls import DEFAULT_TOKENS, method_boxes, number_field, numerics_radio
from compare.page.labels import i18n
from compare.page.view import race_view
from ssd.models.load import PRECISIONS


@dataclass(frozen=True)
class Race:
    """The tab's components. `controls`: in the order of `callbacks.Fields`, by a link's names."""

    controls: Mapping[str, Component]
    chips: Sequence[gr.Button]
    run: gr.Button
    stop: gr.Button
    view: gr.HTML


def race_tab(lab: Lab) -> Race:
    """The tab's components, made where they stand."""
    with gr.Row(equal_height=False):
        with gr.Column(scale=3, min_width=300):
            prompt = _prompt()
            chips = _chips()
            run, stop = _buttons()
        with gr.Column(scale=2, min_width=300):
            settings = _settings(lab.limits)
    controls = {"prompt": prompt, **settings, **_advanced(lab)}
    changed = [controls[name] for name in ("prompt", *words.CHIP_SETTINGS)]
    for key, chip in chips.items():
        chip.click(_setter(key), outputs=changed, queue=False, api_visibility="private")
    return Race(controls, tuple(chips.values()), run, stop, race_view(DEFAULT_METHODS))


def _prompt() -> gr.Textbox:
    return gr.Textbox(
        value=words.PROMPTS["chip_code"],
        label=i18n("prompt"),
        placeholder=i18n("prompt_hint"),
        lines=4,
        max_lines=12,
        elem_id="ssd-prompt",
    )


def _chips() -> dict[str, gr.Button]:
    with gr.Row(elem_classes="ssd-chips"):
        return {
            key: gr.Button(i18n(key), size="sm", variant="secondary", elem_id=f"ssd-{key}")
            for key in words.PROMPTS
        }


def _buttons() -> tuple[gr.Button, gr.Button]:
    with gr.Row():
        run = gr.Button(i18n("run"), variant="primary", scale=3, min_width=120, elem_id="ssd-run")
        stop = gr.Button(
            i18n("stop"), variant="secondary", interactive=False, scale=1, elem_id="ssd-stop"
        )
    return run, stop


def _setter(key: str) -> Callable[[], list[Any]]:
    """What a chip puts into the prompt and the settings that go with it."""
    values = [words.PROMPTS[key], *(words.chip_settings(key).values())]
    return lambda: values


def _settings(limits: Limits) -> dict[str, Component]:
    """Pair, new tokens, temperature, top-k, top-p and seed."""
    pair = gr.Dropdown(
        list(limits.pairs),
        value=limits.pairs[0],
        label=i18n("pair"),
        elem_id="ssd-pair",
        interactive=True,
    )
    tokens = gr.Slider(
        1,
        limits.max_new_tokens,
        min(DEFAULT_TOKENS, limits.max_new_tokens),
        step=1,
        label=i18n("new_tokens"),
        elem_id="ssd-new-tokens",
    )
    temperature = gr.Slider(
        0, 2, 0, step=0.05, label=i18n("temperature"), elem_id="ssd-temperature"
    )
    with gr.Row(elem_classes="ssd-numbers"):
        top_k = number_field("top_k", 0, "ssd-top-k", min_width=90)
        top_p = number_field("top_p", 1, "ssd-top-p", step=0.05, min_width=90)
        seed = number_field("seed", 0, "ssd-seed", min_width=90)
    return {
        "pair": pair,
        "tokens": tokens,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }


def _advanced(lab: Lab) -> dict[str, Component]:
    """Lanes, precision, numerics, nodes, chain, repetition penalty, repeats and the N-gram."""
    with gr.Accordion(i18n("advanced"), open=False, elem_id="ssd-advanced"):
        lanes = method_boxes("lanes", lab.methods, "ssd-lanes")
        with gr.Row(elem_classes="ssd-numbers"):
            precision = gr.Dropdown(
                list(PRECISIONS), value="auto", label=i18n("precision"), elem_id="ssd-precision"
            )
            numerics = numerics_radio("ssd-numerics")
            nodes = number_field("nodes", 0, "ssd-nodes")
            chain = number_field("chain", 0, "ssd-chain")
        with gr.Row(elem_classes="ssd-numbers"):
            penalty = number_field("penalty", 1, "ssd-penalty", step=0.05)
            repeats = number_field("repeats", 1, "ssd-repeats")
            ngram = gr.Checkbox(True, label=i18n("ngram"), elem_id="ssd-use-ngram")
    return {
        "methods": lanes,
        "precision": precision,
        "numerics": numerics,
        "nodes": nodes,
        "chain": chain,
        "penalty": penalty,
        "repeats": repeats,
        "ngram": ngram,
    }
