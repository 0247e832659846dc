"""Captured passes: on the CPU by twins of a CUDA graph, which replay what was recorded."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from ssd.exact import Numerics
from ssd.lanes import METHODS, Guessing
from ssd.meter import Meter
from ssd.model import CachedModel, Pass
from ssd.models.families import transformer
from ssd.models.graphed import Capture, CudaGraphs, GraphedTransformer, Replay
from ssd.models.transformer import Transformer
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from tests.proposers import random_tree
from tests.test_lanes import PROMPT, run
from tests.tiny import FAMILIES, WIDTHS, exact, tiny
from tests.tiny_pair import tiny_pair


def again(run: Callable[[], None]) -> Replay:
    """The plainest twin: the pass itself, run anew."""
    return run


class Tape(TorchDispatchMode):
    """Notes every operation of what runs inside."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.operations.append((func, args, kwargs or {}, out))
        return out

    def replay(self) -> None:
        """The same operations on the same memory; what they make in between is made anew."""
        made: dict[int, Any] = {}

        def now(value: Any) -> Any:
            return made.get(id(value), value)

        for func, args, kwargs, out in self.operations:
            again = func(*tree_map(now, args), **tree_map(now, kwargs))
            for old, new in zip(tree_leaves(out), tree_leaves(again), strict=True):
                made[id(old)] = new


def recorded(run: Callable[[], None]) -> Replay:
    """A twin that repeats the recorded operations and no Python, as a CUDA graph does."""
    tape = Tape()
    with tape:
        run()
    return tape.replay


def counted(capture: Capture) -> tuple[Capture, list[int]]:
    """`capture`, and how often it was asked."""
    count = [0]

    def counting(run: Callable[[], None]) -> Replay:
        count[0] += 1
        return capture(run)

    return counting, count


def plain(family: str = "llama", dtype: torch.dtype = torch.bfloat16) -> Transformer:
    torch.set_num_threads(1)
    return exact(tiny(family, 3).model(dtype))


def grown(models: Sequence[CachedModel], rng: random.Random, rounds: int) -> None:
    """Rounds of random trees and contexts on all of the models at once; their logits agree."""
    context = [rng.randrange(20) for _ in range(rng.randint(1, 30))]
    for _ in range(rounds):
        tree = random_tree(rng, context[-1], 20, rng.randint(0, 12), 6)
        first, *others = (model.score(context, tree) for model in models)
        for other in others:
            assert torch.equal(first, other)
        node = rng.randrange(len(tree))
        context = [*context, *tree.path_tokens(node), rng.randrange(20)]
        if rng.random() < 0.2:
            context = context[: rng.randint(1, len(context))]
        for model in models:
            model.keep(context)


@pytest.mark.parametrize("capture", [again, recorded])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_captured_pass_gives_the_same_bits(family: str, capture: Capture) -> None:
    """Trees, compaction, contexts that turn back; each width is captured once."""
    model = plain(family)
    counting, count = counted(capture)
    graphed = GraphedTransformer(model, counting)
    for seed in range(4):
        memos = [CachedModel(each, "target", Meter()) for each in (model, graphed)]
        grown(memos, random.Random(seed), 12)
    assert 0 < count[0] <= len(WIDTHS)


def test_lanes_take_turns_in_one_room() -> None:
    """Two contexts decoded in turn, each by a memo of its own, do not disturb each other."""
    model = plain()
    graphed = GraphedTransformer(model, recorded)
    pairs = [[CachedModel(each, "target", Meter()) for each in (model, graphed)] for _ in range(3)]
    rngs = [random.Random(seed) for seed in range(3)]
    contexts = [[rng.randrange(20) for _ in range(9)] for rng in rngs]
    for _ in range(8):
        for memos, rng, context in zip(pairs, rngs, contexts, strict=True):
            tree = random_tree(rng, context[-1], 20, 6, 4)
            ours, theirs = (memo.score(context, tree) for memo in memos)
            assert torch.equal(ours, theirs)
            context += [*tree.path_tokens(rng.randrange(len(tree))), rng.randrange(20)]
            for memo in memos:
                memo.keep(context)


def test_a_lane_that_has_ended_is_not_set_aside() -> None:
    graphed = GraphedTransformer(plain(), again)
    memo = CachedModel(graphed, "target", Meter())
    memo.keep([1, 2, 3])
    list(memo.fill())
    room = graphed._room
    assert room is not None and room.owner is not None
    del memo
    gc.collect()
    assert room.owner is None


def test_a_room_that_is_too_small_is_left_for_a_larger_one(monkeypatch: Any) -> None:
    """What it held moves along, that of a lane set aside before too; all is captured anew."""
    monkeypatch.setattr("ssd.models.graphed._LEAST_ROOM", 16)
    model = plain()
    counting, count = counted(recorded)
    graphed = GraphedTransformer(model, counting)
    early = [CachedModel(each, "target", Meter()) for each in (model, graphed)]
    late = [CachedModel(each, "target", Meter()) for each in (model, graphed)]
    rng = random.Random(1)
    tree = random_tree(rng, 5, 20, 4, 3)
    for memos, length in ((early, 9), (late, 40), (early, 11), (late, 45)):
        context = [(3 * n) % 20 for n in range(length)] + [5]
        ours, theirs = (memo.score(context, tree) for memo in memos)
        assert torch.equal(ours, theirs)
    assert count[0] >= 3


def test_fast_numerics_is_captured_at_few_widths() -> None:
    """A width of its own for every number of rows would take a capture each."""
    counting, count = counted(again)
    model = plain(dtype=torch.float32).with_numerics(Numerics("fast", (1, 2, 4, 8, 16)))
    graphed = GraphedTransformer(model, counting)
    memos = [CachedModel(each, "draft", Meter()) for each in (model, graphed)]
    for num_nodes in range(12):
        tree = random_tree(random.Random(num_nodes), 4, 20, num_nodes, 5)
        ours, theirs = (memo.score([1, 2, 4], tree) for memo in memos)
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
    assert count[0] <= 5


def test_what_padded_rows_write_is_seen_by_no_other() -> None:
    """Even where it is not a number: the slot behind the last is out of sight."""
    graphed = GraphedTransformer(plain(), again)
    memo = CachedModel(graphed, "target", Meter())
    tree = random_tree(random.Random(2), 4, 20, 4, 3)
    before = memo.score([1, 2, 4], tree)
    room = graphed._room
    assert room is not None
    rows = Pass(torch.tensor([4]), torch.tensor([2]), 2, 2, torch.ones(1, 1, dtype=torch.bool))
    plan = graphed._plans[min(graphed._plans)]
    with torch.inference_mode():
        plan.load(rows)
    visible = plan._visible
    assert not visible[:1, room.size].any() and visible[1:, room.size].all()
    assert not visible[1:, : room.size].any()
    assert torch.equal(memo.score([1, 2, 4], tree), before)


def test_every_method_says_the_same_on_captured_passes(tmp_path: Path) -> None:
    """All of the lab's methods, with both models captured."""
    pair = tiny_pair(tmp_path)
    captured = replace(
        pair,
        target=GraphedTransformer(pair.target, recorded),
        draft=GraphedTransformer(pair.draft, recorded),
    )
    request = Request(PROMPT, Sampling(), 5, Stop(12))
    wanted = run(pair, "autoregressive", Guessing(), request).tokens
    for method in METHODS:
        assert run(captured, method, Guessing(), request, wanted).tokens == wanted, method


@pytest.mark.cuda
def test_a_cuda_graph_gives_the_bits_of_the_eager_pass() -> None:
    device = torch.device("cuda")
    checkpoint = tiny("llama", 3)
    bare = transformer(checkpoint.config, checkpoint.tensors, torch.bfloat16, device)
    model = exact(bare)
    graphed = GraphedTransformer(model, CudaGraphs(device))
    memos = [CachedModel(each, "target", Meter()) for each in (model, graphed)]
    grown(memos, random.Random(0), 20)
