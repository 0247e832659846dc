"""A run as the page shows it: what every tab draws from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gradio.components import Component

from compare.page.words import Language
from compare.record_file import encoded, header
from compare.seal import sealed

Source = Literal["live", "recorded", "imported"]
Update = Any


@dataclass(frozen=True)
class Shown:
    """One finished prompt's runs. In the browser `window.ssdLab.shown` holds the same.

    `environment`, `records`, `verdicts`: the lines of its record file, as `compare run` writes
    them; `summary`: as `compare summary --json` prints it; `words`: what the ids in it say
    (`compare.record_words`); `prompt`: the prompt's text, empty where nobody knows it; `name`: what
    a recorded run is called; `is_edited`: it came from a file whose seals are broken.
    """

    environment: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]
    verdicts: Sequence[Mapping[str, Any]]
    summary: Mapping[str, Any]
    words: Mapping[int, str]
    prompt: str = ""
    source: Source = "live"
    name: str = ""
    is_edited: bool = False

    @property
    def lines(self) -> str:
        """The record file: JSON Lines, the environment first.

        Sealed as `compare run` does, but for what was edited: that must not pass for whole.
        """
        parts = (header(self.environment), *self.records, *self.verdicts)
        whole = parts if self.is_edited else map(sealed, parts)
        return b"".join(map(encoded, whole)).decode()

    def message(self) -> dict[str, Any]:
        """What the browser gets: the record file as text, so that an export is it to the byte."""
        return {
            "type": "shown",
            "source": self.source,
            "name": self.name,
            "prompt": self.prompt,
            "lines": self.lines,
            "summary": self.summary,
            "words": self.words,
        }


@dataclass(frozen=True)
class Follower:
    """Components of a tab that are drawn anew, on the server, when another run is shown.

    `draw` gives one value or update for each of `outputs`.
    """

    outputs: tuple[Component, ...]
    draw: Callable[[Shown, Language], Sequence[Update]]
