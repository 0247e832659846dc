"""Captured passes: on the CPU by twins of a CUDA graph, which replay what was recorded."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from ssd.exact import Numerics
from ssd.lanes import METHODS, Guessing, events
from ssd.meter import Meter
from ssd.model import CachedModel, Pass
from ssd.models.families import transformer
from ssd.models.graphed import Capture, CudaGraphs, GraphedTransformer, Replay
from ssd.models.packed import packed
from ssd.models.traced import traced
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


def constant(run: Callable[[], None]) -> Replay:
    """A planted fault: the replay leaves whatever the capture left, and computes nothing."""
    run()
    return lambda: None


def stale(run: Callable[[], None]) -> Replay:
    """A planted fault: the replay does once more what it did at capture, whatever it is given."""
    tape = Tape()
    with tape:
        run()
    kept = [value.clone() for value in _written(tape)]

    def replay() -> None:
        for value, old in zip(_written(tape), kept, strict=True):
            value.copy_(old)

    return replay


def _written(tape: Tape) -> list[torch.Tensor]:
    """The results that lie in memory of the pass's own: those of operations in place."""
    names = ("copy_", "index_copy_")
    return [
        args[0] for func, args, _, _ in tape.operations if func.overloadpacket.__name__ in names
    ]


def one_bit_off(run: Callable[[], None]) -> Replay:
    """A planted fault: the last operation of the replay is followed by a change of one bit."""
    tape = Tape()
    with tape:
        run()

    def replay() -> None:
        tape.replay()
        logits = _written(tape)[-1]
        logits.view(torch.int16)[-1, -1] ^= 1

    return replay


def without_values(run: Callable[[], None]) -> Replay:
    """A planted fault: the logits are right, but no keys and values are written."""

    def replay() -> None:
        with Writeless():
            run()

    return replay


class Writeless(TorchDispatchMode):
    """Undoes what is written into slots once the pass is over."""

    def __enter__(self) -> Any:
        self.slots: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ == "index_copy_":
            self.slots.setdefault(id(args[0]), (args[0], args[0].clone()))
        return func(*args, **(kwargs or {}))

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for slots, old in self.slots.values():
            slots.copy_(old)


@pytest.mark.parametrize("fault", [constant, stale, one_bit_off, without_values])
def test_a_replay_that_is_not_the_pass_is_found_out_at_capture(fault: Capture) -> None:
    """Though such replays agree with each other at every width, as the probe would ask."""
    graphed = GraphedTransformer(plain(), fault)
    with pytest.raises(RuntimeError, match="a captured pass of 16 rows differs"):
        graphed.reserve(40)


def test_checking_leaves_an_empty_room() -> None:
    graphed = GraphedTransformer(plain(), recorded)
    graphed.reserve(40)
    assert graphed._room is not None and graphed._room.owner is None
    assert not graphed._room.keys.any() and not graphed._room.values.any()


def test_nothing_is_captured_within_a_round(tmp_path: Path, monkeypatch: Any) -> None:
    """All widths, and a room for the whole answer, before the clock; again for a longer one."""
    monkeypatch.setattr("ssd.models.graphed._LEAST_ROOM", 32)
    pair, counts = tiny_pair(tmp_path), []
    models = []
    for model in (pair.target, pair.draft):
        counting, count = counted(again)
        models.append(GraphedTransformer(model, counting))
        counts.append(count)
    captured = replace(pair, target=models[0], draft=models[1])
    for num_new, most in ((2, 2), (60, 4)):
        request = Request(PROMPT, Sampling(), 5, Stop(num_new))
        decoding = events(captured, "staged", request)
        before = [count[0] for count in counts]
        assert all(0 < number <= most for number in before)
        list(decoding)
        assert [count[0] for count in counts] == before


class FakeCuda:
    """`torch.cuda` without a GPU: which device is current, and on which one each thing is made."""

    def __init__(self) -> None:
        self.current = torch.device("cuda:0")
        self.log: list[tuple[str, torch.device]] = []
        self.default_capture_device = torch.device("cuda:0")

    def note(self, what: str, device: torch.device | None = None) -> None:
        self.log.append((what, device or self.current))

    @contextmanager
    def device(self, device: torch.device) -> Iterator[None]:
        before, self.current = self.current, device
        yield
        self.current = before

    def graph_pool_handle(self) -> str:
        self.note("pool")
        return "pool"

    def Stream(self, device: torch.device) -> FakeStream:
        self.note("stream", device)
        return FakeStream(device)

    def current_stream(self, device: torch.device) -> FakeStream:
        return FakeStream(device)

    @contextmanager
    def stream(self, stream: FakeStream) -> Iterator[None]:
        self.note("warm-up", stream.device)
        yield

    def CUDAGraph(self) -> FakeGraph:
        return FakeGraph(self)

    @contextmanager
    def graph(
        self, graph: FakeGraph, pool: str, stream: FakeStream | None = None
    ) -> Iterator[None]:
        self.note("capture", self.default_capture_device if stream is None else stream.device)
        yield


@dataclass(frozen=True)
class FakeStream:
    """A stream of a device."""

    device: torch.device

    def wait_stream(self, other: FakeStream) -> None:
        assert other.device == self.device


@dataclass(frozen=True)
class FakeGraph:
    """A graph, which notes where it is replayed."""

    cuda: FakeCuda

    def replay(self) -> None:
        self.cuda.note("replay")


def test_a_model_on_the_second_gpu_is_captured_and_replayed_there() -> None:
    """Wherever the current device is; torch's own capture stream would be the first one's."""
    cuda, second = FakeCuda(), torch.device("cuda:1")
    runs: list[torch.device] = []
    replay = CudaGraphs(second, cuda)(lambda: runs.append(cuda.current))
    replay()
    assert {what for what, _ in cuda.log} == {"pool", "stream", "warm-up", "capture", "replay"}
    assert {device for _, device in cuda.log} == {second} == set(runs)
    assert cuda.current == torch.device("cuda:0")


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_trace_that_is_not_the_pass_is_not_used(monkeypatch: Any, numerics: str) -> None:
    """A planted fault: a trace whose last bit is another."""
    real = torch.jit.trace

    def faulty(function: Any, inputs: Any, **options: Any) -> Any:
        trace = real(function, inputs, **options)
        return lambda *given: trace(*given) * (1 + 2**-7)

    monkeypatch.setattr(torch.jit, "trace", faulty)
    model = packed(plain()).with_numerics(Numerics(numerics, WIDTHS))  # type: ignore[arg-type]
    quick = traced(model)
    memos = [CachedModel(each, "target", Meter()) for each in (model, quick)]
    grown(memos, random.Random(3), 4)
