"""Token trees."""

from __future__ import annotations

import random

import pytest
import torch

from ssd.tree import NO_PARENT, TokenTree
from tests.proposers import random_tree

#      0
#     / \
#    1   2
#   / \   \
#  3   4   5
EXAMPLE = TokenTree((9, 1, 2, 3, 4, 3), (NO_PARENT, 0, 0, 1, 1, 2), ("target", *("draft",) * 5))


def test_derived_quantities_of_an_example() -> None:
    assert len(EXAMPLE) == 6
    assert EXAMPLE.depths == (0, 1, 1, 2, 2, 2)
    assert EXAMPLE.children == ({1: 1, 2: 2}, {3: 3, 4: 4}, {3: 5}, {}, {}, {})
    assert EXAMPLE.path(5) == (2, 5) and EXAMPLE.path_tokens(5) == (2, 3)
    assert EXAMPLE.path(0) == () and EXAMPLE.path_tokens(0) == ()


def test_the_mask_shows_ancestors_and_self_only() -> None:
    expected = torch.tensor(
        [
            [1, 0, 0, 0, 0, 0],
            [1, 1, 0, 0, 0, 0],
            [1, 0, 1, 0, 0, 0],
            [1, 1, 0, 1, 0, 0],
            [1, 1, 0, 0, 1, 0],
            [1, 0, 1, 0, 0, 1],
        ],
        dtype=torch.bool,
    )
    assert torch.equal(EXAMPLE.mask, expected)


def test_derived_quantities_of_random_trees() -> None:
    rng = random.Random(0)
    for _ in range(300):
        tree = random_tree(rng, 0, 4, rng.randint(0, 30), rng.randint(0, 8))
        for node in range(len(tree)):
            ancestors, at = {node}, node
            while tree.parents[at] != NO_PARENT:
                at = tree.parents[at]
                ancestors.add(at)
            assert set(torch.nonzero(tree.mask[node])[:, 0].tolist()) == ancestors
            assert tree.depths[node] == len(tree.path(node)) == len(ancestors) - 1
            assert set(tree.path(node)) == ancestors - {0}


def test_chain_and_root_only() -> None:
    assert TokenTree.chain(5, (6, 7), "ngram") == TokenTree(
        (5, 6, 7), (NO_PARENT, 0, 1), ("target", "ngram", "ngram")
    )
    assert TokenTree.chain(5, (), "draft") == TokenTree.root_only(5)


@pytest.mark.parametrize(
    ("tokens", "parents"),
    [
        ((), ()),
        ((1, 2), (NO_PARENT, 1)),  # its own parent
        ((1, 2, 3), (NO_PARENT, 2, 0)),  # a parent behind its child
        ((1, 2, 2), (NO_PARENT, 0, 0)),  # equal siblings
        ((1, 2), (0, 0)),  # no root
        ((1, 2), (NO_PARENT, NO_PARENT)),  # two roots
        ((1, 2), (NO_PARENT,)),
    ],
)
def test_what_is_no_tree_is_refused(tokens: tuple[int, ...], parents: tuple[int, ...]) -> None:
    with pytest.raises(AssertionError):
        TokenTree(tokens, parents, ("draft",) * len(tokens))
