"""How far a draft's scores and the context's matches can be trusted, from held-out text.

Teacher-forced: after every id of a held-out answer, what would the target choose, greedily or under
fresh noise, and what did the draft's scores, perturbed alike, and the context's matches say?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd import noise
from ssd.calibration import Calibration, CalibrationTable
from ssd.guesses import NOISY_SCORES
from ssd.model import Pass
from ssd.models.transformer import Transformer
from ssd.ngram import LONGEST_MATCH, ContextMatches

_TOP_K = 50  # ids that the target may choose when sampling
_NUM_RANKS = 4
EDGES = (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
MIDDLES = tuple((low + high) / 2 for low, high in pairwise((0.0, *EDGES, 1.0)))  # of buckets
_PRIOR_WEIGHT = 4.0

Document = tuple[Sequence[int], int]


def document_rows(model: Transformer, ids: Sequence[int]) -> Tensor:
    """Logits after every id of a document, `[T, V]`."""
    cache, chunks = model.new_cache(), []
    for start in range(0, len(ids), model.max_width):
        part = torch.tensor(ids[start : start + model.max_width])
        count = len(part)
        mask = torch.ones(count, count, dtype=torch.bool).tril()
        rows = Pass(part, torch.arange(start, start + count), start, start, mask)
        chunks.append(model.forward(rows, cache, count).cpu())
    return torch.cat(chunks)


@dataclass(frozen=True)
class Places:
    """The places before the ids of answers: what the two models say there.

    `best`, `best_ids`: the target's `[P, 50]` likeliest logits and ids, best first; `scores`,
    `ids`: the draft's `[P, 64]`; `position`, `document`: where each place is, `[P]`.
    """

    best: NDArray[np.float32]
    best_ids: NDArray[np.int64]
    scores: NDArray[np.float32]
    ids: NDArray[np.int64]
    log_mass: NDArray[np.float32]
    position: NDArray[np.int64]
    document: NDArray[np.int64]

    @classmethod
    def of(cls, target: Transformer, draft: Transformer, documents: Sequence[Document]) -> Places:
        """All places of the answers of `documents`."""
        found = [
            _places(target, draft, number, document) for number, document in enumerate(documents)
        ]
        columns = [np.concatenate([places[i] for places in found]) for i in range(7)]
        return cls(*columns)

    @property
    def greedy_ids(self) -> NDArray[np.int64]:
        """The target's greedy choices, `[P]`."""
        return self.best_ids[:, 0]

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Where the draft's first guess is the target's greedy choice, `[P]`."""
        hits: NDArray[np.bool_] = self.ids[:, 0] == self.greedy_ids
        return hits

    @property
    def agreement(self) -> float:
        """How often the draft's first guess is the target's greedy choice."""
        return float(self.hits.mean())

    def greedy_shares(self) -> NDArray[np.float32]:
        """The draft's chances of its best ids, `[P, ranks]`."""
        shares: NDArray[np.float32] = np.exp(self.scores[:, :_NUM_RANKS] - self.log_mass[:, None])
        return shares

    def perturbed(self, temperature: float) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The draft's scores under each place's own noise, `[P, 64]`, and the target's choices."""
        scores, choices = np.empty_like(self.scores), np.empty(len(self.best), dtype=np.int64)
        scale = np.float32(temperature)
        for place, (document, position) in enumerate(
            zip(self.document.tolist(), self.position.tolist(), strict=True)
        ):
            ids, best_ids = self.ids[place], self.best_ids[place]
            scores[place] = self.scores[place] / scale + noise.gumbel(document, position, ids)
            noisy = self.best[place] / scale + noise.gumbel(document, position, best_ids)
            choices[place] = best_ids[int(np.argmax(noisy))]
        return scores, choices


def _places(
    target: Transformer, draft: Transformer, number: int, document: Document
) -> tuple[NDArray[np.generic], ...]:
    ids, num_prompt = document
    wanted = document_rows(target, ids)[num_prompt - 1 : -1].float()
    guessed = document_rows(draft, ids)[num_prompt - 1 : -1].float()
    best = torch.topk(wanted, min(_TOP_K, wanted.shape[1]))
    top = torch.topk(guessed, min(NOISY_SCORES, guessed.shape[1]))
    columns = draft.ids_of(top.indices)
    log_mass = torch.logsumexp(guessed, dim=1)
    positions = np.arange(num_prompt, len(ids))
    tensors = (best.values, best.indices, top.values, columns, log_mass)
    return (*(t.numpy() for t in tensors), positions, np.full(len(positions), number))


def noisy_hits(places: Places, temperature: float = 1.0) -> NDArray[np.bool_]:
    """Where the draft's best perturbed score is the target's noisy choice, top-k 50, `[P]`."""
    perturbed, choices = places.perturbed(temperature)
    first = np.take_along_axis(places.ids, perturbed.argmax(1)[:, None], axis=1)[:, 0]
    hits: NDArray[np.bool_] = first == choices
    return hits


def calibration(places: Places, temperatures: Sequence[float]) -> Calibration:
    """How often the draft's guess of each rank was right, by its share; one table a temperature."""
    tables = []
    for temperature in temperatures:
        if temperature == 0:
            shares, ids, choices = places.greedy_shares(), places.ids, places.greedy_ids
        else:
            perturbed, choices = places.perturbed(temperature)
            order = np.argsort(-perturbed, axis=1, kind="stable")[:, :_NUM_RANKS]
            weights = np.exp(perturbed - perturbed.max(1, keepdims=True))
            weights /= weights.sum(1, keepdims=True)
            shares = np.take_along_axis(weights, order, axis=1)
            ids = np.take_along_axis(places.ids, order, axis=1)
        is_right = ids[:, :_NUM_RANKS] == choices[:, None]
        chances = tuple(_rank_chances(shares[:, r], is_right[:, r]) for r in range(_NUM_RANKS))
        tables.append(CalibrationTable(float(temperature), EDGES, chances))
    return Calibration(tuple(tables))


def _rank_chances(shares: NDArray[np.float32], is_right: NDArray[np.bool_]) -> tuple[float, ...]:
    """How often a guess was right in each bucket of its share; never falling as the share grows.

    Few places are helped by the belief that shares are chances, weighing four places.
    """
    bucket = np.searchsorted(EDGES, shares, side="right")
    count = np.bincount(bucket, minlength=len(EDGES) + 1).astype(np.float64)
    hits = np.bincount(bucket, weights=is_right, minlength=len(EDGES) + 1)
    weight = count + _PRIOR_WEIGHT
    rising = _rising((hits + _PRIOR_WEIGHT * np.array(MIDDLES)) / weight, weight)
    return tuple(round(chance, 4) for chance in rising)


def _rising(values: NDArray[np.float64], weights: NDArray[np.float64]) -> list[float]:
    """The never falling sequence nearest to `values` (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, mass, size = pools.pop()
            total = mass + pool[1]
            pool = ((mean * mass + pool[0] * pool[1]) / total, total, size + pool[2])
        pools.append(pool)
    return [mean for mean, _, size in pools for _ in range(size)]


def match_hits(documents: Sequence[Document]) -> list[float]:
    """How often the continuation of the context's longest match was right, by its length."""
    tried, hit = np.zeros(LONGEST_MATCH + 1), np.zeros(LONGEST_MATCH + 1)
    for ids, num_prompt in documents:
        matches = ContextMatches()
        matches.update(ids[:num_prompt])
        for position in range(num_prompt, len(ids)):
            length, token = matches.longest()
            tried[length] += 1
            hit[length] += token == ids[position]
            matches.update(ids[: position + 1])
    share: list[float] = (hit / np.maximum(tried, 1)).tolist()
    return share
