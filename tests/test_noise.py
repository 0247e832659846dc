"""The keyed noise. Seeds are fixed: the chances of failing by luck were those of one first run."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from ssd import noise
from tests.reference import noise as twin

TOP = 2**64 - 1
SEEDS = [0, 1, 2, 12345, 2**32, 2**63, TOP - 1, TOP]
IDS = np.arange(49152, dtype=np.int64)


def test_the_twin_is_splitmix64() -> None:
    golden = 0x9E3779B97F4A7C15
    assert twin.mix(golden) == 0xE220A8397B1DCDAF  # the published first outputs from state 0
    assert twin.mix(2 * golden & TOP) == 0x6E789E6AA1B965F4


@pytest.mark.parametrize("seed", SEEDS)
def test_bits_equal_the_scalar_twin(seed: int) -> None:
    rng = random.Random(seed)
    for position in (0, 1, 2, 511, 2**20):
        ids = [0, 1, 49151, 128255, *(rng.randrange(2**17) for _ in range(50))]
        found = noise.bits(seed, position, np.array(ids))
        assert found.tolist() == [twin.bits(seed, position, token) for token in ids]
        uniform = noise.uniform(seed, position, np.array(ids)).tolist()
        assert uniform == [noise.uniform_of(seed, position, token) for token in ids]
        gumbel = noise.gumbel(seed, position, np.array(ids))
        assert gumbel.dtype == np.float32
        for value, token in zip(gumbel, ids, strict=True):
            expected = twin.gumbel(seed, position, token)
            assert abs(float(value) - expected) <= np.spacing(np.float32(abs(expected)))


def test_it_is_a_pure_function_of_each_id() -> None:
    ids = np.array([7, 3, 3, 40000, 7])
    before = ids.copy()
    first = noise.gumbel(5, 9, ids)
    assert np.array_equal(ids, before), "the ids were changed"
    noise.gumbel(6, 1, IDS)
    assert np.array_equal(first, noise.gumbel(5, 9, ids))
    assert np.array_equal(first, noise.gumbel(5, 9, IDS)[ids])
    assert np.array_equal(first[::-1], noise.gumbel(5, 9, ids[::-1]))
    assert np.array_equal(
        noise.gumbel(5, 9, IDS[:6].reshape(2, 3)), noise.gumbel(5, 9, IDS[:6]).reshape(2, 3)
    )


def test_uniforms_lie_strictly_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in SEEDS:
        uniform = noise.uniform(seed, 3, IDS)
        assert uniform.min() > 0 and uniform.max() < 1
    for extreme in (0, 2**53 - 1):  # no key is known that gives these, so they are planted
        monkeypatch.setattr(
            noise, "bits", lambda seed, position, ids, x=extreme: np.full(ids.shape, x, np.uint64)
        )
        assert 0 < noise.uniform(0, 0, IDS[:1])[0] < 1
        assert math.isfinite(noise.gumbel(0, 0, IDS[:1])[0])


def test_the_law_is_gumbels() -> None:
    """Each check fails by luck with a chance below 1e-6 (5 sigma, Kolmogorov's 2.69)."""
    for seed in SEEDS:
        values = np.sort(noise.gumbel(seed, 17, IDS).astype(np.float64))
        num = len(values)
        deviation = math.pi / math.sqrt(6)
        assert abs(values.mean() - 0.5772156649) < 5 * deviation / math.sqrt(num)
        kurtosis = 5.4  # of the Gumbel law: var(s^2) = s^4 (kurtosis - 1) / n
        assert abs(values.var() / deviation**2 - 1) < 5 * math.sqrt((kurtosis - 1) / num)
        cdf = np.exp(-np.exp(-values))
        steps = np.arange(num + 1) / num
        distance = max((steps[1:] - cdf).max(), (cdf - steps[:-1]).max())
        assert distance * math.sqrt(num) < 2.69


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1])


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbours_share_nothing(seed: int) -> None:
    """Correlations within 5 sigma, each by luck beyond with a chance of 6e-7."""
    bound = 5 / math.sqrt(len(IDS) - 1)
    other = (seed + 1) % 2**64
    base = noise.uniform(seed, 100, IDS)
    for label, values in (
        ("seed + 1", noise.uniform(other, 100, IDS)),
        ("position + 1", noise.uniform(seed, 101, IDS)),
        ("seed + 1, position - 1", noise.uniform(other, 99, IDS)),
        ("seed ^ 2^63", noise.uniform(seed ^ 2**63, 100, IDS)),
    ):
        for shift in (-2, -1, 0, 1, 2):  # a shift in the ids would be the sign of a shared stream
            pair = (base[2:-2], values[2 + shift : len(values) - 2 + shift])
            assert abs(_correlation(*pair)) < bound, (label, shift)
    assert abs(_correlation(base[1:], base[:-1])) < bound, "ids"
    positions = np.array([noise.uniform(seed, at, IDS[:1])[0] for at in range(3000)])
    assert abs(_correlation(positions[1:], positions[:-1])) < 5 / math.sqrt(2999)


def test_one_bit_of_the_key_moves_half_the_bits() -> None:
    """Mean flips of 53 bits over 20,000 ids; 5 sigma of sqrt(53) / 2 / sqrt(20000) is 0.13."""
    ids = IDS[:20000]
    base = noise.bits(1000, 50, ids)
    for seed, position in ((1001, 50), (1000, 51), (1000 ^ 2**63, 50)):
        flips = np.bitwise_count(base ^ noise.bits(seed, position, ids))
        assert abs(flips.mean() - 26.5) < 0.13


def test_no_two_keys_share_a_row() -> None:
    rows = {
        noise.bits(seed, position, IDS[:4]).tobytes()
        for seed in (*range(40), *range(TOP - 40, TOP + 1))
        for position in range(40)
    }
    assert len(rows) == 81 * 40
