"""Linear layers with weights of 8 bits: exact sums on every processor, and none that saturates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from ssd.models import int8
from ssd.models.int8 import (
    CODE_MAX,
    DynamicLinear,
    FbgemmSums,
    Int8Linear,
    IntegerLinear,
    PlainSums,
    RescoredLinear,
    are_exact,
    byte_sums,
    extreme_codes,
    row_codes,
)
from ssd.models.layers import Linear
from tests.test_int4 import ROWS, near, numbers

WIDTH = 160
HAS_BYTES = torch.backends.quantized.engine in ("x86", "fbgemm")
KERNELS = [FbgemmSums.of, PlainSums.of] if HAS_BYTES else [PlainSums.of]


@dataclass(frozen=True)
class SaturatingSums:
    """What `vpmaddubsw` does: pairs of products are added in 16 bits, which saturate.

    `offset`: added to codes to make them unsigned.
    """

    weight: Tensor
    offset: int

    def __call__(self, codes: Tensor) -> Tensor:
        unsigned = codes.long() + self.offset
        products = unsigned[:, None] * self.weight.long()[None]
        pairs = products.unflatten(2, (-1, 2)).sum(3).clamp(-(2**15), 2**15 - 1)
        return (pairs.sum(2) - self.offset * self.weight.long().sum(1)).float()


def test_the_kernel_in_use_sums_extreme_codes_exactly() -> None:
    """On every processor: where the fast kernel saturates another is used."""
    assert are_exact(byte_sums())
    assert are_exact(PlainSums.of)


def test_a_kernel_that_saturates_is_found_out() -> None:
    """Unsigned codes of 8 bits do, of 7 they do not; so does one that is wrong for one row only."""
    assert not are_exact(lambda weight, scales: SaturatingSums(weight, 192))
    assert are_exact(lambda weight, scales: SaturatingSums(weight, CODE_MAX))

    def wrong_alone(weight: Tensor, scales: Tensor) -> Callable[[Tensor], Tensor]:
        right, wrong = PlainSums.of(weight, scales), SaturatingSums(weight, 192)
        return lambda codes: wrong(codes) if len(codes) == 1 else right(codes)

    assert not are_exact(wrong_alone)


def test_a_kernel_that_is_missing_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(weight: Tensor, scales: Tensor) -> PlainSums:
        raise RuntimeError("no such kernel")

    assert not are_exact(missing)
    monkeypatch.setattr(int8, "are_exact", lambda make: False)
    byte_sums.cache_clear()
    try:
        assert byte_sums() == PlainSums.of
    finally:
        byte_sums.cache_clear()


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("width", [32, 96, 576, 1536, 2112])
def test_sums_are_whole_numbers(
    make: Callable[[Tensor, Tensor], int8.ByteSums], rows: int, width: int
) -> None:
    """Also of codes in the middle of the scale, times a scale for each output."""
    generator = torch.Generator().manual_seed(width + rows)
    codes = torch.randint(-CODE_MAX, CODE_MAX + 1, (rows, width), generator=generator)
    weight = torch.randint(-127, 128, (48, width), generator=generator).to(torch.int8)
    scales = torch.rand(48, generator=generator) + 0.01
    found = make(weight, scales)(codes.float())
    assert torch.equal(found, (codes @ weight.long().T).float() * scales)


@pytest.mark.parametrize("make", KERNELS)
def test_codes_are_rounded(make: Callable[[Tensor, Tensor], int8.ByteSums]) -> None:
    weight = torch.eye(32, dtype=torch.int8)
    codes = torch.linspace(-CODE_MAX, CODE_MAX, 32)[None]
    found = make(weight, torch.ones(32))(codes)
    assert torch.equal(found, codes.round())


def two_terms(linear: Linear, x: Tensor) -> Tensor:
    """The slow twin of `IntegerLinear`: whole numbers in float64, one row after another."""
    weight = linear.weight.float()
    rows = weight / weight.abs().amax(1, keepdim=True)
    columns = rows.abs().amax(0)
    codes, scales = row_codes(weight / columns)
    results = []
    for row in x.float() * columns:
        step = row.abs().max() / CODE_MAX
        first = (row / step).round()
        rest = ((row / step - first) * 128).round()
        high, low = ((part.long() @ codes.long().T).float() * scales for part in (first, rest))
        results.append((high + low / 128) * step)
    return torch.stack(results).to(x.dtype)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_two_terms_are_summed_exactly_row_by_row(rows: int, dtype: torch.dtype) -> None:
    linear = Linear(numbers(6, 96, WIDTH))
    layer = IntegerLinear.of(linear)
    x = numbers(7, rows, WIDTH).to(dtype)
    x[0] *= 1000
    together = layer(x)
    assert torch.equal(together, two_terms(linear, x))
    for row in range(rows):
        assert torch.equal(layer(x[row : row + 1])[0], together[row])


def test_hardly_anything_of_the_activations_is_lost() -> None:
    """The layer differs from one with exact activations by 2^-14 of the largest of them a term."""
    linear = Linear(numbers(8, 96, WIDTH))
    x = numbers(9, 33, WIDTH)
    layer = IntegerLinear.of(linear)
    codes, scales = row_codes(linear.weight / layer.columns)
    weight = codes.double() * scales.double()[:, None] * layer.columns.double()
    wanted = x.double() @ weight.T
    error = (layer(x) - wanted).abs()
    step = x.abs().amax(1, keepdim=True) / CODE_MAX / 128 / 2
    bound = 1.1 * step * layer.columns.max() * (weight.abs() / layer.columns).sum(1)
    assert bool((error <= bound).all())
    assert float(error.norm() / wanted.norm()) < 1e-3


def test_inputs_and_the_caller_s_tensor_stay_as_they_are() -> None:
    x = numbers(3, 4, WIDTH)
    before = x.clone()
    IntegerLinear.of(Linear(numbers(4, 32, WIDTH)))(x)
    assert torch.equal(x, before)


def test_zeros_are_no_division_by_zero() -> None:
    layer = IntegerLinear.of(Linear(torch.zeros(4, 32)))
    assert not layer(torch.ones(2, 32).bfloat16()).any()
    assert not IntegerLinear.of(Linear(numbers(1, 4, 32)))(torch.zeros(2, 32)).any()


@pytest.mark.parametrize("rows", ROWS)
def test_the_highest_results_of_a_head_are_those_of_its_weights(rows: int) -> None:
    """To the last bit and whatever the batch; the others are the rough ones."""
    linear = Linear(numbers(6, 300, WIDTH))
    head, x = RescoredLinear.of(linear), numbers(7, rows, WIDTH)
    found, rough = head(x), IntegerLinear.of(linear)(x)
    exact = (x.double() @ linear.weight.double().T).float()
    for row in range(rows):
        ids = rough[row].topk(8).indices
        others = torch.ones(300, dtype=torch.bool).index_fill(0, ids, False)
        assert torch.equal(found[row, ids], exact[row, ids])
        assert torch.equal(found[row, others], rough[row, others])
        assert torch.equal(head(x[row : row + 1])[0], found[row])
    assert torch.equal(found.argmax(1), exact.argmax(1))


def test_a_small_head_is_exact_throughout() -> None:
    linear, x = Linear(numbers(6, 5, WIDTH)), numbers(7, 3, WIDTH)
    assert torch.equal(
        RescoredLinear.of(linear)(x), (x.double() @ linear.weight.double().T).float()
    )


def test_all_kernels_give_the_same_bits() -> None:
    linear, x = Linear(numbers(1, 96, 576)), numbers(2, 7, 576)
    layer = IntegerLinear.of(linear)
    codes, scales = row_codes(linear.weight / layer.columns)
    for make in KERNELS:
        assert torch.equal(replace(layer, sums=make(codes, scales))(x), layer(x))


def one_scale(linear: Linear, x: Tensor, bits: int) -> tuple[Tensor, float]:
    """The slow twin of `DynamicLinear`: codes of `bits` between the least and the greatest of x.

    Also the step from one code to the next.
    """
    codes, scales = row_codes(linear.weight)
    least, greatest = min(0.0, float(x.min())), max(0.0, float(x.max()))
    step = (greatest - least) / (2**bits - 1)
    zero = round(-least / step)
    inputs = (x.double() / step).round().long() + zero
    inputs = inputs.clamp(0, 2**bits - 1) - zero
    return (inputs @ codes.long().T).double() * scales * step, step


@pytest.mark.parametrize("rows", ROWS)
def test_bytes_with_one_scale_for_all_rows(rows: int) -> None:
    """In 8 bits where their sums are exact, else in 7; refused where there is no kernel."""
    linear = Linear(numbers(4, 96, WIDTH))
    x = numbers(5, rows, WIDTH).bfloat16()
    if not HAS_BYTES:
        with pytest.raises(RuntimeError, match="FBGEMM"):
            DynamicLinear.of(linear)
        return
    layer = DynamicLinear.of(linear)
    assert layer(x).dtype == torch.bfloat16
    for each in (layer, replace(layer, is_reduced=True)):
        wanted, step = one_scale(linear, x.float(), 7 if each.is_reduced else 8)
        # A code in the middle between two may be rounded either way.
        one_code = 1.01 * step * float(linear.weight.abs().max())
        assert float((each(x.float()) - wanted).abs().max()) < one_code


def test_sums_of_eight_bits_do_not_saturate_where_they_are_used() -> None:
    """The largest sums that a layer can have: all codes at one end."""
    if HAS_BYTES:
        x = torch.full((2, 64), 3.0)
        found = DynamicLinear.of(Linear(torch.ones(16, 64)))(x)
        assert torch.allclose(found, torch.full((2, 16), 192.0), rtol=0.02)
        codes, weight = extreme_codes(0, 255)
        assert int(codes.max()) == 255 and int(weight.min()) == -127


@pytest.mark.parametrize("rows", ROWS)
def test_eight_bits_multiply_as_the_weights_that_they_stand_for(rows: int) -> None:
    linear = Linear(numbers(4, 96, WIDTH))
    x = numbers(5, rows, WIDTH).bfloat16()
    codes, scales = row_codes(linear.weight)
    wanted = x.float() @ (codes * scales[:, None]).T
    assert near(Int8Linear.of(linear)(x), wanted)


@pytest.mark.parametrize("kind", [Int8Linear, IntegerLinear, DynamicLinear])
def test_a_bias_is_refused(kind: type[Int8Linear]) -> None:
    with pytest.raises(ValueError, match="no bias"):
        kind.of(Linear(numbers(8, 32, 32), torch.zeros(32)))


def test_bytes_read_are_those_of_the_codes_and_scales() -> None:
    linear = Linear(numbers(10, 64, 64))
    assert Int8Linear.of(linear).num_bytes == 64 * 64 + 2 * 64
    assert IntegerLinear.of(linear).num_bytes == 64 * 64
