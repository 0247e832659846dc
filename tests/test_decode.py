"""The promise: ids equal the target's own, one at a time, whoever guesses, at any temperature."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from ssd.decode import Lane, autoregressive, decode
from ssd.draft import DraftPolicy, DraftStage
from ssd.events import Event, Finish, Prefill, Step, collect
from ssd.exact import hash_rows
from ssd.grow import Limits
from ssd.meter import Meter
from ssd.model import CachedModel, LanguageModel
from ssd.ngram import NGram, NGramProposer
from ssd.proposer import Proposer, Replay, Silent
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from ssd.tree import TokenTree
from ssd.verify import Verdict
from tests.proposers import peeking, right_among_wrong, wild, wrong
from tests.reference.decoding import naive_text
from tests.test_ngram import KATZ, random_text
from tests.tiny import FAMILIES, exact, tiny, with_draft
from tests.toy import Markov, ToyModel, lane_of

SAMPLINGS = [
    Sampling(),
    Sampling(1.0),
    Sampling(0.7, top_k=6, top_p=0.9, repetition_penalty=1.3),
    Sampling(repetition_penalty=1.3),
]
LABELS = ["greedy", "T=1", "all processors", "greedy with penalty"]
Make = Callable[[LanguageModel, Sequence[int], Meter, int], Proposer]


def _stage(draft: LanguageModel, meter: Meter, policy: DraftPolicy, *, ngram: bool) -> DraftStage:
    memo = CachedModel(draft, "draft", meter)
    return DraftStage(memo, None, policy, NGram(None) if ngram else None, meter)


def _size(draft: LanguageModel) -> int:
    return min(20, draft.max_width - 1)


PROPOSERS: dict[str, Make] = {
    "silent": lambda draft, answer, meter, seed: Silent(),
    "right": lambda draft, answer, meter, seed: Replay(answer, 7),
    "wrong": lambda draft, answer, meter, seed: wrong(answer, draft.vocab_size, 12),
    "wild": lambda draft, answer, meter, seed: wild(seed, draft.vocab_size, _size(draft)),
    "right among wrong": lambda draft, answer, meter, seed: right_among_wrong(
        answer, seed, draft.vocab_size, _size(draft)
    ),
    "noise-peeking": lambda draft, answer, meter, seed: peeking(draft.vocab_size, 3),
    "ngram": lambda draft, answer, meter, seed: NGramProposer(
        NGram(KATZ), Limits(_size(draft), 6), None, meter
    ),
    "chain": lambda draft, answer, meter, seed: _stage(
        draft, meter, DraftPolicy(Limits(5, 5), branching=1), ngram=False
    ),
    "tree": lambda draft, answer, meter, seed: _stage(
        draft, meter, DraftPolicy(Limits(_size(draft), 5)), ngram=False
    ),
    "staged": lambda draft, answer, meter, seed: _stage(
        draft, meter, DraftPolicy(Limits(_size(draft), 6), is_merged=True), ngram=True
    ),
    "staged, nothing merged": lambda draft, answer, meter, seed: _stage(
        draft, meter, DraftPolicy(Limits(10, 4)), ngram=True
    ),
}


def _made(
    make: Make, draft: LanguageModel, answer: Sequence[int], seed: int, meter: Meter
) -> Proposer:
    return make(draft, answer, meter, seed)


def outcome(lane: Lane, proposer: Proposer, request: Request) -> tuple[tuple[int, ...], str]:
    run = collect(decode(lane, proposer, request))
    for step in run.steps:
        assert step.tokens == step.verdict.tokens(step.tree)[: len(step.tokens)]
        assert len(step.tokens) > 0
    return run.tokens, run.finish_reason


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=LABELS)
@pytest.mark.parametrize("name", PROPOSERS)
def test_toys_say_the_naive_text(name: str, sampling: Sampling) -> None:
    """30 random toys, prompts, seeds each; every id a function of all that stands before it."""
    rng = random.Random(name)
    for case in range(30):
        kind = rng.choice([ToyModel, Markov])
        levels = rng.choice([3, 1000])  # 3: ties everywhere
        options = {"seed": case, "vocab_size": 9, "levels": levels, "scale": rng.choice([1.0, 6.0])}
        target, draft = kind(**options), kind(**options, wobble=rng.choice([0.0, 1.0, 9.0]))  # type: ignore[arg-type]
        prompt = random_text(rng, rng.randint(1, 40), 9)
        request = Request(tuple(prompt), sampling, rng.randrange(2**64), Stop(rng.randint(1, 22)))
        expected = naive_text(
            target.row, prompt, sampling, request.seed, request.stop.max_new_tokens
        )
        assert collect(autoregressive(lane_of(target), request)).tokens == expected
        lane = lane_of(target)
        proposer = PROPOSERS[name](draft, expected, lane.meter, case)
        assert outcome(lane, proposer, request) == (expected, "length")


@pytest.fixture(scope="module")
def tiny_pairs() -> dict[str, list[tuple[LanguageModel, LanguageModel]]]:
    """Targets and their shaken drafts, bf16 in exact numerics."""
    torch.set_num_threads(1)
    pairs: dict[str, list[tuple[LanguageModel, LanguageModel]]] = {}
    for family in FAMILIES:
        checkpoints = [tiny(family, seed) for seed in range(2)]
        pairs[family] = [
            (
                exact(checkpoint.model(torch.bfloat16)),
                exact(with_draft(checkpoint, 0.3).model(torch.bfloat16)),
            )
            for checkpoint in checkpoints
        ]
    return pairs


@pytest.mark.parametrize("sampling", SAMPLINGS[:3], ids=LABELS[:3])
@pytest.mark.parametrize("family", FAMILIES)
def test_tiny_models_say_the_same_to_the_last_bit(
    family: str,
    sampling: Sampling,
    tiny_pairs: dict[str, list[tuple[LanguageModel, LanguageModel]]],
) -> None:
    """Ids of all proposers, and the hash of every logit row that chose one."""
    rng = random.Random(family)
    for case, (target, draft) in enumerate(tiny_pairs[family] * 2):
        prompt = random_text(rng, rng.randint(1, 30), 61)
        request = Request(tuple(prompt), sampling, rng.randrange(2**64), Stop(24))
        expected, hashes = witnessed(target, None, request)
        assert len(expected) == len(hashes) == 24
        for make in PROPOSERS.values():
            found = witnessed(target, partial(_made, make, draft, expected, case), request)
            assert found == (expected, hashes)


def witnessed(
    target: LanguageModel, make: Callable[[Meter], Proposer] | None, request: Request
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """A run's ids, and the hash of the row that chose each."""
    hashes: list[str] = []

    def witness(tree: TokenTree, verdict: Verdict, logits: Tensor) -> None:
        hashes.extend(hash_rows(logits[list(verdict.nodes)]))

    lane = lane_of(target, witness=witness)
    events = (
        autoregressive(lane, request) if make is None else decode(lane, make(lane.meter), request)
    )
    run = collect(events)
    return run.tokens, tuple(hashes[: len(run.tokens)])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tiny_model_says_what_transformers_generate_says(family: str) -> None:
    """float32, greedy, from transformers' own logits one token at a time."""
    for seed in range(3):
        checkpoint = tiny(family, seed)
        reference = checkpoint.hugging_face()
        prompt = random.Random(seed).choices(range(61), k=12)
        with torch.inference_mode():
            ids = reference.generate(
                torch.tensor([prompt]), do_sample=False, max_new_tokens=30, eos_token_id=None,
                pad_token_id=0,
            )[0, 12:].tolist()  # fmt: skip
        request = Request(tuple(prompt), stop=Stop(30))
        model = checkpoint.model()
        assert list(collect(autoregressive(lane_of(model), request)).tokens) == ids
        lane = lane_of(model)
        stage = PROPOSERS["staged"](with_draft(checkpoint, 0.2).model(), (), lane.meter, 0)
        assert list(outcome(lane, stage, request)[0]) == ids


def test_the_text_depends_on_the_seed_only_above_temperature_0() -> None:
    model = ToyModel(1, scale=1.0)

    def text(sampling: Sampling, seed: int) -> tuple[int, ...]:
        request = Request((1, 2), sampling, seed, Stop(12))
        return collect(autoregressive(lane_of(model), request)).tokens

    assert len({text(Sampling(1.0), seed) for seed in range(20)}) == 20
    assert len({text(Sampling(), seed) for seed in range(5)}) == 1


def test_right_guesses_settle_a_whole_path() -> None:
    model = ToyModel(3)
    request = Request((1, 2, 3), Sampling(1.0), 5, Stop(24))
    answer = collect(autoregressive(lane_of(model), request)).tokens
    run = collect(decode(lane_of(model), Replay(answer, 7), request))
    assert [len(step.tokens) for step in run.steps] == [8, 8, 8]
    assert run.target_passes == 3
    for step in run.steps:
        assert step.origins == (*("draft",) * 7, "target")


@pytest.mark.parametrize("name", PROPOSERS)
def test_the_end_of_the_context(name: str) -> None:
    """Answers that reach the context's end finish with `context`, no proposer goes beyond it."""
    for seed in range(6):
        target = ToyModel(seed, vocab_size=9, context_length=30)
        draft = ToyModel(seed, vocab_size=9, context_length=30, wobble=1.0)
        for length in (1, 20, 28, 29):
            prompt = random_text(random.Random(seed), length, 9)
            request = Request(tuple(prompt), Sampling(1.0), seed, Stop(100))
            expected = naive_text(target.row, prompt, Sampling(1.0), seed, 30 - length)
            lane = lane_of(target)
            proposer = PROPOSERS[name](draft, expected, lane.meter, seed)
            assert outcome(lane, proposer, request) == (expected, "context")


def test_the_budget_and_the_contexts_end_at_once_are_a_length() -> None:
    model = ToyModel(1, context_length=10)
    request = Request((1,) * 6, stop=Stop(4))
    for events in (
        autoregressive(lane_of(model), request),
        decode(lane_of(model), wild(1, 12, 15), request),
    ):
        run = collect(events)
        assert (len(run.tokens), run.finish_reason) == (4, "length")


def cancelled_after(count: int) -> Callable[[], bool]:
    """A stop flag that is set at its `count`-th look and stays set."""
    looks = 0

    def is_cancelled() -> bool:
        nonlocal looks
        looks += 1
        return looks > count

    return is_cancelled


@pytest.mark.parametrize("looks", range(14))
def test_cancel_at_any_look(looks: int) -> None:
    """In the prefill of 4 chunks and in rounds: what came so far stands, the memo stays true."""
    target, draft = Markov(2, vocab_size=9), Markov(2, vocab_size=9, wobble=2.0)
    prompt = tuple(random_text(random.Random(1), 55, 9))
    request = Request(prompt, Sampling(1.0), 3, Stop(8))
    expected = naive_text(target.row, prompt, Sampling(1.0), 3, 8)
    lane = lane_of(target, is_cancelled=cancelled_after(looks))
    stage = PROPOSERS["staged"](draft, (), lane.meter, 0)
    events = list(decode(lane, stage, request))
    run = collect(events)
    assert events[-1] == Finish(run.finish_reason)
    assert run.tokens == expected[: len(run.tokens)]
    if looks < 4:
        assert run.finish_reason == "cancelled" and not run.steps
        assert len([e for e in events if isinstance(e, Prefill)]) <= looks
    again = Lane(lane.target, lane.meter)
    assert outcome(again, stage, request) == (expected, "length")


@pytest.mark.parametrize("num_events", range(12))
def test_an_abandoned_run_leaves_everything_usable(num_events: int) -> None:
    target, draft = Markov(2, vocab_size=9), Markov(2, vocab_size=9, wobble=2.0)
    prompt = tuple(random_text(random.Random(1), 55, 9))
    request = Request(prompt, Sampling(1.0), 3, Stop(8))
    other = Request(prompt[:20], Sampling(1.0), 4, Stop(8))
    for is_closed in (True, False):
        lane = lane_of(target)
        stage = PROPOSERS["staged"](draft, (), lane.meter, 0)
        events: Iterator[Event] = decode(lane, stage, request)
        for _ in range(num_events):
            next(events, None)
        if is_closed:
            events.close()  # type: ignore[attr-defined]
        for each in (other, request):
            expected = naive_text(target.row, each.prompt, each.sampling, each.seed, 8)
            assert outcome(lane, stage, each) == (expected, "length")


@pytest.mark.parametrize("name", sorted(PROPOSERS.keys() - {"right", "wrong", "right among wrong"}))
def test_one_lane_after_another_request(name: str) -> None:
    """A lane and a proposer that are used again and again, for prompts alike and not."""
    rng = random.Random(name)
    target, draft = Markov(5, vocab_size=9), Markov(5, vocab_size=9, wobble=2.0)
    lane = lane_of(target)
    proposer = PROPOSERS[name](draft, (), lane.meter, 0)
    base = random_text(rng, 30, 9)
    for case in range(12):
        prompt = (*base[: rng.randint(1, 30)], *random_text(rng, rng.randint(1, 9), 9))
        request = Request(prompt, rng.choice(SAMPLINGS), case, Stop(10))
        expected = naive_text(target.row, prompt, request.sampling, case, 10)
        assert outcome(lane, proposer, request) == (expected, "length")


def test_steps_tell_the_truth() -> None:
    """Positions, prefixes and rows of each step: the witness sees the target's own rows."""
    target = ToyModel(4)
    prompt = (1, 2, 3, 4)
    request = Request(prompt, Sampling(1.0), 9, Stop(20))
    seen: list[tuple[TokenTree, Verdict, np.ndarray]] = []
    lane = lane_of(
        target, witness=lambda tree, verdict, logits: seen.append((tree, verdict, logits.numpy()))
    )
    context = list(prompt)
    steps = [e for e in decode(lane, wild(3, 12, 15), request) if isinstance(e, Step)]
    assert len(seen) == len(steps)
    for step, (tree, verdict, logits) in zip(steps, seen, strict=True):
        assert (tree, verdict) == (step.tree, step.verdict) and tree.tokens[0] == context[-1]
        for node in range(len(tree)):
            assert logits[node].tolist() == target.row([*context, *tree.path_tokens(node)])
        context += step.tokens


@pytest.mark.parametrize(
    ("prompt", "seed", "words"),
    [((), 0, "at least one token"), ((1,), -1, "2\\^64 - 1, got -1"), ((1,), 2**64, "2\\^64 - 1")],
)
def test_a_malformed_request_is_refused(prompt: tuple[int, ...], seed: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Request(prompt, seed=seed)
