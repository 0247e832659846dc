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


class NumberField(gr.Number):
    """A field for a number. Its bounds are the browser's: what lies outside, the job refuses.

    Gradio's own refusal names no control and is English only.
    """

    is_template = True  # in the browser it is a Number

    def preprocess(self, payload: float | None) -> float | None:
        """What was written, as it is."""
        return payload


def whole_field(
    key: str,
    value: int,
    elem_id: str,
    *,
    minimum: int = 0,
    maximum: int | None = None,
    min_width: int = 160,
) -> NumberField:
    """A field for a whole number; `key`: its label's."""
    return NumberField(
        value,
        label=i18n(key),
        precision=0,
        minimum=minimum,
        maximum=maximum,
        min_width=min_width,
        elem_id=elem_id,
    )
