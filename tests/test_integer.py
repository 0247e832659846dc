"""Products with integer weights, against the numbers that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ssd.models.integer import (
    GROUP,
    ByRows,
    DynamicLinear,
    Int4Linear,
    Int8Linear,
    IntegerLinear,
    from_bytes,
    in_bytes,
    quantised,
    restored,
)
from ssd.models.layers import Linear
from tests.test_packed import needs_vnni

ROWS = (1, 2, 3, 5, 8, 17)


def numbers(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def near(found: Tensor, wanted: Tensor) -> bool:
    """Whether bf16 results are right to their last places."""
    scale = float(wanted.abs().max())
    return found.dtype == torch.bfloat16 and bool(((found - wanted).abs() <= 0.012 * scale).all())


def test_weights_that_came_from_four_bits_keep_their_codes() -> None:
    """As Q4_1 makes them: a step and a least weight in half precision, all 16 codes in use."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 16, (6, 4, GROUP))
    codes[..., 0], codes[..., 1] = 0, 15
    step = rng.uniform(0.01, 0.2, (6, 4, 1)).astype(np.float16).astype(np.float32)
    least = rng.uniform(-2, -0.1, (6, 4, 1)).astype(np.float16).astype(np.float32)
    weight = torch.from_numpy(codes.astype(np.float32) * step + least).flatten(1)
    found, scales = quantised(weight)
    assert torch.equal(found, torch.from_numpy(codes).flatten(1).int())
    assert scales.dtype == torch.bfloat16 and scales.shape == (6, 4, 2)
    # bf16 keeps 8 bits of the step and of the offset.
    assert float((restored(found, scales) - weight).abs().max()) < 0.01 * float(weight.abs().max())


def test_the_nearest_of_sixteen() -> None:
    weight = numbers(1, 8, 2 * GROUP)
    found, scales = quantised(weight)
    assert int(found.min()) == 0 and int(found.max()) == 15
    steps = scales[..., 0].float().repeat_interleave(GROUP, dim=1)
    assert bool(((restored(found, scales) - weight).abs() <= 0.55 * steps + 0.02).all())


def test_a_group_of_equal_weights_is_no_division_by_zero() -> None:
    weight = torch.full((2, GROUP), 0.5)
    assert torch.allclose(restored(*quantised(weight)), weight, atol=0.01)
    zeros = IntegerLinear.of(Linear(torch.zeros(4, GROUP)))(torch.ones(2, GROUP).bfloat16())
    assert not zeros.any()


@pytest.mark.parametrize("rows", ROWS)
def test_four_bits_multiply_as_the_weights_that_they_stand_for(rows: int) -> None:
    linear = Linear(numbers(2, 96, 4 * GROUP))
    x = numbers(3, rows, 4 * GROUP).bfloat16()
    wanted = x.float() @ restored(*quantised(linear.weight)).T
    assert near(Int4Linear.of(linear)(x), wanted)


@needs_vnni
@pytest.mark.parametrize("rows", ROWS)
def test_bytes_with_one_scale_for_all_rows(rows: int) -> None:
    linear = Linear(numbers(4, 96, 4 * GROUP))
    x = numbers(5, rows, 4 * GROUP).bfloat16()
    wanted = x.float() @ linear.weight.T
    found = DynamicLinear.of(linear)(x)
    assert found.dtype == torch.bfloat16
    assert float((found - wanted).abs().max() / wanted.abs().max()) < 0.04


def test_bytes_are_refused_where_their_sums_would_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)
    with pytest.raises(RuntimeError, match="need AVX-512 VNNI"):
        DynamicLinear.of(Linear(numbers(1, 8, GROUP)))


def test_two_codes_lie_in_a_byte() -> None:
    codes = quantised(numbers(6, 8, 2 * GROUP))[0]
    stored = in_bytes(codes)
    assert stored.dtype == torch.uint8 and stored.shape == (8, GROUP)
    assert torch.equal(from_bytes(stored), codes)


@pytest.mark.parametrize("rows", ROWS)
def test_eight_bits_multiply_as_the_weights_that_they_stand_for(rows: int) -> None:
    linear = Linear(numbers(4, 96, 4 * GROUP))
    x = numbers(5, rows, 4 * GROUP).bfloat16()
    wanted = x.float() @ linear.weight.T
    assert near(Int8Linear.of(linear)(x), wanted)


@pytest.mark.parametrize("rows", ROWS)
def test_integers_sum_exactly_and_know_nothing_of_their_company(rows: int) -> None:
    linear = Linear(numbers(6, 96, 4 * GROUP))
    product = IntegerLinear.of(linear)
    x = numbers(7, rows, 4 * GROUP).bfloat16()
    x[0] *= 1000
    together = product(x)
    for row in range(rows):
        assert torch.equal(product(x[row : row + 1])[0], together[row])
    scale = linear.weight.abs().amax(1) / 127
    codes = torch.round(linear.weight / scale[:, None]).long()
    own = x.abs().amax(1, keepdim=True).float() / 127
    sums = torch.round(x / own).long() @ codes.T
    assert torch.equal(together, (sums.float() * scale * own).bfloat16())
    wanted = x.float() @ linear.weight.T
    assert bool(((together - wanted).norm(dim=1) < 0.03 * wanted.norm(dim=1)).all())


def test_few_rows_take_one_way_and_many_the_other() -> None:
    product = ByRows(lambda x: x * 2, lambda x: x * 3, 4)  # type: ignore[arg-type]
    assert float(product(torch.ones(4, 1)).sum()) == 8
    assert float(product(torch.ones(5, 1)).sum()) == 15


@pytest.mark.parametrize("kind", [Int4Linear, Int8Linear, IntegerLinear])
def test_a_bias_or_an_odd_width_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="no bias"):
        kind.of(Linear(numbers(8, 32, GROUP), torch.zeros(32)))
    if kind is Int4Linear:
        with pytest.raises(ValueError, match="width that 32 divides"):
            kind.of(Linear(numbers(9, 32, GROUP + 1)))


def test_bytes_read_are_those_of_the_codes_and_scales() -> None:
    linear = Linear(numbers(10, 64, 2 * GROUP))
    assert Int4Linear.of(linear).num_bytes == 64 * 2 * GROUP // 2 + 64 * 2 * 2 * 2
    assert Int8Linear.of(linear).num_bytes == 64 * 2 * GROUP + 2 * 64
