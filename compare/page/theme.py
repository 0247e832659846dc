"""How the page looks, apart from its style sheets."""

from __future__ import annotations

import gradio as gr

_WEIGHTS = (400, 700)  # the bundled semibold files lack most letters


def theme() -> gr.themes.Base:
    """Gradio's default in grey, so that colour is left to the origins of tokens."""
    base: gr.themes.Base = gr.themes.Default(
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
    return base
