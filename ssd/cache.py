"""Keys and values of one model in one lane."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_GROWTH = 256


class KVCache:
    """Keys and values, `[L, H, S, D]` each, zeroed when made: a masked NaN would still be a NaN.

    Slots are addressed by number; what a slot means is the owner's business. Stored in the model's
    dtype and read in the one that attention computes in: half precision is a quarter of the bytes
    of float64, and the conversion is exact.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        stored: torch.dtype,
        read_as: torch.dtype,
        device: torch.device,
    ) -> None:
        """`shape`: layers, key-value heads, head size."""
        layers, heads, head_size = shape
        with torch.inference_mode():
            self._keys = torch.zeros(layers, heads, 0, head_size, dtype=stored, device=device)
            self._values = torch.zeros_like(self._keys)
            self._scratch = torch.zeros(2, heads, 0, head_size, dtype=read_as, device=device)

    @property
    def num_slots(self) -> int:
        """How many slots there are."""
        return self._keys.shape[2]

    @property
    def slot_bytes(self) -> int:
        """Bytes of keys and values in one slot, all layers."""
        layers, heads, _, head_size = self._keys.shape
        return 2 * layers * heads * head_size * self._keys.element_size()

    @torch.inference_mode()
    def reserve(self, num_slots: int) -> None:
        """Make sure there are at least `num_slots`; what is stored stays."""
        if num_slots <= self.num_slots:
            return
        missing = max(num_slots, 2 * self.num_slots, _GROWTH) - self.num_slots
        layers, heads, _, head_size = self._keys.shape
        more = self._keys.new_zeros(layers, heads, missing, head_size)
        self._keys = torch.cat((self._keys, more), dim=2)
        self._values = torch.cat((self._values, more), dim=2)
        if self._scratch.dtype != self._keys.dtype:
            shape = (2, heads, self.num_slots, head_size)
            self._scratch = self._scratch.new_zeros(shape)

    def write(self, layer: int, first: int, keys: Tensor, values: Tensor) -> None:
        """Store `keys`, `values` `[T, H, D]` in the slots from `first`."""
        end = first + keys.shape[0]
        self._keys[layer, :, first:end] = keys.transpose(0, 1)
        self._values[layer, :, first:end] = values.transpose(0, 1)

    def read(self, layer: int, num_slots: int) -> tuple[Tensor, Tensor]:
        """Keys and values of the first `num_slots` slots, `[H, S, D]`, until the next `read`."""
        keys, values = self._keys[layer, :, :num_slots], self._values[layer, :, :num_slots]
        if self._scratch.dtype == keys.dtype:
            return keys, values
        scratch = self._scratch[:, :, :num_slots]
        return scratch[0].copy_(keys), scratch[1].copy_(values)

    @torch.inference_mode()
    def move(self, sources: Sequence[int], first: int) -> None:
        """Copy the slots `sources` to the slots from `first`."""
        end = first + len(sources)
        if list(sources) == list(range(first, end)):
            return
        index = torch.tensor(sources, device=self._keys.device)
        self._keys[:, :, first:end] = self._keys[:, :, index]
        self._values[:, :, first:end] = self._values[:, :, index]
