"""The attention of one pass: buffers that all layers use in turn, and what each does with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor

from ssd.exact import Numerics, Slots


class OwnSlots(Slots, Protocol):
    """What a pass reads of one layer, and writes: see `ssd.cache.Window`."""

    def write(self, keys: Tensor, values: Tensor) -> None:
        """Store `keys`, `values`, `[T, H, D]`, as the rows' own."""


class AllSlots(Protocol):
    """The same of all layers. Its tensors are few: a traced pass is handed each of them."""

    def layers(self) -> Sequence[OwnSlots]:
        """The slots of each layer."""


@dataclass(frozen=True)
class Frame:
    """What the attention of W rows, of which the first T are real, computes in, layer by layer.

    `rows`: what the rows of a layer ask, show and tell, `[W, (H + 2 Hkv) * D]` float32; views of it
    are `turned`, its queries and keys as complex numbers, `[W, H + Hkv, D / 2]` (None where
    positions are learned), `grouped`, its queries, `[Hkv, G, T, D]`, and `keys` and `values`,
    `[T, Hkv, D]`. `queries`: `grouped` in the dtype that attention computes in; `flat_queries`:
    the same, `[Hkv, G * T, D]`. `out`: what the rows gather, `[W, H * D]`, zero where padded;
    `grouped_out`: its real rows, `[Hkv, G, T, D]`. `is_coarse`: whether it takes no more than the
    18 highest bits of what was summed (see `coarse`).
    """

    rows: Tensor
    turned: Tensor | None
    grouped: Tensor
    keys: Tensor
    values: Tensor
    queries: Tensor
    flat_queries: Tensor
    out: Tensor
    grouped_out: Tensor
    is_coarse: bool = False

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, in order."""
        return tuple(tensors_in(self))


@dataclass(frozen=True)
class Attention:
    """The attention of one pass of W rows, of which the first T are real.

    `bias`: `[G * T, S]`, 0 or -inf, None where every row sees every slot.
    """

    numerics: Numerics
    windows: AllSlots
    bias: Tensor | None
    frame: Frame

    def __call__(self, window: OwnSlots, qkv: Tensor, rotation: Tensor | None) -> Tensor:
        """What each row gathers in the layer of `window`, `[W, H * D]`; the same tensor each time.

        `qkv`: `[W, (H + 2 Hkv) * D]`. `rotation`: what turns queries and keys, `[W, 1, D / 2]`
        complex, None where positions are learned.
        """
        frame = self.frame
        frame.rows.copy_(qkv)
        if rotation is not None and frame.turned is not None:
            frame.turned.mul_(rotation)
        window.write(frame.keys, frame.values)
        frame.queries.copy_(frame.grouped)
        out = self.numerics.attend(frame.flat_queries, window, self.bias)
        if frame.is_coarse:
            out = coarse(out)
        frame.grouped_out.copy_(out.view_as(frame.queries))
        return frame.out


def coarse(x: Tensor) -> Tensor:
    """`x`, float64, rounded to 18 bits (Veltkamp's splitting; Dekker, Numer. Math. 18, 1971).

    Keys in another order move a sum by some 1e-16. Rounded to float32's 24 bits, one in tens of
    thousands of rows falls to the other side of a boundary; with 18 there are 64 times fewer.
    """
    scaled = x * (2.0**35 + 1.0)
    return scaled - (scaled - x)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in `value`, a tuple or a dataclass of such values, in order."""
    return (each for each in parts_of(value) if isinstance(each, Tensor))


def parts_of(value: Any) -> Iterator[Any]:
    """What `value` consists of, a tuple or a dataclass of such values or anything else."""
    if isinstance(value, tuple):
        for each in value:
            yield from parts_of(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from parts_of(getattr(value, field.name))
    else:
        yield value


def paired(x: Tensor) -> Tensor:
    """`x` `[T, H, D]` float32 as complex numbers of neighbouring pairs, a view `[T, H, D / 2]`."""
    return torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))
