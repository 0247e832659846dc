"""The race view: one custom component that draws the stream of a job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import gradio as gr

from compare.page import words

WEB = Path(__file__).parent / "web"
CSS = WEB / "page.css"
_SCRIPTS = ("dom.js", "card.js", "lane.js", "board.js", "replay.js", "race.js")


def race_view(methods: Sequence[str]) -> gr.HTML:
    """A component whose value is the stream of `compare.page.stream`.

    Its template is static and its script makes text nodes only: whatever a model or a visitor wrote
    is never HTML, and never reaches a template. Not a subclass of `gr.HTML`: for one of those
    Gradio writes a stub file beside the source at import.
    """
    return gr.HTML(
        html_template='<div class="ssd-race" role="group"></div>',
        js_on_load=_script(methods),
        apply_default_css=False,
        elem_id="ssd-race",
    )


def _script(methods: Sequence[str]) -> str:
    """The scripts in one scope, with the dictionary before them."""
    dictionary = {name: _race_words(name) for name in ("en", "zh-CN")}
    data = f"const WORDS = {json.dumps(dictionary)};\n"
    data += f"const DEFAULT_METHODS = {json.dumps(list(methods))};\n"
    return data + "\n".join((WEB / name).read_text("utf-8") for name in _SCRIPTS)


def _race_words(language: words.Language) -> dict[str, str]:
    methods = {f"method_{name}": pair for name, pair in words.METHODS.items()}
    return words.dictionary({**words.RACE, **methods}, language)
