"""The chat template: messages in, text out, with the places where a message's own words stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

Message = dict[str, str]


class ChatTemplate:
    """A model's own template in the environment that transformers gives it.

    Raises ValueError for a template that cannot be read.
    """

    def __init__(self, source: str, names: Mapping[str, str]) -> None:
        self.source = source
        self._names = names
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateError as error:
            raise ValueError(f"expected a Jinja chat template, got one with {error}") from error

    def render(self, messages: list[Message]) -> str:
        """The text up to where the model's answer begins."""
        try:
            return self._template.render(
                messages=messages,
                tools=None,
                documents=None,
                add_generation_prompt=True,
                **self._names,
            )
        except jinja2.TemplateError as error:
            raise ValueError(
                f"the model's chat template refuses these messages ({error}): "
                "leave the system message out, or use the raw prompt"
            ) from error

    def render_marked(self, messages: list[Message]) -> tuple[str, dict[str, str]]:
        """The same text with a mark for the words of each message, and mark -> words.

        White space around a message stays outside its mark, so that a template that trims it does.
        Raises ValueError where the template changes the words: then there is no telling its own
        control tokens from those in the words.
        """
        salt = "mark"
        while any(salt in text for text in (self.source, *(m["content"] for m in messages))):
            salt += "k"
        marks: dict[str, str] = {}
        marked: list[Message] = []
        for number, message in enumerate(messages):
            words = message["content"].strip()
            mark = f"{salt}{number}s"
            if words:
                marks[mark] = words
                message = {**message, "content": message["content"].replace(words, mark, 1)}
            marked.append(message)
        text = self.render(marked)
        if any(mark not in text for mark in marks):
            raise ValueError(
                "expected a prompt without control tokens, because this model's chat template "
                "rewrites the message, got one with: leave them out, or use the raw prompt"
            )
        return text, marks


class _Generation(jinja2.ext.Extension):
    """The block {% generation %}, which marks the model's own words for training: its body."""

    tags = {"generation"}  # noqa: RUF012 (so declared by jinja2)

    def parse(self, parser: Any) -> Any:
        """The nodes of the block's body."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


def _refuse(message: str) -> None:
    raise jinja2.TemplateError(message)


def _to_json(value: Any, **options: Any) -> str:
    """JSON for a prompt: unlike Jinja's own filter, it does not escape for HTML."""
    return json.dumps(value, **{"ensure_ascii": False, **options})
