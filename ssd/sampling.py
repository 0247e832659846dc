"""From logits to the token: processors and the keyed choice, one rule for every temperature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd import noise

GREEDY_BELOW = 1e-5
_NEGATIVE_INFINITY = float("-inf")
_HEAD = 64  # scores perturbed first, to bound what any other score would need
_GROUPS = 1024  # whose maxima say how high a score must at least be to be among the highest
_NUCLEUS_GUESS = 1024  # scores sorted first in the hope that the nucleus lies among them


@dataclass(frozen=True)
class Sampling:
    """How scores are made of logits, in transformers' order: penalty, temperature, top-k, top-p.

    A temperature below 1e-5 is greedy; `top_k` 0 and `top_p` 1 are off.
    Raises ValueError where a value is out of its range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be a number of 0 or more, got {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top-k must be 0 (off) or more, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top-p must lie above 0 and at most at 1, got {self.top_p}")
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0):
            raise ValueError(
                f"repetition penalty must be a number above 0, got {self.repetition_penalty}"
            )

    @property
    def is_greedy(self) -> bool:
        """Whether the choice is the arg-max, without noise."""
        return self.temperature < GREEDY_BELOW

    def scores(self, logits: Tensor, history: Sequence[int]) -> NDArray[np.float32]:
        """The processed scores, `[V]` float32, `-inf` where top-k or top-p removes an id.

        `logits`: `[V]`. `history`: the ids before the chosen one, the node's own path included.
        """
        scores: NDArray[np.float32] = logits.float().cpu().numpy()
        if self.repetition_penalty != 1.0:
            scores = _penalised(scores, history, np.float32(self.repetition_penalty))
        if self.is_greedy:
            return scores
        scores = scores / np.float32(self.temperature)
        if 0 < self.top_k < len(scores):
            scores = _highest(scores, self.top_k)
        if self.top_p < 1.0:
            scores = _nucleus(scores, self.top_p)
        return scores

    def choice(self, scores: NDArray[np.float32], position: int, seed: int) -> int:
        """The id at `position`: arg-max of score + G(seed, position, id), the lowest id on a tie.

        Raises FloatingPointError where the scores hold a NaN.
        """
        best = int(np.argmax(scores))  # NumPy's arg-max is the first maximum, or the first NaN
        if math.isnan(scores[best]):
            raise FloatingPointError(f"the model's logits hold a NaN at position {position}")
        return best if self.is_greedy else _perturbed_argmax(scores, position, seed)

    def probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """The law of the choice over seeds: the softmax of the scores, or the arg-max's one."""
        if self.is_greedy:
            law = np.zeros(len(scores))
            law[int(np.argmax(scores))] = 1.0
        else:
            law = np.exp(scores.astype(np.float64) - float(scores.max()))
            law /= law.sum()
        return law


def _penalised(
    scores: NDArray[np.float32], history: Sequence[int], penalty: np.float32
) -> NDArray[np.float32]:
    """Scores of ids seen before, moved away from them (CTRL, arXiv 1909.05858, as transformers)."""
    seen = np.unique(np.asarray(history, dtype=np.int64))
    scores = scores.copy()
    picked = scores[seen]
    scores[seen] = np.where(picked < 0, picked * penalty, picked / penalty)
    return scores


def _highest(scores: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Scores with only the `count` highest left and what ties with the last of them, NaNs too.

    As many groups of scores as there are to be left have a maximum each: none below those is.
    """
    floor = np.float32(_NEGATIVE_INFINITY)
    if count <= _GROUPS <= len(scores):
        maxima = scores[: len(scores) // _GROUPS * _GROUPS].reshape(-1, _GROUPS).max(axis=0)
        floor = np.partition(maxima, -count)[-count]
    ids = np.flatnonzero(~(scores < floor))
    picked = scores[ids]
    kept = ids[~(picked < np.partition(picked, -count)[-count])]
    highest = np.full_like(scores, _NEGATIVE_INFINITY)
    highest[kept] = scores[kept]
    return highest


def _nucleus(scores: NDArray[np.float32], top_p: float) -> NDArray[np.float32]:
    """Scores with only the likeliest ids left whose likelier ones hold less than `top_p`.

    Sorted by score, then id; sums in float64.
    """
    peak = float(scores.max())
    total = float(np.exp(scores.astype(np.float64) - peak).sum())
    for guess in (_NUCLEUS_GUESS, len(scores)):
        guess = min(guess, len(scores))
        floor = np.partition(scores, -guess)[-guess]
        ids = np.flatnonzero(scores >= floor)
        ids = ids[np.argsort(-scores[ids], kind="stable")]
        mass = np.cumsum(np.exp(scores[ids].astype(np.float64) - peak)) / total
        before = np.concatenate(([0.0], mass[:-1]))
        if mass[-1] >= top_p or guess == len(scores):
            kept = ids[before < top_p]
            break
    nucleus = np.full_like(scores, _NEGATIVE_INFINITY)
    nucleus[kept] = scores[kept]
    return nucleus


def _perturbed_argmax(scores: NDArray[np.float32], position: int, seed: int) -> int:
    """Arg-max of score + noise, without the logarithms of ids that cannot win.

    The best perturbed score among the highest scores tells how much noise any other id would need;
    the random bits alone say which ids have that much. Twin: `tests/reference/sampling.py`.
    """
    ids = np.flatnonzero(scores > _NEGATIVE_INFINITY)
    if len(ids) > 4 * _HEAD:
        scored = torch.from_numpy(scores)
        head = torch.topk(scored, _HEAD, sorted=False).indices.numpy()
        best = float((scores[head] + noise.gumbel(seed, position, head)).max())
        rounding = 1e-3 + 2 * float(np.spacing(np.float32(abs(best))))  # of sums in float32
        needed = best - float(scores[head].min()) - rounding
        enough = math.exp(-math.exp(-needed)) if needed > -5 else 0.0
        random_bits = noise.bits(seed, position, ids)
        lucky = ids[random_bits >= np.uint64(max(0, int(enough * (1 << 53)) - (1 << 24)))]
        ids = np.union1d(head, lucky)
    perturbed = scores[ids] + noise.gumbel(seed, position, ids)
    return int(ids[int(np.argmax(perturbed))])
