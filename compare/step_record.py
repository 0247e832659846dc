"""One round of a run, and its JSON (DESIGN 8).

A step of ours has, beside the contract's fields, `entropy`: for each of its tokens the entropy in
nats of the target's law there, the softmax of the scores that the token was chosen from (null where
a logit is not finite). Where it was asked for it has `details` too: see `compare.record_details`.
Records without them are read as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compare.record_details import (
    StepDetails,
    check,
    entropies,
    entropies_json,
    items,
    number,
    whole,
)

MAX_ITEMS = 1 << 24
_ROUNDING_S = 1e-3  # what is left of a round's time may come out below none
ORIGINS = ("ngram", "draft", "target")
STAGES = ("ngram", "draft", "target", "other")

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Seconds:
    """Seconds by stage. `decode` is the sum of all but the prefill."""

    prefill: float = 0.0
    ngram: float = 0.0
    draft: float = 0.0
    target: float = 0.0
    other: float = 0.0

    @property
    def decode(self) -> float:
        """From the end of the prefill to the last token."""
        return self.ngram + self.draft + self.target + self.other

    @property
    def total(self) -> float:
        """Prefill and decode."""
        return self.prefill + self.decode

    def __add__(self, more: Seconds) -> Seconds:
        return Seconds(*(getattr(self, name) + getattr(more, name) for name in SECONDS))


SECONDS = ("prefill", *STAGES)
_DERIVED = ("depth", "draft_n", "draft_n_accepted")


@dataclass(frozen=True)
class TreeRecord:
    """A token tree, root included: `[N]` each."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    origins: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def depths(self) -> tuple[int, ...]:
        """For each node, its distance from the root."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return tuple(depths)

    @classmethod
    def from_json(cls, data: Json) -> TreeRecord:
        """The tree that a record file has. Raises ValueError, KeyError or TypeError."""
        tree = cls(ints(data["tokens"]), ints(data["parents"]), _origins(data["origins"]))
        check(len(tree) == len(tree.parents) == len(tree.origins) > 0, "a tree of uneven lists")
        check(
            tree.parents[0] == -1 and all(0 <= p < n for n, p in enumerate(tree.parents) if n),
            "a tree whose nodes do not follow their parents",
        )
        return tree


@dataclass(frozen=True)
class StepRecord:
    """One round. `path`: the accepted nodes whose tokens stood; `time`: the decode clock then.

    `entropy`: one a token, None where nobody saw the logits. `told`: what a file said of the depth,
    `draft_n` and `draft_n_accepted`, which follow from the tree and the path.
    """

    tokens: tuple[int, ...]
    origins: tuple[str, ...]
    tree: TreeRecord
    path: tuple[int, ...]
    draft_passes: int
    time: float
    seconds: Seconds
    entropy: tuple[float | None, ...] | None = None
    details: StepDetails | None = None
    told: Json | None = field(default=None, compare=False, repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether the target's own token, the round's last, stood: no stop cut the round."""
        return len(self.tokens) == len(self.path) + 1

    @property
    def derived(self) -> dict[str, int]:
        """What follows from the tree and the path, under the names of the record file."""
        return {
            "depth": max(self.tree.depths),
            "draft_n": len(self.tree) - 1,
            "draft_n_accepted": len(self.path),
        }

    def to_json(self) -> dict[str, Any]:
        """The step as the record file has it."""
        data = {
            "tokens": self.tokens,
            "origins": self.origins,
            "tree": vars(self.tree),
            "path": self.path,
            "depth": self.derived["depth"],
            "draft_passes": self.draft_passes,
            "time": round(self.time, 9),
            "seconds": {name: round(getattr(self.seconds, name), 9) for name in STAGES},
            "draft_n": self.derived["draft_n"],
            "draft_n_accepted": self.derived["draft_n_accepted"],
        }
        if self.entropy is not None:
            data["entropy"] = entropies_json(self.entropy)
        if self.details is not None:
            data["details"] = self.details.to_json()
        return data

    @classmethod
    def from_json(cls, data: Json) -> StepRecord:
        """The step that `to_json` wrote. Raises ValueError, KeyError or TypeError."""
        tree = TreeRecord.from_json(data["tree"])
        tokens, path = ints(data["tokens"]), ints(data["path"])
        check(all(0 < node < len(tree) for node in path), "a path outside its tree")
        entropy = data.get("entropy")
        return cls(
            tokens=tokens,
            origins=_origins(data["origins"]),
            tree=tree,
            path=path,
            draft_passes=whole(data["draft_passes"]),
            time=number(data["time"]),
            seconds=Seconds(**{name: duration(data["seconds"][name]) for name in STAGES}),
            entropy=None if entropy is None else entropies(entropy, len(tokens)),
            details=StepDetails.from_json(data.get("details"), len(tree)),
            told={name: data[name] for name in _DERIVED if name in data},
        )


def duration(value: object) -> float:
    """Seconds, as a record may hold them. Raises ValueError."""
    seconds = number(value)
    check(seconds >= -_ROUNDING_S, f"the duration {seconds}")
    return seconds


def ints(values: Any) -> tuple[int, ...]:
    """Whole numbers. Raises ValueError or TypeError."""
    return tuple(whole(value) for value in items(values, MAX_ITEMS, "ids"))


def _origins(values: Any) -> tuple[str, ...]:
    for value in items(values, MAX_ITEMS, "origins"):
        check(value in ORIGINS, f"the origin {value!r:.40}")
    return tuple(values)
