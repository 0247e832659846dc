"""Keys and values of one model in one lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_GROWTH = 256
_SERIAL = 1 << 15  # torch converts so many numbers in one thread


@dataclass(frozen=True)
class Scratch:
    """Where slots are converted to. Keys and values share it, lest it crowd the weights out of the
    processor's cache: the values are to be read when the keys are done with.

    `whole`: of the shape of what is converted; `part`: what is read of it, `[H, S, D]`.
    """

    whole: Tensor
    part: Tensor

    def __call__(self, stored: Tensor) -> Tensor:
        """`stored` converted, `[H, S, D]`, until the next call."""
        self.whole.copy_(stored)
        return self.part


@dataclass(frozen=True)
class StoredSlots:
    """What one pass reads of one layer; `scratch` None where it is read as stored."""

    stored_keys: Tensor
    stored_values: Tensor
    scratch: Scratch | None

    def keys(self) -> Tensor:
        """All keys, `[H, S, D]`, until the next reading."""
        return self._read(self.stored_keys)

    def values(self) -> Tensor:
        """All values, `[H, S, D]`, until the next reading."""
        return self._read(self.stored_values)

    def _read(self, stored: Tensor) -> Tensor:
        return stored if self.scratch is None else self.scratch(stored)


@dataclass(frozen=True)
class Window(StoredSlots):
    """The slots up to those of the pass's own rows, `[T, H, D]`, which are to be written."""

    new_keys: Tensor
    new_values: Tensor

    def write(self, keys: Tensor, values: Tensor) -> None:
        """Store `keys`, `values`, `[T, H, D]`, as the rows' own."""
        self.new_keys.copy_(keys)
        self.new_values.copy_(values)


@dataclass(frozen=True)
class Windows:
    """What one pass of T rows sees of all layers: `keys`, `values`, `[L, H, S, D]`, more where
    `scratch` reads a part of them; and its own rows', `new_keys`, `new_values`, `[L, T, H, D]`.
    """

    keys: Tensor
    values: Tensor
    new_keys: Tensor
    new_values: Tensor
    scratch: Scratch | None

    def layers(self) -> tuple[Window, ...]:
        """The window of each layer."""
        parts = zip(
            self.keys.unbind(),
            self.values.unbind(),
            self.new_keys.unbind(),
            self.new_values.unbind(),
            strict=True,
        )
        return tuple(
            Window(keys, values, self.scratch, new_keys, new_values)
            for keys, values, new_keys, new_values in parts
        )


class KVCache:
    """Keys and values, `[L, H, S, D]` each, zeroed when made: a masked NaN would still be a NaN.

    Slots are addressed by number; what a slot means is the owner's business. Stored in the model's
    dtype and read in the one that attention computes in: half precision is a quarter of the bytes
    of float64, and the conversion is exact.

    Two threads convert half of the numbers each and then multiply the heads, of three the one two
    and the other one. Were a thread to read what the other has written, each line would have to
    cross between two cores, which may take as long as all the rest of attention. So what is
    converted has an even number of heads, and is more than torch would leave to one thread.
    """

    has_even_heads = True

    def __init__(
        self,
        shape: tuple[int, int, int],
        stored: torch.dtype,
        read_as: torch.dtype,
        device: torch.device,
    ) -> None:
        """`shape`: layers, key-value heads, head size."""
        layers, self._num_heads, head_size = shape
        is_padded = self.has_even_heads and read_as != stored and self._num_heads > 1
        heads = self._num_heads + (self._num_heads % 2 if is_padded else 0)
        with torch.inference_mode():
            self._keys = torch.zeros(layers, heads, 0, head_size, dtype=stored, device=device)
            self._values = torch.zeros_like(self._keys)
            self._scratch = torch.zeros(heads, 0, head_size, dtype=read_as, device=device)

    @property
    def _stored(self) -> tuple[Tensor, Tensor]:
        """The keys and the values, wherever they lie."""
        return self._keys, self._values

    @property
    def num_slots(self) -> int:
        """How many slots there are."""
        return self._keys.shape[2]

    @property
    def slot_bytes(self) -> int:
        """Bytes of keys and values in one slot, all layers."""
        layers, _, _, head_size = self._keys.shape
        return 2 * layers * self._num_heads * head_size * self._keys.element_size()

    def reserve(self, num_slots: int) -> None:
        """Make sure there are at least `num_slots`; what is stored stays."""
        if num_slots > self.num_slots:
            self._grow(num_slots)

    @torch.inference_mode()
    def _grow(self, num_slots: int) -> None:
        missing = max(num_slots, 2 * self.num_slots, _GROWTH) - self.num_slots
        layers, heads, _, head_size = self._keys.shape
        more = self._keys.new_zeros(layers, heads, missing, head_size)
        self._keys = torch.cat((self._keys, more), dim=2)
        self._values = torch.cat((self._values, more), dim=2)
        if self._scratch.dtype != self._keys.dtype:
            self._scratch = self._scratch.new_zeros(heads, self.num_slots, head_size)

    def windows(self, first: int, num_rows: int) -> Windows:
        """What a pass sees whose rows take the slots from `first`, until the next `reserve`."""
        end, heads, scratch = first + num_rows, self._num_heads, None
        num_read = end
        if self._scratch.dtype != self._keys.dtype:
            num_read = min(max(end, self._least_read), self.num_slots)
            whole = self._scratch.narrow(1, 0, num_read)
            scratch = Scratch(whole, self._scratch[:heads, :end])
        return Windows(
            keys=self._keys.narrow(2, 0, num_read),
            values=self._values.narrow(2, 0, num_read),
            new_keys=self._keys[:, :heads, first:end].transpose(1, 2),
            new_values=self._values[:, :heads, first:end].transpose(1, 2),
            scratch=scratch,
        )

    @property
    def _least_read(self) -> int:
        """The fewest slots whose conversion is more than one thread's work."""
        _, heads, _, head_size = self._keys.shape
        return _SERIAL // (heads * head_size) + 1

    def move(self, sources: Sequence[int], first: int) -> None:
        """Copy the slots `sources` to the slots from `first`."""
        if list(sources) != list(range(first, first + len(sources))):
            self._move(sources, first)

    @torch.inference_mode()
    def _move(self, sources: Sequence[int], first: int) -> None:
        index, end = torch.tensor(sources, device=self._keys.device), first + len(sources)
        for stored in self._stored:
            stored[:, :, first:end] = stored[:, :, index]
