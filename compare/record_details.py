"""What a step's record may say beyond its tokens: both models' candidates, and the draft's passes.

The step view reads it. In JSON, beside the step's other fields (`N` nodes, root included):

    "details": {
        "target":  [N] lists of candidates: the target's, after each node
        "entropy": [N] the target's entropy there in nats, null where its row is not finite
        "draft":   [N] lists of candidates: the draft's, null where it did not read that row
        "inner":   the draft's passes of this round, in order:
                   {"wanted": [paths], "ahead": [paths]}
    }

A candidate is `[id, probability]`, when sampling `[id, probability, noise]`: the likeliest ids
under the processed scores, the likeliest first, and last the one that the noise picked where it is
not among them. Probabilities are a softmax of the processed scores; at temperature 0 of the logits
(after the repetition penalty, where there is one). A path is the ids below the root; the empty one
is the root's own row. `wanted` are the rows that growth asked for, `ahead` those that the same pass
read because the N-gram foresaw them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_CANDIDATES = 64
MAX_PASSES = 1024
MAX_PATHS = 1024
MAX_DEPTH = 1024
LARGEST = 1 << 63

Json = Mapping[str, Any]
Path = tuple[int, ...]


@dataclass(frozen=True)
class Candidate:
    """An id with its probability, and the noise added to its score; None at temperature 0."""

    token: int
    probability: float
    noise: float | None = None

    def to_json(self) -> list[int | float]:
        """The candidate as the record file has it, to six digits."""
        pair = [self.token, short(self.probability)]
        return pair if self.noise is None else [*pair, short(self.noise)]

    @classmethod
    def from_json(cls, data: Any) -> Candidate:
        """The candidate that `to_json` wrote. Raises ValueError or TypeError."""
        values = items(data, 3, "a candidate's numbers")
        check(len(values) >= 2, "a candidate without a probability")
        chance = number(values[1])
        check(0.0 <= chance <= 1.0, f"the probability {chance}")
        return cls(whole(values[0]), chance, number(values[2]) if len(values) == 3 else None)


Candidates = tuple[Candidate, ...]


@dataclass(frozen=True)
class InnerPass:
    """One pass of the draft: the paths that growth wanted, and those read ahead."""

    wanted: tuple[Path, ...]
    ahead: tuple[Path, ...] = ()

    @classmethod
    def from_json(cls, data: Json) -> InnerPass:
        """The pass that a record file has. Raises ValueError, KeyError or TypeError."""
        return cls(_paths(data["wanted"]), _paths(data["ahead"]))


@dataclass(frozen=True)
class StepDetails:
    """`target`, `entropy`, `draft`: `[N]`, as in the module's words."""

    target: tuple[Candidates, ...]
    entropy: tuple[float | None, ...]
    draft: tuple[Candidates | None, ...]
    inner: tuple[InnerPass, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The details as the record file has them."""
        return {
            "target": [[each.to_json() for each in row] for row in self.target],
            "entropy": entropies_json(self.entropy),
            "draft": [row and [each.to_json() for each in row] for row in self.draft],
            "inner": [vars(each) for each in self.inner],
        }

    @classmethod
    def from_json(cls, data: Any, num_nodes: int) -> StepDetails | None:
        """The details that `to_json` wrote; None where they are none that this version knows.

        Raises ValueError, KeyError or TypeError where they are known and wrong.
        """
        if not isinstance(data, Mapping) or not data.keys() >= _FIELDS:
            return None
        target = tuple(map(_candidates, items(data["target"], num_nodes, "nodes")))
        draft = tuple(
            None if row is None else _candidates(row)
            for row in items(data["draft"], num_nodes, "nodes")
        )
        entropy = entropies(data["entropy"], num_nodes)
        check(len(target) == len(draft) == num_nodes, "details of another number of nodes")
        inner = items(data["inner"], MAX_PASSES, "passes")
        return cls(target, entropy, draft, tuple(map(InnerPass.from_json, inner)))


_FIELDS = {"target", "entropy", "draft", "inner"}


def entropies(data: Any, count: int) -> tuple[float | None, ...]:
    """Exactly `count` entropies from a record file. Raises ValueError or TypeError."""
    values = tuple(
        None if value is None else number(value) for value in items(data, count, "entropies")
    )
    check(len(values) == count, f"{len(values)} entropies instead of {count}")
    check(all(value is None or value >= 0.0 for value in values), "an entropy below 0")
    return values


def entropies_json(values: tuple[float | None, ...]) -> list[float | None]:
    """Entropies as the record file has them, to six digits."""
    return [None if value is None else short(value) for value in values]


def _candidates(data: Any) -> Candidates:
    return tuple(map(Candidate.from_json, items(data, MAX_CANDIDATES, "candidates")))


def _paths(data: Any) -> tuple[Path, ...]:
    paths = items(data, MAX_PATHS, "paths")
    return tuple(tuple(map(whole, items(path, MAX_DEPTH, "ids of a path"))) for path in paths)


def short(value: float) -> float:
    """The number to six digits."""
    return float(f"{value:.6g}")


def check(is_good: bool, what: str) -> None:
    """Raises ValueError, naming what was found, where it is not good."""
    if not is_good:
        raise ValueError(f"{what} was found")


def items(values: Any, most: int, what: str) -> list[Any] | tuple[Any, ...]:
    """A list of at most `most` things. Raises TypeError or ValueError."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"a list of {what} was expected, got {values!r:.60}")
    check(len(values) <= most, f"a list of {len(values)} {what}, of at most {most},")
    return values


def whole(value: object) -> int:
    """A whole number of 64 bits. Raises TypeError or ValueError."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"a whole number was expected, got {value!r:.60}")
    check(-LARGEST <= value < LARGEST, "a whole number of more than 64 bits")
    return value


def number(value: object) -> float:
    """A finite number. Raises TypeError or ValueError."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"a number was expected, got {value!r:.60}")
    check(abs(value) < LARGEST and math.isfinite(value), f"the number {value!r:.40}")
    return float(value)
