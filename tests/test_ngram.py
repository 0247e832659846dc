"""The N-gram: matches of the context, the Katz table, and both under known noise."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from ssd import noise
from ssd.grow import Limits
from ssd.meter import Meter
from ssd.ngram import (
    LONGEST_MATCH,
    ContextMatches,
    KatzTable,
    NGram,
    NGramProposer,
    TableTrust,
)
from ssd.request import Request
from ssd.sampling import Sampling
from tests.reference.matches import followers, tallies


def random_text(rng: random.Random, size: int, vocab_size: int = 4) -> list[int]:
    text = rng.choices(range(vocab_size), k=size)
    for _ in range(size // 12):  # repeated stretches, for long matches
        start, to = rng.randrange(size), rng.randrange(size)
        for step in range(min(8, size - max(start, to))):
            text[to + step] = text[start + step]
    return text


@pytest.mark.parametrize("seed", range(60))
def test_matches_equal_the_twin(seed: int) -> None:
    rng = random.Random(seed)
    context = random_text(rng, rng.randint(1, 70), rng.choice([2, 4, 9]))
    matches = ContextMatches()
    matches.update(context)
    tried, hit = tallies(context, LONGEST_MATCH)
    fresh = ContextMatches()
    for length in range(1, LONGEST_MATCH + 1):
        prior = fresh.hit_rate(length)  # that of no trials; its weight is found from one trial
        rate = matches.hit_rate(length)
        if tried[length] == 0:
            assert rate == prior
        else:
            weight = 8.0
            expected = (hit[length] + prior * weight) / (tried[length] + weight)
            assert math.isclose(rate, expected)
    for _ in range(10):
        path = tuple(rng.choices(range(4), k=rng.randint(0, 8)))
        expected_found: dict[int, float] = {}
        left = 1.0
        for token, length in followers(context, path, LONGEST_MATCH):
            expected_found[token] = left * matches.hit_rate(length)
            left -= expected_found[token]
        found = matches.guesses(path)
        assert list(found) == list(expected_found)
        assert list(found.values()) == pytest.approx(list(expected_found.values()))
        assert sum(found.values()) < 1


@pytest.mark.parametrize("seed", range(30))
def test_what_it_says_depends_on_the_context_alone(seed: int) -> None:
    """Reached at once, token by token, after other contexts, after longer ones."""
    rng = random.Random(seed)
    context = random_text(rng, 60)
    paths = [tuple(rng.choices(range(4), k=n)) for n in (0, 1, 3)]

    def said(matches: ContextMatches) -> object:
        rates = [matches.hit_rate(length) for length in range(1, LONGEST_MATCH + 1)]
        return rates, [list(matches.guesses(path).items()) for path in paths]

    fresh = ContextMatches()
    fresh.update(context)
    wanderer = ContextMatches()
    for _ in range(8):
        match rng.randrange(3):
            case 0:
                wanderer.update(context[: rng.randint(0, 60)])
            case 1:
                wanderer.update([*context[: rng.randint(0, 60)], *random_text(rng, 9)])
            case 2:
                wanderer.update(random_text(rng, rng.randint(0, 80)))
        wanderer.guesses(paths[2])
    wanderer.update(context)
    assert said(wanderer) == said(fresh)
    stepper = ContextMatches()
    for end in range(61):
        stepper.update(context[:end])
    assert said(stepper) == said(fresh)


def test_the_latest_match_counts_and_the_longest_comes_first() -> None:
    matches = ContextMatches()
    matches.update([1, 2, 3, 9, 2, 3, 8, 1, 2, 3])
    assert list(matches.guesses(())) == [9, 8]  # after 1 2 3; after 2 3
    assert next(iter(matches.guesses((9,)))) == 2


def table(entries: dict[tuple[int, ...], list[tuple[int, float]]]) -> KatzTable:
    keys = {KatzTable.key(gram): e for gram, e in entries.items()}
    width = max(len(entry) for entry in entries.values())
    tokens, chances = [], []
    for key in sorted(keys):
        padded = [*keys[key], *[(0, 0.0)] * (width - len(keys[key]))]
        tokens.append([token for token, _ in padded])
        chances.append([chance for _, chance in padded])
    return KatzTable(
        np.array(sorted(keys), np.uint64), np.array(tokens, np.uint16),
        np.array(chances, np.float16),
    )  # fmt: skip


KATZ = table(
    {(0, 0): [(5, 0.5), (6, 0.25)], (0,): [(7, 0.5)], (3, 65535): [(65534, 0.75)], (4,): [(0, 1.0)]}
)


def test_katz_takes_the_pair_and_falls_back_on_the_single_id() -> None:
    assert KATZ.guesses([9, 0, 0]) == [(5, 0.5), (6, 0.25)]
    assert KATZ.guesses([1, 0]) == [(7, 0.5)] == KATZ.guesses([0])
    assert KATZ.guesses([3, 65535]) == [(65534, 0.75)]
    assert KATZ.guesses([2, 4]) == [(0, 1.0)]
    assert KATZ.guesses([0, 2]) == KATZ.guesses([2]) == KATZ.guesses([]) == []


def test_katz_equals_a_dictionary() -> None:
    rng = random.Random(5)
    entries: dict[tuple[int, ...], list[tuple[int, float]]] = {}
    for _ in range(300):
        gram = tuple(rng.choices(range(12), k=rng.randint(1, 3)))
        entries[gram] = [(rng.randrange(12), 2.0**-n) for n in range(1, rng.randint(2, 4))]
    made = table(entries)
    for first in range(12):
        for second in range(12):
            shorter = entries.get((first, second), entries.get((second,), []))
            assert made.guesses([first, second]) == shorter
            for third in range(12):
                expected = entries.get((third, first, second), shorter)
                assert made.guesses([0, third, first, second]) == expected


def test_trust_is_hits_over_chances_of_the_answer_alone() -> None:
    """By hand, and the same however the context was reached."""
    rng = random.Random(6)
    made = table(
        {(token,): [((token + 1) % 5, 0.5), ((token + 2) % 5, 0.25)] for token in range(5)}
    )
    wanderer = TableTrust(made)
    for _ in range(50):
        context, num_prompt = rng.choices(range(5), k=40), rng.randint(1, 30)
        steps = zip(context[num_prompt - 1 :], context[num_prompt:], strict=False)
        gaps = [(following - token) % 5 for token, following in steps]
        hits = sum(gap in (1, 2) for gap in gaps)
        for end in sorted(rng.sample(range(num_prompt, 41), 3)):
            wanderer.update(context[:end], num_prompt)
        wanderer.update(context, num_prompt)
        assert wanderer.factor == pytest.approx(min(1.0, (8 + hits) / (8 + 0.75 * len(gaps))))


def test_a_table_that_is_wrong_loses_its_say() -> None:
    """Its guesses stay, in their order, with smaller chances; what the prompt says counts not."""
    made = table({(0,): [(1, 0.9)], (2,): [(3, 0.9)]})
    ngram = NGram(made, is_matching=False)
    prompt = (2,) + (0,) * 40
    ngram.turn_to(prompt, Request(prompt))
    (guess,) = ngram.guesses(())
    assert guess.token == 1 and guess.probability == pytest.approx(0.9, abs=1e-3)
    ngram.turn_to(prompt + (0,) * 40, Request(prompt))
    (guess,) = ngram.guesses(())
    assert guess.token == 1 and guess.probability == pytest.approx(0.9 * 8 / 44, abs=1e-3)


def test_the_table_takes_what_the_matches_leave() -> None:
    ngram = NGram(KATZ)
    context = [0, 0, 8, 0, 0]
    ngram.turn_to(context, Request(tuple(context)))
    matches = ContextMatches()
    matches.update(context)
    found = matches.guesses(())
    left = 1 - sum(found.values())
    expected = found | {5: left * 0.5, 6: left * 0.25}
    guesses = ngram.guesses(())
    assert {g.token: g.probability for g in guesses} == pytest.approx(expected)
    chances = [g.probability for g in guesses]
    assert chances == sorted(chances, reverse=True) and {g.origin for g in guesses} == {"ngram"}
    ngram.turn_to([9], Request((9,)))
    assert ngram.guesses(()) == []
    assert [g.token for g in ngram.guesses((0, 0))][:1] == [5], "the tail reaches into the path"


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.9])
def test_chances_given_the_noise_are_right(chance: float) -> None:
    """Monte Carlo over the others' noise: a rest of mass 1 - p spread over 400 ids.

    Frequencies over 4,000 seeds against the sum of the stated chances; 5 sigma, 6e-7 by luck.
    """
    ngram = NGram(table({(1,): [(7, chance)]}))
    p = float(np.float16(chance))
    others = np.log((1 - p) / 400)
    stated, wins = np.zeros(4000), np.zeros(4000)
    for seed in range(4000):
        ngram.turn_to([1], Request((1,), Sampling(1.0), seed))
        (guess,) = ngram.guesses(())
        stated[seed] = guess.probability
        mine = np.log(p) + noise.gumbel(seed, 1, np.array([7]))[0]
        rest = others + noise.gumbel(seed, 1, np.arange(100, 500))
        wins[seed] = mine > rest.max()
    spread = stated * (1 - stated)
    # Right on the whole, and right about which: among the surer half and the other one.
    surer = stated > np.median(stated)
    for part in (surer, ~surer, surer | ~surer):
        assert abs((wins - stated)[part].sum()) < 5 * math.sqrt(spread[part].sum()) + 1e-3
    assert abs(stated.mean() - p) < 5 * math.sqrt(p * (1 - p) / 4000)


def test_the_noise_is_that_of_the_place_after_context_and_path() -> None:
    ngram = NGram(table({(1,): [(7, 0.25)], (7,): [(1, 0.5)]}))
    for context in ([1], [9, 9, 1]):
        ngram.turn_to(context, Request(tuple(context), Sampling(1.0), 3))
        for path, token, chance in (((), 7, 0.25), ((7,), 1, 0.5), ((8, 8, 1), 7, 0.25)):
            (guess,) = [g for g in ngram.guesses(path) if g.token == token]
            uniform = noise.uniform(3, len(context) + len(path), np.array([token]))[0]
            gumbel = -math.log(-math.log(uniform))
            expected = math.exp(-(1 - chance) / chance * math.exp(-gumbel))
            assert math.isclose(guess.probability, expected)


def test_at_temperature_0_the_chances_are_the_tables() -> None:
    ngram = NGram(KATZ)
    ngram.turn_to([0, 0], Request((0, 0), Sampling(0.0), 99))
    matches = ContextMatches()
    matches.update([0, 0])
    (again,) = matches.guesses(()).values()
    expected = {0: again, 5: (1 - again) * 0.5, 6: (1 - again) * 0.25}
    assert {g.token: g.probability for g in ngram.guesses(())} == pytest.approx(expected)


def test_the_proposer_keeps_to_its_limits() -> None:
    proposer = NGramProposer(NGram(KATZ), Limits(6, 4), None, Meter())
    context = [1, 2, 3, 4] * 6
    list(proposer.prefill(context))
    tree = proposer.propose(context, Request(tuple(context)), 100)
    assert 0 < len(tree) - 1 <= 6 and max(tree.depths) <= 4
    assert tree.path_tokens(1) == (1,) and tree.tokens[0] == 4
    assert max(proposer.propose(context, Request(tuple(context)), 2).depths) <= 2
    assert len(proposer.propose(context, Request(tuple(context)), 0)) == 1
    assert len(proposer.propose([5], Request((5,)), 100)) == 1
