"""The same model with other linear layers: packed for the processor, or with integer weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import torch
from torch import Tensor

from ssd.models.int4 import Int4Linear
from ssd.models.int8 import (
    DynamicLinear,
    Int8Linear,
    IntegerLinear,
    PlainSums,
    RescoredLinear,
    byte_sums,
)
from ssd.models.layers import GELU, Layer, Linear, Product, SwiGLU, as_linear
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

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TorchScript's age
        made: Callable[..., Tensor] = torch.jit.script(product)
    return made


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
    rounds_inputs: ClassVar[bool] = False

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


@dataclass(frozen=True)
class ByRows:
    """One layer computed in two ways: `narrow` for up to `most` rows, `wide` for more.

    For a draft, whose rows need not be the same to the last bit whatever the batch.
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

    @property
    def rounds_inputs(self) -> bool:
        """Whether both ways do."""
        return self.narrow.rounds_inputs and self.wide.rounds_inputs


def packed_or_plain(linear: Linear) -> Product:
    """`linear` packed where this torch and processor can, else itself."""
    return _first_possible(linear, PackedLinear.of) or linear


def packed(model: Transformer) -> Transformer:
    """`model` with packed linear layers where torch and the processor can: bf16 and fp32 on a CPU.

    The kernels are those that torch.compile uses; which widths they keep exact is probed.
    """
    return _with_layers(model, packed_or_plain)


def quantised_draft(model: Transformer) -> Transformer:
    """A draft with weights of 4 bits in passes of few rows, and whatever is fast in wider ones.

    For a draft alone: the result of a row depends on the batch.
    """
    return _with_layers(model, _draft_layer)


def _draft_layer(linear: Linear) -> Product:
    """The fastest of the layers that go with the shape, the processor and this torch."""
    is_large = len(linear.weight) > _MANY
    is_wide = is_large or linear.weight.dtype == torch.float32
    kinds = (DynamicLinear.of, PackedLinear.of) if is_wide else (PackedLinear.of, DynamicLinear.of)
    wide = _first_possible(linear, *kinds) or linear
    narrow = _first_possible(linear, Int4Linear.of)
    if narrow is None:
        return wide if isinstance(wide, PackedLinear) else packed_or_plain(linear)
    is_early = is_large or isinstance(wide, DynamicLinear)
    return ByRows(narrow, wide, _FEW_OF_MANY if is_early else _FEW)


def _first_possible(linear: Linear, *kinds: Make) -> Product | None:
    """`linear` as the first of `kinds` that it fits, None where there is none."""
    for make in kinds:
        try:
            return make(linear)
        except (RuntimeError, AttributeError, ValueError):  # it does not fit, or torch has it not
            continue
    return None


def in_integers(model: Transformer, bits: int) -> Transformer:
    """`model`, given in float32, with weights of 4 or 8 bits, the head's of 8 (`RescoredLinear`).

    All else stays float32: in bf16, what a layer adds to is rounded too, which changes more first
    choices than the 4 bits. What attention gathers is rounded by the layer that reads it, to bf16
    or 14 bits, so that sums in another order show as little as in a bf16 model. Raises ValueError
    where the model, the device or torch lack what that takes.
    """
    try:
        if model.weights.embedding.device.type != "cpu":
            raise ValueError("there are no such kernels for a GPU here")
        layer = Int4Linear.of if bits == 4 else _bytes_layer()
        weights = _remade(model.weights, layer, RescoredLinear.of)
    except (RuntimeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"int{bits} needs a CPU, a torch with oneDNN and a model without biases in its layers, "
            f"got another: use --precision bf16 or fp32 ({str(error).splitlines()[0]})"
        ) from error
    return Transformer(model.architecture, weights, model.numerics)


def _bytes_layer() -> Make:
    """The fastest form of a layer in 8 bits here."""
    has_avx512 = "AVX512" in torch.backends.cpu.get_cpu_capability()
    return Int8Linear.of if has_avx512 or byte_sums() == PlainSums.of else IntegerLinear.of


def _with_layers(model: Transformer, make: Make) -> Transformer:
    """`model` with its linear layers made by `make` on a CPU in bf16 or fp32, else itself."""
    embedding = model.weights.embedding
    if embedding.device.type != "cpu" or embedding.dtype not in (torch.bfloat16, torch.float32):
        return model
    return Transformer(model.architecture, _remade(model.weights, make, make), model.numerics)


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
