"""Faults put in on purpose, as models, memos, caches and rules: each must be caught.

Caught means what the certificate would say: other ids than the baseline's, or, with the ids the
same, another hash of a logit row. Each fault also shows on the models it is planted in, not only
in toys, and the same check without a fault passes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from ssd.cache import KVCache
from ssd.decode import Lane, Rule, autoregressive, decode
from ssd.events import collect
from ssd.exact import hash_rows
from ssd.meter import Meter
from ssd.model import CachedModel, LanguageModel, Pass
from ssd.proposer import Proposer
from ssd.request import Request
from ssd.rules.keyed import keyed
from ssd.sampling import Sampling
from ssd.stop import Stop
from ssd.tree import TokenTree
from ssd.verify import Verdict, verify
from tests.proposers import right_among_wrong
from tests.tiny import exact, tiny
from tests.toy import ToyModel

GREEDY = Sampling()
Report = tuple[tuple[int, ...], tuple[str, ...]]


class Wrapped:
    """A model whose passes or caches are changed on the way."""

    def __init__(
        self,
        model: LanguageModel,
        change: Callable[[Pass], Pass] = lambda rows: rows,
        cache: Callable[[KVCache], None] = lambda cache: None,
    ) -> None:
        self._model, self._change, self._cache = model, change, cache
        self.vocab_size, self.context_length = model.vocab_size, model.context_length
        self.max_width, self.weight_bytes = model.max_width, model.weight_bytes

    def new_cache(self) -> KVCache:
        """The model's, changed."""
        cache = self._model.new_cache()
        self._cache(cache)
        return cache

    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """The model's, of changed rows."""
        return self._model.forward(self._change(rows), cache, num_logits)


def position_off_by_one(rows: Pass) -> Pass:
    """Nodes below the root one further on."""
    return replace(rows, positions=rows.positions + (rows.positions > rows.positions.min()).long())


def sibling_leak(rows: Pass) -> Pass:
    """Every row sees all rows before it in the pass, siblings and cousins too."""
    num_rows, num_slots = rows.mask.shape
    return replace(rows, mask=torch.ones(num_rows, num_slots).tril(num_slots - num_rows).bool())


def parent_only(rows: Pass) -> Pass:
    """Rows in the tree do not see the row two above."""
    mask = rows.mask.clone()
    for row in range(len(mask)):
        seen = torch.nonzero(mask[row])[:, 0].tolist()
        if len(seen) > 2:
            mask[row, seen[-3]] = False
    return replace(rows, mask=mask)


def stale_slots(cache: KVCache) -> None:
    """Accepted keys are not moved: their slots hold what a rejected node left."""
    cache.move = lambda sources, first: None  # type: ignore[method-assign]


def stale_values(cache: KVCache) -> None:
    """Keys move, values stay."""
    move = cache.move

    def keys_only(sources: Sequence[int], first: int) -> None:
        values = cache._values.clone()
        move(sources, first)
        with torch.inference_mode():
            cache._values.copy_(values)

    cache.move = keys_only  # type: ignore[method-assign]


def last_wins(tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request) -> Verdict:
    """The arg-max that takes the last of equals."""

    def choice(node: int) -> int:
        scores = request.sampling.scores(logits[node], [*context, *tree.path_tokens(node)])
        return int(len(scores) - 1 - np.argmax(scores[::-1]))

    return verify(tree, choice)


def noise_by_node(
    tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request
) -> Verdict:
    """Noise keyed by where a node stands in the pass, not in the text."""

    def choice(node: int) -> int:
        scores = request.sampling.scores(logits[node], [*context, *tree.path_tokens(node)])
        return request.sampling.choice(scores, len(context) + node, request.seed)

    return verify(tree, choice)


def noise_of_the_round(
    tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request
) -> Verdict:
    """One noise row for all nodes of a round."""

    def choice(node: int) -> int:
        scores = request.sampling.scores(logits[node], [*context, *tree.path_tokens(node)])
        return request.sampling.choice(scores, len(context), request.seed)

    return verify(tree, choice)


def penalty_without_path(
    tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request
) -> Verdict:
    """The repetition penalty sees the context but not the node's own path."""

    def choice(node: int) -> int:
        scores = request.sampling.scores(logits[node], context)
        return request.sampling.choice(scores, len(context) + tree.depths[node], request.seed)

    return verify(tree, choice)


def best_of_rows(
    tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request
) -> Verdict:
    """The longest path whose tokens are each among the two best of their parents."""
    best: tuple[int, ...] = ()
    for node in range(len(tree)):
        path = tree.path(node)
        steps = zip((0, *path), path, strict=False)
        fits = all(tree.tokens[b] in torch.topk(logits[a], 2).indices.tolist() for a, b in steps)
        best = path if fits and len(path) > len(best) else best
    last = best[-1] if best else 0
    return Verdict(best, keyed_token(tree, logits, context, request, last))


def keyed_token(
    tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request, node: int
) -> int:
    history = [*context, *tree.path_tokens(node)]
    scores = request.sampling.scores(logits[node], history)
    return request.sampling.choice(scores, len(history), request.seed)


class KeepsTooMuch(CachedModel):
    """A memo that takes any context for a continuation of what it holds."""

    def keep(self, context: Sequence[int]) -> None:
        """Trusts the first ids unseen."""
        same = min(len(self._held), len(context) - 1)
        self._held = list(context[:same])
        super().keep(context)


def reports(
    target: LanguageModel,
    faulty: Callable[[Meter], CachedModel],
    rule: Rule,
    request: Request,
    proposer: Callable[[Sequence[int]], Proposer],
) -> tuple[Report, Report]:
    """What the baseline says of a run, and what the faulty tree lane says."""
    told: list[Report] = []
    for is_baseline in (True, False):
        meter, hashes = Meter(), []

        def witness(
            tree: TokenTree, verdict: Verdict, logits: Tensor, hashes: list[str] = hashes
        ) -> None:
            hashes.extend(hash_rows(logits[list(verdict.nodes)]))

        if is_baseline:
            lane = Lane(CachedModel(target, "target", meter), meter, witness=witness)
            run = collect(autoregressive(lane, request))
        else:
            lane = Lane(faulty(meter), meter, rule, witness)
            run = collect(decode(lane, proposer(told[0][0]), request))
        told.append((run.tokens, tuple(hashes[: len(run.tokens)])))
    return told[0], told[1]


def memo_of(model: LanguageModel) -> Callable[[Meter], CachedModel]:
    return lambda meter: CachedModel(model, "target", meter)


def caught(
    target: LanguageModel,
    faulty: Callable[[Meter], CachedModel],
    rule: Rule = keyed,
    sampling: Sampling = GREEDY,
) -> float:
    """The share of ten runs whose ids or hashes differ from the baseline's."""
    rng, found = random.Random(0), 0
    for case in range(10):
        prompt = tuple(rng.choices(range(target.vocab_size), k=9))
        request = Request(prompt, sampling, case, Stop(24))
        sound, told = reports(
            target, faulty, rule, request,
            lambda answer, case=case: right_among_wrong(answer, case, target.vocab_size, 15),
        )  # fmt: skip
        found += sound != told
    return found / 10


@pytest.fixture(scope="module")
def targets() -> dict[str, LanguageModel]:
    torch.set_num_threads(1)
    return {
        "toy": ToyModel(7),
        "llama": exact(tiny("llama", 7).model(torch.bfloat16)),
        "gpt2": exact(tiny("gpt2", 7).model(torch.bfloat16)),
    }


KINDS = ["toy", "llama", "gpt2"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0, 6, 0.9, 1.2)])
def test_without_a_fault_nothing_is_caught(
    targets: dict[str, LanguageModel], kind: str, sampling: Sampling
) -> None:
    target = targets[kind]
    assert caught(target, memo_of(Wrapped(target)), sampling=sampling) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", [position_off_by_one, sibling_leak, parent_only])
def test_faulty_passes_are_caught(
    targets: dict[str, LanguageModel], kind: str, fault: Callable[[Pass], Pass]
) -> None:
    assert caught(targets[kind], memo_of(Wrapped(targets[kind], fault))) >= 0.9


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        *((kind, stale_slots) for kind in KINDS),
        *((kind, stale_values) for kind in KINDS[1:]),  # a toy reads its keys only
    ],
)
def test_stale_slots_are_caught(
    targets: dict[str, LanguageModel], kind: str, fault: Callable[[KVCache], None]
) -> None:
    assert caught(targets[kind], memo_of(Wrapped(targets[kind], cache=fault))) >= 0.7


@pytest.mark.parametrize("kind", KINDS)
def test_a_memo_that_trusts_any_context_is_caught(
    targets: dict[str, LanguageModel], kind: str
) -> None:
    """A lane used for a second prompt that only begins like the first."""
    target, found = targets[kind], 0
    for case in range(6):
        rng = random.Random(case)
        prompts = [tuple(rng.choices(range(target.vocab_size), k=12)) for _ in range(2)]
        for memo in (CachedModel, KeepsTooMuch):
            used, fresh = (make(target, "target", Meter()) for make in (memo, CachedModel))
            rows_of(used, prompts[0])
            is_same = rows_of(used, prompts[1]) == rows_of(fresh, prompts[1])
            assert is_same or memo is KeepsTooMuch
            found += not is_same
    assert found == 6


def rows_of(memo: CachedModel, prompt: tuple[int, ...]) -> list[str]:
    """The hashes of the rows of a plain run in a lane that owns `memo`."""
    hashes: list[str] = []

    def witness(tree: TokenTree, verdict: Verdict, logits: Tensor) -> None:
        hashes.extend(hash_rows(logits))

    lane = Lane(memo, memo._meter, witness=witness)
    collect(autoregressive(lane, Request(prompt, stop=Stop(8))))
    return hashes


def test_last_wins_is_caught_where_logits_tie() -> None:
    target = ToyModel(8, levels=3)
    assert caught(target, memo_of(target), last_wins) == 1
    assert caught(target, memo_of(target)) == 0
    assert caught(ToyModel(8, levels=10**6), memo_of(ToyModel(8, levels=10**6)), last_wins) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", [noise_by_node, noise_of_the_round])
def test_wrong_noise_keys_are_caught(
    targets: dict[str, LanguageModel], kind: str, rule: Rule
) -> None:
    target = targets[kind]
    assert caught(target, memo_of(target), rule, Sampling(1.5)) >= 0.9


def test_taking_the_longest_plausible_path_is_caught() -> None:
    target = ToyModel(7)
    assert caught(target, memo_of(target), best_of_rows, Sampling(1.5)) >= 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_a_penalty_that_forgets_the_path_is_caught(
    targets: dict[str, LanguageModel], kind: str
) -> None:
    target, sampling = targets[kind], Sampling(0.5, repetition_penalty=1.8)
    assert caught(target, memo_of(target), penalty_without_path, sampling) >= 0.5
