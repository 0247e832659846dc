"""From scores to guesses: what a row of the draft's logits expects, and what the N-gram adds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd import noise
from ssd.calibration import Calibration
from ssd.grow import Guess
from ssd.request import Request

# Of a mixture of both stages' guesses: what the draft loses where the N-gram is sure, what the
# N-gram's chance counts, and what it counts that both guess the same. Fits held-out text best;
# at most an eighth more than one in all.
_DRAFT_LOSES, _NGRAM_SHARE, _AGREEMENT = 0.75, 0.55, 0.3
NOISY_SCORES = 64  # of a row that are perturbed; the noise rarely lifts a lower one


@dataclass(frozen=True)
class RowReader:
    """Reads a draft's logits as guesses, `num_guesses` a row, with their calibrated chances.

    `head_ids`: what the columns speak of where they are not all ids.
    """

    num_guesses: int
    calibration: Calibration
    head_ids: NDArray[np.int64] | None

    def greedy(self, rows: Tensor) -> list[list[Guess]]:
        """The likeliest next tokens of each of `rows`, `[T, V]`, best first."""
        rows = rows.float()
        top = torch.topk(rows, self.num_guesses)
        shares = torch.exp(top.values - torch.logsumexp(rows, dim=-1, keepdim=True))
        return self._guesses(self._ids(top.indices.cpu().numpy()), shares.cpu().numpy(), 0.0)

    def noisy(self, rows: Tensor, positions: Sequence[int], request: Request) -> list[list[Guess]]:
        """The likeliest outcomes under the noise that the target will use at `positions`."""
        sampling = request.sampling
        num_scores = min(NOISY_SCORES, sampling.top_k or NOISY_SCORES, rows.shape[1])
        top = torch.topk(rows, num_scores)
        scores = top.values.float().cpu().numpy() / np.float32(sampling.temperature)
        ids = self._ids(top.indices.cpu().numpy())
        for row, position in enumerate(positions):
            scores[row] += noise.gumbel(request.seed, position, ids[row])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        best = np.argsort(-weights, axis=1, kind="stable")[:, : self.num_guesses]
        shares = np.take_along_axis(weights, best, axis=1) / weights.sum(axis=1, keepdims=True)
        return self._guesses(np.take_along_axis(ids, best, axis=1), shares, sampling.temperature)

    def _guesses(
        self, ids: NDArray[np.int64], shares: NDArray[np.float32], temperature: float
    ) -> list[list[Guess]]:
        chances = self.calibration.chances(temperature, shares).tolist()
        return [
            [Guess(token, chance, "draft") for token, chance in zip(*row, strict=True)]
            for row in zip(ids.tolist(), chances, strict=True)
        ]

    def _ids(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        return columns if self.head_ids is None else self.head_ids[columns]


def merged(drafted: list[Guess] | None, foreseen: list[Guess]) -> list[Guess]:
    """One list of both stages' guesses: a mixture, the N-gram's share growing with its confidence.

    A token that both guess is the N-gram's: it spoke first.
    """
    if drafted is None or not foreseen:
        return foreseen if drafted is None else drafted
    confidence = min(1.0, sum(guess.probability for guess in foreseen))
    own = {guess.token: guess.probability for guess in drafted}
    share = 1 - _DRAFT_LOSES * confidence
    chances = {token: share * chance for token, chance in own.items()}
    for guess in foreseen:
        both = math.sqrt(guess.probability * own.get(guess.token, 0.0))
        added = _NGRAM_SHARE * guess.probability + _AGREEMENT * both
        chances[guess.token] = chances.get(guess.token, 0.0) + added
    by_ngram = {guess.token for guess in foreseen}
    ranked = sorted(chances.items(), key=lambda item: (-item[1], item[0]))
    return [Guess(t, p, "ngram" if t in by_ngram else "draft") for t, p in ranked]
