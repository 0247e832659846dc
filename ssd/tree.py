"""The token tree: what a proposer guesses and one target pass scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

Origin = Literal["ngram", "draft", "target"]

NO_PARENT = -1
ROOT = 0


@dataclass(frozen=True)
class TokenTree:
    """Candidate continuations of a context. Node 0, the root, is the context's last token.

    `tokens`, `parents`, `origins`: `[N]`. A parent precedes its children and siblings differ.
    `draft_rows`: `[N, V]`, the distribution that each node's child was drawn from, for acceptance
    rules that need it; else None.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    origins: tuple[Origin, ...]
    draft_rows: Tensor | None = None

    def __post_init__(self) -> None:
        assert len(self.tokens) == len(self.parents) == len(self.origins) > 0
        assert self.parents[ROOT] == NO_PARENT
        assert all(0 <= parent < node for node, parent in enumerate(self.parents) if node)
        assert sum(map(len, self.children)) == len(self.tokens) - 1, "siblings must differ"

    @classmethod
    def root_only(cls, token: int) -> TokenTree:
        """The tree that guesses nothing."""
        return cls((token,), (NO_PARENT,), ("target",))

    @classmethod
    def chain(cls, root: int, tokens: Sequence[int], origin: Origin) -> TokenTree:
        """The tree of one path."""
        return cls(
            (root, *tokens),
            tuple(range(NO_PARENT, len(tokens))),
            ("target", *(origin for _ in tokens)),
        )

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def children(self) -> tuple[dict[int, int], ...]:
        """For each node, its children as token -> node."""
        children: tuple[dict[int, int], ...] = tuple({} for _ in self.tokens)
        for node, parent in enumerate(self.parents):
            if parent != NO_PARENT:
                children[parent][self.tokens[node]] = node
        return children

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """For each node, its distance from the root."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent == NO_PARENT else depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def mask(self) -> Tensor:
        """`[N, N]` bool: row i is true at i and at the ancestors of i."""
        mask = torch.eye(len(self.tokens), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent != NO_PARENT:
                mask[node] |= mask[parent]
        return mask

    def path(self, node: int) -> tuple[int, ...]:
        """The nodes from below the root down to `node`; empty for the root."""
        path: list[int] = []
        while node != ROOT:
            path.append(node)
            node = self.parents[node]
        return tuple(reversed(path))

    def path_tokens(self, node: int) -> tuple[int, ...]:
        """The tokens along `path(node)`."""
        return tuple(self.tokens[step] for step in self.path(node))
