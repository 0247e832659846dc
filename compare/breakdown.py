"""What a table of medians hides: single prompts, looping answers, a noisy machine."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from compare.digest import Digest, Digests
from compare.naming import REFERENCE

GRAM = 4
LOOPING_BELOW = 0.5
NOISY_ABOVE = 0.1


def distinct_share(tokens: Sequence[int]) -> float:
    """The share of distinct ones among an answer's 4-grams; 1 where it is too short to have any."""
    grams = [tuple(tokens[at : at + GRAM]) for at in range(len(tokens) - GRAM + 1)]
    return len(set(grams)) / len(grams) if grams else 1.0


def answers(digests: Digests) -> dict[str, Digest]:
    """A run for each prompt that stands for its answer: the reference's, else the first there is.

    One whose target's entropy is known comes before one where it is not.
    """
    found: dict[str, Digest] = {}
    ranks: dict[str, tuple[bool, bool]] = {}
    for run in digests.runs.values():
        if not run.token_ids:
            continue
        rank = (run.key.method == REFERENCE, run.entropy is not None)
        if rank > ranks.get(run.key.prompt_id, (False, False)) or run.key.prompt_id not in found:
            found[run.key.prompt_id], ranks[run.key.prompt_id] = run, rank
    return found


def looping(stand_ins: Mapping[str, Digest]) -> tuple[str, ...]:
    """The prompts whose answer goes round in circles: less than half of its 4-grams are distinct.

    `stand_ins`: as from `answers`. Guessing such an answer is too easy, so it says little about a
    method.
    """
    return tuple(
        prompt for prompt, run in stand_ins.items() if distinct_share(run.token_ids) < LOOPING_BELOW
    )


def categories(digests: Digests) -> dict[str, frozenset[str]]:
    """The prompts of each category, in the order in which they first came."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for run in digests.runs.values():
        found[run.category][run.key.prompt_id] = None
    return {category: frozenset(prompts) for category, prompts in found.items()}


def per_prompt(
    stand_ins: Mapping[str, Digest], speedups: Mapping[str, float]
) -> list[dict[str, Any]]:
    """A row for each prompt of a method with a speed-up, the slowest first.

    `stand_ins`: as from `answers`. `entropy` is the mean of the target's over the answer, in nats.
    """
    rows = [
        {
            "prompt_id": prompt,
            "category": stand_ins[prompt].category,
            "tokens": len(stand_ins[prompt].token_ids),
            "speedup": speedup,
            "entropy": stand_ins[prompt].entropy,
            "distinct_4_grams": distinct_share(stand_ins[prompt].token_ids),
        }
        for prompt, speedup in speedups.items()
    ]
    return sorted(rows, key=lambda row: (row["speedup"], row["prompt_id"]))


def noise(digests: Digests) -> dict[str, Any]:
    """How far repeats of one run lie apart in time: `spread` by method, and whether that is much.

    A spread is the standard deviation over the mean of the decode seconds a token among a prompt's
    repeats, the root of its mean square over prompts; None where no run was repeated.
    """
    spread = {method: _spread(digests.of_method(method)) for method in digests.methods}
    is_noisy = any(value is not None and value > NOISY_ABOVE for value in spread.values())
    return {"spread": spread, "limit": NOISY_ABOVE, "is_noisy": is_noisy}


def _spread(runs: Sequence[Digest]) -> float | None:
    paces: defaultdict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.token_ids:
            paces[run.key.prompt_id].append(run.seconds.decode / len(run.token_ids))
    repeated = [each for each in paces.values() if len(each) > 1 and statistics.fmean(each) > 0]
    if not repeated:
        return None
    squares = [(statistics.stdev(each) / statistics.fmean(each)) ** 2 for each in repeated]
    return math.sqrt(statistics.fmean(squares))
