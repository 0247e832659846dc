"""The controls that more than one tab has, each made where it stands."""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr

from compare.naming import DEFAULT_METHODS
from compare.page.labels import i18n

DEFAULT_TOKENS = 64


def numerics_radio(elem_id: str) -> gr.Radio:
    """Exact or fast numerics."""
    return gr.Radio(
        [(i18n(name), name) for name in ("exact", "fast")],
        value="exact",
        label=i18n("numerics"),
        elem_id=elem_id,
    )


def method_boxes(key: str, methods: Sequence[str], elem_id: str) -> gr.CheckboxGroup:
    """A box for each of `methods`, the default ones ticked; `key`: its label's."""
    return gr.CheckboxGroup(
        [(i18n(f"method_{name}"), name) for name in methods],
        value=[name for name in DEFAULT_METHODS if name in methods],
        label=i18n(key),
        elem_id=elem_id,
    )


def number_field(
    key: str, value: float, elem_id: str, *, step: float = 1, min_width: int = 160
) -> gr.Number:
    """A field for a number; `key`: its label's.

    It knows no bounds: what lies outside, the job refuses by name and in both languages, Gradio in
    English and without saying which.
    """
    return gr.Number(value, label=i18n(key), step=step, min_width=min_width, elem_id=elem_id)
