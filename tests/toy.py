"""A language model made of a hash: any wrong token, position, slot or mask gives other logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd.cache import KVCache
from ssd.decode import Lane
from ssd.meter import Meter
from ssd.model import CachedModel, Pass

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@dataclass(frozen=True)
class ToyModel:
    """A `LanguageModel` whose keys are (token, position) and whose logits hash what a row sees.

    `order`: how many of the last positions matter, None for all; a small one makes text repeat.
    `levels`: how many values a logit takes, few for ties. A draft has `wobble` above 0: the logits
    of the target with the same `seed`, each moved by up to that much.
    """

    seed: int
    vocab_size: int = 12
    context_length: int = 64
    max_width: int = 16
    order: int | None = None
    levels: int = 1000
    wobble: float = 0.0
    scale: float = 6.0

    @property
    def weight_bytes(self) -> int:
        """Bytes that a forward reads."""
        return 1000

    def new_cache(self) -> KVCache:
        """One layer, one head, two numbers a slot."""
        return KVCache((1, 1, 2), torch.float64, torch.float64, torch.device("cpu"))

    @torch.inference_mode()
    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """Logits of the last rows; the slots of all are written."""
        num_rows, end = len(rows.tokens), rows.first + len(rows.tokens)
        assert num_rows <= self.max_width and rows.mask.shape == (num_rows, end - rows.prefix)
        assert int(rows.positions.max()) < self.context_length
        cache.reserve(end)
        keys = torch.stack((rows.tokens, rows.positions), dim=1).double()[:, None] + 1
        window = cache.windows(rows.first, num_rows).layers()[0]
        window.write(keys, keys)
        stored = window.keys()[0].numpy().astype(np.uint64)
        seen = np.ones((num_rows, end), dtype=np.bool_)
        seen[:, rows.prefix :] = rows.mask.numpy()
        if self.order is not None:
            own = rows.positions.numpy()[:, None] + 1
            seen &= stored[None, :, 1].astype(np.int64) > own - self.order
        sums = (seen * _slot_hash(stored)[None]).sum(axis=1, dtype=np.uint64)
        return self._logits(sums[num_rows - num_logits :])

    def row(self, ids: Sequence[int]) -> list[float]:
        """The logits after `ids`, without passes or caches."""
        first = 0 if self.order is None else max(0, len(ids) - self.order)
        pairs = [(token + 1, at + 1) for at, token in enumerate(ids)][first:]
        total = _slot_hash(np.array(pairs, dtype=np.uint64)).sum(dtype=np.uint64)
        row: list[float] = self._logits(total[None])[0].tolist()
        return row

    def _logits(self, sums: NDArray[np.uint64]) -> Tensor:
        ids = np.arange(1, self.vocab_size + 1, dtype=np.uint64) * _GOLDEN
        with np.errstate(over="ignore"):
            key = _mix(sums + np.uint64(self.seed + 1) * _GOLDEN)[:, None] + ids
            level = (_mix(key) % np.uint64(self.levels)).astype(np.float64) / self.levels
            other = (_mix(key ^ np.uint64(0xABCDEF)) >> np.uint64(11)).astype(np.float64) / 2**53
        return torch.from_numpy((self.scale * level + self.wobble * other).astype(np.float32))


def _slot_hash(slots: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each (token, position), summed over what a row sees."""
    with np.errstate(over="ignore"):
        return _mix(slots[:, 0] * np.uint64(0xD1342543DE82EF95) + _mix(slots[:, 1] * _GOLDEN))


@dataclass(frozen=True)
class Markov(ToyModel):
    """A toy that looks at its last `order` tokens wherever they stand."""

    order: int | None = 2

    @torch.inference_mode()
    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """As the toy's, with positions counted from the row backwards."""
        num_rows, end = len(rows.tokens), rows.first + len(rows.tokens)
        assert num_rows <= self.max_width
        cache.reserve(end)
        keys = torch.stack((rows.tokens, rows.positions), dim=1).double()[:, None] + 1
        window = cache.windows(rows.first, num_rows).layers()[0]
        window.write(keys, keys)
        stored = window.keys()[0].numpy().astype(np.int64)
        seen = np.ones((num_rows, end), dtype=np.bool_)
        seen[:, rows.prefix :] = rows.mask.numpy()
        back = rows.positions.numpy()[:, None] + 2 - stored[None, :, 1]
        assert self.order is not None
        seen &= (back >= 1) & (back <= self.order)
        tokens = np.broadcast_to(stored[None, :, 0], back.shape)
        pairs = np.stack((tokens, back), axis=-1).reshape(-1, 2).astype(np.uint64)
        sums = (seen * _slot_hash(pairs).reshape(seen.shape)).sum(axis=1, dtype=np.uint64)
        return self._logits(sums[num_rows - num_logits :])

    def row(self, ids: Sequence[int]) -> list[float]:
        """The logits after `ids`, without passes or caches."""
        assert self.order is not None
        pairs = [(token + 1, back) for back, token in enumerate(reversed(ids), start=1)]
        total = _slot_hash(np.array(pairs[: self.order], dtype=np.uint64)).sum(dtype=np.uint64)
        row: list[float] = self._logits(total[None])[0].tolist()
        return row


def lane_of(model: object, **options: object) -> Lane:
    """A fresh lane of `model`; `options` are the lane's."""
    meter = Meter()
    return Lane(CachedModel(model, "target", meter), meter, **options)  # type: ignore[arg-type]
