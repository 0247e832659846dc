"""The decision of a round. No models, caches or generators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ssd.tree import ROOT, TokenTree


@dataclass(frozen=True)
class Verdict:
    """What one target pass settles: the accepted nodes, root excluded, and the token after them."""

    path: tuple[int, ...]
    next_token: int

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes whose rows chose the emitted tokens, in order: the root, then the path."""
        return (ROOT, *self.path)

    def tokens(self, tree: TokenTree) -> tuple[int, ...]:
        """The settled tokens, at least one."""
        return (*(tree.tokens[node] for node in self.path), self.next_token)


def verify(tree: TokenTree, choice: Callable[[int], int]) -> Verdict:
    """The accepted path and the token after it.

    `choice(i)` is the token that the target settles on after node `i`. From the root, descend while
    the choice is a child: the text is the target's own, whatever the tree guessed. `choice` is
    called for visited nodes only. Pure; always settles at least one token.
    """
    path: list[int] = []
    node = ROOT
    while True:
        token = choice(node)
        child = tree.children[node].get(token)
        if child is None:
            return Verdict(tuple(path), token)
        path.append(child)
        node = child
