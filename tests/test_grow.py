"""Best-first growth against trying every tree, and the price of a node."""

from __future__ import annotations

import math
import random

import pytest

from ssd.grow import BEST_CHILD, Candidate, Guess, Limits, as_tree, best_size, grow
from tests.reference.tree import all_paths, best_value

Path = tuple[int, ...]


def random_chances(seed: int, branching: int) -> dict[Path, dict[int, float]]:
    rng = random.Random(seed)
    table: dict[Path, dict[int, float]] = {}

    def fill(path: Path, depth: int) -> None:
        weights = [rng.random() ** 3 for _ in range(branching)]
        left = BEST_CHILD * rng.random()
        table[path] = {t: left * w / sum(weights) for t, w in enumerate(weights)}
        if depth:
            for token in table[path]:
                fill((*path, token), depth - 1)

    fill((), 3)
    return table


@pytest.mark.parametrize("seed", range(40))
def test_best_first_is_best(seed: int) -> None:
    table = random_chances(seed, 2 if seed % 2 else 3)

    def guesses(path: Path) -> list[Guess]:
        return [Guess(t, p, "draft") for t, p in table[path].items()]

    paths = all_paths(lambda path: table[path], 3)
    for num_nodes in range(6):
        grown = grow(guesses, Limits(num_nodes, 3))
        assert len({c.path for c in grown}) == len(grown) == num_nodes
        for candidate in grown:
            assert math.isclose(candidate.probability, paths[candidate.path])
        value = sum(candidate.probability for candidate in grown)
        assert math.isclose(value, best_value(paths, num_nodes), abs_tol=1e-12)
        larger = grow(guesses, Limits(num_nodes + 1, 3))
        assert larger[:num_nodes] == grown, "every beginning is the best tree of its size"


def test_limits_hold_and_parents_come_first() -> None:
    def guesses(path: Path) -> list[Guess]:
        return [Guess(t, 0.4, "ngram") for t in range(2)]

    for num_nodes in (0, 1, 5, 100):
        for depth in (0, 1, 2, 4):
            grown = grow(guesses, Limits(num_nodes, depth))
            assert len(grown) == min(num_nodes, 2 ** (depth + 1) - 2)
            for number, candidate in enumerate(grown):
                assert len(candidate.path) <= depth and candidate.parent < number
                if candidate.parent >= 0:
                    assert grown[candidate.parent].path == candidate.path[:-1]
                else:
                    assert len(candidate.path) == 1
            tree = as_tree(7, grown)
            assert tree.tokens[0] == 7
            for node, candidate in enumerate(grown, start=1):
                assert tree.path_tokens(node) == candidate.path
                assert tree.origins[node] == "ngram"


def test_nothing_is_surer_than_the_bound() -> None:
    grown = grow(lambda path: [Guess(1, 1.0, "draft")], Limits(3, 3))
    assert [c.probability for c in grown] == pytest.approx([BEST_CHILD**n for n in (1, 2, 3)])


@pytest.mark.parametrize("seed", range(50))
def test_best_size_is_the_best_rate(seed: int) -> None:
    rng = random.Random(seed)
    chances = sorted((rng.random() for _ in range(12)), reverse=True)
    candidates = [Candidate((i,), -1, chance, "draft") for i, chance in enumerate(chances)]
    per_node, spent = rng.random() * 0.2, rng.random()

    def seconds(nodes: int) -> float:
        return 1.0 + per_node * nodes

    rates = [(1 + sum(chances[:n])) / (seconds(n + 1) + spent) for n in range(13)]
    price = best_size(candidates, seconds, spent)
    assert price.num_nodes == rates.index(max(rates))
    assert price.tokens_per_second == pytest.approx(max(rates))


def test_without_hope_nothing_is_guessed() -> None:
    hopeless = [Candidate((i,), -1, 1e-6, "draft") for i in range(5)]
    assert best_size(hopeless, lambda n: 1.0 + 0.01 * n, 0.0).num_nodes == 0
    assert best_size([], lambda n: 1.0, 0.0).num_nodes == 0
