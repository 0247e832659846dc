"""The draft stage: the tree it grows, in how many passes, with the N-gram and without."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from ssd import noise
from ssd.calibration import UNCALIBRATED, Calibration, CalibrationTable
from ssd.cost import Hope, PassCosts, Pricing
from ssd.decode import decode
from ssd.draft import DraftPass, DraftPolicy, DraftStage
from ssd.events import collect
from ssd.grow import BEST_CHILD, Limits
from ssd.meter import Meter
from ssd.model import CachedModel, LanguageModel
from ssd.ngram import NGram
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from ssd.tree import TokenTree
from tests.reference.tree import all_paths
from tests.test_ngram import KATZ, random_text
from tests.tiny import FAMILIES, exact, tiny, with_draft
from tests.toy import Markov, ToyModel, lane_of

SAMPLINGS = (Sampling(), Sampling(1.0), Sampling(0.7, 6, 0.9, 1.3))


def proposed(
    model: LanguageModel,
    context: list[int],
    policy: DraftPolicy,
    request: Request,
    *,
    is_helped: bool,
    max_depth: int = 100,
) -> tuple[TokenTree, int]:
    """The tree of a fresh stage and the draft passes that it took."""
    meter = Meter()
    memo = CachedModel(model, "draft", meter)
    stage = DraftStage(memo, None, policy, NGram(None) if is_helped else None, meter)
    list(stage.prefill(context))
    before = meter.passes["draft"]
    tree = stage.propose(context, request, max_depth)
    return tree, meter.passes["draft"] - before


# Chances in coarse steps, which a later rank may exceed, as measured ones do.
STEPS = Calibration(
    tuple(
        CalibrationTable(temperature, (0.2, 0.6), ((0.1, 0.3, 0.8), (0.2, 0.5, 0.6)))
        for temperature in (0.0, 1.0)
    )
)


def test_the_ngram_saves_passes_and_never_changes_the_tree() -> None:
    """1,200 random toys, contexts, sizes and samplings; ties among the draft's logits included."""
    rng = random.Random(0)
    totals = {True: 0, False: 0}
    for case in range(400):
        levels = rng.choice([4, 1000])
        kind = rng.choice([Markov, ToyModel])
        model = kind(case, vocab_size=9, levels=levels, max_width=64, scale=rng.choice([3.0, 12.0]))
        context = random_text(rng, rng.randint(1, 40), 9)
        limits = Limits(rng.randint(0, 24), rng.randint(0, 8))
        policy = DraftPolicy(
            limits,
            branching=rng.randint(1, 4),
            num_ahead=rng.choice([2, 8]),
            calibration=rng.choice([UNCALIBRATED, STEPS]),
        )
        for sampling in SAMPLINGS:
            request = Request(tuple(context), sampling, seed=case)
            depth = rng.choice([100, 3])
            found = {}
            for is_helped in (False, True):
                found[is_helped], passes = proposed(
                    model, context, policy, request, is_helped=is_helped, max_depth=depth
                )
                totals[is_helped] += passes
                levels_below = min(limits.max_depth, depth)
                assert passes <= levels_below if limits.num_nodes else passes == 0
            assert found[True] == found[False]
            assert set(found[True].origins[1:]) <= {"draft"}
    assert totals[True] < totals[False], totals


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sampling", SAMPLINGS[:2])
def test_the_same_on_tiny_models(family: str, sampling: Sampling) -> None:
    """bf16 in exact numerics: many equal logits, and rows whose company differs."""
    rng = random.Random(1)
    model = exact(tiny(family, 3).model(torch.bfloat16))
    for case in range(15):
        context = random_text(rng, 40, 61)
        request = Request(tuple(context), sampling, seed=case)
        policy = DraftPolicy(Limits(14, 5))
        plain, _ = proposed(model, context, policy, request, is_helped=False)
        helped, _ = proposed(model, context, policy, request, is_helped=True)
        assert plain == helped


@pytest.mark.parametrize("sampling", SAMPLINGS[:2])
def test_the_tree_is_the_best_first_tree_of_the_drafts_own_chances(sampling: Sampling) -> None:
    """Against every path to depth 4, from rows computed one at a time without a memo."""
    for seed in range(25):
        model = ToyModel(seed, vocab_size=5, max_width=64)
        context = [1, 2, 3]
        request = Request((1, 2, 3), sampling, seed)

        def chances(path: tuple[int, ...], model=model, seed=seed) -> dict[int, float]:  # type: ignore[no-untyped-def]
            row = np.array(model.row([1, 2, 3, *path]), dtype=np.float64)
            if not sampling.is_greedy:
                row = row + noise.gumbel(seed, 3 + len(path), np.arange(5))
            weights = np.exp(row - row.max())
            law = np.minimum(weights / weights.sum(), BEST_CHILD)
            best = np.argsort(-law, kind="stable")[:3]
            return {int(token): float(law[token]) for token in best}

        paths = all_paths(chances, 4)
        best = sorted(paths, key=lambda path: -paths[path])[:12]
        tree, passes = proposed(
            model, context, DraftPolicy(Limits(12, 4), branching=3), request, is_helped=False
        )
        assert {tree.path_tokens(node) for node in range(1, 13)} == set(best)
        assert passes <= 4


def test_a_chain_takes_a_pass_a_token() -> None:
    for length in range(9):
        policy = DraftPolicy(Limits(length, length), branching=1)
        model = ToyModel(length, max_width=64)
        for sampling in SAMPLINGS:
            request = Request((1, 2, 3), sampling)
            tree, passes = proposed(model, [1, 2, 3], policy, request, is_helped=False)
            assert tree.parents == tuple(range(-1, length)) and passes == length
            tree, passes = proposed(model, [1, 2, 3], policy, request, is_helped=False, max_depth=3)
            assert len(tree) - 1 == passes == min(length, 3)


def test_a_greedy_chain_is_the_drafts_own_text() -> None:
    model = ToyModel(4, max_width=64)
    policy = DraftPolicy(Limits(6, 6), branching=1)
    tree, _ = proposed(model, [5, 5], policy, Request((5, 5)), is_helped=False)
    ids = [5, 5]
    for _ in range(6):
        ids.append(int(np.argmax(model.row(ids))))
    assert list(tree.tokens[1:]) == ids[2:]


def test_a_noisy_chain_is_the_drafts_own_sample() -> None:
    """A draft that is the target proposes exactly what the target will settle on, at T = 1."""
    for seed in range(20):
        model = ToyModel(seed, max_width=64)
        request = Request((5, 5), Sampling(1.0), seed, Stop(30))
        lane = lane_of(model)
        stage = DraftStage(
            CachedModel(model, "draft", lane.meter), None,
            DraftPolicy(Limits(5, 5), branching=1), None, lane.meter,
        )  # fmt: skip
        run = collect(decode(lane, stage, request))
        assert [len(step.tokens) for step in run.steps] == [6] * 5
        assert run.draft_passes == 4 * 5 + 5


def test_rounds_reuse_the_drafts_memo() -> None:
    """At most one draft pass a level over whole runs, and the N-gram takes some of them away."""
    passes = {}
    for is_helped in (False, True):
        passes[is_helped] = 0
        for seed in range(12):
            lane = lane_of(Markov(seed, vocab_size=6, order=1, max_width=64))
            shaken = Markov(seed, vocab_size=6, order=1, wobble=1.0, max_width=64)
            stage = DraftStage(
                CachedModel(shaken, "draft", lane.meter), None, DraftPolicy(Limits(12, 4)),
                NGram(None) if is_helped else None, lane.meter,
            )  # fmt: skip
            run = collect(decode(lane, stage, Request((1, 2, 3), stop=Stop(40))))
            assert all(step.draft_passes <= 4 for step in run.steps)
            passes[is_helped] += run.draft_passes
    assert passes[True] < 0.9 * passes[False], passes


COSTS = PassCosts((1, 64), (1.0, 1.0))
HOPEFUL = Hope(0.9, 0.9)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_under_a_price_the_tree_is_a_beginning_of_the_best(sampling: Sampling) -> None:
    """However dear the target's nodes or the draft's passes, it stays a tree within its limits."""
    for seed in range(40):
        rng = random.Random(seed)
        dear = PassCosts((1, 64), (1.0, rng.choice([1.0, 3.0, 60.0])))
        draft = PassCosts((1, 64), (rng.choice([0.001, 0.1, 10.0]),) * 2)
        pricing = Pricing(target=dear, draft=draft, alone=Hope(0.5, 0.5), helped=Hope(0.5, 0.5))
        model = Markov(seed, vocab_size=9, max_width=64)
        policy = DraftPolicy(Limits(20, 6), pricing=pricing)
        for is_helped in (False, True):
            chosen = replace(policy, is_merged=is_helped)
            context = random_text(rng, 30, 9)
            tree, passes = proposed(
                model, context, chosen, Request(tuple(context), sampling), is_helped=is_helped
            )
            assert len(tree) <= 21 and max(tree.depths) <= 6 and passes <= 6
            if draft.seconds[0] == 10.0 and not is_helped:
                assert len(tree) == 1 and passes == 0, "no pass is worth ten of the target's"


@pytest.mark.parametrize(("wide", "most"), [(0.01, 5), (90.0, 1)])
def test_a_pass_reads_the_rows_that_are_worth_it(wide: float, most: int) -> None:
    """Several where a row more costs nothing, one where a second makes the pass dear."""
    model, meter, widths = Markov(1, vocab_size=9, max_width=64), Meter(), list[int]()
    draft = PassCosts((1, 2, 64), (0.01, wide, wide))
    pricing = Pricing(PassCosts((1, 64), (1.0, 1.0)), draft, alone=HOPEFUL, helped=HOPEFUL)
    policy = DraftPolicy(Limits(20, 6), pricing=pricing, is_merged=True)
    stage = DraftStage(
        CachedModel(model, "draft", meter), None, policy, NGram(KATZ), meter,
        lambda read: widths.append(len(read.paths)),
    )  # fmt: skip
    for seed in range(20):
        context = random_text(random.Random(seed), 30, 9)
        for _ in stage.prefill(context):
            pass
        stage.propose(context, Request(tuple(context)), 6)
    assert widths and max(widths) >= most if most > 1 else set(widths) == {1}


@pytest.mark.parametrize(("num_unread", "is_worth_it"), [(0, True), (1, True), (40, False)])
def test_ids_that_the_draft_has_not_read_are_paid_for(num_unread: int, is_worth_it: bool) -> None:
    """A pass that has to read forty settled ids first is too dear here; later ones are not."""
    model, meter, widths = Markov(1, vocab_size=9, max_width=64), Meter(), list[int]()
    draft = PassCosts((1, 8, 64), (0.01, 0.02, 50.0))
    pricing = Pricing(PassCosts((1, 64), (1.0, 1.0)), draft, alone=HOPEFUL, helped=HOPEFUL)
    policy = DraftPolicy(Limits(1, 1), branching=1, pricing=pricing)
    stage = DraftStage(
        CachedModel(model, "draft", meter), None, policy, None, meter,
        lambda read: widths.append(len(read.paths)),
    )  # fmt: skip
    context = random_text(random.Random(1), 60, 9)
    for _ in stage.prefill(context[: len(context) - num_unread]):
        pass
    tree = stage.propose(context, Request(tuple(context)), 1)
    assert (len(tree) == 2) is (widths == [1]) is is_worth_it


def test_a_merged_tree_credits_the_ngram() -> None:
    context = [1, 2, 3, 4, 5, 6, 7] * 4
    policy = DraftPolicy(Limits(12, 4), is_merged=True)
    tree, _ = proposed(
        Markov(1, max_width=64), context, policy, Request(tuple(context)), is_helped=True
    )
    first = tree.children[0][1]
    assert tree.origins[first] == "ngram" and "draft" in tree.origins


@pytest.mark.parametrize("num_nodes", [20, 127])
def test_a_budget_larger_than_the_drafts_passes(num_nodes: int) -> None:
    """More unread rows than the draft's widest pass holds take several passes, no more."""
    rng = random.Random(4)
    for case in range(20):
        model = Markov(case, vocab_size=30, max_width=16, scale=0.1)
        context = random_text(rng, 60, 3)
        policy = DraftPolicy(Limits(num_nodes, 10), is_merged=True)
        tree, _ = proposed(model, context, policy, Request(tuple(context)), is_helped=True)
        assert len(tree) <= num_nodes + 1


def path(tree: TokenTree, node: int) -> tuple[int, ...]:
    """The tokens from below the root to `node`."""
    return () if node == 0 else (*path(tree, tree.parents[node]), tree.tokens[node])


class Reduced(ToyModel):
    """A toy whose logits are those of the even ids only."""

    def forward(self, rows, cache, num_logits):  # type: ignore[no-untyped-def]
        """Every other column."""
        return super().forward(rows, cache, num_logits)[:, ::2]


@pytest.mark.parametrize("sampling", SAMPLINGS[:2])
def test_a_reduced_head_speaks_of_its_own_ids(sampling: Sampling) -> None:
    model, meter = Reduced(3, vocab_size=16, max_width=64), Meter()
    stage = DraftStage(
        CachedModel(model, "draft", meter), torch.arange(0, 16, 2), DraftPolicy(Limits(9, 3)),
        None, meter,
    )  # fmt: skip
    tree = stage.propose([1, 2], Request((1, 2), sampling, 5), 9)
    assert all(token % 2 == 0 for token in tree.tokens[1:])
    row = np.array(model.row([1, 2]))[::2]
    if not sampling.is_greedy:
        row = row + noise.gumbel(5, 2, np.arange(0, 16, 2))
    assert 2 * int(np.argmax(row)) in tree.children[0]


def test_the_witness_is_told_of_every_pass_and_its_rows() -> None:
    model, meter = ToyModel(3, vocab_size=9, max_width=64), Meter()
    context = [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]
    seen: list[DraftPass] = []
    stage = DraftStage(
        CachedModel(model, "draft", meter), None, DraftPolicy(Limits(12, 4)), NGram(None), meter,
        seen.append,
    )  # fmt: skip
    list(stage.prefill(context))
    before = meter.passes["draft"]
    tree = stage.propose(context, Request(tuple(context)), 9)
    assert len(seen) == meter.passes["draft"] - before > 0
    for read in seen:
        assert read.wanted and read.wanted <= set(read.paths)
        rows = [model.row([*context, *tokens]) for tokens in read.paths]
        torch.testing.assert_close(read.logits, torch.tensor(rows))
    assert any(len(read.paths) > len(read.wanted) for read in seen)
    known = {tokens for read in seen for tokens in read.paths}
    assert {path(tree, parent) for parent in tree.parents[1:]} <= known


def test_a_shaken_tiny_model_helps() -> None:
    """The draft of the decode tests is no straw man: it is often right."""
    checkpoint = tiny("llama", 1)
    target = checkpoint.model()
    lane = lane_of(target)
    draft = with_draft(checkpoint, 0.1).model()
    stage = DraftStage(
        CachedModel(draft, "draft", lane.meter), None, DraftPolicy(Limits(8, 4)), None, lane.meter
    )
    run = collect(decode(lane, stage, Request((1, 2, 3), stop=Stop(40))))
    assert run.target_passes < 30
