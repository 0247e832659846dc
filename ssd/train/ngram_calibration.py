"""What an N-gram's chances are worth when sampling, from held-out text.

Teacher-forced, as `ssd.train.calibrate`: after every id of a held-out answer, which ids does the
N-gram name with which chance, and how likely does the target find them?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssd import noise
from ssd.calibration import Calibration, NGramTable
from ssd.cost import Hope
from ssd.ngram import KatzTable, NGram
from ssd.request import Request
from ssd.train.calibrate import EDGES, MIDDLES, Document, Places

_NUM_QUANTILES = 16
_FEWEST = 2 * _NUM_QUANTILES  # ids in a bucket; with fewer the N-gram is taken at its word


@dataclass(frozen=True)
class Named:
    """The ids that the N-gram names: at which place, which, with which chance; `[M]` each."""

    places: NDArray[np.int64]
    ids: NDArray[np.int64]
    chances: NDArray[np.float64]
    num_places: int

    @classmethod
    def of(cls, documents: Sequence[Document], table: KatzTable | None) -> Named:
        """Those before every id of the answers of `documents`."""
        found: list[tuple[int, int, float]] = []
        place = 0
        for ids, num_prompt in documents:
            ngram, request = NGram(table), Request(tuple(ids[:num_prompt]))
            for position in range(num_prompt, len(ids)):
                ngram.turn_to(ids[:position], request)
                found += [(place, each.token, each.probability) for each in ngram.guesses(())]
                place += 1
        columns = zip(*found, strict=True) if found else ((), (), ())
        places, tokens, chances = (np.array(column) for column in columns)
        return cls(
            places.astype(np.int64), tokens.astype(np.int64), chances.astype(np.float64), place
        )

    def left(self, chances: NDArray[np.float64]) -> NDArray[np.float64]:
        """What `chances` of the ids named leave at each place to others, `[P]`, at least 0."""
        given = np.bincount(self.places, weights=chances, minlength=self.num_places)
        left: NDArray[np.float64] = np.maximum(0.0, 1.0 - given)
        return left


def ngram_tables(
    places: Places, named: Named, temperatures: Sequence[float]
) -> tuple[NGramTable, ...]:
    """A table for each of `temperatures`, none of them 0. `places`: those of `named`."""
    buckets = np.searchsorted(EDGES, named.chances, side="right")
    tables = []
    for temperature in temperatures:
        own = _own_chances(places, named, temperature)
        laws = tuple(_law(own[buckets == b], middle) for b, middle in enumerate(MIDDLES))
        tables.append(NGramTable(float(temperature), EDGES, laws))
    return tuple(tables)


def left_to_the_draft(
    places: Places, named: Named, calibration: Calibration, noisy_hits: NDArray[np.bool_]
) -> Hope:
    """How often the draft's first guess is right, each place weighing what the N-gram leaves there.

    `noisy_hits`: where it is right at temperature 1, under each place's own noise.
    """
    position, document = places.position[named.places], places.document[named.places]
    columns = (document.tolist(), position.tolist(), named.ids.tolist(), named.chances.tolist())
    given = [
        calibration.given_noise(1.0, chance, noise.uniform_of(number, at, token))
        for number, at, token, chance in zip(*columns, strict=True)
    ]
    return Hope(
        _weighted(places.hits, named.left(named.chances)),
        _weighted(noisy_hits, named.left(np.array(given))),
    )


def _weighted(hits: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    return float((hits * weights).sum() / max(weights.sum(), 1e-9))


def _own_chances(places: Places, named: Named, temperature: float) -> NDArray[np.float64]:
    """The target's chances of the ids named, top-k 50."""
    best = places.best.astype(np.float64)
    weights = np.exp((best - best[:, :1]) / temperature)
    shares = weights / weights.sum(axis=1, keepdims=True)
    is_named = places.best_ids[named.places] == named.ids[:, None]
    chances: NDArray[np.float64] = (shares[named.places] * is_named).sum(axis=1)
    return chances


def _law(own: NDArray[np.float64], middle: float) -> tuple[float, ...]:
    """Quantiles of the target's chances in a bucket, `middle` its middle."""
    if len(own) < _FEWEST:
        return (middle,)
    levels = (np.arange(_NUM_QUANTILES) + 0.5) / _NUM_QUANTILES
    return tuple(round(float(each), 4) for each in np.quantile(own, levels))
