"""The methods by name, with a tiny pair in place of a real one."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import pytest
import torch

from ssd.calibration import UNCALIBRATED, Calibration, CalibrationTable
from ssd.cost import Hope, PassCosts, Pricing
from ssd.events import Result, collect
from ssd.lanes import MAX_NODES, METHODS, Guessing, Sources, Watch, events
from ssd.models.load import LoadedPair
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from tests.test_ngram import KATZ, table
from tests.tiny import exact, tiny, with_draft

PROMPT = (1, 2, 3, 4, 5) * 4
COSTS = PassCosts((1, 64), (1.0, 2.0))
HOPE = Hope(0.5, 0.5)


@pytest.fixture(scope="module")
def pair() -> LoadedPair:
    torch.set_num_threads(1)
    checkpoint = tiny("llama", 11)
    return LoadedPair(
        name="tiny", folder=Path(), codec=cast(Any, None),
        target=exact(checkpoint.model(torch.bfloat16)),
        draft=exact(with_draft(checkpoint, 0.2).model(torch.bfloat16)),
        katz=KATZ, pricing=Pricing(COSTS, PassCosts((1, 64), (0.1, 0.2)), HOPE, HOPE),
        calibration=UNCALIBRATED,
        clock=time.perf_counter, is_exact=True, description={},
    )  # fmt: skip


def run(
    pair: LoadedPair,
    method: str,
    guessing: Guessing,
    request: Request,
    answer: tuple[int, ...] = (),
) -> Result:
    return collect(events(pair, method, request, guessing, answer=answer))


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0, 8)])
@pytest.mark.parametrize(
    "guessing",
    [Guessing(), Guessing(0, 0), Guessing(1, 1), Guessing(12, 4), Guessing(MAX_NODES, MAX_NODES)],
)
def test_all_methods_say_the_same(pair: LoadedPair, sampling: Sampling, guessing: Guessing) -> None:
    """By price and at every size, larger than a pass of these models holds included."""
    request = Request(PROMPT, sampling, 5, Stop(30))
    plain = run(pair, "autoregressive", guessing, request)
    assert plain.target_passes == len(plain.tokens) == 30 and plain.draft_passes == 0
    for method in METHODS:
        if method == "speculative-rejection" and not sampling.is_greedy:
            continue  # equal in law only
        found = run(pair, method, guessing, request, plain.tokens)
        assert (found.tokens, found.finish_reason) == (plain.tokens, "length"), method


def test_what_a_guess_is_worth_is_the_pairs_calibration(pair: LoadedPair) -> None:
    """Where guesses are known to be worthless, a priced lane makes none."""
    worthless = CalibrationTable(0.0, (0.5,), ((0.001, 0.001),))
    told = replace(pair, calibration=Calibration((worthless,)))
    request = Request(PROMPT, Sampling(), 5, Stop(30))
    for each, is_guessing in ((pair, True), (told, False)):
        found = run(each, "speculative", Guessing(), request)
        assert (max(len(step.tree) for step in found.steps) > 1) is is_guessing


def test_sizes_are_what_was_asked_for(pair: LoadedPair) -> None:
    """Zero included, which is a size and not `auto`."""
    request = Request(PROMPT, stop=Stop(30))
    answer = run(pair, "autoregressive", Guessing(), request).tokens
    for size in (0, 1, 6):
        guessing = Guessing(nodes=size, chain=size)
        for method in set(METHODS) - {"autoregressive"}:
            steps = run(pair, method, guessing, request, answer).steps
            largest = max(len(step.tree) - 1 for step in steps)
            assert largest <= size, method
            assert method == "lookup" or largest == size, method


def test_chains_are_chains_and_trees_use_no_ngram(pair: LoadedPair) -> None:
    request = Request(PROMPT, stop=Stop(30))
    for method in ("speculative", "speculative-rejection"):
        for step in run(pair, method, Guessing(chain=5), request).steps:
            assert step.tree.parents == tuple(range(-1, len(step.tree) - 1))
    for step in run(pair, "tree", Guessing(nodes=9), request).steps:
        assert set(step.tree.origins[1:]) <= {"draft"}
    for step in run(pair, "lookup", Guessing(nodes=9), request).steps:
        assert set(step.tree.origins[1:]) <= {"ngram"} and step.draft_passes == 0


def test_depth_and_sources_are_what_was_asked_for(pair: LoadedPair) -> None:
    """No source is no N-gram; the depth bounds trees and chains; the text stays."""
    request = Request(PROMPT, stop=Stop(30))
    plain = run(pair, "autoregressive", Guessing(), request)
    for method in ("staged", "tree", "lookup", "speculative"):
        for depth in (0, 1, 3):
            found = run(pair, method, Guessing(9, 9, depth=depth), request)
            deepest = max(max(step.tree.depths) for step in found.steps)
            assert deepest <= depth and (deepest == depth or method == "lookup")
            assert found.tokens == plain.tokens
    speaking = replace(pair, katz=table({(token,): [(3, 0.5), (4, 0.3)] for token in range(64)}))
    trees = {
        sources: tuple(
            s.tree for s in run(speaking, "staged", Guessing(9, sources=sources), request).steps
        )
        for sources in get_args(Sources)
    }
    tree = run(pair, "tree", Guessing(9), request)
    assert trees["none"] == tuple(step.tree for step in tree.steps)
    assert len(set(trees.values())) == 4
    for step in run(pair, "lookup", Guessing(9, sources="none"), request).steps:
        assert len(step.tree) == 1


def test_each_run_starts_with_empty_caches(pair: LoadedPair) -> None:
    request = Request(PROMPT, stop=Stop(10))
    first, second = (run(pair, "staged", Guessing(nodes=9), request) for _ in range(2))
    assert first.draft_passes == second.draft_passes
    assert [s.tree for s in first.steps] == [s.tree for s in second.steps]


def test_a_watch_may_stop_a_run(pair: LoadedPair) -> None:
    request = Request(PROMPT, stop=Stop(10))
    told = events(pair, "staged", request, watch=Watch(is_cancelled=lambda: True))
    assert collect(told).finish_reason == "cancelled"


@pytest.mark.parametrize(
    ("nodes", "chain"), [(-1, None), (MAX_NODES + 1, None), (None, -1), (None, MAX_NODES + 1)]
)
def test_sizes_out_of_range_are_refused(nodes: int | None, chain: int | None) -> None:
    with pytest.raises(ValueError, match="must be auto or 0 to 127"):
        Guessing(nodes, chain)


def test_unknown_sources_are_refused() -> None:
    with pytest.raises(ValueError, match="sources must be one of both, katz, match, none, got 'x'"):
        Guessing(sources=cast(Any, "x"))
    with pytest.raises(ValueError, match="depth must be auto or 0 to 127"):
        Guessing(depth=-1)


def test_what_cannot_run_is_refused_at_once(pair: LoadedPair) -> None:
    """Before the first event is asked for."""
    with pytest.raises(ValueError, match="method must be one of"):
        events(pair, "psychic", Request(PROMPT))
    with pytest.raises(ValueError, match="shorter than the model's context of 96"):
        events(pair, "staged", Request((1,) * 96))
