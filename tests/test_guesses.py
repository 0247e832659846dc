"""From rows of logits to guesses: greedy, under noise, calibrated, and mixed with the N-gram's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ssd import noise
from ssd.calibration import UNCALIBRATED, Calibration, CalibrationTable
from ssd.grow import Guess
from ssd.guesses import RowReader, merged
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop

HALVES = Calibration(
    (
        CalibrationTable(0.0, (0.5,), ((0.11, 0.91), (0.07, 0.31))),
        CalibrationTable(1.0, (0.5,), ((0.12, 0.82), (0.08, 0.22))),
    )
)


def rows(count: int = 5, columns: int = 100) -> torch.Tensor:
    return torch.randn(count, columns, generator=torch.Generator().manual_seed(3)) * 3


def request(temperature: float, top_k: int = 0) -> Request:
    return Request((1, 2, 3), Sampling(temperature, top_k), seed=11, stop=Stop(8))


def test_greedy_guesses_are_the_likeliest_with_their_softmax_chances() -> None:
    reader = RowReader(3, UNCALIBRATED, None)
    for row, guesses in zip(rows(), reader.greedy(rows()), strict=True):
        law = torch.softmax(row, 0)
        best = law.argsort(descending=True)[:3].tolist()
        assert [guess.token for guess in guesses] == best
        assert [guess.probability for guess in guesses] == pytest.approx(law[best].tolist())
        assert {guess.origin for guess in guesses} == {"draft"}


@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, 0), (0.6, 20), (1.5, 1000)])
def test_noisy_guesses_are_those_of_every_score_perturbed_by_itself(
    temperature: float, top_k: int
) -> None:
    """Against the definition, id by id; the noise is that of the row's own position."""
    positions = [7, 3, 900, 4, 12]
    asked = request(temperature, top_k)
    found = RowReader(4, UNCALIBRATED, None).noisy(rows(), positions, asked)
    for row, position, guesses in zip(rows(), positions, found, strict=True):
        considered = row.argsort(descending=True)[: min(64, top_k or 64)].tolist()
        perturbed = {
            token: float(row[token]) / temperature
            + float(noise.gumbel(asked.seed, position, np.array([token]))[0])
            for token in considered
        }
        best = sorted(perturbed, key=lambda token: -perturbed[token])[:4]
        mass = sum(math.exp(score) for score in perturbed.values())
        assert [guess.token for guess in guesses] == best
        shares = [math.exp(perturbed[token]) / mass for token in best]
        assert [guess.probability for guess in guesses] == pytest.approx(shares, rel=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_columns_of_a_reduced_head_become_ids(temperature: float) -> None:
    """The noise is that of the ids, not of the columns."""
    ids = np.arange(100)[::-1] * 7
    reader, plain = RowReader(4, UNCALIBRATED, ids), RowReader(4, UNCALIBRATED, None)
    if temperature == 0:
        found, bare = reader.greedy(rows()), plain.greedy(rows())
        expected = [[int(ids[guess.token]) for guess in guesses] for guesses in bare]
    else:
        wide = torch.full((5, 700), -1e9)
        wide[:, torch.from_numpy(ids.copy())] = rows()
        found = reader.noisy(rows(), range(5), request(temperature))
        bare = plain.noisy(wide, range(5), request(temperature))
        expected = [[guess.token for guess in guesses] for guesses in bare]
    assert [[guess.token for guess in guesses] for guesses in found] == expected


@pytest.mark.parametrize(("temperature", "first"), [(0.0, (0.11, 0.91)), (1.0, (0.12, 0.82))])
def test_shares_become_chances_by_temperature_and_rank(
    temperature: float, first: tuple[float, float]
) -> None:
    reader, plain = RowReader(2, HALVES, None), RowReader(2, UNCALIBRATED, None)
    if temperature == 0:
        found, bare = reader.greedy(rows()), plain.greedy(rows())
    else:
        found, bare = (
            each.noisy(rows(), range(5), request(temperature)) for each in (reader, plain)
        )
    for guesses, shares in zip(found, bare, strict=True):
        assert [guess.token for guess in guesses] == [guess.token for guess in shares]
        is_sure = shares[0].probability >= 0.5
        assert guesses[0].probability == pytest.approx(first[is_sure])
        assert guesses[1].probability < guesses[0].probability


def test_what_both_stages_guess_counts_for_more() -> None:
    """The same two chances are worth more of one token than of two."""
    drafted = [Guess(1, 0.4, "draft"), Guess(2, 0.1, "draft")]
    agreed = merged(drafted, [Guess(1, 0.4, "ngram")])
    parted = merged(drafted, [Guess(3, 0.4, "ngram")])
    assert agreed[0].token == 1
    assert agreed[0].probability > sum(g.probability for g in parted if g.token in (1, 3))


def test_a_mixture_keeps_every_guess_and_no_more_than_its_mass() -> None:
    drafted = [Guess(1, 0.6, "draft"), Guess(2, 0.3, "draft")]
    foreseen = [Guess(2, 0.5, "ngram"), Guess(3, 0.2, "ngram")]
    both = merged(drafted, foreseen)
    assert {guess.token: guess.origin for guess in both} == {1: "draft", 2: "ngram", 3: "ngram"}
    assert [g.probability for g in both] == sorted((g.probability for g in both), reverse=True)
    assert sum(guess.probability for guess in both) <= 1.0


def test_a_mixture_with_one_side_silent_is_the_other() -> None:
    drafted = [Guess(1, 0.6, "draft")]
    assert merged(drafted, []) == drafted
    assert merged(None, drafted) == drafted
    assert merged(None, []) == []
