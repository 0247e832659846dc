"""Linear layers with weights of 4 bits, against the numbers that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ssd.models.int4 import GROUP, Int4Linear, from_bytes, in_bytes, quantised, restored
from ssd.models.layers import Linear

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


@pytest.mark.parametrize("rows", ROWS)
def test_four_bits_multiply_as_the_weights_that_they_stand_for(rows: int) -> None:
    linear = Linear(numbers(2, 96, 4 * GROUP))
    x = numbers(3, rows, 4 * GROUP).bfloat16()
    wanted = x.float() @ restored(*quantised(linear.weight)).T
    assert near(Int4Linear.of(linear)(x), wanted)


def test_two_codes_lie_in_a_byte() -> None:
    codes = quantised(numbers(6, 8, 2 * GROUP))[0]
    stored = in_bytes(codes)
    assert stored.dtype == torch.uint8 and stored.shape == (8, GROUP)
    assert torch.equal(from_bytes(stored), codes)


def test_float32_goes_in_and_comes_out() -> None:
    linear = Int4Linear.of(Linear(numbers(2, 96, 4 * GROUP)))
    x = numbers(3, 5, 4 * GROUP)
    found = linear(x)
    assert found.dtype == torch.float32
    assert torch.equal(found, linear(x.bfloat16()).float())


def test_a_bias_or_an_odd_width_is_refused() -> None:
    with pytest.raises(ValueError, match="no bias"):
        Int4Linear.of(Linear(numbers(8, 32, GROUP), torch.zeros(32)))
    with pytest.raises(ValueError, match="width that 32 divides"):
        Int4Linear.of(Linear(numbers(9, 32, GROUP + 1)))


def test_bytes_read_are_those_of_the_codes_and_scales() -> None:
    linear = Linear(numbers(10, 64, 2 * GROUP))
    assert Int4Linear.of(linear).num_bytes == 64 * 2 * GROUP // 2 + 64 * 2 * 2 * 2
