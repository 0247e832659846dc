"""The labels of Gradio's own components, in the languages of the page."""

from __future__ import annotations

from typing import Any

import gradio as gr

from compare.page import words

i18n: Any = gr.I18n(en=words.labels("en"), **{"zh-CN": words.labels("zh-CN")})
"""A label by its key. Typed loosely: not every component says that it takes one."""
