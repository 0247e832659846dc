"""The labels of Gradio's own components, in the languages of the page."""

from __future__ import annotations

import gradio as gr

from compare.page import words

i18n = gr.I18n(en=words.labels("en"), **{"zh-CN": words.labels("zh-CN")})
