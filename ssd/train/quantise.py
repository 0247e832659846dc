"""A draft's weights in 4 bits, each rounded with regard to what was lost before it.

GPTQ (Frantar et al., arXiv 2210.17323): the columns of a weight are rounded one after another, and
those not rounded yet make up for the error as far as their inputs go together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from ssd.exact import Numerics
from ssd.models.assets import (
    HEAD,
    draft_model,
    in_four_bits,
    in_full,
    read_card,
    read_draft_state,
    write_draft,
)
from ssd.models.int4 import GROUP, LEVELS, bf16_scales, grid
from ssd.models.layers import Linear, Product, SwiGLU, as_linear
from ssd.models.transformer import Transformer, Weights
from ssd.train.calibrate import Document, document_rows

_DAMPING = 0.01  # of the mean, added to what each input is worth, lest noise be made up for

Codes = tuple[Tensor, Tensor]
"""Codes 0 to 15, `[out, in]` int32, and scale and offset, `[out, in / 32, 2]` bf16."""


_READERS = {
    "qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "output": ("self_attn.o_proj",),
    "gate_up": ("mlp.gate_proj", "mlp.up_proj"),
    "down": ("mlp.down_proj",),
}
"""The weights of a layer that read the same, by the name of their product."""


@dataclass(frozen=True)
class Watched:
    """A product that notes what it reads. `moments`: the sum of x x^T over its rows, `[in, in]`."""

    linear: Linear
    moments: Tensor
    rounds_inputs: ClassVar[bool] = False

    @classmethod
    def of(cls, product: Product) -> Watched:
        """The same product, which has read nothing yet."""
        linear = as_linear(product)
        width = linear.weight.shape[1]
        return cls(linear, torch.zeros(width, width, device=linear.weight.device))

    def __call__(self, x: Tensor) -> Tensor:
        wide = x.float()
        self.moments.addmm_(wide.T, wide)
        return self.linear(x)

    @property
    def num_bytes(self) -> int:
        """Bytes that one call reads."""
        return self.linear.num_bytes


def compensated(weight: Tensor, moments: Tensor) -> Codes:
    """`weight`, `[out, in]`, in 4 bits, so that it does nearly the same to inputs of `moments`.

    Raises ValueError for a width that a group does not divide.
    """
    width = weight.shape[1]
    if width % GROUP:
        raise ValueError(f"4 bits go with a width that {GROUP} divides, got {width}")
    left, codes, scales = weight.double(), [], []
    factor = _inverse_factor(moments.double())
    for start in range(0, width, GROUP):
        group = slice(start, start + GROUP)
        scales.append(bf16_scales(*grid(left[:, group].float())))
        scale, offset = scales[-1].double().split(1, dim=1)
        for column in range(start, start + GROUP):
            wanted = left[:, column : column + 1]
            code = torch.round((wanted - offset) / scale + 8).clamp(0, LEVELS)
            missed = wanted - ((code - 8) * scale + offset)
            left[:, column:] -= missed / factor[column, column] * factor[column, column:]
            codes.append(code.int())
    return torch.cat(codes, dim=1), torch.stack(scales, dim=1)


def _inverse_factor(moments: Tensor) -> Tensor:
    """The upper factor U of the inverse of the damped moments, U^T U."""
    worth = moments.diagonal().mean().clamp_min(torch.finfo(torch.float32).tiny)
    damped = moments + _DAMPING * worth * torch.eye(len(moments), dtype=moments.dtype)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(damped))
    factor: Tensor = torch.linalg.cholesky(inverse, upper=True)
    return factor


def quantise(
    folder: Path,
    target: Transformer,
    head: Tensor | None,
    documents: Sequence[Document],
    report: Callable[[str], None],
) -> None:
    """Round the draft in `folder` to 4 bits, layer by layer, by what it reads in `documents`.

    Its head, too, which thereby becomes its own. For `head` see `ssd.models.assets.read_draft`.
    Raises ValueError where a width does not go with 4 bits; then the folder stays as it was.
    """
    card, (layers, state) = read_card(folder), read_draft_state(folder)

    def draft() -> Transformer:
        return draft_model(card, in_full(state), target, head).with_numerics(Numerics("fast"))

    for number in layers:
        for name, moments in _layer_moments(draft(), number, documents).items():
            state |= in_four_bits(name, *compensated(state.pop(name), moments))
        report(f"layer {number + 1} of {len(layers)}")
    rounded = draft()
    watched = Watched.of(rounded.weights.head)
    _read(rounded, replace(rounded.weights, head=watched), documents)
    state |= in_four_bits(HEAD, *compensated(watched.linear.weight, watched.moments))
    write_draft(folder, state, {**card, "quantised": {"bits": 4, "documents": len(documents)}})


def _layer_moments(
    draft: Transformer, number: int, documents: Sequence[Document]
) -> dict[str, Tensor]:
    """The moments of what each weight of a layer reads, by the weight's name."""
    layer = draft.weights.layers[number]
    assert isinstance(layer.mlp, SwiGLU)
    watched = {
        "qkv": Watched.of(layer.qkv),
        "output": Watched.of(layer.output),
        "gate_up": Watched.of(layer.mlp.gate_up),
        "down": Watched.of(layer.mlp.down),
    }
    mlp = SwiGLU(watched["gate_up"], watched["down"])
    watching = replace(layer, qkv=watched["qkv"], output=watched["output"], mlp=mlp)
    layers = (*draft.weights.layers[:number], watching, *draft.weights.layers[number + 1 :])
    _read(draft, replace(draft.weights, layers=layers), documents)
    return {
        f"layers.{number}.{weight}.weight": watched[product].moments
        for product, weights in _READERS.items()
        for weight in weights
    }


def _read(draft: Transformer, weights: Weights, documents: Sequence[Document]) -> None:
    """Let `draft` with `weights` read `documents`."""
    model = Transformer(draft.architecture, weights, draft.numerics)
    for ids, _ in documents:
        document_rows(model, ids)
