"""Best-first growth of a tree, and how many of its nodes are worth their price."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ssd.tree import NO_PARENT, Origin, TokenTree

Path = tuple[int, ...]

BEST_CHILD = 0.95  # no guess is surer than this, so a node's children are bounded by it


@dataclass(frozen=True)
class Guess:
    """A candidate next token, how likely the target settles on it, and who says so."""

    token: int
    probability: float
    origin: Origin


Guesses = Callable[[Path], Sequence[Guess]]


@dataclass(frozen=True)
class Candidate:
    """A node of a grown tree: its tokens from below the root, and the chance that all settle.

    `parent`: the number of its parent among the candidates, -1 for the root.
    """

    path: Path
    parent: int
    probability: float
    origin: Origin


@dataclass(frozen=True)
class Limits:
    """How large a tree may be, root not counted; paths less likely than `least` are left out."""

    num_nodes: int
    max_depth: int
    least: float = 0.0


def grow(guesses: Guesses, limits: Limits) -> list[Candidate]:
    """The likeliest paths, best first: every beginning of the list is the best tree of its size.

    With true probabilities no tree of as many nodes settles more tokens (OPT-Tree, arXiv
    2406.17276). `guesses(path)` are the children to consider after `path`.
    """
    grown: list[Candidate] = []
    heap: list[tuple[float, Path, int, Origin]] = []

    def consider(path: Path, number: int, probability: float) -> None:
        if len(path) < limits.max_depth:
            for guess in guesses(path):
                chance = probability * min(guess.probability, BEST_CHILD)
                if chance >= limits.least:
                    heapq.heappush(heap, (-chance, (*path, guess.token), number, guess.origin))

    consider((), NO_PARENT, 1.0)
    while heap and len(grown) < limits.num_nodes:
        chance, path, parent, origin = heapq.heappop(heap)
        grown.append(Candidate(path, parent, -chance, origin))
        consider(path, len(grown) - 1, -chance)
    return grown


def as_tree(root: int, candidates: Sequence[Candidate]) -> TokenTree:
    """The candidates below `root`."""
    return TokenTree(
        tokens=(root, *(candidate.path[-1] for candidate in candidates)),
        parents=(NO_PARENT, *(candidate.parent + 1 for candidate in candidates)),
        origins=("target", *(candidate.origin for candidate in candidates)),
    )


@dataclass(frozen=True)
class Price:
    """The best size of a tree: how many candidates to keep, and the tokens per second expected."""

    num_nodes: int
    tokens_per_second: float


def best_size(
    candidates: Sequence[Candidate], seconds: Callable[[int], float], spent_s: float
) -> Price:
    """The number of candidates that settles the most tokens per second.

    `seconds(n)`: the target's pass over `n` nodes, root included; `spent_s`: seconds of this round
    that are already spent.
    """
    best = Price(0, 1.0 / (seconds(1) + spent_s))
    expected = 1.0
    for number, candidate in enumerate(candidates, start=1):
        expected += candidate.probability
        rate = expected / (seconds(number + 1) + spent_s)
        if rate > best.tokens_per_second:
            best = Price(number, rate)
    return best
