"""Processors and the keyed choice, over every id, in plain loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ssd import noise

_OUT = float("-inf")


def naive_scores(
    logits: Sequence[float],
    history: Sequence[int],
    temperature: float,
    top_k: int = 0,
    top_p: float = 1.0,
    penalty: float = 1.0,
) -> NDArray[np.float32]:
    """Scores in transformers' order: penalty, temperature, top-k, top-p; each step in float32."""
    scores = [np.float32(logit) for logit in logits]
    if penalty != 1.0:
        for token in set(history):
            factor = np.float32(penalty)
            score = scores[token]
            scores[token] = score * factor if score < 0 else score / factor
    if temperature < 1e-5:
        return np.array(scores, dtype=np.float32)
    scores = [score / np.float32(temperature) for score in scores]
    ranked = sorted(range(len(scores)), key=lambda token: (-scores[token], token))
    if 0 < top_k < len(scores):
        kth = scores[ranked[top_k - 1]]
        scores = [score if score >= kth else np.float32(_OUT) for score in scores]
    if top_p < 1.0:
        weights = [math.exp(float(score) - float(max(scores))) for score in scores]
        total, before = sum(weights), 0.0
        for token in ranked:
            if before / total >= top_p:
                scores[token] = np.float32(_OUT)
            before += weights[token]
    return np.array(scores, dtype=np.float32)


def naive_choice(scores: NDArray[np.float32], position: int, seed: int, *, greedy: bool) -> int:
    """The first maximum of score + noise, the noise of every id computed."""
    best, best_value = -1, _OUT
    gumbel = noise.gumbel(seed, position, np.arange(len(scores)))
    for token, score in enumerate(scores):
        value = score if greedy else score + gumbel[token]
        if best < 0 or value > best_value:
            best, best_value = token, value
    return best
