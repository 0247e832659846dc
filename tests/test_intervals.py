"""Intervals against figures from tables and their own equations."""

from __future__ import annotations

import math

import pytest

from compare.intervals import bootstrap, wilson


@pytest.mark.parametrize(
    ("accepted", "tried", "low", "high"),
    [(8, 10, 0.490, 0.943), (0, 4, 0.0, 0.490), (4, 4, 0.510, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_intervals(accepted: int, tried: int, low: float, high: float) -> None:
    found = wilson(accepted, tried)
    assert found == pytest.approx((low, high), abs=1e-3)


def test_wilson_solves_its_own_equation() -> None:
    for accepted, tried in ((1, 7), (30, 40), (500, 1000)):
        for bound in wilson(accepted, tried):
            distance = abs(accepted / tried - bound)
            assert distance == pytest.approx(1.959964 * math.sqrt(bound * (1 - bound) / tried))


def test_a_bootstrap_interval_holds_the_median_and_is_the_same_every_time() -> None:
    values = [1.0, 1.1, 1.2, 1.3, 5.0]
    low, high = bootstrap(values)
    assert 1.0 <= low < 1.2 < high <= 5.0
    assert bootstrap(values) == (low, high)
    assert bootstrap([2.0]) == (2.0, 2.0)


def test_a_bootstrap_interval_covers_the_median_about_as_often_as_it_says() -> None:
    """Of 300 samples of 25 about 285 must cover; fewer than 265 happens once in ten thousand."""
    import random

    rng = random.Random(0)
    covered = 0
    for _ in range(300):
        low, high = bootstrap([rng.gauss(0, 1) for _ in range(25)])
        covered += low <= 0 <= high
    assert 265 <= covered < 300
