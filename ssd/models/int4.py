"""Linear layers with weights of 4 bits on a CPU, a quarter of bf16's bytes. Torch's own kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ssd.models.layers import Linear

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
    rounds_inputs: ClassVar[bool] = True

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
        return cls(packed, scales.transpose(0, 1).contiguous(), num_bytes, sample(codes))

    def __call__(self, x: Tensor) -> Tensor:
        # The kernel is fast for bf16 inputs only; its sums are float32 whatever they are.
        product: Tensor = torch.ops.aten._weight_int4pack_mm_for_cpu(
            x.bfloat16(), self.packed, GROUP, self.scales
        )
        return product.to(x.dtype)


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


def sample(codes: Tensor) -> Tensor:
    """About a thousand of `codes`, by which one packed weight is known from another."""
    flat = codes.reshape(-1)
    return flat[:: max(1, len(flat) // _SAMPLE)].clone()
