"""The race view: one custom component that draws the stream of a job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from compare.page import words

WEB = Path(__file__).parent / "web"
CSS = WEB / "page.css"
_SCRIPTS = ("dom.js", "card.js", "lane.js", "board.js", "replay.js", "race.js")

from gradio.events import Dependency

class RaceView(gr.HTML):
    """A component whose value is the stream of `compare.page.stream`.

    Its template is static and its script makes text nodes only: whatever a model or a visitor wrote
    is never HTML, and never reaches a template.
    """

    def __init__(self, methods: Sequence[str]) -> None:
        super().__init__(
            html_template='<div class="ssd-race" role="group"></div>',
            js_on_load=_script(methods),
            apply_default_css=False,
            elem_id="ssd-race",
        )

    def get_block_name(self) -> str:
        return "html"

    def preprocess(self, payload: str | None) -> str | None:
        """Nothing: what a browser sends for this component is not read."""
        return None

    def postprocess(self, value: str | None) -> str | None:
        """The stream as it is; it is data, not HTML."""
        return value

    def api_info(self) -> dict[str, Any]:
        return {"type": "string"}
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component

def _script(methods: Sequence[str]) -> str:
    """The scripts in one scope, with the dictionary before them."""
    dictionary = {name: _race_words(name) for name in ("en", "zh-CN")}
    data = f"const WORDS = {json.dumps(dictionary)};\n"
    data += f"const DEFAULT_METHODS = {json.dumps(list(methods))};\n"
    return data + "\n".join((WEB / name).read_text("utf-8") for name in _SCRIPTS)

def _race_words(language: words.Language) -> dict[str, str]:
    methods = {f"method_{name}": pair for name, pair in words.METHODS.items()}
    return words.dictionary({**words.RACE, **methods}, language)
