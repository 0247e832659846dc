"""Verdicts from records, and the judge of near-ties against a float64 reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compare.certificate import certify, contradictions, first_difference, inconsistencies
from compare.near_tie import Arm, Judge, Rows
from compare.records import RunKey, RunRecord
from compare.step_record import Seconds
from compare.verdict_record import VerdictRecord
from ssd.request import Request
from ssd.sampling import Sampling
from tests.records_by_hand import edited, failed, guessed, hashes, plain

ANSWER = (1, 2, 3, 4, 5, 6)
KEY = RunKey("staged", "p")
REFERENCE = plain(ANSWER, RunKey("autoregressive", "p"))
RUN = guessed(KEY)
OTHER_HASHES = ("0" * 16, *RUN.logit_hashes[1:])
PARTED = edited(RUN, token_ids=(1, 2, 9, 4, 5, 6), logit_hashes=hashes((1, 2, 9, 4, 5, 6)))


def test_equal_ids_and_rows_are_identical() -> None:
    found = certify(REFERENCE, RUN, is_exact=True)
    assert (found.verdict, found.rows_equal, found.num_rows) == ("IDENTICAL", 6, 6)


def test_a_row_that_differs_is_a_bug_only_where_the_configuration_is_exact() -> None:
    run = edited(RUN, logit_hashes=OTHER_HASHES)
    exact, loose = (certify(REFERENCE, run, is_exact=flag) for flag in (True, False))
    assert (exact.verdict, exact.rows_equal) == ("BUG", 5)
    assert "token 0" in exact.reason
    assert (loose.verdict, loose.rows_equal) == ("IDENTICAL", 5)


def test_ids_that_part_are_a_bug_where_the_configuration_is_exact_whatever_was_claimed() -> None:
    claim = VerdictRecord(KEY, "NEAR-TIE", "close", 2, (3, 9), 0.0, 1.0)
    found = certify(REFERENCE, PARTED, is_exact=True, near_tie=lambda key: claim)
    assert (found.verdict, found.parting) == ("BUG", 2)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (VerdictRecord(KEY, "NEAR-TIE", "close", 2, (3, 9), 0.0, 1.0), "NEAR-TIE"),
        (VerdictRecord(KEY, "NEAR-TIE", "close", 1, (3, 9), 0.0, 1.0), "BUG"),
        (VerdictRecord(KEY, "NEAR-TIE", "close", 2, (3, 8), 0.0, 1.0), "BUG"),
        (VerdictRecord(KEY, "BUG", "far", 2, (3, 9), 9.0, 1.0), "BUG"),
        (None, "BUG"),
    ],
)
def test_a_near_tie_needs_a_claim_on_the_very_place(
    claim: VerdictRecord | None, verdict: str
) -> None:
    assert certify(REFERENCE, PARTED, is_exact=False, near_tie=lambda key: claim).verdict == verdict


@pytest.mark.parametrize(
    ("run", "word"),
    [
        (edited(RUN, prompt_ids=(7,)), "prompts differ"),
        (edited(RUN, logit_hashes=RUN.logit_hashes[:-1]), "5 logit hashes"),
        (edited(RUN, finish_reason="stop"), "length and stop"),
        (edited(RUN, settings={"seed": 1}), "settings differ"),
        (edited(RUN, token_ids=ANSWER[:5], logit_hashes=hashes(ANSWER[:5])), "part at token 5"),
    ],
)
def test_what_does_not_belong_together_is_a_bug(run: RunRecord, word: str) -> None:
    found = certify(REFERENCE, run, is_exact=False)
    assert found.verdict == "BUG" and word in found.reason


def test_first_difference_counts_the_end_of_the_shorter() -> None:
    cases = (((), ()), ((1,), (1,)), ((1, 2), (1, 3)), ((1,), (1, 2)), ((), (1,)))
    assert [first_difference(a, b) for a, b in cases] == [None, None, 1, 1, 0]


def test_an_untouched_record_agrees_with_itself() -> None:
    assert list(inconsistencies(RUN)) == [] == list(inconsistencies(REFERENCE))


def _with_step(**changes: Any) -> RunRecord:
    return edited(RUN, steps=(replace(RUN.steps[0], **changes), RUN.steps[1]))


@pytest.mark.parametrize(
    ("run", "word"),
    [
        (edited(RUN, token_ids=(1, 2, 3, 4, 5, 7)), "tokens are not those"),
        (edited(RUN, seconds=Seconds(2.0, 0.1, 0.1, 0.1, 0.1)), "sum of its steps"),
        (_with_step(time=0.1), "add up"),
        (_with_step(seconds=Seconds(ngram=0.5, draft=0.5)), "add up"),
        (edited(_with_step(tokens=(1, 9, 3)), token_ids=(1, 9, 3, 4, 5, 6)), "path is not"),
        (_with_step(origins=("draft", "draft", "target")), "origins"),
        (_with_step(path=(2, 3)), "hang"),
        (_with_step(path=(1,)), "number of tokens"),
        (_with_step(told={"draft_n": 5}), "counters"),
        (_with_step(told={"depth": 3, "draft_n": 4, "draft_n_accepted": 1}), "counters"),
        (edited(RUN, prompt_ids=(7, 8, 8)), "hang"),
        (edited(RUN, prompt_ids=()), "hang"),
        (edited(RUN, logit_hashes=RUN.logit_hashes[:5]), "number of logit hashes"),
        (edited(RUN, logit_hashes=("x" * 16, *RUN.logit_hashes[1:])), "logit hash is none"),
        (edited(failed(KEY), token_ids=(1,)), "error"),
        (edited(RUN, settings={"max_new_tokens": 5}), "5 were asked for"),
        (edited(RUN, settings={"max_new_tokens": 7}), "after 6 of 7"),
    ],
)
def test_an_edited_record_contradicts_itself(run: RunRecord, word: str) -> None:
    assert word in " ".join(inconsistencies(run))


def test_the_limit_of_new_tokens_is_the_environment_s_where_a_run_has_no_other() -> None:
    for limit, is_good in ((6, True), (5, False), (7, False)):
        found = list(inconsistencies(RUN, {"settings": {"max_new_tokens": limit}}))
        assert (found == []) == is_good
    stopped = edited(RUN, finish_reason="stop")
    assert list(inconsistencies(stopped, {"settings": {"max_new_tokens": 7}})) == []


@pytest.mark.parametrize(
    ("numerics", "precision", "is_invariant", "is_exact", "is_good"),
    [
        ("exact", "bfloat16", True, True, True),
        ("exact", "bfloat16", True, False, False),
        ("exact", "float32", True, False, True),
        ("exact", "float32", True, True, False),
        ("fast", "bfloat16", True, True, False),
        ("fast", "bfloat16", True, False, True),
        ("exact", "float16", False, True, False),
        ("exact", "int8", True, True, True),
        ("exact", "int4", True, False, False),
    ],
)
def test_exactness_follows_from_the_probe(
    numerics: str, precision: str, is_invariant: bool, is_exact: bool, is_good: bool
) -> None:
    pair = {"numerics": numerics, "precision": precision, "probe": {"is_invariant": is_invariant}}
    assert (list(contradictions({"pair": pair, "is_exact": is_exact})) == []) == is_good
    assert list(contradictions({})) == []


# The judge. A toy model over five ids whose logits are a function of the length alone.
LENGTH, VOCABULARY = 3, 5


def _logits(position: int) -> Rows:
    """Two ids, 1 and 2, nearly tied at position 4; id 0 far ahead elsewhere."""
    row = np.array([5.0, 1.0, 0.5, 0.0, -1.0])
    return np.array([0.0, 3.0, 3.0 + 1e-4, -1.0, -2.0]) if position == 4 else row


def _reference(ids: Sequence[int]) -> Rows:
    return np.stack([_logits(at) for at in range(1, len(ids) + 1)])


def _arm(tokens: tuple[int, ...], noise: float) -> Arm:
    rows = np.stack([_logits(LENGTH + at) for at in range(len(tokens))])
    error = noise * np.random.default_rng(0).standard_normal(rows.shape)
    return Arm(tokens, rows + error)


def _judge(
    first: tuple[int, ...], second: tuple[int, ...], noise: float, **sampling: float
) -> VerdictRecord:
    request = Request((4,) * LENGTH, Sampling(**sampling))  # type: ignore[arg-type]
    return Judge(request, _reference).judge(KEY, _arm(first, noise), _arm(second, noise))


def test_answers_that_part_within_the_measured_error_are_a_near_tie() -> None:
    found = _judge((0, 1, 0), (0, 2, 0), noise=1e-3)
    assert (found.verdict, found.position, found.tokens) == ("NEAR-TIE", 1, (1, 2))
    assert found.gap == pytest.approx(1e-4) and found.error is not None and found.error > 1e-4


def test_the_same_parting_with_smaller_errors_is_a_bug() -> None:
    assert _judge((0, 1, 0), (0, 2, 0), noise=1e-6).verdict == "BUG"


def test_a_token_that_no_error_explains_is_a_bug_at_the_parting_and_after_it() -> None:
    assert _judge((0, 1, 0), (0, 3, 0), noise=1e-3).verdict == "BUG"
    later = _judge((0, 1, 0, 0), (0, 2, 0, 1), noise=1e-3)
    assert later.verdict == "BUG" and "token 3" in later.reason


def test_an_answer_that_ends_early_is_a_bug() -> None:
    assert _judge((0, 1), (0, 1, 0), noise=1e-3).verdict == "BUG"


def test_a_token_at_the_edge_of_top_k_is_judged_by_membership() -> None:
    # With top-k 1 either of the tied ids may be the only one left; no other may.
    near = _judge((0, 1, 0), (0, 2, 0), noise=1e-3, temperature=1.0, top_k=1)
    far = _judge((0, 1, 0), (0, 3, 0), noise=1e-3, temperature=1.0, top_k=1)
    assert (near.verdict, far.verdict) == ("NEAR-TIE", "BUG")


def test_a_token_at_the_edge_of_top_p_is_judged_by_membership() -> None:
    near = _judge((0, 1, 0), (0, 2, 0), noise=1e-3, temperature=1.0, top_p=0.3)
    far = _judge((0, 1, 0), (0, 0, 0), noise=1e-3, temperature=1.0, top_p=0.3)
    assert (near.verdict, far.verdict) == ("NEAR-TIE", "BUG")


def test_the_temperature_widens_and_narrows_the_error_in_step_with_the_scores() -> None:
    # Greedy choices compare logits; at T = 2 scores and errors are both halved.
    hot = _judge((0, 1, 0), (0, 2, 0), noise=1e-3, temperature=2.0, top_k=1)
    cold = _judge((0, 1, 0), (0, 2, 0), noise=1e-3, temperature=1.0, top_k=1)
    assert hot.error is not None and cold.error is not None
    assert hot.error == pytest.approx(cold.error / 2)
