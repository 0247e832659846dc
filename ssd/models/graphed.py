"""Passes that are captured once for each width and replayed: on a GPU as CUDA graphs.

A graph reads and writes the same memory every time. So the keys and values lie in a room of fixed
size, of which one lane's cache at a time has the use, and what a pass is about (ids, positions,
slots, who sees what) is copied into buffers before the replay.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ssd.cache import KVCache, Scratch, StoredSlots
from ssd.cost import one_pass
from ssd.exact import Numerics
from ssd.model import Pass
from ssd.models.transformer import Transformer, padded

_LEAST_ROOM = 1024
_WARM_UPS = 2

Replay = Callable[[], object]
Capture = Callable[[Callable[[], None]], Replay]
"""From a pass to its replay: it does on the same memory what the pass did."""


class CudaGraphs:
    """Captures CUDA graphs, which share one pool of memory: no two are replayed at once."""

    def __init__(self, device: torch.device, cuda: Any = torch.cuda) -> None:
        """`device`: the model's, which need not be the current one; `cuda`: as `torch.cuda`."""
        self._device, self._cuda = device, cuda
        with cuda.device(device):
            self._pool = cuda.graph_pool_handle()

    def __call__(self, run: Callable[[], None]) -> Replay:
        """The graph of `run`. Raises RuntimeError where the device does not take it.

        Torch's own stream for captures belongs to the device that captured first, so it is given
        one of the model's device.
        """
        cuda = self._cuda
        with cuda.device(self._device):
            side = cuda.Stream(self._device)
            side.wait_stream(cuda.current_stream(self._device))
            with cuda.stream(side):
                for _ in range(_WARM_UPS):
                    run()
            cuda.current_stream(self._device).wait_stream(side)
            graph = cuda.CUDAGraph()
            with cuda.graph(graph, pool=self._pool, stream=side):
                run()

        def replay() -> None:
            with cuda.device(self._device):
                graph.replay()

        return replay


class Room:
    """Keys and values of `size` slots, `[L, H, size + 1, D]`, for one cache at a time.

    The slot behind the last one takes what padded rows write; only they see it.
    """

    def __init__(self, model: Transformer, size: int) -> None:
        a, embedding = model.architecture, model.weights.embedding
        shape = (a.num_layers, a.num_kv_heads, size + 1, a.head_size)
        read_as = model.numerics.attention_dtype(embedding.dtype)
        self.size = size
        self.keys = torch.zeros(shape, dtype=embedding.dtype, device=embedding.device)
        self.values = torch.zeros_like(self.keys)
        self._scratch: Scratch | None = None
        if read_as != embedding.dtype:
            whole = torch.zeros_like(self.keys[0], dtype=read_as)
            self._scratch = Scratch(whole, whole)
        self._owner: Callable[[], RoomCache | None] = lambda: None

    def clear(self) -> None:
        """Zeros in every slot."""
        self.keys.zero_()
        self.values.zero_()

    @property
    def owner(self) -> RoomCache | None:
        """The cache that has the use of the room, None where there is none any more."""
        return self._owner()

    def let_to(self, cache: RoomCache) -> None:
        """Make `cache` the owner."""
        self._owner = weakref.ref(cache)

    def vacate(self) -> None:
        """Leave the room without an owner."""
        self._owner = lambda: None

    def windows(self, slots: Tensor) -> SlotWindows:
        """What a pass reads and writes whose rows take `slots`."""
        return SlotWindows(self.keys, self.values, self._scratch, slots)


@dataclass(frozen=True)
class SlotWindow(StoredSlots):
    """All slots of one layer of a room, of which `slots`, `[T]`, are to be written."""

    slots: Tensor

    def write(self, keys: Tensor, values: Tensor) -> None:
        """Store `keys`, `values`, `[T, H, D]`, as the rows' own."""
        for stored, new in ((self.stored_keys, keys), (self.stored_values, values)):
            stored.index_copy_(1, self.slots, new.transpose(0, 1).to(stored.dtype))


@dataclass(frozen=True)
class SlotWindows:
    """All slots of a room, `keys`, `values`, `[L, H, S, D]`, of which `slots` are to be written."""

    keys: Tensor
    values: Tensor
    scratch: Scratch | None
    slots: Tensor

    def layers(self) -> tuple[SlotWindow, ...]:
        """The slots of each layer."""
        pairs = zip(self.keys.unbind(), self.values.unbind(), strict=True)
        return tuple(SlotWindow(*pair, self.scratch, self.slots) for pair in pairs)


class RoomCache(KVCache):
    """A lane's keys and values: in the room while it decodes, set aside while another lane does."""

    has_even_heads = False  # the room has none but the model's
    _room: Room | None = None

    @torch.inference_mode()
    def enter(self, room: Room) -> None:
        """Have the use of `room`, which another cache leaves for it."""
        if room.owner is self:
            return
        if self._room is not None:
            self._set_aside()
        if room.owner is not None:
            room.owner._set_aside()
        for there, here in ((room.keys, self._keys), (room.values, self._values)):
            there.zero_()
            there[:, :, : self.num_slots] = here
        self._room = room
        room.let_to(self)

    def _set_aside(self) -> None:
        room = self._room
        assert room is not None
        self._keys = room.keys[:, :, : room.size].clone()
        self._values = room.values[:, :, : room.size].clone()
        self._room = None
        room.vacate()

    @property
    def _stored(self) -> tuple[Tensor, Tensor]:
        """The keys and the values, wherever they lie."""
        return super()._stored if self._room is None else (self._room.keys, self._room.values)


class _Plan:
    """The captured pass of one width over a room: its inputs, its logits, its replay."""

    def __init__(self, model: Transformer, room: Room, width: int, capture: Capture) -> None:
        self._model, self._room, self._width = model, room, width
        device = model.weights.embedding.device
        self._ints = torch.zeros(3, width, dtype=torch.int64, device=device)
        self._visible = torch.zeros(width, room.size + 1, dtype=torch.bool, device=device)
        embedding = model.weights.embedding
        blank = embedding.new_zeros(width, embedding.shape[1])
        self.logits = torch.empty_like(model.logits(blank))
        self._load_example(0)
        self.replay = capture(self._run)
        self._check()

    def _check(self) -> None:
        """Raise RuntimeError where the replay does not do to the last bit what the pass does.

        Two passes, so that a replay that does the same whatever it is given is found out. Leaves
        the room, which no cache has yet, as it was: zeros.
        """
        for number in range(2):
            self._load_example(number)
            done = [self._done_by(each) for each in (self.replay, self._run)]
            if not all(torch.equal(*pair) for pair in zip(*done, strict=True)):
                raise RuntimeError(f"a captured pass of {self._width} rows differs from the pass")
        self._room.clear()

    def _done_by(self, run: Callable[[], object]) -> tuple[Tensor, ...]:
        """The logits, keys and values that `run` leaves, in an empty room."""
        self._room.clear()
        self.logits.zero_()
        run()
        written = (each[:, :, : self._width] for each in (self._room.keys, self._room.values))
        return self.logits.clone(), *(each.clone() for each in written)

    def _load_example(self, number: int) -> None:
        """A chain of some ids."""
        rows = torch.arange(self._width)
        self.load(
            Pass(
                tokens=(rows * 7 + number * 3 + 1) % self._model.vocab_size,
                positions=rows % self._model.context_length,
                prefix=0,
                first=0,
                mask=torch.ones(self._width, self._width, dtype=torch.bool).tril(),
            )
        )

    def load(self, rows: Pass) -> None:
        """Copy what a pass is about into the buffers; the rows behind its own see nothing of it."""
        count, size = len(rows.tokens), self._room.size
        ints = torch.full((3, self._width), size)
        ints[:2] = padded(torch.stack((rows.tokens, rows.positions)).T, self._width).T
        ints[2, :count] = torch.arange(rows.first, rows.first + count)
        visible = torch.zeros(self._width, size + 1, dtype=torch.bool)
        visible[:count, : rows.prefix] = True
        visible[:count, rows.prefix : rows.prefix + rows.mask.shape[1]] = rows.mask
        visible[count:, size] = True
        self._ints.copy_(ints)
        self._visible.copy_(visible)

    def _run(self) -> None:
        model, (tokens, positions, slots) = self._model, self._ints
        dtype = model.numerics.attention_dtype(model.weights.embedding.dtype)
        bias = torch.zeros_like(self._visible, dtype=dtype)
        bias = bias.masked_fill_(~self._visible, float("-inf")).repeat(model.architecture.group, 1)
        attend = model.attention(self._room.windows(slots), bias, self._width, self._width)
        hidden = model.hidden(tokens, positions, attend)
        self.logits.copy_(model.logits(hidden))


class GraphedTransformer(Transformer):
    """A `LanguageModel` that replays its passes. It owns the room and the captures.

    Twin: `Transformer`, whose logits it gives to the last bit where the probe found the widths
    invariant.
    """

    cache_type = RoomCache

    def __init__(self, model: Transformer, capture: Capture) -> None:
        super().__init__(model.architecture, model.weights, model.numerics)
        self._capture = capture
        self._room: Room | None = None
        self._plans: dict[int, _Plan] = {}

    def with_numerics(self, numerics: Numerics) -> GraphedTransformer:
        """The same model computing otherwise, with captures of its own."""
        return GraphedTransformer(super().with_numerics(numerics), self._capture)

    @torch.inference_mode()
    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """Logits of the last `num_logits` rows, `[num_logits, V]`; writes the rows' slots."""
        assert isinstance(cache, RoomCache)
        count = len(rows.tokens)
        room = self._room_for(rows.first + count)
        cache.enter(room)
        plan = self._plans[next(width for width in self.numerics.widths if width >= count)]
        plan.load(rows)
        plan.replay()
        return plan.logits[count - num_logits : count].clone()

    def reserve(self, num_slots: int) -> None:
        """Capture whatever passes over so many slots need. Raises RuntimeError as `_Plan` does."""
        with torch.inference_mode():
            self._room_for(num_slots)

    def _room_for(self, num_slots: int) -> Room:
        """The room, or a larger one where it is too small; then all widths are captured for it."""
        room, widths = self._room, self.numerics.widths
        if room is None or room.size < num_slots:
            least = max(_LEAST_ROOM, widths[-1]) if room is None else 2 * room.size
            room = Room(self, max(num_slots, least))
            plans = {width: _Plan(self, room, width, self._capture) for width in widths}
            self._room, self._plans = room, plans
        return room


def graphed(model: Transformer) -> Transformer:
    """`model` replaying its passes on a GPU; itself on a CPU, or where the GPU captures nothing."""
    device = model.weights.embedding.device
    if device.type != "cuda":
        return model
    captured = GraphedTransformer(model, CudaGraphs(device))
    try:
        one_pass(captured.with_numerics(Numerics("exact", (1,))))()
    except RuntimeError:
        return model
    return captured
