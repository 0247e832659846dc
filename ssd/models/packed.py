"""The same model with its products computed otherwise: laid out anew, or in integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from ssd.models.integer import (
    ByRows,
    DynamicLinear,
    Int4Linear,
    Int8Linear,
    IntegerLinear,
    scripted,
)
from ssd.models.layers import GELU, Layer, Linear, Norm, Product, RMSNorm, SwiGLU, as_linear
from ssd.models.transformer import Transformer, Weights

_ROWS = 16  # the number of rows that the layout is chosen for
_SAMPLE = 1000
# Rows up to which 4 bits are quicker, their weights read from memory. The kernel unpacks them for
# every four rows anew, which shows where the results are many.
_FEW, _FEW_OF_MANY, _MANY = 8, 4, 2048

Make = Callable[[Linear], Product]


@cache
def _packed_product() -> Callable[..., Tensor]:
    """The product in a form that a trace can hold. Raises RuntimeError where torch lacks it."""

    def product(x: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
        scalars: list[int | float | complex | None] = []
        return torch.ops.mkldnn._linear_pointwise(  # type: ignore[no-any-return]
            x, packed, bias, "none", scalars, ""
        )

    return scripted(product)


@dataclass(frozen=True)
class PackedLinear:
    """x W^T + b with W in oneDNN's own layout, not in that of every product anew.

    `sample`: some of W's numbers, to tell it by.
    """

    packed: Tensor
    bias: Tensor | None
    num_bytes: int
    sample: Tensor
    product: Callable[..., Tensor]

    @classmethod
    def of(cls, linear: Linear) -> PackedLinear:
        """The same product, packed."""
        flat = linear.weight.reshape(-1)
        return cls(
            packed=torch.ops.mkldnn._reorder_linear_weight(linear.weight, _ROWS),
            bias=linear.bias,
            num_bytes=linear.num_bytes,
            sample=flat[:: max(1, len(flat) // _SAMPLE)].clone(),
            product=_packed_product(),
        )

    def __call__(self, x: Tensor) -> Tensor:
        return self.product(x, self.packed, self.bias)


def packed_or_plain(linear: Linear) -> Product:
    """`linear` packed where this torch can, else itself."""
    return _where_possible(PackedLinear.of, linear) or linear


def packed(model: Transformer) -> Transformer:
    """`model` with packed products where this torch can: bf16 on a CPU. Else `model` itself.

    The kernels are those that torch.compile uses; which widths they keep exact is probed as ever.
    """
    return _attempt(model, PackedLinear.of, PackedLinear.of)


def quickened(model: Transformer) -> Transformer:
    """A draft with 4 bits for few rows, and 8 for more where results are many; else as `packed`.

    For a draft alone: the result of a row depends on its company.
    """
    return _attempt(model, _quick, _quick)


def _quick(linear: Linear) -> Product:
    """The quickest of the products that go with the shape, the processor and this torch."""
    is_large = len(linear.weight) > _MANY
    wide = _where_possible(DynamicLinear.of, linear) if is_large else None
    if wide is None:
        wide = PackedLinear.of(linear)
    narrow = _where_possible(Int4Linear.of, linear)
    return wide if narrow is None else ByRows(narrow, wide, _FEW_OF_MANY if is_large else _FEW)


def _where_possible(make: Make, linear: Linear) -> Product | None:
    try:
        return make(linear)
    except (RuntimeError, AttributeError, ValueError):  # it does not fit, or there is none
        return None


def in_integers(model: Transformer, bits: int) -> Transformer:
    """`model`, given in float32, with weights of 4 or 8 bits, the head's of 8; the rest is bf16.

    Raises ValueError where the model, the device or torch lack what that takes.
    """
    try:
        if model.weights.embedding.device.type != "cpu":
            raise ValueError("there are no such kernels for a GPU here")
        layer: Make = Int4Linear.of if bits == 4 else Int8Linear.of
        weights = _remade(model.weights, layer, IntegerLinear.of)
    except (RuntimeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"int{bits} needs a CPU, a torch with oneDNN and a model without biases in its layers, "
            f"got another: use --precision bf16 or fp32 ({str(error).splitlines()[0]})"
        ) from error
    narrow = replace(
        weights,
        embedding=weights.embedding.bfloat16(),
        layers=tuple(_with_bf16_norms(layer) for layer in weights.layers),
        norm=_in_bf16(weights.norm),
    )
    return Transformer(model.architecture, narrow, model.numerics)


def _with_bf16_norms(layer: Layer) -> Layer:
    return replace(
        layer,
        attention_norm=_in_bf16(layer.attention_norm),
        mlp_norm=_in_bf16(layer.mlp_norm),
    )


def _in_bf16(norm: Norm) -> Norm:
    if isinstance(norm, RMSNorm):
        return replace(norm, weight=norm.weight.bfloat16())
    return replace(norm, weight=norm.weight.bfloat16(), bias=norm.bias.bfloat16())


def _attempt(model: Transformer, layer: Make, head: Make) -> Transformer:
    """`model` with products made by `layer` and `head`; itself where that is impossible."""
    embedding = model.weights.embedding
    if embedding.device.type != "cpu" or embedding.dtype != torch.bfloat16:
        return model
    try:
        weights = _remade(model.weights, layer, head)
    except (RuntimeError, AttributeError, ValueError):  # this build of torch has no such kernels
        return model
    return Transformer(model.architecture, weights, model.numerics)


def _remade(weights: Weights, layer: Make, head: Make) -> Weights:
    """`weights` with the products of the layers made by `layer`, and the head by `head`."""

    def block(old: Layer) -> Layer:
        mlp = old.mlp
        qkv, output = layer(as_linear(old.qkv)), layer(as_linear(old.output))
        if isinstance(mlp, SwiGLU):
            small: SwiGLU | GELU = SwiGLU(layer(as_linear(mlp.gate_up)), layer(as_linear(mlp.down)))
        else:
            small = GELU(layer(as_linear(mlp.up)), layer(as_linear(mlp.down)))
        return replace(old, qkv=qkv, output=output, mlp=small)

    blocks = tuple(block(old) for old in weights.layers)
    return replace(weights, layers=blocks, head=head(as_linear(weights.head)))
