"""Best-first growth against trying every tree, and the price of a node."""

from __future__ import annotations

import math
import random

import pytest

from ssd.cost import WIDTHS, PassCosts
from ssd.grow import BEST_CHILD, Guess, Limits, as_tree, grow, grow_priced
from tests.reference.growth import grown_and_tried
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


def random_costs(rng: random.Random) -> PassCosts:
    """Pass times that mostly rise with the width, as measured ones do, now and then not."""
    seconds = [1.0]
    for _ in WIDTHS[1:]:
        seconds.append(seconds[-1] * (1 + rng.choice((0.0, 0.02, 0.1, 0.3)) - 0.01 * rng.random()))
    return PassCosts(WIDTHS, tuple(seconds))


@pytest.mark.parametrize("seed", range(200))
def test_growing_at_a_price_is_growing_and_trying_every_size(seed: int) -> None:
    """Random trees and prices: the same candidates and rate as from the whole growth."""
    rng = random.Random(seed)
    known: dict[Path, list[Guess]] = {}

    def guesses(path: Path) -> list[Guess]:
        if path not in known:
            sureness = rng.choice((0.02, 0.3, 0.9, 1.0))
            known[path] = [Guess(t, sureness * rng.random(), "draft") for t in range(3)]
        return known[path]

    costs, spent = random_costs(rng), rng.random()
    limits = Limits(rng.choice((0, 1, 5, 40)), rng.choice((1, 4)), rng.choice((0.0, 0.03)))
    wanted, rate = grown_and_tried(guesses, limits, costs, spent)
    found = grow_priced(guesses, limits, costs, spent)
    assert found.candidates == wanted
    assert found.tokens_per_second == pytest.approx(rate)


def test_growth_ends_where_no_larger_tree_could_pay() -> None:
    """Hopeless guesses are looked at once; a wide pass that costs nothing more is hoped for."""
    asked: list[Path] = []

    def guesses(path: Path) -> list[Guess]:
        asked.append(path)
        return [Guess(token, 0.1, "draft") for token in range(10)]

    dear = PassCosts((1, 64), (1.0, 64.0))
    assert grow_priced(guesses, Limits(40, 5), dear, 0.0).candidates == []
    assert asked == [()]
    free = PassCosts((1, 2, 8, 64), (1.0, 1.5, 1.5, 60.0))
    assert len(grow_priced(guesses, Limits(40, 5), free, 0.0).candidates) == 7
