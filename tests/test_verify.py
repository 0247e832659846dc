"""The walk that decides a round."""

from __future__ import annotations

import random

from ssd.tree import TokenTree
from ssd.verify import Verdict, verify
from tests.proposers import random_tree
from tests.test_tree import EXAMPLE


def test_the_walk_follows_the_choices_while_they_are_children() -> None:
    choices = {0: 2, 2: 3, 5: 8}
    verdict = verify(EXAMPLE, choices.__getitem__)
    assert verdict == Verdict((2, 5), 8)
    assert verdict.nodes == (0, 2, 5)
    assert verdict.tokens(EXAMPLE) == (2, 3, 8)


def test_a_choice_that_is_only_another_branchs_child_ends_the_walk() -> None:
    assert verify(EXAMPLE, {0: 2, 2: 4}.__getitem__) == Verdict((2,), 4)
    assert verify(EXAMPLE, {0: 3}.__getitem__) == Verdict((), 3)


def test_the_root_alone_settles_one_token() -> None:
    tree = TokenTree.root_only(1)
    assert verify(tree, lambda node: 7).tokens(tree) == (7,)


def test_any_tree_settles_the_beginning_of_the_text_that_the_choices_make() -> None:
    rng = random.Random(1)
    for case in range(500):
        tree = random_tree(rng, 0, 3, rng.randint(0, 30), 8)
        law = {}

        def text_choice(path: tuple[int, ...], case: int = case, law: dict = law) -> int:
            return law.setdefault(path, random.Random(f"{case}{path}").randrange(3))

        asked: list[int] = []

        def choice(node: int, tree: TokenTree = tree, asked: list[int] = asked) -> int:
            asked.append(node)
            return text_choice(tree.path_tokens(node))

        verdict = verify(tree, choice)
        text: tuple[int, ...] = ()
        while len(text) < len(verdict.tokens(tree)):
            text = (*text, text_choice(text))
        assert verdict.tokens(tree) == text
        assert verdict.next_token not in tree.children[verdict.nodes[-1]], "could go on"
        assert asked == list(verdict.nodes), "only visited nodes are asked, each once"
