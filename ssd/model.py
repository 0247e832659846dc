"""A language model, and the memo that lets a context be scored without computing it anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd.cache import KVCache
from ssd.meter import Meter, Stage
from ssd.tree import NO_PARENT, TokenTree


@dataclass(frozen=True)
class Pass:
    """The rows of one forward. Row `i` takes slot `first + i`.

    `tokens`, `positions`: `[T]` int64. Every row sees the slots below `prefix`, and of the slots
    from there on those where `mask`, `[T, first - prefix + T]` bool, is true; each row sees itself.
    """

    tokens: Tensor
    positions: Tensor
    prefix: int
    first: int
    mask: Tensor


class LanguageModel(Protocol):
    """A causal model over slots. It keeps nothing between forwards."""

    @property
    def vocab_size(self) -> int:
        """Ids that a row of logits speaks of."""

    @property
    def context_length(self) -> int:
        """The longest context."""

    @property
    def max_width(self) -> int:
        """The most rows that one forward may have."""

    @property
    def weight_bytes(self) -> int:
        """Bytes of weights that one forward reads."""

    def new_cache(self) -> KVCache:
        """An empty cache for `forward`."""

    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """Logits of the last `num_logits` rows, `[num_logits, V]`; writes the rows' slots."""


class CachedModel:
    """A model with a memo of what it has computed, in one lane.

    It holds the ids whose keys and values lie in slots 0, 1, ... of its cache, and behind them
    nodes: continuations scored since the last `keep`, each with a parent among them. The context is
    the truth: `keep` finds what of the memo still serves it, the rest is computed when needed.
    """

    def __init__(self, model: LanguageModel, stage: Stage, meter: Meter) -> None:
        self.model = model
        self._stage: Stage = stage
        self._meter = meter
        self.clear()

    @property
    def num_pending(self) -> int:
        """How many ids before the root the next pass computes besides its nodes."""
        return len(self._pending)

    def clear(self) -> None:
        """Forget everything; changes time only."""
        self._cache = self.model.new_cache()
        self._held: list[int] = []
        self._pending: list[int] = []
        self._forget_nodes()

    def _forget_nodes(self) -> None:
        self._tokens: list[int] = []
        self._parents: list[int] = []
        self._depths: list[int] = []
        self._mask: NDArray[np.bool_] = np.zeros((0, 0), dtype=np.bool_)

    def keep(self, context: Sequence[int]) -> None:
        """Turn to `context`: keep the longest part of the memo that leads to its root."""
        before_root = context[:-1]
        num_held = len(self._held)
        if list(before_root[:num_held]) != self._held:
            pairs = zip(self._held, before_root, strict=False)
            num_held = next((i for i, (a, b) in enumerate(pairs) if a != b), len(before_root))
            num_held = min(num_held, len(before_root))
            del self._held[num_held:]
        else:
            self._adopt(before_root[num_held:])
        self._forget_nodes()
        self._pending = list(before_root[len(self._held) :])

    def _adopt(self, tokens: Sequence[int]) -> None:
        """Move the nodes along `tokens`, as far as they go, behind the held ids."""
        edges = zip(self._parents, self._tokens, strict=True)
        children = {edge: node for node, edge in enumerate(edges)}
        node, path = NO_PARENT, []
        for token in tokens:
            if (node, token) not in children:
                break
            node = children[node, token]
            path.append(node)
        num_held = len(self._held)
        self._cache.move([num_held + node for node in path], num_held)
        self._held.extend(tokens[: len(path)])

    def fill(self, keep_back: int = 0) -> Iterator[int]:
        """Compute what is missing before the root, a chunk at a time, but for `keep_back` ids.

        Yields the number of ids held after each chunk. Those kept back join the next `extend`.
        """
        while len(self._pending) > keep_back:
            room = min(self.model.max_width, len(self._pending) - keep_back)
            chunk, self._pending = self._pending[:room], self._pending[room:]
            self._forward(chunk, num_logits=0)
            yield len(self._held)

    def extend(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Logits after each of the new nodes, `[T, V]`, from one pass charged to the stage.

        `parents`: numbers of nodes in the order they were added since `keep`; the root is the node
        whose parent is `NO_PARENT`. More nodes than a pass holds take several.
        """
        width = self.model.max_width
        if len(tokens) > width:
            starts = range(0, len(tokens), width)
            spans = [slice(start, start + width) for start in starts]
            return torch.cat([self.extend(tokens[span], parents[span]) for span in spans])
        for _ in self.fill(keep_back=width - len(tokens)):
            pass
        pending, self._pending = self._pending, []
        first_node = len(self._tokens)
        assert not (pending and first_node), "pending ids come before the first node"
        self._add_nodes(tokens, parents)
        return self._forward(pending, num_logits=len(tokens), first_node=first_node)

    def score(self, context: Sequence[int], tree: TokenTree) -> Tensor:
        """Logits after each node of `tree`, `[N, V]`, whose root is the last id of `context`."""
        assert tree.tokens[0] == context[-1]
        self.keep(context)
        return self.extend(tree.tokens, tree.parents)

    def _add_nodes(self, tokens: Sequence[int], parents: Sequence[int]) -> None:
        old, new = len(self._tokens), len(tokens)
        mask = np.zeros((old + new, old + new), dtype=np.bool_)
        mask[:old, :old] = self._mask
        for node, (token, parent) in enumerate(zip(tokens, parents, strict=True), start=old):
            if parent != NO_PARENT:
                mask[node] = mask[parent]
            mask[node, node] = True
            self._tokens.append(token)
            self._parents.append(parent)
            self._depths.append(0 if parent == NO_PARENT else self._depths[parent] + 1)
        self._mask = mask

    def _forward(self, held: list[int], num_logits: int, first_node: int = 0) -> Tensor:
        """One forward over ids that become held and over the nodes from `first_node`."""
        prefix = len(self._held)
        nodes = self._tokens[first_node:] if num_logits else []
        positions = [*range(prefix, prefix + len(held))]
        positions += [prefix + len(held) + depth for depth in self._depths[first_node:]]
        num_rows = len(held) + len(nodes)
        mask = np.zeros((num_rows, first_node + num_rows), dtype=np.bool_)
        if held:
            mask[: len(held), : len(held)] = np.tri(len(held), dtype=np.bool_)
            mask[len(held) :, : len(held)] = True
        mask[len(held) :, len(held) :] = self._mask[first_node:]
        tokens, positions = torch.tensor([[*held, *nodes], positions])
        rows = Pass(
            tokens=tokens,
            positions=positions,
            prefix=prefix,
            first=prefix + first_node,
            mask=torch.from_numpy(mask),
        )
        self._held += held
        try:
            with self._meter.time(self._stage):
                return self.model.forward(rows, self._cache, num_logits)
        except BaseException:
            self.clear()  # lest what was not computed pass for computed
            raise
