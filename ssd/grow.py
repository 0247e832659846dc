"""Best-first growth of a tree, and how many of its nodes are worth their price."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ssd.cost import PassCosts
from ssd.tree import NO_PARENT, Origin, TokenTree

Path = tuple[int, ...]

BEST_CHILD = 0.95  # no guess is surer than this, so a node's children are bounded by it
_ROUNDING = 1 + 1e-9  # of sums of chances


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
    return list(_best_first(guesses, limits))


def _best_first(guesses: Guesses, limits: Limits) -> Iterator[Candidate]:
    """The paths one by one; the children of one are looked at when the next one is asked for."""
    heap: list[tuple[float, Path, int, Origin]] = []

    def consider(path: Path, number: int, probability: float) -> None:
        if len(path) < limits.max_depth:
            for guess in guesses(path):
                chance = probability * min(guess.probability, BEST_CHILD)
                if chance >= limits.least:
                    heapq.heappush(heap, (-chance, (*path, guess.token), number, guess.origin))

    consider((), NO_PARENT, 1.0)
    for number in range(limits.num_nodes):
        if not heap:
            return
        chance, path, parent, origin = heapq.heappop(heap)
        yield Candidate(path, parent, -chance, origin)
        consider(path, number, -chance)


def as_tree(root: int, candidates: Sequence[Candidate]) -> TokenTree:
    """The candidates below `root`."""
    return TokenTree(
        tokens=(root, *(candidate.path[-1] for candidate in candidates)),
        parents=(NO_PARENT, *(candidate.parent + 1 for candidate in candidates)),
        origins=("target", *(candidate.origin for candidate in candidates)),
    )


@dataclass(frozen=True)
class Priced:
    """The candidates of the tree that is worth its price, and the tokens a second it may settle."""

    candidates: list[Candidate]
    tokens_per_second: float


def grow_priced(guesses: Guesses, limits: Limits, costs: PassCosts, spent_s: float) -> Priced:
    """The beginning of what `grow` gives that settles the most tokens per second.

    `costs`: of the target's passes; `spent_s`: seconds of this round that are already spent.
    Growth ends where no larger tree could do better. Twin: `tests/reference/growth.py`.
    """
    grown: list[Candidate] = []
    best_size, best_rate = 0, 1.0 / (costs.at(1) + spent_s)
    expected = 1.0
    for size, candidate in enumerate(_best_first(guesses, limits), start=1):
        grown.append(candidate)
        chance = candidate.probability
        expected += chance
        rate = expected / (costs.at(size + 1) + spent_s)
        if rate > best_rate:
            best_size, best_rate = size, rate
        # None that follows is likelier. Between two measured widths hope and seconds are lines:
        # their ratio is greatest at an end.
        ends = costs.ends(size + 2, limits.num_nodes + 1)
        hopes = (
            (expected + (width - size - 1) * chance) / (costs.at(width) + spent_s) for width in ends
        )
        if not any(hope * _ROUNDING > best_rate for hope in hopes):
            break
    return Priced(grown[:best_size], best_rate)
