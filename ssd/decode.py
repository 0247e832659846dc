"""The decoding loops: guess, score, decide, keep. The text is the target's own in every case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from ssd.events import Event, Finish, FinishReason, Prefill, Step
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.proposer import Proposer, Silent
from ssd.request import Request
from ssd.rules.keyed import keyed, settled_token
from ssd.stop import StopCheck
from ssd.tree import NO_PARENT, TokenTree
from ssd.verify import Verdict

Rule = Callable[[TokenTree, Tensor, Sequence[int], Request], Verdict]
Witness = Callable[[TokenTree, Verdict, Tensor], None]


@dataclass(frozen=True)
class Lane:
    """One decoder at work: a target with an empty memo of its own, its clock, and who watches.

    `witness` sees each round's tree, verdict and raw logits `[N, V]` outside the clock;
    `is_cancelled` is asked before every round and after every chunk of the prefill.
    """

    target: CachedModel
    meter: Meter
    rule: Rule = keyed
    witness: Witness = lambda tree, verdict, logits: None
    is_cancelled: Callable[[], bool] = lambda: False


def decode(lane: Lane, proposer: Proposer, request: Request) -> Iterator[Event]:
    """Events of a run in which `proposer` guesses and the target decides.

    Raises ValueError where the prompt fills the target's context.
    """
    context, check = list(request.prompt), StopCheck(request.stop)
    yield from _prefill(lane, proposer, request)
    clock = _Clock(lane.meter)
    while (reason := _end(lane, context)) is None:
        clock.start()
        room = min(check.num_left, lane.target.model.context_length - len(context))
        tree = proposer.propose(context, request, room - 1)
        logits = lane.target.score(context, tree)
        verdict = lane.rule(tree, logits, context, request)
        settled = verdict.tokens(tree)
        kept, reason = check.cut(settled)
        context += settled[:kept]
        lane.target.keep(context)
        step = clock.step(tree, verdict, kept)
        lane.witness(tree, verdict, logits)
        yield step
        if reason is not None:
            break
    yield Finish(reason)


def autoregressive(lane: Lane, request: Request) -> Iterator[Event]:
    """Events of a run of one token a pass: the baseline, which pays for no guessing.

    Raises ValueError where the prompt fills the target's context.
    """
    context, check = list(request.prompt), StopCheck(request.stop)
    yield from _prefill(lane, Silent(), request)
    clock = _Clock(lane.meter)
    lane.target.keep(context)
    while (reason := _end(lane, context)) is None:
        clock.start()
        root = context[-1]
        logits = lane.target.extend((root,), (NO_PARENT,))
        token = settled_token(logits[0], context, request)
        _, reason = check.cut((token,))
        context.append(token)
        lane.target.keep(context)
        tree, verdict = TokenTree.root_only(root), Verdict((), token)
        step = clock.step(tree, verdict, 1)
        lane.witness(tree, verdict, logits)
        yield step
        if reason is not None:
            break
    yield Finish(reason)


def _prefill(lane: Lane, proposer: Proposer, request: Request) -> Iterator[Event]:
    """Fill the caches of all but the root; all of it is prefill, the proposer's part too."""
    request.check_room(lane.target.model.context_length)
    total = len(request.prompt) - 1
    start, paused, done = lane.meter.clock(), 0.0, 0
    lane.target.keep(request.prompt)

    def parts() -> Iterator[int]:
        yield from lane.target.fill()
        for _ in proposer.prefill(request.prompt):
            yield total

    for done in parts():
        if lane.is_cancelled():
            return
        now = lane.meter.clock()
        yield Prefill(done, total, now - start - paused)
        paused += lane.meter.clock() - now
    yield Prefill(total, total, lane.meter.clock() - start - paused)
    lane.meter.split(0.0)


def _end(lane: Lane, context: Sequence[int]) -> FinishReason | None:
    if lane.is_cancelled():
        return "cancelled"
    return "context" if len(context) >= lane.target.model.context_length else None


class _Clock:
    """Turns rounds into steps: the meter's stages, and the time of the decode so far."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._time = 0.0

    def start(self) -> None:
        """Begin a round; what passed since the last one, between yields, is nobody's."""
        self._passes = self._meter.passes["draft"]
        self._start = self._meter.clock()

    def step(self, tree: TokenTree, verdict: Verdict, kept: int) -> Step:
        """The round as an event, `kept` of its tokens standing."""
        total = self._meter.clock() - self._start
        self._time += total
        origins = (*(tree.origins[node] for node in verdict.path), "target")
        return Step(
            tokens=verdict.tokens(tree)[:kept],
            origins=origins[:kept],
            tree=tree,
            verdict=verdict,
            draft_passes=self._meter.passes["draft"] - self._passes,
            seconds=self._meter.split(total),
            time=self._time,
        )
