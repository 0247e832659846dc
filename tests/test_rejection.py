"""Rejection sampling: its law by exact enumeration of draws and of what the uniforms decide."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
import torch

from ssd.decode import decode
from ssd.events import collect
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.request import Request
from ssd.rules.rejection import SampledChain, accept, drawn, rejection
from ssd.sampling import Sampling
from ssd.stop import Stop
from ssd.tree import TokenTree
from tests.test_sampling import chi_square_bound
from tests.toy import ToyModel, lane_of

Law = tuple[Fraction, ...]
LawOf = Callable[[Sequence[int]], Law]
Text = tuple[int, ...]


def sixteenths(*weights: int) -> Law:
    assert sum(weights) == 16
    return tuple(Fraction(weight, 16) for weight in weights)


# Laws that depend on the last token and on whether the length is even; some overlap, some do not.
TARGETS = [sixteenths(8, 5, 3), sixteenths(0, 7, 9), sixteenths(16, 0, 0), sixteenths(1, 1, 14)]
DRAFTS = [sixteenths(4, 4, 8), sixteenths(9, 7, 0), sixteenths(5, 5, 6), sixteenths(0, 16, 0)]


def law_of(table: Sequence[Law], shift: int) -> LawOf:
    def law(text: Sequence[int]) -> Law:
        return table[(sum(text) + len(text) + shift) % len(table)]

    return law


def as_floats(law: Law) -> np.ndarray:
    return np.array([float(part) for part in law])


def cells(law: Law) -> list[tuple[int, Fraction, float]]:
    """(token, mass, a uniform in the middle of its stretch) of a law that is drawn from."""
    total, start, found = sum(law), Fraction(0), []
    for token, part in enumerate(law):
        if part:
            middle = (start + part / 2) / total
            found.append((token, part / total, float(middle)))
        start += part
    return found


def round_outcomes(
    text: Text, p: LawOf, q: LawOf, length: int, draws: Callable[[Law], list[tuple[int, Fraction]]]
) -> Iterator[tuple[Text, Fraction]]:
    """(settled tokens, chance) of one round: every chain, either side of each uniform's edge."""
    chains: list[tuple[Text, Fraction]] = [((), Fraction(1))]
    for _ in range(length):
        chains = [
            ((*chain, token), mass * part)
            for chain, mass in chains
            for token, part in draws(q((*text, *chain)))
        ]
    for chain, mass in chains:
        tree = TokenTree.chain(0, chain, "draft")
        laws_p = [p((*text, *chain[:depth])) for depth in range(length + 1)]
        laws_q = [q((*text, *chain[:depth])) for depth in range(length)]
        sides: list[list[tuple[Fraction, float]]] = []
        for depth in range(length):
            one = min(Fraction(1), laws_p[depth][chain[depth]] / laws_q[depth][chain[depth]])
            both = [(one, float(one / 2)), (1 - one, float((1 + one) / 2))]
            sides.append([side for side in both if side[0]])
        for choice in itertools.product(*sides):
            weight = mass * math.prod((part for part, _ in choice), start=Fraction(1))
            # The place of the last look is where the number for drawing decides.
            stop = next(
                (d for d in range(length)
                 if not choice[d][1] * float(laws_q[d][chain[d]]) < float(laws_p[d][chain[d]])),
                length,
            )  # fmt: skip
            left = laws_p[stop]
            if stop < length:
                left = tuple(
                    max(a - b, Fraction(0)) for a, b in zip(laws_p[stop], laws_q[stop], strict=True)
                )
            for _, part, middle in cells(left if sum(left) else laws_p[stop]):
                verdict = accept(
                    tree,
                    lambda node, laws_p=laws_p: as_floats(laws_p[node]),
                    lambda node, laws_q=laws_q: as_floats(laws_q[node]),
                    lambda depth, choice=choice, middle=middle: (
                        choice[depth][1] if depth < len(choice) else 0.5, middle
                    ),
                )  # fmt: skip
                yield verdict.tokens(tree), weight * part


def text_law(
    p: LawOf, q: LawOf, length: int, num_tokens: int,
    draws: Callable[[Law], list[tuple[int, Fraction]]] = lambda law: [
        (token, part) for token, part in enumerate(law) if part
    ],
) -> dict[Text, Fraction]:  # fmt: skip
    """The law of the first tokens over as many rounds as they need."""
    done: Counter[Text] = Counter()
    going: Counter[Text] = Counter({(): Fraction(1)})  # type: ignore[dict-item]
    while going:
        text, mass = going.popitem()
        for settled, chance in round_outcomes(text, p, q, length, draws):
            longer = (*text, *settled)
            (done if len(longer) >= num_tokens else going)[longer[:num_tokens]] += mass * chance  # type: ignore[assignment]
    return dict(done)  # type: ignore[arg-type]


def own_law(p: LawOf, num_tokens: int) -> dict[Text, Fraction]:
    """The target's own law of the first tokens."""
    law: dict[Text, Fraction] = {(): Fraction(1)}
    for _ in range(num_tokens):
        law = {
            (*text, token): mass * part
            for text, mass in law.items()
            for token, part in enumerate(p(text))
            if part
        }
    return law


@pytest.mark.parametrize("length", [0, 1, 2, 3])
@pytest.mark.parametrize("shift", range(4))
def test_the_law_is_the_targets(length: int, shift: int) -> None:
    """Exactly, in fractions, over the first four tokens: up to four rounds."""
    p, q = law_of(TARGETS, 0), law_of(DRAFTS, shift)
    assert text_law(p, q, length, 4) == own_law(p, 4)


def test_a_draft_equal_to_the_target_is_never_rejected() -> None:
    p = law_of(TARGETS, 1)
    assert text_law(p, p, 3, 4) == own_law(p, 4)
    for outcome, _ in round_outcomes(
        (), p, p, 3, lambda law: [(t, x) for t, x in enumerate(law) if x]
    ):
        assert len(outcome) == 4


def test_a_greedy_draft_that_claims_a_softmax_is_caught() -> None:
    """The negative control of the enumeration: drawn from the mode, stated as if from q."""
    p, q = law_of(TARGETS, 0), law_of(DRAFTS, 0)
    greedy = text_law(p, q, 2, 3, lambda law: [(law.index(max(law)), Fraction(1))])
    assert greedy != own_law(p, 3)


def test_dropping_a_drawn_token_is_caught() -> None:
    """Drop "1" when it is drawn and let the target draw anew: half and half becomes 3 to 1."""
    half: Law = (Fraction(1, 2), Fraction(1, 2))
    law: Counter[int] = Counter()
    for (token, *_), chance in round_outcomes(
        (), lambda t: half, lambda t: half, 1, lambda law: [(0, Fraction(1, 2))]
    ):
        law[token] += chance  # type: ignore[assignment]
    for (token, *_), chance in round_outcomes(
        (), lambda t: half, lambda t: half, 0, lambda law: []
    ):
        law[token] += chance / 2  # type: ignore[assignment]
    assert law[0] == Fraction(3, 4)


@pytest.mark.parametrize(("p", "q"), [(3, 8), (1, 16), (5, 7), (15, 16), (8, 4), (9, 9)])
def test_the_threshold_is_u_q_below_p(p: int, q: int) -> None:
    """Accepted up to u = p/q and not from there on; p = q always, p = 0 never."""
    tree = TokenTree.chain(0, [0], "draft")
    laws = np.array([p / 16, 1 - p / 16]), np.array([q / 16, 1 - q / 16])

    def is_accepted(uniform: float) -> bool:
        verdict = accept(tree, lambda n: laws[0], lambda n: laws[1], lambda d: (uniform, 0.5))
        return verdict.path == (1,)

    edge = p / q
    assert is_accepted(min(edge, 1.0) * (1 - 1e-12)) and is_accepted(2.0**-54)
    if edge < 1:
        assert not is_accepted(edge * (1 + 1e-12))
        assert not is_accepted(1 - 2.0**-53)
    else:
        assert is_accepted(1 - 2.0**-53)
    never = np.array([0.0, 1.0])
    verdict = accept(tree, lambda n: never, lambda n: laws[1], lambda d: (2.0**-54, 0.1))
    assert verdict.path == () and verdict.next_token == 1


@pytest.mark.parametrize("uniform", [2.0**-54, 0.25, 0.5, 1 - 2.0**-53])
def test_ids_without_mass_are_never_drawn(uniform: float) -> None:
    assert drawn(np.array([0.0, 0.3, 0.0, 0.7, 0.0]), uniform) in (1, 3)
    assert drawn(np.array([0.0, 0.0, 1e-300]), uniform) == 2


def test_draws_are_the_stretches_of_the_law() -> None:
    law = sixteenths(3, 0, 8, 5)
    for token, _, middle in cells(law):
        assert drawn(as_floats(law), middle) == token
    assert drawn(as_floats(law), 3 / 16 - 1e-12) == 0
    assert drawn(as_floats(law), 3 / 16) == 2


def run_law(sampling: Sampling, draft: ToyModel, target: ToyModel, num: int) -> Counter[Text]:
    counts: Counter[Text] = Counter()
    for seed in range(num):
        lane = lane_of(target, rule=rejection)
        chain = SampledChain(CachedModel(draft, "draft", lane.meter), None, 2)
        run = collect(decode(lane, chain, Request((1, 2), sampling, seed, Stop(3))))
        counts[run.tokens] += 1
    return counts


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(1.2, 3, 0.95, 1.3)])
def test_whole_runs_follow_the_law(sampling: Sampling) -> None:
    """Chi-square over 1,500 seeds of three tokens, two rounds or more; by luck 1e-6.

    Uniforms that one round shared with the next, or the draw with the acceptance, would show.
    """
    target = ToyModel(5, vocab_size=3, scale=2.0)
    draft = ToyModel(5, vocab_size=3, scale=2.0, wobble=3.0)

    def p(text: Text) -> list[float]:
        history = [1, 2, *text]
        row = torch.tensor(target.row(history))
        return list(sampling.probabilities(sampling.scores(row, history)))

    law: dict[Text, float] = {(): 1.0}
    for _ in range(3):
        law = {(*t, x): m * part for t, m in law.items() for x, part in enumerate(p(t)) if part}
    num = 1500
    counts = run_law(sampling, draft, target, num)
    assert set(counts) <= set(law)
    statistic = sum((counts[t] - num * m) ** 2 / (num * m) for t, m in law.items())
    assert statistic < chi_square_bound(len(law) - 1)


def test_at_temperature_0_it_is_the_greedy_text() -> None:
    for seed in range(10):
        target, draft = ToyModel(seed), ToyModel(seed, wobble=2.0)
        lane = lane_of(target, rule=rejection)
        chain = SampledChain(CachedModel(draft, "draft", lane.meter), None, 4)
        run = collect(decode(lane, chain, Request((1, 2), seed=seed, stop=Stop(20))))
        ids = [1, 2]
        for _ in range(20):
            ids.append(int(np.argmax(target.row(ids))))
        assert list(run.tokens) == ids[2:]


def test_the_chain_tells_the_laws_it_was_drawn_from() -> None:
    """By the draft's own processors on the draft's own path; a reduced head has no other ids."""
    sampling = Sampling(0.9, 4, 0.9, 1.4)
    draft = ToyModel(2, vocab_size=8)
    for head_ids in (None, torch.tensor([1, 2, 3, 5, 6, 7, 0, 4])):
        chain = SampledChain(CachedModel(draft, "draft", Meter()), head_ids, 3)
        tree = chain.propose([1, 2], Request((1, 2), sampling, 3), 9)
        assert len(tree) == 4 and tree.draft_rows is not None and tree.draft_rows.shape == (4, 8)
        for depth in range(3):
            history = [1, 2, *tree.tokens[1 : depth + 1]]
            row = torch.tensor(draft.row(history))
            if head_ids is not None:
                row = row[torch.argsort(head_ids)]
            expected = sampling.probabilities(sampling.scores(row, history))
            assert np.array_equal(tree.draft_rows[depth].numpy(), expected)
            assert expected[tree.tokens[depth + 1]] > 0


def test_the_chain_ends_with_the_drafts_context() -> None:
    draft = ToyModel(2, context_length=10)
    for length, expected in ((4, 3), (8, 2), (9, 1), (10, 0), (30, 0)):
        chain = SampledChain(CachedModel(draft, "draft", Meter()), None, 3)
        context = [1] * length
        list(chain.prefill(context))
        tree = chain.propose(context, Request(tuple(context), Sampling(1.0)), 9)
        assert len(tree) - 1 == expected
