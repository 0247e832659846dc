"""The rule of the lab: the token is a function of the target, the seed and the position alone."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ssd.request import Request
from ssd.tree import TokenTree
from ssd.verify import Verdict, verify


def settled_token(logits: Tensor, history: Sequence[int], request: Request) -> int:
    """The target's token after `history`. `logits`: `[V]`, the row of its last id."""
    scores = request.sampling.scores(logits, history)
    return request.sampling.choice(scores, len(history), request.seed)


def keyed(tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request) -> Verdict:
    """The verdict under keyed noise (arXiv 2408.07978): lossless for any tree, however made.

    `logits`: `[N, V]`.
    """
    rows = logits.cpu()  # all at once: one wait for the device a round
    return verify(
        tree,
        lambda node: settled_token(rows[node], [*context, *tree.path_tokens(node)], request),
    )
