"""Linear layers with weights of 8 bits on a CPU, and the test that their integer sums are exact.

A kernel that multiplies unsigned by signed bytes is fast everywhere, but without VNNI it adds pairs
of products in 16 bits (`vpmaddubsw`), which saturate where the unsigned byte has all 8 bits. So
activations are given in 7 bits: stored as 0 to 128, two products add up to 32,512 at most. And no
kernel is used before its sums of extreme codes are right.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from ssd.models.int4 import sample
from ssd.models.layers import Linear

WEIGHT_MAX = 127
CODE_MAX = 64  # activation codes go from -64 to 64
_STEPS = 128.0  # of the second term in one step of the first; a power of 2 divides exactly
_RESCORED = 8
_TINY = torch.finfo(torch.float32).tiny


class ByteSums(Protocol):
    """Sums of products of integer codes, times a scale for each output: `[T, in]` to `[T, out]`."""

    def __call__(self, codes: Tensor) -> Tensor:
        """`codes`: `[T, in]` float32, -64 to 64, which are rounded; float32 sums."""


@dataclass(frozen=True)
class FbgemmSums:
    """FBGEMM's kernel for x86."""

    packed: Any

    @classmethod
    def of(cls, weight: Tensor, scales: Tensor) -> FbgemmSums:
        """`weight`: `[out, in]` int8; `scales`: `[out]`. Raises RuntimeError without it."""
        return cls(fbgemm_packed(weight, scales))

    def __call__(self, codes: Tensor) -> Tensor:
        sums: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            codes, 1.0, CODE_MAX, self.packed
        )
        return sums


@dataclass(frozen=True)
class PlainSums:
    """The same in float32, or float64 where float32 could not hold the sums. Slow, but anywhere."""

    weight: Tensor
    scales: Tensor

    @classmethod
    def of(cls, weight: Tensor, scales: Tensor) -> PlainSums:
        """`weight`: `[out, in]` int8; `scales`: `[out]`."""
        is_short = (
            weight.shape[1] * WEIGHT_MAX * CODE_MAX < 2**24
        )  # whole numbers up to here are exact
        return cls(weight.to(torch.float32 if is_short else torch.float64), scales)

    def __call__(self, codes: Tensor) -> Tensor:
        whole = codes.round().to(self.weight.dtype)
        return (whole @ self.weight.T).float() * self.scales


def are_exact(make: Callable[[Tensor, Tensor], ByteSums]) -> bool:
    """Whether the kernel that `make` packs weights for sums extreme codes without saturation.

    Compared with sums of whole numbers; False too where this torch or processor has no such kernel.
    """
    codes, weight = extreme_codes(-CODE_MAX, CODE_MAX)
    try:
        sums = make(weight, torch.ones(len(weight)))
        return all(
            torch.equal(sums(codes[:rows].float()), (codes[:rows] @ weight.long().T).float())
            for rows in (1, 2, 5, len(codes))
        )
    except (RuntimeError, AttributeError):
        return False


def extreme_codes(low: int, high: int) -> tuple[Tensor, Tensor]:
    """Activations `[33, 96]` int64 near `low` and `high`, weights `[48, 96]` int8 near theirs."""
    generator = torch.Generator().manual_seed(0)
    ends = torch.tensor([low, low, low + 1, high - 1, high, high])
    codes = ends[torch.randint(len(ends), (33, 96), generator=generator)]
    limits = torch.tensor([-WEIGHT_MAX, -WEIGHT_MAX, 1 - WEIGHT_MAX, WEIGHT_MAX - 1, WEIGHT_MAX])
    weight = limits[torch.randint(len(limits), (48, 96), generator=generator)]
    codes[:2], weight[:2] = torch.tensor([[high], [low]]), WEIGHT_MAX  # all of one sign
    return codes, weight.to(torch.int8)


@cache
def byte_sums() -> Callable[[Tensor, Tensor], ByteSums]:
    """The fastest kernel whose sums are exact on this machine."""
    return FbgemmSums.of if are_exact(FbgemmSums.of) else PlainSums.of


@dataclass(frozen=True)
class IntegerLinear:
    """x W^T with W in 8 bits, a scale for each row, and x in two terms of 7 bits, 14 together.

    The second term is what rounding to the first has left, so that hardly anything of x is lost.
    Both are rows of one call. Sums are whole numbers and exact, and a row's scale is its own: its
    result cannot depend on the batch, nor on the processor. `columns`: `[in]`, factors that make
    the columns of W alike in size before they are rounded, and that x is multiplied by.
    """

    sums: ByteSums
    columns: Tensor
    num_bytes: int
    sample: Tensor
    scales: Tensor
    rounds_inputs: ClassVar[bool] = True

    @classmethod
    def of(cls, linear: Linear) -> IntegerLinear:
        """The nearest layer to `linear`. Raises ValueError where it has a bias."""
        _check_no_bias(linear)
        weight = linear.weight.float()
        rows = weight / weight.abs().amax(dim=1, keepdim=True).clamp_min(_TINY)
        columns = rows.abs().amax(dim=0).clamp_min(_TINY)
        codes, scales = row_codes(weight / columns)
        return cls(byte_sums()(codes, scales), columns, codes.numel(), sample(codes), scales)

    def __call__(self, x: Tensor) -> Tensor:
        wide = x * self.columns  # float32
        largest = torch.linalg.vector_norm(wide, float("inf"), dim=1, keepdim=True)
        scale = largest.clamp_min_(_TINY).div_(CODE_MAX)
        wide = wide.div_(scale)
        first = wide.round()
        terms = torch.cat((first, wide.sub_(first).mul_(_STEPS)))
        sums, rest = self.sums(terms).chunk(2)
        return sums.add_(rest, alpha=1 / _STEPS).mul_(scale).to(x.dtype)


@dataclass(frozen=True)
class RescoredLinear:
    """A head in 8 bits whose highest results of each row are computed again from the weights.

    Weights rounded to 8 bits would decide between the first and the second where they are close;
    here they only find the few that could be highest.
    """

    rough: IntegerLinear
    weight: Tensor
    count: int
    rounds_inputs: ClassVar[bool] = False

    @classmethod
    def of(cls, linear: Linear) -> RescoredLinear:
        """The layer; `linear` stays in memory beside it. Raises ValueError where it has a bias."""
        return cls(IntegerLinear.of(linear), linear.weight, min(_RESCORED, len(linear.weight)))

    def __call__(self, x: Tensor) -> Tensor:
        results = self.rough(x)
        ids = results.topk(self.count, dim=1).indices
        # In float64, so that the order of the sums, which may depend on the batch, shows nowhere.
        exact = torch.mul(self.weight[ids].double(), x.double().unsqueeze(1)).sum(2)
        return results.scatter(1, ids, exact.to(results.dtype))

    @property
    def num_bytes(self) -> int:
        """Bytes that a call reads."""
        return self.rough.num_bytes


@dataclass(frozen=True)
class Int8Linear:
    """x W^T with W in 8 bits, a scale for each row; x stays bf16. Fast where AVX-512 is.

    Twin in use: `IntegerLinear`, faster everywhere else.
    """

    codes: Tensor
    scales: Tensor
    rounds_inputs: ClassVar[bool] = True

    @classmethod
    def of(cls, linear: Linear) -> Int8Linear:
        """The nearest layer to `linear`. Raises ValueError where it has a bias."""
        _check_no_bias(linear)
        codes, scales = row_codes(linear.weight.float())
        return cls(codes, scales.bfloat16())

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.aten._weight_int8pack_mm(x.bfloat16(), self.codes, self.scales)
        return product.to(x.dtype)

    @property
    def num_bytes(self) -> int:
        """Bytes that a call reads."""
        return self.codes.numel() + 2 * len(self.scales)


@dataclass(frozen=True)
class DynamicLinear:
    """x W^T with both in 8 bits, a scale for each row of W and one for all of x.

    For a draft: what a row gives depends on the batch. `is_reduced`: x has 7 bits, where sums of 8
    would saturate.
    """

    packed: Any
    num_bytes: int
    sample: Tensor
    is_reduced: bool
    rounds_inputs: ClassVar[bool] = True

    @classmethod
    def of(cls, linear: Linear) -> DynamicLinear:
        """The nearest layer to `linear`. Raises ValueError where it has a bias, RuntimeError where
        torch has no such kernel.
        """
        _check_no_bias(linear)
        codes, scales = row_codes(linear.weight.float())
        packed = fbgemm_packed(codes, scales)
        return cls(packed, codes.numel(), sample(codes), not takes_eight_bits())

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.quantized.linear_dynamic(
            x.float(), self.packed, self.is_reduced
        )
        return product.to(x.dtype)


@cache
def takes_eight_bits() -> bool:
    """Whether FBGEMM sums unsigned codes of 8 bits exactly here, as it does with VNNI."""
    codes, weight = extreme_codes(0, 255)
    packed = fbgemm_packed(weight, torch.ones(len(weight)))
    sums: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
        codes.float(), 1.0, 0, packed
    )
    return torch.equal(sums, (codes @ weight.long().T).float())


def fbgemm_packed(codes: Tensor, scales: Tensor) -> Any:
    """`codes`, `[out, in]` int8, in FBGEMM's layout. Raises RuntimeError where torch lacks it."""
    if torch.backends.quantized.engine not in ("x86", "fbgemm"):
        raise RuntimeError("this torch has no FBGEMM")
    zeros = torch.zeros(len(codes), dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch wants to give up tensors that know their scale
        known = torch._make_per_channel_quantized_tensor(codes, scales, zeros, 0)
        return torch.ops.quantized.linear_prepack(known, None)


def row_codes(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Codes -127 to 127, `[out, in]` int8, and a scale for each row, `[out]` float32."""
    scales = weight.abs().amax(dim=1).clamp_min(_TINY) / WEIGHT_MAX
    return torch.round(weight / scales[:, None]).to(torch.int8), scales


def _check_no_bias(linear: Linear) -> None:
    if linear.bias is not None:
        raise ValueError("8 bits go with no bias")
