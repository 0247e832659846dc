"""Below the tabs: the link to these settings, the exports, and the import of a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from compare.page.labels import i18n
from compare.page.replay_page import replay_page
from compare.page.share_words import SHARE
from compare.page.view import component

_SCRIPTS = ("tokens.js", "link.js", "export.js")
_LARGEST = 2**53 - 1


@dataclass(frozen=True)
class ShareBar:
    """`upload`: a record file; `prompts`: which of its prompts is shown."""

    upload: gr.UploadButton
    prompts: gr.Dropdown


def share_bar(controls: Mapping[str, Component], tabs: Mapping[str, gr.Tab]) -> ShareBar:
    """The bar, made where it stands, its link following `controls` and `tabs` in the browser."""
    constants = {
        "CONTROLS": [_control(name, each) for name, each in controls.items()],
        "REPLAY_PAGE": replay_page(),
    }
    link = component("link", _SCRIPTS, SHARE, constants)
    with gr.Row(elem_classes="ssd-import"):
        upload = gr.UploadButton(
            i18n("import"),
            file_types=[".jsonl"],
            size="sm",
            variant="secondary",
            elem_id="ssd-import",
            scale=0,
            min_width=220,
        )
        prompts = gr.Dropdown(
            [], label=i18n("import_prompt"), visible=False, elem_id="ssd-import-prompt"
        )
    every = list(controls.values())
    link.apply(
        None, every, every, js="(...now) => window.ssdLab.link.wanted(now)", show_progress="hidden"
    )
    gr.on(
        [each.change for each in every],  # type: ignore[attr-defined]
        None,
        every,
        None,
        js="(...now) => { window.ssdLab?.link?.changed(now); }",
        show_progress="hidden",
    )
    for name, tab in tabs.items():
        tab.select(None, js=f"() => {{ window.ssdLab?.link?.turned('{name}'); }}")
    return ShareBar(upload, prompts)


def _control(name: str, control: Any) -> dict[str, Any]:
    """What the browser has to know of a control to read its value from a link."""
    found: dict[str, Any] = {"name": name, "value": control.value}
    match control:
        case gr.CheckboxGroup():
            return {**found, "kind": "list", "choices": [value for _, value in control.choices]}
        case gr.Dropdown() | gr.Radio():
            return {**found, "kind": "choice", "choices": [value for _, value in control.choices]}
        case gr.Checkbox():
            return {**found, "kind": "flag"}
        case gr.Slider() | gr.Number():
            least = 0 if control.minimum is None else control.minimum
            most = _LARGEST if control.maximum is None else control.maximum
            return {**found, "kind": "number", "minimum": least, "maximum": most}
    return {**found, "kind": "text"}
