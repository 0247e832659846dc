"""HTML built from values: whatever is not markup by type is escaped."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Markup:
    """An element with its children. A trailing underscore in an attribute's name is left out."""
    told = "".join(f' {key.rstrip("_")}="{escaped(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{told}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Markup:
    """The children one after another, those that are no markup escaped."""
    return Markup("".join(c if isinstance(c, Markup) else escaped(c) for c in children))


def escaped(text: str) -> Markup:
    """The text for an element or an attribute. What HTML or UTF-8 cannot hold becomes U+FFFD."""
    return Markup(html.escape(visible(text)))


def visible(text: str) -> str:
    """The text with U+FFFD for what hides or turns other text, or cannot be written in UTF-8.

    These are control characters other than line breaks, half characters, and the marks that
    embed, override or isolate a direction of writing.
    """
    return _HIDDEN.sub("\ufffd", text)


_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def data_block(identifier: str, data: Any) -> Markup:
    """A script element that holds JSON, to be read and never run."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{identifier}">{text}</script>')
