"""Products with integer weights on a CPU: groups of 4 bits, rows of 8 bits.

A quarter or half of bf16's bytes to read. The kernels are torch's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ssd.models.layers import Linear, Product

GROUP = 32  # weights that share a scale and an offset, as in the file format Q4_1
LEVELS = 15  # the greatest code
_TILES = 1  # the kernel ignores it on a CPU
_SAMPLE = 1000


@dataclass(frozen=True)
class Int4Linear:
    """x W^T with W in 4 bits: w = (q - 8) scale + offset, a pair of bf16 for each 32 of a row.

    The least and the greatest weight of a group become 0 and 15, as llama.cpp's Q4_1 does: weights
    that came from that format keep their q, and only their scales are rounded, to bf16.
    """

    packed: Tensor
    scales: Tensor
    num_bytes: int
    sample: Tensor

    @classmethod
    def of(cls, linear: Linear) -> Int4Linear:
        """The nearest product to `linear`. Raises ValueError for a shape that the kernel does not
        take, RuntimeError where torch has no such kernel.
        """
        if linear.bias is not None or linear.weight.shape[1] % GROUP:
            raise ValueError(f"4 bits go with no bias and a width that {GROUP} divides")
        codes, scales = quantised(linear.weight)
        packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes, _TILES)
        num_bytes = packed.numel() * packed.element_size() + scales.numel() * 2
        return cls(packed, scales.transpose(0, 1).contiguous(), num_bytes, _sample(codes))

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.aten._weight_int4pack_mm_for_cpu(
            x, self.packed, GROUP, self.scales
        )
        return product


def quantised(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Codes 0 to 15, `[out, in]` int32, and scale and offset, `[out, in / 32, 2]` bf16."""
    groups = weight.float().unflatten(1, (-1, GROUP))
    least, step = grid(groups)
    codes = torch.round((groups - least) / step).clamp(0, LEVELS)
    return codes.flatten(1).int(), bf16_scales(least, step)


def grid(groups: Tensor) -> tuple[Tensor, Tensor]:
    """The least weight and the step of each of `groups`, `[..., 32]` float32: `[..., 1]` each."""
    least, greatest = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    return least, ((greatest - least) / LEVELS).clamp_min(torch.finfo(torch.float32).tiny)


def bf16_scales(least: Tensor, step: Tensor) -> Tensor:
    """Scale and offset as the kernel takes them, `[..., 2]` bf16."""
    return torch.cat((step, least + 8 * step), dim=-1).bfloat16()


def restored(codes: Tensor, scales: Tensor) -> Tensor:
    """The float32 weights that `quantised` stands for, `[out, in]`."""
    scale, offset = scales.float().unsqueeze(-2).unbind(-1)
    weight: Tensor = (codes.unflatten(1, (-1, GROUP)) - 8) * scale + offset
    return weight.flatten(1)


def in_bytes(codes: Tensor) -> Tensor:
    """Codes 0 to 15, `[out, in]`, by two in a byte, the first in its low bits, `[out, in / 2]`."""
    return (codes[:, ::2] + 16 * codes[:, 1::2]).to(torch.uint8)


def from_bytes(stored: Tensor) -> Tensor:
    """The codes that `in_bytes` stored, `[out, in]` int32."""
    return torch.stack((stored % 16, stored // 16), dim=-1).flatten(1).int()


@dataclass(frozen=True)
class Int8Linear:
    """x W^T with W in 8 bits, a scale for each of its rows; x stays bf16."""

    codes: Tensor
    scales: Tensor

    @classmethod
    def of(cls, linear: Linear) -> Int8Linear:
        """The nearest product to `linear`. Raises ValueError where it has a bias."""
        codes, scales = _bytes(linear)
        return cls(codes, scales.bfloat16())

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.aten._weight_int8pack_mm(x, self.codes, self.scales)
        return product

    @property
    def num_bytes(self) -> int:
        """Bytes that a call reads."""
        return self.codes.numel() + 2 * len(self.scales)


def scripted(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function` in TorchScript, which a trace can hold where Python's own call has no place in it.

    Raises RuntimeError where torch lacks an operation of its.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TorchScript's age
        made: Callable[..., Tensor] = torch.jit.script(function)
    return made


@cache
def _integer_product() -> Callable[..., Tensor]:
    """The product of codes, `packed` with `scales` and `zeros`, for `IntegerLinear`."""

    def product(codes: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
        scalars: list[int | float | complex | None] = []
        return torch.ops.onednn.qlinear_pointwise(  # type: ignore[no-any-return]
            codes, 1.0, 128, packed, scales, zeros, None,
            1.0, 0, torch.float32, "none", scalars, "",
        )  # fmt: skip

    return scripted(product)


@dataclass(frozen=True)
class IntegerLinear:
    """x W^T with both in 8 bits, a scale for each row of either; sums are whole numbers, exact.

    What a row gives cannot depend on its company: its scale is its own.
    """

    packed: Tensor
    scales: Tensor
    zeros: Tensor
    num_bytes: int
    sample: Tensor
    product: Callable[..., Tensor]

    @classmethod
    def of(cls, linear: Linear) -> IntegerLinear:
        """The nearest product to `linear`. Raises ValueError where it has a bias, RuntimeError
        where torch has no such kernel.
        """
        codes, scales = _bytes(linear)
        return cls(
            packed=torch.ops.onednn.qlinear_prepack(codes, None),
            scales=scales,
            zeros=torch.zeros(len(codes), dtype=torch.int32),
            num_bytes=codes.numel(),
            sample=_sample(codes),
            product=_integer_product(),
        )

    def __call__(self, x: Tensor) -> Tensor:
        least = torch.finfo(torch.float32).tiny
        scale = x.abs().amax(dim=1, keepdim=True).float().clamp_min_(least).div_(127)
        # Unsigned codes around 128: for signed ones oneDNN has no fast kernel.
        codes = torch.div(x, scale).round_().add_(128).to(torch.uint8)
        product = self.product(codes, self.packed, self.scales, self.zeros)
        return product.mul_(scale).to(x.dtype)


@dataclass(frozen=True)
class DynamicLinear:
    """x W^T with both in 8 bits, a scale for each row of W and one for all of x.

    One kernel does all of it. For a draft: what a row gives depends on its company.
    """

    packed: Any
    num_bytes: int
    sample: Tensor

    @classmethod
    def of(cls, linear: Linear) -> DynamicLinear:
        """The nearest product to `linear`. Raises ValueError where it has a bias, RuntimeError
        where torch has no such kernel, or the processor would let its sums overflow.
        """
        codes, scales = _bytes(linear)
        if not torch.cpu.get_capabilities().get("avx512_vnni", False):
            raise RuntimeError("products of bytes need AVX-512 VNNI")
        zeros = torch.zeros(len(codes), dtype=torch.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch wants to give up tensors that know their scale
            known = torch._make_per_channel_quantized_tensor(codes, scales, zeros, 0)
            packed = torch.ops.quantized.linear_prepack(known, None)
        return cls(packed, codes.numel(), _sample(codes))

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.quantized.linear_dynamic(x.float(), self.packed, False)
        return product.to(x.dtype)


@dataclass(frozen=True)
class ByRows:
    """One product computed in two ways: `narrow` for up to `most` rows, `wide` for more.

    For a draft, whose rows need not be the same to the last bit whatever their company.
    """

    narrow: Product
    wide: Product
    most: int

    def __call__(self, x: Tensor) -> Tensor:
        return self.narrow(x) if len(x) <= self.most else self.wide(x)

    @property
    def num_bytes(self) -> int:
        """Bytes that a call of few rows reads."""
        return self.narrow.num_bytes


def _bytes(linear: Linear) -> tuple[Tensor, Tensor]:
    """Codes -127 to 127, `[out, in]` int8, and a scale for each row, `[out]` float32."""
    if linear.bias is not None:
        raise ValueError("8 bits go with no bias")
    weight = linear.weight.float()
    scales = weight.abs().amax(dim=1).clamp_min(torch.finfo(torch.float32).tiny) / 127
    return torch.round(weight / scales[:, None]).to(torch.int8), scales


def _sample(codes: Tensor) -> Tensor:
    flat = codes.reshape(-1)
    return flat[:: max(1, len(flat) // _SAMPLE)].clone()
