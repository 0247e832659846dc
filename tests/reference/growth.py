"""The best size of a tree by trying every one."""

from __future__ import annotations

from ssd.cost import PassCosts
from ssd.grow import Candidate, Guesses, Limits, grow


def grown_and_tried(
    guesses: Guesses, limits: Limits, costs: PassCosts, spent_s: float
) -> tuple[list[Candidate], float]:
    """What `grow_priced` gives, from all that `grow` does, and the tokens a second."""
    grown = grow(guesses, limits)
    rates = [
        (1.0 + sum(each.probability for each in grown[:size])) / (costs.at(size + 1) + spent_s)
        for size in range(len(grown) + 1)
    ]
    best = rates.index(max(rates))
    return grown[:best], rates[best]
