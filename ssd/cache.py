"""Keys and values of one model in one lane."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_GROWTH = 256


class KVCache:
    """Keys and values, `[L, H, S, D]` each, zeroed when made: a masked NaN would still be a NaN.

    Slots are addressed by number; what a slot means is the owner's business.
    """

    def __init__(
        self, shape: tuple[int, int, int], dtype: torch.dtype, device: torch.device
    ) -> None:
        """`shape`: layers, key-value heads, head size."""
        layers, heads, head_size = shape
        with torch.inference_mode():
            self._keys = torch.zeros(layers, heads, 0, head_size, dtype=dtype, device=device)
            self._values = torch.zeros_like(self._keys)

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

    def write(self, layer: int, first: int, keys: Tensor, values: Tensor) -> None:
        """Store `keys`, `values` `[T, H, D]` in the slots from `first`."""
        end = first + keys.shape[0]
        self._keys[layer, :, first:end] = keys.transpose(0, 1)
        self._values[layer, :, first:end] = values.transpose(0, 1)

    def read(self, layer: int, num_slots: int) -> tuple[Tensor, Tensor]:
        """Views of the keys and values in the first `num_slots` slots, `[H, S, D]`."""
        return self._keys[layer, :, :num_slots], self._values[layer, :, :num_slots]

    @torch.inference_mode()
    def move(self, sources: Sequence[int], first: int) -> None:
        """Copy the slots `sources` to the slots from `first`."""
        end = first + len(sources)
        if list(sources) == list(range(first, end)):
            return
        index = torch.tensor(sources, device=self._keys.device)
        self._keys[:, :, first:end] = self._keys[:, :, index]
        self._values[:, :, first:end] = self._values[:, :, index]
