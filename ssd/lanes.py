"""The methods by name: which proposer guesses for the target, and by which rule it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ssd.decode import Lane, Witness, autoregressive, decode
from ssd.draft import DraftPass, DraftPolicy, DraftStage
from ssd.events import Event
from ssd.grow import Limits
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.models.load import LoadedPair
from ssd.ngram import NGram, NGramProposer
from ssd.proposer import Proposer, Replay
from ssd.request import Request
from ssd.rules.keyed import keyed
from ssd.rules.rejection import SampledChain, rejection

METHODS = (
    "autoregressive",
    "speculative",
    "staged",
    "tree",
    "lookup",
    "replay",
    "speculative-rejection",
)
MAX_NODES = 127
Sources = Literal["both", "katz", "match", "none"]

_AUTO_NODES = 40
_AUTO_CHAIN = 8
_AUTO_DEPTH = 10
_LEAST = 0.03  # of a token: no machine adds a node to a pass for less
_REPLAY_NODES = 15
_REJECTION_CHAIN = 4


@dataclass(frozen=True)
class Guessing:
    """How much to guess: nodes a round (root not counted) and chain length; None is by price.

    `depth`: how far below the root a guess may lie, None for the lane's own bound. `sources`: what
    the N-gram of `staged` and `lookup` draws on, the Katz table, matches in the context, both or
    none of them. Raises ValueError for a size out of range or an unknown source.
    """

    nodes: int | None = None
    chain: int | None = None
    depth: int | None = None
    sources: Sources = "both"

    def __post_init__(self) -> None:
        sizes = (("nodes", self.nodes), ("chain", self.chain), ("depth", self.depth))
        for name, size in sizes:
            if size is not None and not 0 <= size <= MAX_NODES:
                raise ValueError(f"{name} must be auto or 0 to {MAX_NODES}, got {size}")
        if self.sources not in get_args(Sources):
            names = ", ".join(get_args(Sources))
            raise ValueError(f"sources must be one of {names}, got {self.sources!r}")


@dataclass(frozen=True)
class Watch:
    """Who looks on: see `ssd.decode.Lane`.

    `draft_pass` is told of every pass of the draft, within the clock: let it take note, no more.
    """

    witness: Witness = lambda tree, verdict, logits: None
    is_cancelled: Callable[[], bool] = lambda: False
    draft_pass: Callable[[DraftPass], None] = lambda read: None


def events(
    pair: LoadedPair,
    method: str,
    request: Request,
    guessing: Guessing = Guessing(),
    watch: Watch = Watch(),
    *,
    answer: Sequence[int] = (),
) -> Iterator[Event]:
    """Events of a run of `method`, with empty caches of its own.

    `answer`: the known answer that `replay` guesses. Raises ValueError for an unknown method.
    """
    if method not in METHODS:
        raise ValueError(f"the method must be one of {', '.join(METHODS)}, got {method!r}")
    request.check_room(pair.target.context_length)
    num_slots = len(request.prompt) + request.stop.max_new_tokens + MAX_NODES + 1
    for model in (pair.target, pair.draft):
        model.reserve(min(num_slots, model.context_length + MAX_NODES + 1))
    meter = Meter(pair.clock)
    rule = rejection if method == "speculative-rejection" else keyed
    target = CachedModel(pair.target, "target", meter)
    lane = Lane(target, meter, rule, watch.witness, watch.is_cancelled)
    if method == "autoregressive":
        return autoregressive(lane, request)
    if method == "replay":
        nodes = _REPLAY_NODES if guessing.nodes is None else guessing.nodes
        return decode(lane, Replay(answer, nodes), request)
    proposer = _proposer(pair, method, guessing, meter, watch.draft_pass)
    return decode(lane, proposer, request)


def _proposer(
    pair: LoadedPair,
    method: str,
    guessing: Guessing,
    meter: Meter,
    draft_pass: Callable[[DraftPass], None],
) -> Proposer:
    if method == "lookup":
        pricing = pair.pricing if guessing.nodes is None else None
        return NGramProposer(_ngram(pair, guessing), _limits(guessing), pricing, meter)
    draft = CachedModel(pair.draft, "draft", meter)
    if method == "speculative-rejection":
        length = _REJECTION_CHAIN if guessing.chain is None else guessing.chain
        return SampledChain(draft, pair.draft.head_ids, length)
    policy = _policy(pair, method, guessing)
    ngram = _ngram(pair, guessing) if policy.is_merged else None
    return DraftStage(draft, pair.draft.head_ids, policy, ngram, meter, draft_pass)


def _ngram(pair: LoadedPair, guessing: Guessing) -> NGram:
    table = pair.katz if guessing.sources in ("both", "katz") else None
    is_matching = guessing.sources in ("both", "match")
    return NGram(table, is_matching=is_matching, calibration=pair.calibration)


def _limits(guessing: Guessing) -> Limits:
    depth = _AUTO_DEPTH if guessing.depth is None else guessing.depth
    if guessing.nodes is None:
        return Limits(_AUTO_NODES, depth, _LEAST)
    return Limits(guessing.nodes, depth)


def _policy(pair: LoadedPair, method: str, guessing: Guessing) -> DraftPolicy:
    if method == "speculative":
        length = _AUTO_CHAIN if guessing.chain is None else guessing.chain
        depth = length if guessing.depth is None else min(length, guessing.depth)
        limits, branching, is_auto = Limits(length, depth), 1, guessing.chain is None
    else:
        limits, branching, is_auto = _limits(guessing), 4, guessing.nodes is None
    return DraftPolicy(
        limits=limits,
        branching=branching,
        pricing=pair.pricing if is_auto else None,
        is_merged=method == "staged" and guessing.sources != "none",
        calibration=pair.calibration,
    )
