"""How far a draft's proposals have held in the answer at hand: what its next pass may bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ssd.grow import Path

_WEIGHT = 3.0  # expected tokens that the measured average counts for
_MEMORY = 0.97  # of what was seen, a round: a draft that was given up gets another try


@dataclass(frozen=True)
class Expectation:
    """A row of the draft that was read: its first proposal, what that gains where it is right (less
    where the N-gram proposes it too), and the gain to be expected by the average of held-out text.
    """

    token: int
    worth: float
    gain: float


class DraftTrust:
    """The ratio of tokens that first proposals gained to those expected of them, lately.

    A chain that loses in one text, whatever it is worth on average, is given up after some rounds
    and tried again later.
    """

    def __init__(self) -> None:
        self._gained = self._expected = _WEIGHT
        self._at = 0
        self._read: Mapping[Path, Expectation] = {}

    @property
    def factor(self) -> float:
        """What an expected gain is to be multiplied by: 1 at the start of an answer, never more."""
        return min(1.0, self._gained / self._expected)

    def note(self, context: Sequence[int], read: Mapping[Path, Expectation]) -> None:
        """Remember which rows were read after `context`, by path, until the next `learn`."""
        self._at, self._read = len(context), read

    def learn(self, context: Sequence[int]) -> None:
        """Compare the rows that were read with what has become of the context since."""
        settled = tuple(context[self._at :])
        gained = expected = 0.0
        for depth in range(len(settled)):
            found = self._read.get(settled[:depth])
            if found is not None:
                expected += found.gain
                gained += found.worth if found.token == settled[depth] else 0.0
        self._gained = _WEIGHT + (self._gained - _WEIGHT) * _MEMORY + gained
        self._expected = _WEIGHT + (self._expected - _WEIGHT) * _MEMORY + expected
        self._read = {}
