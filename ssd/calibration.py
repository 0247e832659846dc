"""From what a draft and an N-gram say of guesses to how often they are right, on held-out text."""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Uniform = TypeVar("Uniform", float, NDArray[np.float64])
_LEAST_GUMBEL, _MOST_GUMBEL, _PER_UNIT = -4, 14, 16  # noise in cells of a sixteenth


@dataclass(frozen=True)
class CalibrationTable:
    """How often a draft's guess was right at one temperature, 0 for greedy.

    `chances[r][b]`: of the guess of rank `r` (0 is the best) whose share lay in bucket `b`. Bucket
    `b` reaches from `edges[b - 1]` (included; 0 for the first) to below `edges[b]` (1 for the
    last). Greedy, a guess's share is the draft's softmax chance of it, and ranks are by that; when
    sampling, it is its weight in the softmax of score / temperature + noise over the draft's best
    scores (`ssd.guesses.NOISY_SCORES`, or top-k where that is less), and ranks are by perturbed
    score. In a row chances never fall.
    """

    temperature: float
    edges: tuple[float, ...]
    chances: tuple[tuple[float, ...], ...]

    @cached_property
    def _chances(self) -> NDArray[np.float32]:
        return np.asarray(self.chances, dtype=np.float32)

    def of(self, shares: NDArray[np.floating]) -> NDArray[np.floating]:
        """The chance of each of `shares`, `[..., K]` best first."""
        ranks = np.minimum(np.arange(shares.shape[-1]), len(self._chances) - 1)
        return self._chances[ranks, np.searchsorted(self.edges, shares, side="right")]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.edges) + 1 for row in self.chances) or not self.chances:
            raise ValueError(
                f"each rank of a calibration must have {len(self.edges) + 1} chances, got "
                f"{[len(row) for row in self.chances]}"
            )


@dataclass(frozen=True)
class NGramTable:
    """What the chance that the N-gram gives to an id is worth at one temperature, not greedy.

    An N-gram gives the same chance at places that only look alike to it: at some the target is sure
    of the id, at others it is sure of another. `laws[b]`: the target's own chances of the ids whose
    chance lay in bucket `b` (`edges` as in `CalibrationTable`), as quantiles of equal weight.
    """

    temperature: float
    edges: tuple[float, ...]
    laws: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if len(self.laws) != len(self.edges) + 1 or not all(self.laws):
            raise ValueError(
                f"an N-gram's calibration must have {len(self.edges) + 1} laws, got "
                f"{[len(law) for law in self.laws]}"
            )

    @cached_property
    def _cells(self) -> list[list[float]]:
        """The chance to win by bucket and cell of the noise."""
        count = (_MOST_GUMBEL - _LEAST_GUMBEL) * _PER_UNIT
        gumbels = _LEAST_GUMBEL + (np.arange(count) + 0.5) / _PER_UNIT
        uniforms = np.exp(-np.exp(-gumbels))
        none = np.zeros(count)
        return [
            (sum((wins(chance, uniforms) for chance in law), none) / len(law)).tolist()
            for law in self.laws
        ]

    def given(self, chance: float, uniform: float) -> float:
        """The chance that an id is the target's, the N-gram giving it `chance`, its noise known."""
        gumbel = -math.log(-math.log(uniform))
        row = self._cells[bisect_right(self.edges, chance)]
        cell = int((gumbel - _LEAST_GUMBEL) * _PER_UNIT)
        return row[min(max(cell, 0), len(row) - 1)]


Table = TypeVar("Table", CalibrationTable, NGramTable)


def wins(chance: float, uniform: Uniform) -> Uniform:
    """P(the target, which gives an id `chance`, settles on it), the id's noise known.

    Of the other ids only their mass 1 - p is known; the best of them, perturbed, is a Gumbel
    variable around log(1 - p). So P(log p + g beats it) = exp(-(1 - p) / p * exp(-g)), which is
    u^((1 - p) / p) for g = -log(-log u).
    """
    return uniform * 0.0 if chance <= 0 else uniform ** ((1 - chance) / chance)


@dataclass(frozen=True)
class Calibration:
    """From a draft's shares, and an N-gram's chances under noise, to chances.

    `tables`, `ngram`: in the card of a draft `calibration`, a list of `{"temperature": 0.0,
    "edges": [...], "chances": [[...], ...]}`, and `ngram_calibration`, one with `laws` for
    `chances`. Measured on text held out, teacher-forced. There is no table by depth: given that a
    path has settled, the next place is one like any other, so the chance of a path is the product
    along it.
    """

    tables: tuple[CalibrationTable, ...] = ()
    ngram: tuple[NGramTable, ...] = ()

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Calibration:
        """The calibration of a card; without tables where it has none."""
        return cls(
            tuple(
                CalibrationTable(each["temperature"], tuple(each["edges"]), _rows(each["chances"]))
                for each in card.get("calibration", ())
            ),
            tuple(
                NGramTable(each["temperature"], tuple(each["edges"]), _rows(each["laws"]))
                for each in card.get("ngram_calibration", ())
            ),
        )

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        """What a card holds."""
        return {
            "calibration": [asdict(table) for table in self.tables],
            "ngram_calibration": [asdict(table) for table in self.ngram],
        }

    @property
    def digest(self) -> str:
        """A short hash of all tables."""
        text = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def chances(self, temperature: float, shares: NDArray[np.floating]) -> NDArray[np.floating]:
        """The chance that each guess is right, in the shape of `shares`, `[..., K]` best first.

        Greedy has a table of its own; of the others the one of the nearest temperature speaks.
        Ranks beyond a table are those of its last. Without tables shares are taken as they are.
        """
        is_greedy = temperature == 0
        tables = [table for table in self.tables if (table.temperature == 0) == is_greedy]
        if not tables:
            return shares
        return _nearest(tables, temperature).of(shares)

    def given_noise(self, temperature: float, chance: float, uniform: float) -> float:
        """The chance that an id settles to which the N-gram gives `chance`, its noise known.

        The table of the nearest temperature speaks; without one the N-gram is taken at its word.
        """
        if not self.ngram:
            return wins(chance, uniform)
        return _nearest(self.ngram, temperature).given(chance, uniform)


def _nearest(tables: Sequence[Table], temperature: float) -> Table:
    return min(tables, key=lambda table: abs(table.temperature - temperature))


def _rows(values: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in values)


UNCALIBRATED = Calibration()
"""Takes shares for chances."""
