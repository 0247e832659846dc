"""When a run ends, and what of its text is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ssd.events import FinishReason


class TextStream(Protocol):
    """Incremental decoding of ids (`ssd.text`)."""

    def push(self, ids: Sequence[int]) -> str:
        """The text that `ids` completed."""

    def flush(self) -> str:
        """What is left, an incomplete character included."""


class VisibleText:
    """The shown text of a run: no end token, nothing from a stop string on.

    A partial match of a stop string is held back until it is decided.
    """

    def __init__(self, stream: TextStream, stop_ids: frozenset[int], strings: Sequence[str]):
        self._stream = stream
        self._stop_ids = stop_ids
        self._strings = tuple(strings)
        self._held = ""
        self.is_closed = False

    def push(self, ids: Sequence[int]) -> str:
        """The newly visible text; closes at an end token or at a completed stop string."""
        shown = ""
        for token in ids:
            if self.is_closed:
                break
            if token in self._stop_ids:
                return shown + self.flush()
            shown += self._show(self._stream.push([token]))
        return shown

    def flush(self) -> str:
        """What was held back, at the end of the run; closes. Nothing where it is closed already."""
        if self.is_closed:
            return ""
        shown = self._show(self._stream.flush())
        shown += "" if self.is_closed else self._held
        self._held = ""
        self.is_closed = True
        return shown

    def _show(self, text: str) -> str:
        self._held += text
        starts = [at for s in self._strings if (at := self._held.find(s)) >= 0]
        if starts:
            shown, self._held, self.is_closed = self._held[: min(starts)], "", True
            return shown
        tail = max((_overlap(self._held, s) for s in self._strings), default=0)
        cut = len(self._held) - tail
        shown, self._held = self._held[:cut], self._held[cut:]
        return shown


def _overlap(text: str, string: str) -> int:
    """The length of the longest end of `text` that begins `string`."""
    longest = min(len(text), len(string) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(string[:n])), 0)


@dataclass(frozen=True)
class Stop:
    """When to end: at one of the `ids`, at a completed one of the `strings`, after so many tokens.

    `new_stream` makes the decoder that stop strings need. Raises ValueError for a bad limit.
    """

    max_new_tokens: int = 128
    ids: frozenset[int] = frozenset()
    strings: tuple[str, ...] = ()
    new_stream: Callable[[], TextStream] | None = None

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max new tokens must be 1 or more, got {self.max_new_tokens}")
        if "" in self.strings:
            raise ValueError("a stop string must have at least one character, got an empty one")
        if self.strings and self.new_stream is None:
            raise ValueError("stop strings need a text decoder, got none")


class StopCheck:
    """The state of a `Stop` in one run."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._num_tokens = 0
        self._text: VisibleText | None = None
        if stop.strings and stop.new_stream is not None:
            self._text = VisibleText(stop.new_stream(), frozenset(), stop.strings)

    @property
    def num_left(self) -> int:
        """How many tokens may still come."""
        return self._stop.max_new_tokens - self._num_tokens

    def cut(self, tokens: Sequence[int]) -> tuple[int, FinishReason | None]:
        """How many of the next `tokens` stand, and why the run ends there, if it does."""
        for count, token in enumerate(tokens, start=1):
            self._num_tokens += 1
            if self._text is not None:
                self._text.push([token])
            if token in self._stop.ids or (self._text is not None and self._text.is_closed):
                return count, "stop"
            if self.num_left == 0:
                return count, "length"
        return len(tokens), None
