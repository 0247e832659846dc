"""One token at a time from a function of the whole text: no cache, tree, pass or proposer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ssd.sampling import Sampling
from tests.reference.sampling import naive_choice, naive_scores


def naive_text(
    row: Callable[[Sequence[int]], Sequence[float]],
    prompt: Sequence[int],
    sampling: Sampling,
    seed: int,
    num_tokens: int,
) -> tuple[int, ...]:
    """The next `num_tokens` ids after `prompt`. `row(ids)`: the logits after `ids`."""
    ids = list(prompt)
    for _ in range(num_tokens):
        scores = naive_scores(
            np.asarray(row(ids), dtype=np.float32).tolist(),
            ids,
            sampling.temperature,
            sampling.top_k,
            sampling.top_p,
            sampling.repetition_penalty,
        )
        ids.append(naive_choice(scores, len(ids), seed, greedy=sampling.temperature < 1e-5))
    return tuple(ids[len(prompt) :])
