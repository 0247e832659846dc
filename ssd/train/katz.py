"""A Katz-backoff trigram from text (S. Katz, IEEE TASSP 35(3), 1987), as a table of guesses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssd.ngram import KatzTable

MOST_DISCOUNTED = 5  # counts above are trusted as they are
_BITS = 20  # per id in a packed n-gram
_FEWEST = 2  # contexts seen less often are left to the shorter ones


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
    """N-grams of one length: the context before the last id (packed), the last id, how often."""

    contexts: NDArray[np.int64]
    last: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Iterable[Sequence[int]], length: int) -> Counts:
        """The n-grams of `documents`; none reaches over the end of one."""
        packed = [np.zeros(0, dtype=np.int64)]
        for document in documents:
            ids = np.asarray(document, dtype=np.int64)
            if len(ids) >= length:
                gram = np.zeros(len(ids) - length + 1, dtype=np.int64)
                for offset in range(length):
                    gram = (gram << _BITS) | ids[offset : len(ids) - length + 1 + offset]
                packed.append(gram)
        grams, counts = np.unique(np.concatenate(packed), return_counts=True)
        return cls(grams >> _BITS, grams & ((1 << _BITS) - 1), counts.astype(np.int64))

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


def backed_off(seen: Row, lower: Row) -> Row:
    """P(last | context): P* where the n-gram was seen, alpha * P(last | shorter context) elsewhere.

    alpha hands the mass that discounting freed to the ids not seen here, in the proportions of the
    shorter context.
    """
    freed = 1.0 - sum(seen.values())
    unseen = 1.0 - sum(lower.get(token, 0.0) for token in seen)
    if freed <= 0 or unseen <= 0:
        return dict(seen)
    alpha = freed / unseen
    return {**{t: alpha * p for t, p in lower.items() if t not in seen}, **seen}


def katz_table(documents: Sequence[Sequence[int]], num_guesses: int = 4) -> KatzTable:
    """The likeliest continuations of every single id and pair seen at least twice."""
    bigrams = _rows(Counts.of(documents, 2))
    trigrams = _rows(Counts.of(documents, 3))
    best: dict[int, list[tuple[int, float]]] = {}
    shortlist = {second: _top(row, 4 * num_guesses) for second, row in bigrams.items()}
    for second, ranked in shortlist.items():
        best[KatzTable.key(-1, second)] = ranked[:num_guesses]
    mask = (1 << _BITS) - 1
    for context, seen in trigrams.items():
        first, second = context >> _BITS, context & mask
        row = backed_off(seen, dict(shortlist.get(second, ())))
        best[KatzTable.key(first, second)] = _top(row, num_guesses)
    keys = np.array(sorted(best), dtype=np.uint64)
    tokens = np.zeros((len(keys), num_guesses), dtype=np.uint16)
    chances = np.zeros((len(keys), num_guesses), dtype=np.float16)
    for at, key in enumerate(keys.tolist()):
        for rank, (token, chance) in enumerate(best[key]):
            tokens[at, rank], chances[at, rank] = token, chance
    return KatzTable(keys, tokens, chances)


def _top(row: Row, most: int) -> list[tuple[int, float]]:
    return sorted(row.items(), key=lambda item: (-item[1], item[0]))[:most]
