"""What the N-gram saves the draft: the passes of a round with and without it, for the same trees.

On answers that are known, so the target need not run: a round settles what its tree has of the
answer, and one id more.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ssd.draft import DraftPolicy, DraftStage
from ssd.grow import Limits
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.models.transformer import Transformer
from ssd.ngram import KatzTable, NGram
from ssd.request import Request
from ssd.train.calibrate import Document
from ssd.tree import TokenTree
from ssd.verify import verify

LIMITS = Limits(num_nodes=24, max_depth=10)


@dataclass(frozen=True)
class Helped:
    """Rounds under one kind of help: draft passes, and microseconds of the N-gram, of each."""

    trees: tuple[TokenTree, ...]
    passes: tuple[int, ...]
    ngram_us: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Means of a round."""
        return {
            "draft_passes": round(statistics.mean(self.passes), 3),
            "ngram_us": round(statistics.mean(self.ngram_us), 1),
        }


def second_stage(
    draft: Transformer, table: KatzTable | None, answers: Sequence[Document]
) -> dict[str, Any]:
    """Draft passes and N-gram time a round by the N-gram's sources, and how many trees are equal.

    `draft`: in exact numerics, lest a row depend on its company; `answers`: ids of a prompt and its
    greedy answer, and how many are the prompt's.
    """
    sources: dict[str, Callable[[], NGram | None]] = {
        "none": lambda: None,
        "Katz": lambda: NGram(table, is_matching=False),
        "match": lambda: NGram(None),
        "both": lambda: NGram(table),
    }
    found = {
        name: _helped(draft, [(document, made()) for document in answers])
        for name, made in sources.items()
    }
    alone = found["none"].trees
    equal = [
        all(tree == other for other in others)
        for tree, *others in zip(alone, *(each.trees for each in found.values()), strict=True)
    ]
    shown = {name: helped.to_json() for name, helped in found.items()}
    return {"nodes": LIMITS.num_nodes, "rounds": len(alone), "equal trees": sum(equal), **shown}


def _helped(draft: Transformer, answers: Sequence[tuple[Document, NGram | None]]) -> Helped:
    rounds = [each for document, ngram in answers for each in _rounds(draft, document, ngram)]
    trees, passes, times = zip(*rounds, strict=True)
    return Helped(trees, passes, times)


def _rounds(
    draft: Transformer, document: Document, ngram: NGram | None
) -> Iterator[tuple[TokenTree, int, float]]:
    """The tree of each round of an answer, its draft passes, the N-gram's microseconds."""
    ids, num_prompt = document
    meter = Meter()
    policy = DraftPolicy(LIMITS)
    stage = DraftStage(CachedModel(draft, "draft", meter), draft.head_ids, policy, ngram, meter)
    context = list(ids[:num_prompt])
    request = Request(tuple(context))
    for _ in stage.prefill(context):
        pass
    meter.split(0.0)
    while len(context) < len(ids):
        before = meter.passes["draft"]
        tree = stage.propose(context, request, len(ids) - len(context))
        passes = meter.passes["draft"] - before
        yield tree, passes, 1e6 * meter.split(0.0).ngram
        verdict = verify(tree, partial(_next, ids, len(context), tree))
        context += verdict.tokens(tree)[: len(ids) - len(context)]


def _next(ids: Sequence[int], num_known: int, tree: TokenTree, node: int) -> int:
    """The answer's id after a node that lies on it; beyond its end one that nothing guesses."""
    place = num_known + tree.depths[node]
    return ids[place] if place < len(ids) else -1
