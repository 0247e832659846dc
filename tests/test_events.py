"""What a run says of itself."""

from __future__ import annotations

import math

import pytest

from ssd.decode import Lane, autoregressive, decode
from ssd.draft import DraftPolicy, DraftStage
from ssd.events import Event, Finish, Prefill, StageSeconds, Step, collect
from ssd.grow import Limits
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.ngram import NGram
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from ssd.tree import TokenTree
from ssd.verify import Verdict
from tests.test_meter import HandClock
from tests.toy import Markov


def staged_run(clock: HandClock, sampling: Sampling) -> tuple[list[Event], Meter]:
    """The events of a staged run and its meter."""
    meter = Meter(clock)
    target, shaken = Markov(3), Markov(3, wobble=2.0)
    lane = Lane(CachedModel(target, "target", meter), meter)
    draft = CachedModel(shaken, "draft", meter)
    policy = DraftPolicy(Limits(10, 4), is_merged=True)
    stage = DraftStage(draft, None, policy, NGram(None), meter)
    request = Request(tuple(range(1, 12)) * 3, sampling, stop=Stop(25))
    return list(decode(lane, stage, request)), meter


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)])
def test_stage_seconds_add_up(sampling: Sampling) -> None:
    """Every look at the clock takes a second: whatever is counted twice or left out would show."""
    events, _ = staged_run(HandClock(step=1.0), sampling)
    steps = [event for event in events if isinstance(event, Step)]
    before = 0.0
    for step in steps:
        assert math.isclose(step.seconds.total, step.time - before)
        assert step.seconds.target == 1.0, "one pass, between two looks"
        assert step.seconds.draft == step.draft_passes
        assert step.seconds.other > 0
        assert (step.seconds.ngram > 0) == (step.draft_passes > 0)
        before = step.time
    result = collect(events)
    assert math.isclose(result.seconds.total, steps[-1].time)


def test_time_between_events_is_nobodys() -> None:
    """A slow reader of the events, a page for one, does not slow the engine's clock."""

    def times(nap: float) -> tuple[float, float]:
        clock = HandClock(step=0.001)
        meter = Meter(clock)
        lane = Lane(CachedModel(Markov(3), "target", meter), meter)
        last: list[Event] = []
        for event in autoregressive(lane, Request(tuple(range(1, 12)) * 4, stop=Stop(5))):
            clock.now += nap
            last.append(event)
        result = collect(last)
        return round(result.prefill_seconds, 6), round(result.seconds.total, 6)

    assert times(0.0) == times(50.0)


def test_the_witness_is_outside_the_clock() -> None:
    def seconds(nap: float) -> float:
        clock = HandClock(step=0.001)
        meter = Meter(clock)

        def witness(tree: TokenTree, verdict: Verdict, logits: object) -> None:
            clock.now += nap

        lane = Lane(CachedModel(Markov(3), "target", meter), meter, witness=witness)
        result = collect(autoregressive(lane, Request((1, 2), stop=Stop(5))))
        return round(result.seconds.total, 6)

    assert seconds(0.0) == seconds(9.0)


def test_steps_prefill_and_finish_come_in_order() -> None:
    events, _ = staged_run(HandClock(), Sampling())
    kinds = [type(event) for event in events]
    first_step = kinds.index(Step)
    assert set(kinds[:first_step]) == {Prefill} and kinds[-1] is Finish
    assert kinds.count(Finish) == 1 and set(kinds[first_step:-1]) == {Step}
    last = events[first_step - 1]
    assert isinstance(last, Prefill) and last.done == last.total == 32
    result = collect(events)
    assert result.draft_passes == sum(s.draft_passes for s in result.steps) > 0
    assert result.target_passes == len(result.steps)
    for step in result.steps:
        assert len(step.tokens) == len(step.origins) <= len(step.verdict.path) + 1
        assert step.tokens == step.verdict.tokens(step.tree)[: len(step.tokens)]


def test_the_prefills_passes_are_not_the_decodes() -> None:
    events, meter = staged_run(HandClock(), Sampling())
    result = collect(events)
    assert meter.passes["target"] == result.target_passes + 2, "32 ids in passes of 16"
    assert meter.passes["draft"] == result.draft_passes + 2


def test_collect() -> None:
    tree = TokenTree.root_only(1)
    step = Step((5,), ("target",), tree, Verdict((), 5), 2, StageSeconds(0, 1, 2, 3), 6.0)
    result = collect([Prefill(1, 2, 0.5), Prefill(2, 2, 0.75), step, step, Finish("length")])
    assert result.tokens == (5, 5) and result.finish_reason == "length"
    assert result.prefill_seconds == 0.75 and result.seconds == StageSeconds(0, 2, 4, 6)
    assert result.target_passes == 2 and result.draft_passes == 4
    assert collect([]).finish_reason == "cancelled"
