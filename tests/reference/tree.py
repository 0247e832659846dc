"""The best tree of a size by trying all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Path = tuple[int, ...]
Chances = Callable[[Path], Mapping[int, float]]


def all_paths(chances: Chances, max_depth: int) -> dict[Path, float]:
    """Every path from below the root with the product of its chances."""
    found: dict[Path, float] = {}
    level: dict[Path, float] = {(): 1.0}
    for _ in range(max_depth):
        level = {
            (*path, token): chance * one
            for path, chance in level.items()
            for token, one in chances(path).items()
        }
        found |= level
    return found


def best_value(paths: Mapping[Path, float], num_nodes: int) -> float:
    """The largest sum of chances over all trees of at most `num_nodes` nodes."""
    everything = list(paths)

    def best(included: frozenset[Path], rest: Sequence[Path], left: int) -> float:
        value = sum(paths[path] for path in included)
        if left == 0:
            return value
        for index, path in enumerate(rest):
            if len(path) == 1 or path[:-1] in included:
                more = best(included | {path}, rest[index + 1 :], left - 1)
                value = max(value, more)
        return value

    return best(frozenset(), sorted(everything, key=len), num_nodes)
