"""From logits to the token."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ssd.sampling import Sampling
from tests.reference.sampling import naive_choice, naive_scores


def random_logits(seed: int, size: int = 200, *, ties: bool = False) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(size, generator=generator) * 4
    return (logits * 2).round() / 2 if ties else logits


def transformers_scores(
    logits: torch.Tensor, history: list[int], sampling: Sampling
) -> torch.Tensor:
    """What transformers' own processors make of the logits, in its order."""
    from transformers import (
        LogitsProcessorList,
        RepetitionPenaltyLogitsProcessor,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    processors = LogitsProcessorList()
    if sampling.repetition_penalty != 1:
        processors.append(RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty))
    if not sampling.is_greedy:
        processors.append(TemperatureLogitsWarper(sampling.temperature))
        if sampling.top_k:
            processors.append(TopKLogitsWarper(sampling.top_k))
        if sampling.top_p < 1:
            processors.append(TopPLogitsWarper(sampling.top_p))
    scores: torch.Tensor = processors(torch.tensor([history]), logits[None].clone())[0]
    return scores


GRID = [
    Sampling(temperature, top_k, top_p, penalty)
    for temperature in (0.0, 0.3, 1.0, 1.7)
    for top_k in (0, 1, 7, 50, 200, 1000)
    for top_p in (1.0, 0.9, 0.3, 1e-9)
    for penalty in (1.0, 1.2, 0.7)
]


@pytest.mark.parametrize("ties", [False, True])
def test_scores_equal_transformers(ties: bool) -> None:
    """Bit for bit; with ties at the edge of top-p transformers' own pick is any, so it is off."""
    for seed, sampling in enumerate(GRID):
        if ties and sampling.top_p < 1:
            continue
        logits = random_logits(seed, ties=ties)
        history = torch.randint(200, (30,), generator=torch.Generator().manual_seed(seed)).tolist()
        expected = transformers_scores(logits, history, sampling).numpy()
        assert np.array_equal(sampling.scores(logits, history), expected), sampling


def test_scores_of_half_precision_are_made_in_float32() -> None:
    logits = random_logits(3).bfloat16()
    sampling = Sampling(0.7, 20, 0.8, 1.1)
    scores = sampling.scores(logits, [1, 2, 3])
    assert scores.dtype == np.float32
    assert np.array_equal(scores, sampling.scores(logits.float(), [1, 2, 3]))


@pytest.mark.parametrize("ties", [False, True])
def test_scores_equal_the_twin(ties: bool) -> None:
    for seed, sampling in enumerate(GRID):
        logits = random_logits(seed, size=60, ties=ties)
        history = [seed % 60, 3, 3, 59]
        expected = naive_scores(
            logits.tolist(),
            history,
            sampling.temperature,
            sampling.top_k,
            sampling.top_p,
            sampling.repetition_penalty,
        )
        assert np.array_equal(sampling.scores(logits, history), expected), sampling


def test_scores_leave_the_logits_alone() -> None:
    logits = random_logits(1)
    before = logits.clone()
    for sampling in GRID:
        scores = sampling.scores(logits, [1, 2])
        sampling.choice(scores, 5, 6)
        sampling.probabilities(scores)
    assert torch.equal(logits, before)


def test_ties_with_the_kth_are_kept() -> None:
    logits = torch.tensor([1.0, 3.0, 2.0, 2.0, 0.0])
    kept = np.isfinite(Sampling(1.0, top_k=2).scores(logits, []))
    assert kept.tolist() == [False, True, True, True, False]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("size", [1023, 1024, 1025, 3000])
def test_top_k_of_a_long_row_equals_the_twin(size: int, ties: bool) -> None:
    """Rows in which the groups' maxima bound what must be looked at, and others."""
    for seed, top_k in enumerate((1, 50, 1000, 1024, 1026, 2999)):
        logits = random_logits(seed, size=size, ties=ties)
        scores = Sampling(1.0, top_k=top_k).scores(logits, [])
        assert np.array_equal(scores, naive_scores(logits.tolist(), [], 1.0, top_k=top_k))


def test_a_tie_at_the_edge_of_the_nucleus_goes_to_the_lowest_id() -> None:
    logits = torch.zeros(10)
    kept = np.isfinite(Sampling(1.0, top_p=0.35).scores(logits, []))
    assert kept.tolist() == [True] * 4 + [False] * 6


def test_a_nucleus_larger_than_the_first_guess() -> None:
    """Flat rows need more ids than are sorted at first."""
    logits = random_logits(5, size=5000) * 0.01
    scores = Sampling(1.0, top_p=0.9).scores(logits, [])
    expected = naive_scores(logits.tolist(), [], 1.0, top_p=0.9)
    assert np.isfinite(scores).sum() > 4000 and np.array_equal(scores, expected)


def rows(kind: str, count: int, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(KINDS.index(kind))
    made = []
    for number in range(count):
        row = rng.normal(size=size).astype(np.float32)
        match kind:
            case "peaky":
                row *= 30
            case "flat":
                row = np.full(size, np.float32(number % 5), dtype=np.float32)
            case "nearly flat":
                row *= np.float32(1e-3)
            case "masked":
                row[rng.random(size) < 0.95] = -np.inf
            case "one left":
                row[np.arange(size) != rng.integers(size)] = -np.inf
            case "ties":
                row = np.round(row)
            case "two heights":
                row = np.where(rng.random(size) < 0.5, np.float32(0), np.float32(-9))
            case "huge":
                row = np.full(size, np.float32(1e6), dtype=np.float32)
            case "huge ladder":
                row = np.float32(1e5) + np.round(row).astype(np.float32) * np.float32(0.0078125)
        made.append(row.astype(np.float32))
    return made


KINDS = [
    "normal", "peaky", "flat", "nearly flat", "masked", "one left", "ties", "two heights",
    "huge", "huge ladder",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_fast_arg_max_equals_the_twin(kind: str) -> None:
    """Rows of more than the 256 ids from which the shortcut is taken."""
    sampling = Sampling(1.0)
    for seed, row in enumerate([*rows(kind, 1000, 300), *rows(kind, 20, 5000)]):
        expected = naive_choice(row, 7, seed, greedy=False)
        assert sampling.choice(row, 7, seed) == expected, seed


def test_greedy_takes_the_lowest_id_on_a_tie() -> None:
    row = np.array([0, 5, 1, 5, 5], dtype=np.float32)
    assert Sampling().choice(row, 0, 0) == 1
    assert Sampling(temperature=9e-6).choice(row, 0, 0) == 1
    assert not Sampling(temperature=1e-5).is_greedy


def test_an_equal_perturbed_score_goes_to_the_lowest_id(monkeypatch: pytest.MonkeyPatch) -> None:
    from ssd import noise

    monkeypatch.setattr(
        noise, "gumbel", lambda seed, position, ids: np.zeros(ids.shape, np.float32)
    )
    assert Sampling(1.0).choice(np.array([0, 5, 5], dtype=np.float32), 0, 0) == 1


def test_a_nan_is_an_error() -> None:
    row = np.array([0, np.nan, 1], dtype=np.float32)
    for sampling in (Sampling(), Sampling(1.0)):
        with pytest.raises(FloatingPointError, match="position 4"):
            sampling.choice(row, 4, 0)


@pytest.mark.parametrize(
    "sampling",
    [Sampling(1.0), Sampling(0.7, 5), Sampling(1.3, 0, 0.8), Sampling(1.0, 6, 0.9, 1.5)],
)
def test_probabilities_are_the_frequencies_of_choices(sampling: Sampling) -> None:
    """Chi-square over 20,000 seeds, beyond the bound by luck with a chance of 1e-6."""
    scores = sampling.scores(random_logits(8, size=8) / 3, [1, 1, 5])
    law = sampling.probabilities(scores)
    assert math.isclose(law.sum(), 1.0)
    num = 20000
    counts = np.bincount([sampling.choice(scores, 3, seed) for seed in range(num)], minlength=8)
    assert not counts[law == 0].any()
    expected = num * law[law > 0]
    statistic = float((((counts[law > 0] - expected) ** 2) / expected).sum())
    assert statistic < chi_square_bound(len(expected) - 1)


def chi_square_bound(degrees: int) -> float:
    """What a chi-square variable exceeds with a chance of about 1e-6 (Wilson and Hilferty)."""
    part = 2 / (9 * max(degrees, 1))
    return max(degrees, 1) * (1 - part + 4.7534 * math.sqrt(part)) ** 3


def test_the_greedy_law_is_one_id() -> None:
    law = Sampling().probabilities(np.array([1, 4, 4], dtype=np.float32))
    assert law.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("temperature", -0.1, "temperature must be a number of 0 or more, got -0.1"),
        ("temperature", math.nan, "temperature must be a number of 0 or more, got nan"),
        ("temperature", math.inf, "temperature must be a number of 0 or more, got inf"),
        ("top_k", -1, "top-k must be 0 (off) or more, got -1"),
        ("top_p", 0.0, "top-p must lie above 0 and at most at 1, got 0.0"),
        ("top_p", 1.01, "top-p must lie above 0 and at most at 1, got 1.01"),
        ("top_p", math.nan, "top-p must lie above 0 and at most at 1, got nan"),
        ("repetition_penalty", 0.0, "repetition penalty must be a number above 0, got 0.0"),
        ("repetition_penalty", math.inf, "repetition penalty must be a number above 0, got inf"),
    ],
)
def test_what_is_out_of_range_is_refused(field: str, value: float, words: str) -> None:
    with pytest.raises(ValueError) as refusal:
        Sampling(**{field: value})  # type: ignore[arg-type]
    assert str(refusal.value) == words
