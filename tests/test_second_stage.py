"""The second stage measured: what the N-gram saves the draft, the trees being the same."""

from __future__ import annotations

import torch

from ssd.ngram import KatzTable
from ssd.train.calibrate import document_rows
from ssd.train.second_stage import LIMITS, second_stage
from tests.test_measure import greedy
from tests.test_ngram import KATZ
from tests.tiny import exact, tiny_llama, with_draft


def test_the_ngram_saves_passes_and_leaves_the_trees() -> None:
    draft = exact(with_draft(tiny_llama(3), 0.2).model(torch.bfloat16))
    answers = [(greedy([seed, 7, seed, 7, seed], 24), 5) for seed in (3, 11, 25, 40)]
    found = second_stage(draft, KATZ, answers)
    assert found["equal trees"] == found["rounds"] > 4
    passes = {name: found[name]["draft_passes"] for name in ("none", "Katz", "match", "both")}
    assert 1 < passes["both"] <= min(passes["match"], passes["Katz"]) + 0.2
    assert passes["match"] < passes["none"] <= LIMITS.max_depth
    assert found["none"]["ngram_us"] == 0 < found["both"]["ngram_us"]


def test_a_draft_that_is_the_target_settles_its_depth_a_round() -> None:
    """Known answers settle what they would: as many rounds as the depth takes."""
    own = exact(tiny_llama(3).model(torch.bfloat16))
    empty = KatzTable(KATZ.keys[:0], KATZ.tokens[:0], KATZ.probabilities[:0])
    ids = [4, 9]
    for _ in range(22):
        ids.append(int(document_rows(own, ids)[-1].argmax()))
    found = second_stage(own, empty, [(ids, 2)])
    assert found["rounds"] <= 22 and found["equal trees"] == found["rounds"]
    assert found["Katz"]["draft_passes"] == found["none"]["draft_passes"]
