"""What a draft's record in the answer at hand makes of its expected gains."""

from __future__ import annotations

import pytest

from ssd.trust import DraftTrust, Expectation


def after(rounds: int, *, is_right: bool, worth: float = 1.0) -> float:
    """The factor after rounds of one row each, of which 0.5 was expected."""
    trust, context = DraftTrust(), [1, 2]
    for _ in range(rounds):
        trust.note(context, {(): Expectation(7, worth, 0.5)})
        context.append(7 if is_right else 8)
        trust.learn(context)
    return trust.factor


def test_an_answer_begins_with_full_trust() -> None:
    assert DraftTrust().factor == 1.0


def test_a_draft_that_is_wrong_loses_it_and_one_that_is_right_gains_no_more() -> None:
    assert after(2, is_right=False) == pytest.approx(3 / (3 + 0.5 * 0.97 + 0.5))
    assert after(40, is_right=False) < after(10, is_right=False) < 0.6
    assert after(10, is_right=True) == 1.0


def test_what_the_ngram_proposes_too_counts_for_little() -> None:
    assert after(10, is_right=True, worth=0.1) < 0.7


def test_only_rows_on_the_way_that_the_text_took_are_counted() -> None:
    trust, context = DraftTrust(), [1]
    wrong = Expectation(9, 1.0, 0.5)
    trust.note(context, {(): Expectation(5, 1.0, 0.5), (5,): Expectation(6, 1.0, 0.5), (4,): wrong})
    trust.learn([1, 5, 6])
    assert trust.factor == 1.0
    trust.note([1, 5, 6], {(4,): wrong, (4, 4): wrong})
    trust.learn([1, 5, 6, 7, 7])
    assert trust.factor == 1.0


def test_a_draft_that_was_given_up_is_tried_again() -> None:
    trust, context = DraftTrust(), [1]
    for _ in range(30):
        trust.note(context, {(): Expectation(7, 1.0, 0.5)})
        context.append(8)
        trust.learn(context)
    low = trust.factor
    for _ in range(60):
        context.append(8)
        trust.learn(context)
    assert trust.factor > 0.6 > 0.4 > low


def test_nothing_settled_teaches_nothing() -> None:
    trust = DraftTrust()
    trust.note([1, 2], {(): Expectation(7, 1.0, 0.5)})
    trust.learn([1, 2])
    assert trust.factor == 1.0
