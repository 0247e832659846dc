"""Calibration: agreement of a model with itself, shares that become chances, matches by length."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ssd.calibration import Calibration
from ssd.train.calibrate import (
    Places,
    calibration,
    document_rows,
    match_hits,
    noisy_hits,
)
from tests.tiny import tiny_llama, with_draft
from tests.training import corpus, target


def places(amount: float) -> Places:
    """A tiny target against itself, shaken by `amount`."""
    shaken = with_draft(tiny_llama(3), amount)
    draft = shaken.model(torch.float32)
    return Places.of(target(), draft, list(corpus(150).documents()))


def test_rows_of_a_document_do_not_depend_on_chunks() -> None:
    """Teacher forcing in chunks gives what one pass gives."""
    model, ids = target(), list(range(50))
    small = model.with_numerics(type(model.numerics)("exact", (4, 8)))
    assert torch.allclose(document_rows(small, ids), document_rows(model, ids), atol=1e-5)


def test_a_model_that_drafts_for_itself_agrees() -> None:
    """Greedily and under noise."""
    own = places(0.0)
    assert own.agreement == 1.0
    assert noisy_hits(own).all()


def test_places_know_where_they_are() -> None:
    """One place before every id of an answer, with the position of that id."""
    documents = list(corpus(150).documents())
    own = places(0.0)
    expected = [
        (number, position)
        for number, (ids, num_prompt) in enumerate(documents)
        for position in range(num_prompt, len(ids))
    ]
    assert list(zip(own.document.tolist(), own.position.tolist(), strict=True)) == expected
    rows = document_rows(target(), documents[0][0])
    assert own.greedy_ids[: len(documents[0][0]) - 4].tolist() == rows[3:-1].argmax(1).tolist()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_chances_are_how_often_guesses_were_right(temperature: float) -> None:
    """Over all places and ranks, chances read from the table sum to about the hits."""
    shaken = places(0.15)
    table = calibration(shaken, (0.0, 1.0))
    if temperature == 0:
        shares, ids, choices = shaken.greedy_shares(), shaken.ids[:, :4], shaken.greedy_ids
    else:
        perturbed, choices = shaken.perturbed(temperature)
        order = np.argsort(-perturbed, axis=1)[:, :4]
        weights = np.exp(perturbed)
        shares = np.take_along_axis(weights / weights.sum(1, keepdims=True), order, axis=1)
        ids = np.take_along_axis(shaken.ids, order, axis=1)
    chances = table.chances(temperature, shares)
    right = ids == choices[:, None]
    for rank in range(4):
        assert chances[:, rank].mean() == pytest.approx(right[:, rank].mean(), abs=0.03), rank
    assert chances[:, 0].mean() > 1.5 * chances[:, 1].mean()


def test_a_better_draft_is_trusted_more() -> None:
    """What is said with the same share is right more often."""
    good, bad = (calibration(places(amount), (0.0,)) for amount in (0.05, 0.5))
    share = np.array([0.65])
    assert good.chances(0.0, share)[0] > bad.chances(0.0, share)[0] + 0.1


def test_chances_never_fall_as_shares_grow() -> None:
    """In each rank."""
    for table in calibration(places(0.6), (0.0, 0.7, 1.0)).tables:
        for row in table.chances:
            assert list(row) == sorted(row)


def test_match_hits_count_by_length() -> None:
    """In a text that repeats with period 4 long matches are always right."""
    hits = match_hits([([1, 2, 3, 4] * 8, 8)])
    assert hits[6] == 1.0 and hits[1] == 0.0


def test_no_calibration_takes_shares_for_chances() -> None:
    """As a draft without a table does."""
    shares = np.array([0.5, 0.2])
    assert Calibration().chances(0.0, shares) is shares
