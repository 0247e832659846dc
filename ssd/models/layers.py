"""The layers of both families: products, norms, the two kinds of MLP, the block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F


class Product(Protocol):
    """A linear layer, however its weight is stored."""

    def __call__(self, x: Tensor) -> Tensor:
        """x W^T + b, `[T, out]`."""

    @property
    def num_bytes(self) -> int:
        """Bytes that one call reads."""

    @property
    def rounds_inputs(self) -> bool:
        """Whether x is rounded to fewer than 18 bits first, whatever its dtype."""


@dataclass(frozen=True)
class Linear:
    """x W^T + b, `weight`: `[out, in]`."""

    weight: Tensor
    bias: Tensor | None = None
    rounds_inputs: ClassVar[bool] = False

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)

    @property
    def num_bytes(self) -> int:
        """Bytes that one call reads."""
        return self.weight.numel() * self.weight.element_size()


def as_linear(product: Product) -> Linear:
    """`product`, which is still as it was read."""
    assert isinstance(product, Linear), "made already"
    return product


@dataclass(frozen=True)
class RMSNorm:
    """x / sqrt(mean(x^2) + epsilon) * weight in float32, rounded once (arXiv 1910.07467)."""

    weight: Tensor
    epsilon: float

    @cached_property
    def _scaled(self) -> tuple[Tensor, Tensor]:
        """weight * sqrt(E) and sqrt(E epsilon), float32."""
        root = math.sqrt(len(self.weight))
        weight = self.weight.float()
        return weight * root, weight.new_tensor(math.sqrt(self.epsilon) * root)

    def __call__(self, x: Tensor) -> Tensor:
        # sqrt(sum(x^2) + E epsilon) as a hypotenuse: half the operations of F.rms_norm.
        weight, least = self._scaled
        wide = x.float()
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True).hypot_(least)
        return torch.div(wide, length).mul_(weight).to(x.dtype)


@dataclass(frozen=True)
class LayerNorm:
    """(x - mean) / deviation * weight + bias."""

    weight: Tensor
    bias: Tensor
    epsilon: float

    def __call__(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


@dataclass(frozen=True)
class SwiGLU:
    """down(silu(gate x) * up x); gate and up are one product (arXiv 2002.05202)."""

    gate_up: Product
    down: Product

    def __call__(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)

    @property
    def linears(self) -> tuple[Product, ...]:
        """The products inside."""
        return self.gate_up, self.down


@dataclass(frozen=True)
class GELU:
    """down(gelu(up x)), the tanh form of GPT-2."""

    up: Product
    down: Product

    def __call__(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x), approximate="tanh"))

    @property
    def linears(self) -> tuple[Product, ...]:
        """The products inside."""
        return self.up, self.down


Norm = RMSNorm | LayerNorm


@dataclass(frozen=True)
class Layer:
    """One block: x + attention(norm x), then x + mlp(norm x). `qkv` is q, k, v in one matrix.

    With rotary positions, the rows of q and k are interleaved so that the two numbers of each
    rotated pair are neighbours (see `interleave`).
    """

    attention_norm: Norm
    qkv: Product
    output: Product
    mlp_norm: Norm
    mlp: SwiGLU | GELU

    @property
    def linears(self) -> tuple[Product, ...]:
        """The products inside."""
        return self.qkv, self.output, *self.mlp.linears


def interleave(weight: Tensor, head_size: int) -> Tensor:
    """`weight` with each head's rows in the order 0, D/2, 1, D/2 + 1, ...

    The checkpoint rotates row i against row i + D/2; here the pair are neighbours, one complex
    number. Queries and keys are reordered alike, so their products stay. `weight`: `[H * D, ...]`.
    """
    half = weight.reshape(-1, 2, head_size // 2, *weight.shape[1:])
    return half.transpose(1, 2).reshape(weight.shape)
