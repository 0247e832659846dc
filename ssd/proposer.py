"""What guesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ssd.request import Request
from ssd.tree import Origin, TokenTree


class Proposer(Protocol):
    """Anything that guesses. Pure given its calibration; other state is a memo."""

    def prefill(self, context: Sequence[int]) -> Iterator[None]:
        """Get ready for `context`, pausing now and then."""

    def propose(self, context: Sequence[int], request: Request, max_depth: int) -> TokenTree:
        """Candidate continuations of `context`, at most `max_depth` deep."""


class Silent:
    """Guesses nothing."""

    def prefill(self, context: Sequence[int]) -> Iterator[None]:
        """Nothing to do."""
        return iter(())

    def propose(self, context: Sequence[int], request: Request, max_depth: int) -> TokenTree:
        """The root alone."""
        return TokenTree.root_only(context[-1])


class Replay:
    """Guesses a known answer, `num_nodes` tokens at a time: the ceiling of the runtime."""

    def __init__(self, answer: Sequence[int], num_nodes: int, origin: Origin = "draft") -> None:
        self._answer = tuple(answer)
        self._num_nodes = num_nodes
        self._origin: Origin = origin

    def prefill(self, context: Sequence[int]) -> Iterator[None]:
        """Nothing to do."""
        return iter(())

    def propose(self, context: Sequence[int], request: Request, max_depth: int) -> TokenTree:
        """The chain of the answer's next tokens."""
        done = len(context) - len(request.prompt)
        ahead = self._answer[done : done + min(max_depth, self._num_nodes)]
        return TokenTree.chain(context[-1], ahead, self._origin)
