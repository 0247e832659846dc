"""What attention keeps of its sums where nothing after it rounds."""

from __future__ import annotations

import pytest
import torch

from ssd.exact import Numerics
from ssd.models.attention import coarse
from ssd.models.packed import in_integers, packed
from tests.test_packed import even
from tests.tiny import tiny


def numbers(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(100_000, generator=generator, dtype=torch.float64)


def test_eighteen_bits_are_kept() -> None:
    x = numbers(0)
    mantissa, _ = torch.frexp(coarse(x))
    assert torch.equal(mantissa * 2**18, torch.round(mantissa * 2**18))
    assert float(((coarse(x) - x) / x).abs().max()) <= 2.0**-18
    assert torch.equal(coarse(x).float().double(), coarse(x))
    assert not coarse(torch.zeros(3, dtype=torch.float64)).any()


def test_sums_in_another_order_show_much_less_often() -> None:
    """Sums that differ by 1e-10 of themselves: 170 of 100,000 in 24 bits, three or so in 18."""
    x = numbers(1)
    other = x * (1 + 1e-10)
    assert int((x.float() != other.float()).sum()) > 50
    assert int((coarse(x) != coarse(other)).sum()) < 12


@pytest.mark.parametrize(
    ("make", "kind", "expected"),
    [
        (lambda: packed(even().model(torch.float32)), "exact", True),
        (lambda: tiny("gpt2", 1).model(torch.float32), "exact", True),
        (lambda: packed(even().model(torch.float32)), "fast", False),
        (lambda: packed(even().model(torch.bfloat16)), "exact", False),
        (lambda: in_integers(even().model(torch.float32), 4), "exact", False),
        (lambda: in_integers(even().model(torch.float32), 8), "exact", False),
    ],
)
def test_it_is_done_where_nothing_else_rounds(make: object, kind: str, expected: bool) -> None:
    model = make().with_numerics(Numerics(kind))  # type: ignore[operator, arg-type]
    assert model.frame(2, 4).is_coarse is expected
