"""A run as the page shows it: what every tab draws from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gradio.components import Component

from compare.page.words import Language
from compare.record_file import encoded, header
from compare.seal import Seals, bare, broken, sealed

Source = Literal["live", "recorded", "imported"]
Update = Any


@dataclass(frozen=True)
class Shown:
    """One finished prompt's runs. In the browser `window.ssdLab.shown` holds the same.

    `environment`, `records`, `verdicts`: the lines of its record file, as `compare run` writes
    them; `summary`: as `compare summary --json` prints it; `words`: what the ids in it say
    (`compare.record_words`); `prompt`: the prompt's text, empty where nobody knows it; `name`: what
    a recorded run is called; `seals`: those of the file that it came from.
    """

    environment: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]
    verdicts: Sequence[Mapping[str, Any]]
    summary: Mapping[str, Any]
    words: Mapping[int, str]
    prompt: str = ""
    source: Source = "live"
    name: str = ""
    seals: Seals = "whole"

    @property
    def lines(self) -> str:
        """The record file: JSON Lines, the environment first.

        Sealed as `compare run` does, unless it came from a file that was not: what was edited, or
        may have been, must not pass for whole.
        """
        first, rest = header(self.environment), (*self.records, *self.verdicts)
        match self.seals:
            case "whole":
                parts = [sealed(first), *map(sealed, rest)]
            case "absent":
                parts = [bare(first), *map(bare, rest)]
            case "broken":
                parts = [broken(first), *map(bare, rest)]
        return b"".join(map(encoded, parts)).decode()

    def message(self) -> dict[str, Any]:
        """What the browser gets: the record file as text, so that an export is it to the byte."""
        return {
            "type": "shown",
            "source": self.source,
            "seals": self.seals,
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
