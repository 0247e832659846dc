"""Weights laid out for oneDNN's CPU kernels once, instead of by every product anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ssd.models.layers import GELU, Layer, Linear, SwiGLU
from ssd.models.transformer import Transformer, Weights

_ROWS = 16  # the number of rows that the layout is chosen for
_SAMPLE = 1000


@dataclass(frozen=True)
class PackedLinear:
    """x W^T + b with W in oneDNN's own layout. `sample`: some of W's numbers, to tell it by."""

    packed: Tensor
    bias: Tensor | None
    num_bytes: int
    sample: Tensor

    @classmethod
    def of(cls, linear: Linear) -> PackedLinear:
        """The same product, packed."""
        flat = linear.weight.reshape(-1)
        return cls(
            packed=torch.ops.mkldnn._reorder_linear_weight(linear.weight, _ROWS),
            bias=linear.bias,
            num_bytes=linear.num_bytes,
            sample=flat[:: max(1, len(flat) // _SAMPLE)].clone(),
        )

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self.packed, self.bias, "none", [], ""
        )
        return product


def packed(model: Transformer) -> Transformer:
    """`model` with packed products where this torch can: bf16 on a CPU. Else `model` itself.

    The kernels are those that torch.compile uses; which widths they keep exact is probed as ever.
    """
    embedding = model.weights.embedding
    if embedding.device.type != "cpu" or embedding.dtype != torch.bfloat16:
        return model
    try:
        weights = _packed(model.weights)
    except (RuntimeError, AttributeError):  # this build of torch has no such kernels
        return model
    return Transformer(model.architecture, weights, model.numerics)


def _packed(weights: Weights) -> Weights:
    layers = tuple(_packed_layer(layer) for layer in weights.layers)
    return replace(weights, layers=layers, head=_pack(weights.head))


def _packed_layer(layer: Layer) -> Layer:
    mlp = layer.mlp
    if isinstance(mlp, SwiGLU):
        small: SwiGLU | GELU = SwiGLU(_pack(mlp.gate_up), _pack(mlp.down))
    else:
        small = GELU(_pack(mlp.up), _pack(mlp.down))
    return replace(layer, qkv=_pack(layer.qkv), output=_pack(layer.output), mlp=small)


def _pack(product: object) -> PackedLinear:
    assert isinstance(product, Linear), "packed already"
    return PackedLinear.of(product)
