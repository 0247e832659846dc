"""A Katz back-off model of text (S. Katz, IEEE TASSP 35(3), 1987), as a table of guesses.

The paper has a trigram; one more id of context costs nothing when guessing and is right more often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ssd.ngram import KEY_BITS, LONGEST_CONTEXT, KatzTable

MOST_DISCOUNTED = 5  # counts above are trusted as they are
_FEWEST = 2  # contexts seen less often are left to the shorter ones
_TINY = 1e-9


def discounts(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The Good-Turing discount of each count 0 to 5, and 1 for 0: Katz's d_r with k = 5.

    d_r = (r* / r - (k + 1) n_{k+1} / n_1) / (1 - (k + 1) n_{k+1} / n_1) with
    r* = (r + 1) n_{r+1} / n_r, from the counts of counts n_r. Where too little text makes a d_r
    fall outside (0, 1], it is 1.
    """
    k = MOST_DISCOUNTED
    number = np.bincount(np.minimum(counts, k + 2), minlength=k + 3)[: k + 2].astype(np.float64)
    result = np.ones(k + 1)
    if number[1] == 0:
        return result
    tail = (k + 1) * number[k + 1] / number[1]
    for r in range(1, k + 1):
        if number[r] > 0 and tail < 1:
            d = ((r + 1) * number[r + 1] / (r * number[r]) - tail) / (1 - tail)
            result[r] = d if 0 < d <= 1 else 1.0
    return result


@dataclass(frozen=True)
class Counts:
    """N-grams of one length: the key of the context before the last id, the last id, how often.

    Sorted by context; keys as in `KatzTable.key`, 0 for no context.
    """

    contexts: NDArray[np.int64]
    last: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Iterable[Sequence[int]], length: int) -> Counts:
        """The n-grams of `documents`; none reaches over the end of one."""
        assert 1 <= length <= LONGEST_CONTEXT + 1, "the key of a context has room for three ids"
        contexts, last = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for document in documents:
            ids = np.asarray(document, dtype=np.int64)
            if len(ids) >= length:
                key = np.zeros(len(ids) - length + 1, dtype=np.int64)
                for offset in range(length - 1):
                    key = (key << KEY_BITS) + ids[offset : len(ids) - length + 1 + offset] + 1
                contexts.append(key)
                last.append(ids[length - 1 :])
        return cls._counted(np.concatenate(contexts), np.concatenate(last))

    @classmethod
    def _counted(cls, contexts: NDArray[np.int64], last: NDArray[np.int64]) -> Counts:
        order = np.lexsort((last, contexts))
        contexts, last = contexts[order], last[order]
        is_new = np.ones(len(last), dtype=bool)
        is_new[1:] = (contexts[1:] != contexts[:-1]) | (last[1:] != last[:-1])
        starts = np.flatnonzero(is_new)
        counts = np.diff(np.append(starts, len(last)))
        return cls(contexts[starts], last[starts], counts.astype(np.int64))

    def discounted(self) -> NDArray[np.float64]:
        """P*(last | context) of each n-gram: discounted count over the context's count."""
        factor = discounts(self.counts)
        share = factor[np.minimum(self.counts, MOST_DISCOUNTED)]
        share = np.where(self.counts > MOST_DISCOUNTED, 1.0, share) * self.counts
        return share / self.totals()

    def totals(self) -> NDArray[np.int64]:
        """For each n-gram, how often its context was seen."""
        _, inverse = np.unique(self.contexts, return_inverse=True)
        return np.bincount(inverse, weights=self.counts).astype(np.int64)[inverse]


Row = dict[int, float]


def _rows(counts: Counts) -> dict[int, Row]:
    """context -> {last: P*}, of contexts seen often enough."""
    rows: dict[int, Row] = defaultdict(dict)
    frequent = counts.totals() >= _FEWEST
    columns = (counts.contexts, counts.last, counts.discounted())
    for context, last, chance in zip(
        *(column[frequent].tolist() for column in columns), strict=True
    ):
        rows[context][last] = chance
    return rows


@dataclass(frozen=True)
class Law:
    """P(last | context) of one context: the likeliest ids that it speaks of, and of any id.

    `seen`: P* of the ids seen after the context. The mass that discounting freed goes to the ids
    not seen there, in the proportions of the shorter context: alpha times their chance.
    """

    seen: Row
    alpha: float
    lower: Law | None

    @classmethod
    def of(cls, seen: Row, lower: Law | None) -> Law:
        """Katz's back-off; `lower` None for the last one, which hands on nothing."""
        freed = max(0.0, 1.0 - sum(seen.values()))
        unseen = 0.0 if lower is None else 1.0 - sum(lower.chance(token) for token in seen)
        return cls(seen, freed / unseen if unseen > _TINY else 0.0, lower)

    def chance(self, token: int) -> float:
        """P(token | context)."""
        if token in self.seen:
            return self.seen[token]
        return 0.0 if self.lower is None else self.alpha * self.lower.chance(token)

    def best(self, most: int) -> list[tuple[int, float]]:
        """The `most` likeliest ids with their chances, best first."""
        return list(islice(self._ranked(), most))

    def _ranked(self) -> Iterator[tuple[int, float]]:
        if self.lower is None:
            return iter(self._own)
        handed = (
            (token, self.alpha * chance)
            for token, chance in self.lower._ranked()
            if token not in self.seen
        )
        return merge(self._own, handed, key=_best_first)

    @cached_property
    def _own(self) -> list[tuple[int, float]]:
        return sorted(self.seen.items(), key=_best_first)


def katz_table(
    documents: Sequence[Sequence[int]], num_guesses: int = 4, longest: int = LONGEST_CONTEXT
) -> KatzTable:
    """The likeliest continuations of every context of up to `longest` ids seen at least twice."""
    laws: dict[int, Law] = {0: _unigram(documents)}
    for length in range(1, longest + 1):
        shorter = (1 << KEY_BITS * (length - 1)) - 1
        rows = _rows(Counts.of(documents, length + 1))
        laws |= {context: Law.of(row, laws[context & shorter]) for context, row in rows.items()}
    del laws[0]
    best = {context: law.best(num_guesses) for context, law in laws.items()}
    keys = np.array(sorted(best), dtype=np.uint64)
    largest = max((token for ranked in best.values() for token, _ in ranked), default=0)
    tokens = np.zeros((len(keys), num_guesses), dtype=np.uint16 if largest < 1 << 16 else np.uint32)
    chances = np.zeros((len(keys), num_guesses), dtype=np.float16)
    for at, key in enumerate(keys.tolist()):
        for rank, (token, chance) in enumerate(best[key]):
            tokens[at, rank], chances[at, rank] = token, chance
    return KatzTable(keys, tokens, chances)


def _unigram(documents: Sequence[Sequence[int]]) -> Law:
    """How often each id occurs, over all that occur."""
    counts = Counts.of(documents, 1)
    total = int(counts.counts.sum())
    shares = zip(counts.last.tolist(), (counts.counts / max(1, total)).tolist(), strict=True)
    return Law(dict(shares), 0.0, None)


def _best_first(item: tuple[int, float]) -> tuple[float, int]:
    token, chance = item
    return -chance, token
