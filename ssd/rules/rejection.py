"""Speculative sampling by rejection (Algorithm 1, arXiv 2211.17192; our p, q are theirs).

Equal to the target's law, not to the ids of keyed noise. Chains only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd import noise
from ssd.model import CachedModel
from ssd.request import Request
from ssd.tree import NO_PARENT, ROOT, TokenTree
from ssd.verify import Verdict

# Apart from each other and from the Gumbel noise, which is keyed by the seed itself.
_DRAW, _ACCEPT, _RECOVER = (0xA5A5A5A55A5A5A5A * odd for odd in (1, 3, 5))

Law = NDArray[np.float64]


def _uniform(request: Request, domain: int, position: int) -> float:
    seed = (request.seed ^ domain) % noise.SEED_LIMIT
    return noise.uniform_of(seed, position, 0)


def drawn(law: Law, uniform: float) -> int:
    """The id at which the running sum of `law` passes `uniform` of its total."""
    total = np.cumsum(law)
    index = int(np.searchsorted(total, uniform * total[-1], side="right"))
    return min(index, int(np.flatnonzero(law)[-1]))


def accept(
    tree: TokenTree, p: Callable[[int], Law], q: Callable[[int], Law], uniforms: Uniforms
) -> Verdict:
    """The accepted part of a chain and the token after it.

    `p(i)`, `q(i)`: the laws of target and draft after node i; the child was drawn from `q(i)`. A
    child x stands if u q(x) < p(x); else the token is drawn from the residual norm(max(0, p - q)).
    `uniforms(depth)`: the two numbers of a depth, for accepting and for drawing.
    """
    path: list[int] = []
    node = ROOT
    while True:
        law = p(node)
        to_accept, to_draw = uniforms(len(path))
        if not tree.children[node]:
            return Verdict(tuple(path), drawn(law, to_draw))
        ((token, child),) = tree.children[node].items()
        guessed = q(node)
        if not to_accept * guessed[token] < law[token]:
            residual = np.maximum(law - guessed, 0.0)
            # p = q leaves nothing over, and then nothing is rejected but by rounding.
            return Verdict(tuple(path), drawn(residual if residual.sum() > 0 else law, to_draw))
        path.append(child)
        node = child


Uniforms = Callable[[int], tuple[float, float]]


def rejection(tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request) -> Verdict:
    """The verdict of rejection sampling on a chain with `draft_rows`. `logits`: `[N, V]`."""
    sampling = request.sampling

    def p(node: int) -> Law:
        history = [*context, *tree.path_tokens(node)]
        return sampling.probabilities(sampling.scores(logits[node], history))

    def q(node: int) -> Law:
        assert tree.draft_rows is not None
        law: Law = tree.draft_rows[node].numpy()
        return law

    def uniforms(depth: int) -> tuple[float, float]:
        position = len(context) + depth
        return _uniform(request, _ACCEPT, position), _uniform(request, _RECOVER, position)

    return accept(tree, p, q, uniforms)


class SampledChain:
    """A proposer that draws a chain from the draft and says from which laws."""

    def __init__(self, draft: CachedModel, head_ids: Tensor | None, length: int) -> None:
        self._draft = draft
        self._head_ids = head_ids
        self._length = length

    def prefill(self, context: Sequence[int]) -> Iterator[None]:
        """Fill the draft's cache, if the context fits."""
        if len(context) < self._draft.model.context_length:
            self._draft.keep(context)
            for _ in self._draft.fill():
                yield

    def propose(self, context: Sequence[int], request: Request, max_depth: int) -> TokenTree:
        """A chain of `length` draws."""
        room = self._draft.model.context_length - len(context)
        length = min(self._length, max_depth, room)
        if length <= 0:
            return TokenTree.root_only(context[-1])
        self._draft.keep(context)
        tokens: list[int] = []
        laws: list[Tensor] = []
        for depth in range(length):
            newest = tokens[-1] if tokens else context[-1]
            row = self._draft.extend((newest,), (depth - 1 if depth else NO_PARENT,))[0]
            law = self._law(row, [*context, *tokens], request)
            tokens.append(drawn(law, _uniform(request, _DRAW, len(context) + depth)))
            laws.append(torch.from_numpy(law))
        laws.append(torch.zeros_like(laws[0]))  # the last node has no child
        chain = TokenTree.chain(context[-1], tokens, "draft")
        return TokenTree(chain.tokens, chain.parents, chain.origins, torch.stack(laws))

    def _law(self, row: Tensor, history: Sequence[int], request: Request) -> Law:
        sampling = request.sampling
        return sampling.probabilities(sampling.scores(self._over_all_ids(row), history))

    def _over_all_ids(self, row: Tensor) -> Tensor:
        """`row` over the whole vocabulary, -inf at the ids that a reduced head lacks."""
        if self._head_ids is None:
            return row
        full = torch.full((self._draft.model.vocab_size,), float("-inf"), device=row.device)
        full[self._head_ids] = row.float()
        return full
