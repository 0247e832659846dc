"""Proposers of every kind: silly, hostile, all-knowing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ssd import noise
from ssd.request import Request
from ssd.tree import NO_PARENT, TokenTree


def random_tree(
    rng: random.Random, root: int, vocab_size: int, num_nodes: int, max_depth: int
) -> TokenTree:
    """A tree of at most `num_nodes` nodes below the root, with siblings that differ."""
    tokens, parents, depths = [root], [NO_PARENT], [0]
    taken: set[tuple[int, int]] = set()
    for _ in range(num_nodes):
        parent = rng.randrange(len(tokens))
        token = rng.randrange(vocab_size)
        if depths[parent] < max_depth and (parent, token) not in taken:
            taken.add((parent, token))
            tokens.append(token)
            parents.append(parent)
            depths.append(depths[parent] + 1)
    origins = ("target", *("draft" for _ in tokens[1:]))
    return TokenTree(tuple(tokens), tuple(parents), origins)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Guesser:
    """A proposer that is a function of (context, request, max_depth)."""

    tree: Callable[[Sequence[int], Request, int], TokenTree]

    def prefill(self, context: Sequence[int]) -> Iterator[None]:
        """Nothing to do."""
        return iter(())

    def propose(self, context: Sequence[int], request: Request, max_depth: int) -> TokenTree:
        """What the function says."""
        return self.tree(context, request, max_depth)


def wild(seed: int, vocab_size: int, num_nodes: int) -> Guesser:
    """Random trees, another one each round."""
    rng = random.Random(seed)
    return Guesser(
        lambda context, request, depth: random_tree(
            rng, context[-1], vocab_size, rng.randint(0, num_nodes), depth
        )
    )


def right_among_wrong(answer: Sequence[int], seed: int, vocab_size: int, num_nodes: int) -> Guesser:
    """Random trees with a piece of the true answer grafted in, decoys before and after it."""
    rng = random.Random(seed)

    def tree(context: Sequence[int], request: Request, depth: int) -> TokenTree:
        done = len(context) - len(request.prompt)
        decoys = random_tree(rng, context[-1], vocab_size, num_nodes // 2, depth)
        tokens, parents = list(decoys.tokens), list(decoys.parents)
        children = [dict(found) for found in decoys.children]
        node = 0
        for token in answer[
            done : done + min(depth, num_nodes - num_nodes // 2, rng.randint(0, 6))
        ]:
            if token not in children[node]:
                children[node][token] = len(tokens)
                children.append({})
                tokens.append(token)
                parents.append(node)
            node = children[node][token]
        origins = ("target", *("ngram" for _ in tokens[1:]))
        return TokenTree(tuple(tokens), tuple(parents), origins)  # type: ignore[arg-type]

    return Guesser(tree)


def wrong(answer: Sequence[int], vocab_size: int, num_nodes: int) -> Guesser:
    """Children of the root: anything but the right token, each with the right token below it."""

    def tree(context: Sequence[int], request: Request, depth: int) -> TokenTree:
        done = len(context) - len(request.prompt)
        right = answer[done] if done < len(answer) else 0
        others = [token for token in range(vocab_size) if token != right][: num_nodes // 2]
        if depth < 2:
            others = others if depth else []
            return TokenTree(
                (context[-1], *others),
                (NO_PARENT, *(0 for _ in others)),
                ("target", *("draft" for _ in others)),
            )
        below = range(1, len(others) + 1)
        return TokenTree(
            (context[-1], *others, *(right for _ in others)),
            (NO_PARENT, *(0 for _ in others), *below),
            ("target", *("draft" for _ in range(2 * len(others)))),
        )

    return Guesser(tree)


def peeking(vocab_size: int, depth: int) -> Guesser:
    """The two ids that the noise favours most at each position."""

    def tree(context: Sequence[int], request: Request, max_depth: int) -> TokenTree:
        tokens, parents, level = [context[-1]], [NO_PARENT], [0]
        for step in range(min(depth, max_depth)):
            gumbel = noise.gumbel(request.seed, len(context) + step, np.arange(vocab_size))
            best = np.argsort(-gumbel)[:2].tolist()
            new = []
            for parent in level:
                for token in best:
                    new.append(len(tokens))
                    tokens.append(token)
                    parents.append(parent)
            level = new
        origins = ("target", *("draft" for _ in tokens[1:]))
        return TokenTree(tuple(tokens), tuple(parents), origins)  # type: ignore[arg-type]

    return Guesser(tree)
