"""The memo of a model: whatever was asked before, a context's logits are its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from ssd.cache import KVCache
from ssd.decode import autoregressive, decode
from ssd.draft import DraftPolicy, DraftStage
from ssd.events import collect
from ssd.grow import Limits
from ssd.meter import Meter
from ssd.model import CachedModel, Pass
from ssd.proposer import Replay
from ssd.request import Request
from ssd.stop import Stop
from ssd.tree import NO_PARENT, TokenTree
from tests.proposers import random_tree, wild
from tests.tiny import FAMILIES, exact, tiny
from tests.toy import Markov, ToyModel, lane_of


def cached(model: object) -> CachedModel:
    return CachedModel(model, "target", Meter())  # type: ignore[arg-type]


def check_rows(
    logits: Tensor, context: Sequence[int], tree: TokenTree, row: Callable[[list[int]], list[float]]
) -> None:
    for node in range(len(tree)):
        assert logits[node].tolist() == row([*context, *tree.path_tokens(node)]), node


@pytest.mark.parametrize("kind", [ToyModel, Markov])
def test_any_context_after_any_other(kind: type[ToyModel]) -> None:
    """Contexts that grow along nodes or beside them, shrink, change in the middle, or repeat."""
    rng = random.Random(0)
    for case in range(40):
        model = kind(case, vocab_size=4)
        memo = cached(model)
        context = [rng.randrange(4) for _ in range(rng.randint(1, 30))]
        tree = TokenTree.root_only(context[-1])
        for _ in range(25):
            match rng.randrange(6):
                case 0:
                    context = context[: rng.randint(1, len(context))]
                case 1:
                    context[rng.randrange(len(context))] = rng.randrange(4)
                case 2:
                    context += [rng.randrange(4) for _ in range(rng.randint(0, 25))]
                case 3 if tree.tokens[0] == context[-1]:
                    path = tree.path_tokens(rng.randrange(len(tree)))
                    context += [*path, rng.randrange(4)]
                case 4:
                    memo.keep(context)
                    if rng.random() < 0.5:
                        next(memo.fill(rng.randint(0, 3)), None)
                case 5 if rng.random() < 0.3:
                    memo.clear()
            context = context[:50]
            tree = random_tree(rng, context[-1], 4, rng.randint(0, 15), 10)
            check_rows(memo.score(context, tree), context, tree, model.row)


def test_nodes_added_in_parts() -> None:
    """What the draft does: rows in several passes, each after nodes of the ones before."""
    rng = random.Random(1)
    for case in range(60):
        model = ToyModel(case, vocab_size=4)
        memo = cached(model)
        context = [rng.randrange(4) for _ in range(rng.randint(1, 20))]
        for _ in range(5):
            tree = random_tree(rng, context[-1], 4, 25, 8)
            memo.keep(context)
            parts, at = [], 0
            while at < len(tree):
                end = min(len(tree), at + rng.randint(1, 16))
                parts.append(memo.extend(tree.tokens[at:end], tree.parents[at:end]))
                at = end
            check_rows(torch.cat(parts), context, tree, model.row)
            path = tree.path_tokens(rng.randrange(len(tree)))
            context = [*context, *path, rng.randrange(4)][:48]


class Counting(ToyModel):
    """A toy that counts the ids it was given."""

    rows: list[int]

    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """As the toy's."""
        self.rows.append(len(rows.tokens))
        return super().forward(rows, cache, num_logits)


def counting() -> Counting:
    model = Counting(5)
    object.__setattr__(model, "rows", [])
    return model


def test_nothing_is_computed_twice() -> None:
    model = counting()
    memo = cached(model)
    context = list(range(10))
    memo.keep(context)
    assert list(memo.fill()) == [9]
    tree = TokenTree((9, 1, 2, 3), (NO_PARENT, 0, 1, 0), ("target", "draft", "draft", "draft"))
    memo.score(context, tree)
    memo.score([*context, 1, 2, 7], TokenTree.root_only(7))  # along two nodes of the tree
    memo.score([*context, 1, 2, 7, 8], TokenTree.root_only(8))
    memo.score([*context, 1, 5], TokenTree.root_only(5))  # back to the middle
    assert model.rows == [9, 4, 1, 1, 1]


def test_pending_ids_join_the_first_pass() -> None:
    model = counting()
    memo = cached(model)
    memo.score(list(range(12)) * 3, TokenTree.chain(11, (1, 2), "draft"))  # 35 ids and 3 nodes
    assert sum(model.rows) == 38 and max(model.rows) <= 16 and len(model.rows) == 3
    assert model.rows[-1] > 3, "what is left of the prompt runs with the nodes"


def test_a_tree_wider_than_a_pass_takes_several() -> None:
    rng = random.Random(3)
    for case in range(30):
        model = counting()
        memo = cached(model)
        context = [rng.randrange(12) for _ in range(rng.randint(1, 40))]
        tree = random_tree(rng, context[-1], 12, 60, 9)
        check_rows(memo.score(context, tree), context, tree, model.row)
        assert max(model.rows) <= 16, case


def test_fill_tells_how_far_it_is_and_may_be_left() -> None:
    model = ToyModel(3)
    memo = cached(model)
    context = [1, 2, 3] * 15
    memo.keep(context)
    told = memo.fill()
    assert next(told) == 16
    other = [1, 2, 3] * 4 + [7, 7]
    check_rows(memo.score(other, TokenTree.root_only(7)), other, TokenTree.root_only(7), model.row)
    check_rows(
        memo.score(context, TokenTree.root_only(3)), context, TokenTree.root_only(3), model.row
    )


class Failing(ToyModel):
    """A toy whose forward fails after the keys are written, once `fails` is not empty."""

    fails: list[bool]

    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """As the toy's, or an error."""
        if self.fails and self.fails.pop():
            raise MemoryError("no memory")
        return super().forward(rows, cache, num_logits)


@pytest.mark.parametrize("place", range(4))
def test_a_failed_pass_leaves_the_memo_usable(place: int) -> None:
    """Out of memory or Ctrl-C in a forward: what was not computed is not held for computed."""
    model = Failing(5)
    object.__setattr__(model, "fails", [])
    memo = cached(model)
    context = [1, 2, 3] * 12
    tree = TokenTree.chain(3, (4, 5), "draft")
    if place == 3:
        memo.score(context[:20], TokenTree.chain(context[19], (1, 2), "draft"))
        model.fails[:] = [True]
        with pytest.raises(MemoryError):
            memo.extend((9,), (2,))
        grown = [*context[:20], 1, 2, 9, 4]
        check_rows(
            memo.score(grown, TokenTree.root_only(4)), grown, TokenTree.root_only(4), model.row
        )
        return
    model.fails[:] = [True, *[False] * place]
    with pytest.raises(MemoryError):
        memo.score(context, tree)
    grown = [*context, 4, 5, 6]
    after = TokenTree.root_only(6)
    check_rows(memo.score(grown, after), grown, after, model.row)


def forgetful(memo: CachedModel) -> None:
    """Make `memo` forget everything before each look at a context."""
    keep = memo.keep

    def keep_nothing(context: Sequence[int]) -> None:
        memo.clear()
        keep(context)

    memo.keep = keep_nothing  # type: ignore[method-assign]


def test_clearing_every_cache_before_each_round_changes_nothing() -> None:
    for seed in range(30):
        request = Request(tuple(range(1, 9)), seed=seed, stop=Stop(25))
        texts = []
        for is_forgetful in (False, True):
            lane = lane_of(Markov(seed, vocab_size=9))
            draft = CachedModel(Markov(seed, vocab_size=9, wobble=2.0), "draft", lane.meter)
            if is_forgetful:
                forgetful(lane.target)
                forgetful(draft)
            stage = DraftStage(draft, None, DraftPolicy(Limits(8, 4)), None, lane.meter)
            run = collect(decode(lane, stage, request))
            texts.append((run.tokens, [(step.tree, step.verdict) for step in run.steps]))
        assert texts[0] == texts[1]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_memo_of_a_tiny_model_changes_no_bit(family: str, dtype: torch.dtype) -> None:
    """Rows after any history of the memo equal those of a fresh one. Probed widths, exact."""
    rng = random.Random(2)
    model = exact(tiny(family, 4).model(dtype))
    memo = cached(model)
    context = [rng.randrange(61) for _ in range(20)]
    for _ in range(60):
        tree = random_tree(rng, context[-1], 61, rng.randint(0, 20), 6)
        fresh = cached(model).score(context, tree)
        assert torch.equal(memo.score(context, tree), fresh)
        keep = rng.randint(1, len(context)) if rng.random() < 0.2 else len(context)
        path = tree.path_tokens(rng.randrange(len(tree))) if keep == len(context) else ()
        context = [*context[:keep], *path, rng.randrange(61)]
        context = context if len(context) < 80 else context[:30]


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 18, 62, 63])
@pytest.mark.parametrize("draft_context", [8, 17, 62, 63, 64, 100])
def test_prompts_up_to_the_context_with_a_draft_of_another(length: int, draft_context: int) -> None:
    """Contexts of 64: prompts of up to ctx - 1 run to the end; the draft's own end is no matter."""
    target = ToyModel(1, context_length=64)
    draft = ToyModel(1, context_length=draft_context, wobble=2.0)
    prompt = tuple(random.Random(length).choices(range(12), k=length))
    request = Request(prompt, stop=Stop(100))
    expected = collect(autoregressive(lane_of(target), request))
    assert expected.finish_reason == "context" and len(expected.tokens) == 64 - length
    lane = lane_of(target)
    stage = DraftStage(
        CachedModel(draft, "draft", lane.meter), None, DraftPolicy(Limits(12, 5)), None, lane.meter
    )
    run = collect(decode(lane, stage, request))
    assert (run.tokens, run.finish_reason) == (expected.tokens, "context")
    for proposer in (wild(length, 12, 15), Replay(expected.tokens, 15)):
        run = collect(decode(lane_of(target), proposer, request))
        assert (run.tokens, run.finish_reason) == (expected.tokens, "context")


@pytest.mark.parametrize("length", [64, 65, 200])
def test_prompts_that_fill_the_context_are_refused(length: int) -> None:
    request = Request((1,) * length)
    words = f"shorter than the model's context of 64 tokens, got {length} tokens"
    for events in (
        autoregressive(lane_of(ToyModel(1)), request),
        decode(lane_of(ToyModel(1)), Replay((), 4), request),
    ):
        with pytest.raises(ValueError, match=words):
            next(events)
