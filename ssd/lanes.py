"""The methods by name: which proposer guesses for the target, and by which rule it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ssd.decode import Lane, Witness, autoregressive, decode
from ssd.draft import DraftPolicy, DraftStage
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

_AUTO_NODES = 40
_AUTO_CHAIN = 8
_AUTO_DEPTH = 10
_LEAST = 0.03  # of a token: no machine adds a node to a pass for less
_REPLAY_NODES = 15
_REJECTION_CHAIN = 4


@dataclass(frozen=True)
class Guessing:
    """How much to guess: nodes a round (root not counted) and chain length; None is by price.

    Raises ValueError for a size out of range.
    """

    nodes: int | None = None
    chain: int | None = None

    def __post_init__(self) -> None:
        for name, size in (("nodes", self.nodes), ("chain", self.chain)):
            if size is not None and not 0 <= size <= MAX_NODES:
                raise ValueError(f"{name} must be auto or 0 to {MAX_NODES}, got {size}")


@dataclass(frozen=True)
class Watch:
    """Who looks on: see `ssd.decode.Lane`."""

    witness: Witness = lambda tree, verdict, logits: None
    is_cancelled: Callable[[], bool] = lambda: False


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
    meter = Meter(pair.clock)
    rule = rejection if method == "speculative-rejection" else keyed
    target = CachedModel(pair.target, "target", meter)
    lane = Lane(target, meter, rule, watch.witness, watch.is_cancelled)
    if method == "autoregressive":
        return autoregressive(lane, request)
    if method == "replay":
        nodes = _REPLAY_NODES if guessing.nodes is None else guessing.nodes
        return decode(lane, Replay(answer, nodes), request)
    return decode(lane, _proposer(pair, method, guessing, meter), request)


def _proposer(pair: LoadedPair, method: str, guessing: Guessing, meter: Meter) -> Proposer:
    if method == "lookup":
        pricing = pair.pricing if guessing.nodes is None else None
        return NGramProposer(NGram(pair.katz), _limits(guessing), pricing, meter)
    draft = CachedModel(pair.draft, "draft", meter)
    if method == "speculative-rejection":
        length = _REJECTION_CHAIN if guessing.chain is None else guessing.chain
        return SampledChain(draft, pair.draft.head_ids, length)
    policy = _policy(pair, method, guessing)
    ngram = NGram(pair.katz) if method == "staged" else None
    return DraftStage(draft, pair.draft.head_ids, policy, ngram, meter)


def _limits(guessing: Guessing) -> Limits:
    if guessing.nodes is None:
        return Limits(_AUTO_NODES, _AUTO_DEPTH, _LEAST)
    return Limits(guessing.nodes, _AUTO_DEPTH)


def _policy(pair: LoadedPair, method: str, guessing: Guessing) -> DraftPolicy:
    if method == "speculative":
        length = _AUTO_CHAIN if guessing.chain is None else guessing.chain
        limits, branching, is_auto = Limits(length, length), 1, guessing.chain is None
    else:
        limits, branching, is_auto = _limits(guessing), 4, guessing.nodes is None
    return DraftPolicy(
        limits=limits,
        branching=branching,
        pricing=pair.pricing if is_auto else None,
        is_merged=method == "staged",
        sharpness=pair.sharpness,
    )
