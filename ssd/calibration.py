"""From what a draft says of its guesses to how often they are right, measured on held-out text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
class Calibration:
    """From a draft's shares to chances: `calibration` in the card of a draft.

    In JSON a list of `{"temperature": 0.0, "edges": [...], "chances": [[...], ...]}`. Measured on
    text held out, teacher-forced. There is no table by depth: given that a path has settled, the
    next place is one like any other, so the chance of a path is the product along it.
    """

    tables: tuple[CalibrationTable, ...] = ()

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Calibration:
        """The calibration of a card; without tables where it has none."""
        return cls(
            tuple(
                CalibrationTable(
                    entry["temperature"],
                    tuple(entry["edges"]),
                    tuple(tuple(row) for row in entry["chances"]),
                )
                for entry in card.get("calibration", ())
            )
        )

    def as_json(self) -> list[dict[str, Any]]:
        """What a card holds."""
        return [asdict(table) for table in self.tables]

    def chances(self, temperature: float, shares: NDArray[np.floating]) -> NDArray[np.floating]:
        """The chance that each guess is right, in the shape of `shares`, `[..., K]` best first.

        Greedy has a table of its own; of the others the one of the nearest temperature speaks.
        Ranks beyond a table are those of its last. Without tables shares are taken as they are.
        """
        is_greedy = temperature == 0
        tables = [table for table in self.tables if (table.temperature == 0) == is_greedy]
        if not tables:
            return shares
        return min(tables, key=lambda table: abs(table.temperature - temperature)).of(shares)


UNCALIBRATED = Calibration()
"""Takes shares for chances."""
