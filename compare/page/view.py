"""Components of our own: static templates, and scripts that make text nodes only.

Whatever a model or a visitor wrote is never HTML and never reaches a template. Not subclasses of
`gr.HTML`: for one of those Gradio writes a stub file beside the source at import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from compare.lab_run import STEPPED
from compare.page import words
from compare.page.harmless import harmless_json
from compare.page.race_words import RACE
from compare.page.recordings import recordings
from compare.page.step_words import STEP

WEB = Path(__file__).parent / "web"
STYLES = tuple(sorted(WEB.glob("*.css")))
_COMMON = ("dom.js", "shared.js")
_LANES = ("tokens.js", "card.js", "lane.js", "board.js", "verdict.js", "replay.js")
_RACE = (*_LANES, "still.js", "race.js")
_STEP = ("tokens.js", "tree.js", "node.js", "step.js")


def component(
    name: str,
    scripts: Sequence[str],
    dictionary: Mapping[str, tuple[str, str]],
    constants: Mapping[str, Any] | None = None,
    value: str | None = None,
) -> gr.HTML:
    """A component drawn by `scripts` of the `web` folder, run in one scope.

    They find an empty `<div class="ssd-{name}">` in `element`; `say(key)` gives the words of
    `dictionary` in the page's language; `constants` are theirs as JSON by name. The helpers of
    `dom.js` and `shared.js` come before them. `value` is read with `props.value`.
    """
    return _view(name, script((*_COMMON, *scripts), dictionary, constants or {}), value)


def _view(name: str, code: str, value: str | None = None) -> gr.HTML:
    return gr.HTML(
        value=value,
        html_template=f'<div class="ssd-view ssd-{name}" role="group"></div>',
        js_on_load=code,
        apply_default_css=False,
        elem_id=f"ssd-{name}",
    )


def script(
    names: Sequence[str],
    dictionary: Mapping[str, tuple[str, str]],
    constants: Mapping[str, Any],
) -> str:
    """The files one after another, with the constants and the dictionary before them."""
    by_language = {name: words.dictionary(dict(dictionary), name) for name in words.LANGUAGES}
    data = {"WORDS": by_language, **constants}
    lines = [f"const {name} = {harmless_json(value)};" for name, value in data.items()]
    return "\n".join((*lines, *map(_source, names)))


@cache
def _source(name: str) -> str:
    """A file of the `web` folder, read once."""
    return (WEB / name).read_text("utf-8")


def race_view(methods: Sequence[str]) -> gr.HTML:
    """The lanes, whose value is a stream of `compare.page.stream`. Its event `recorded` names the
    recorded run that was chosen; the first one is in the page and is shown at once.
    """
    first = recordings()[0].message()
    return _view("race", race_script(methods, first, [shown.name for shown in recordings()]))


def race_script(
    methods: Sequence[str] = (),
    opening: Mapping[str, Any] | None = None,
    shelf: Sequence[str] = (),
) -> str:
    """The script of the race view, with empty lanes of `methods` or the run `opening` in it.

    `shelf`: the names of the recorded runs on offer.
    """
    constants = {"DEFAULT_METHODS": list(methods), "RECORDED": opening, "SHELF": list(shelf)}
    return script((*_COMMON, *_RACE), _RACE_WORDS, constants)


def step_view() -> gr.HTML:
    """One round at a time of the run that is shown."""
    return _view("step", step_script())


def step_script() -> str:
    """The script of the step view."""
    return script((*_COMMON, *_STEP), {**_RACE_WORDS, **STEP}, {"STEPPED": list(STEPPED)})


_RACE_WORDS = {**RACE, **words.METHOD_WORDS}
