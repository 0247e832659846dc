"""Pass costs: lines between measured widths, and a measurement with a made-up clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ssd.cache import KVCache
from ssd.cost import BRIEF, Effort, PassCosts, has_drifted, measure
from ssd.model import Pass

COSTS = PassCosts((1, 2, 4, 8), (10.0, 10.0, 12.0, 20.0))


def test_costs_lie_on_lines_between_measured_widths() -> None:
    """At a measured width its seconds, between two the line, beyond the last in proportion."""
    assert [COSTS.at(width) for width in (1, 2, 3, 4, 6, 8)] == [10, 10, 11, 12, 16, 20]
    assert COSTS.at(16) == 40

    assert COSTS.ends(2, 8) == [2, 4, 8] and COSTS.ends(3, 20) == [3, 4, 8, 20]
    assert COSTS.ends(5, 5) == [5] and COSTS.ends(6, 5) == []


class Timed:
    """A model whose forward takes 3 + 2 T seconds of a clock of its own, and now and then more."""

    vocab_size = 7
    context_length = 300
    max_width = 16
    weight_bytes = 0

    def __init__(self) -> None:
        self.now = 0.0
        self.calls = 0

    def new_cache(self) -> KVCache:
        """A cache of nothing much."""
        return KVCache((1, 1, 2), torch.float32, torch.float32, torch.device("cpu"))

    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """Zeros, some time later; every third call is disturbed."""
        self.calls += 1
        self.now += 3 + 2 * len(rows.tokens) + (50 if self.calls % 3 == 0 else 0)
        return torch.zeros(num_logits, self.vocab_size)


def test_measuring_sees_through_disturbances() -> None:
    """Every third pass is; at the widths that the model can take."""
    model = Timed()
    costs = measure(model, lambda: model.now, (1, 2, 4, 6, 8, 12, 16, 24))
    assert costs.widths == (1, 2, 4, 6, 8, 12, 16)
    assert costs.seconds == (5, 7, 11, 15, 19, 27, 35)


def test_what_runs_before_a_pass_is_not_timed() -> None:
    model = Timed()
    ran: list[float] = []

    def before() -> None:
        ran.append(model.now)
        model.now += 1000

    costs = measure(model, lambda: model.now, (1, 4), Effort(2), before)
    assert costs.seconds == (5, 11) and len(ran) % 2 == 0


def test_measuring_goes_on_until_times_have_settled() -> None:
    """After two slow rounds as many quick ones as it takes to outweigh them, and its patience."""
    model = Timed()
    rounds: list[float] = []

    def before() -> None:
        rounds.append(model.now)
        model.calls = 0  # not disturbed

    def clock() -> float:
        return model.now * (3 if len(rounds) < 4 else 1)

    costs = measure(model, clock, (1,), Effort(3), before)
    # The first is not counted. Medians: 15, 15, 15, 10, 5, 5, 5, 5.
    assert costs.seconds == (5,) and len(rounds) == 9


def test_a_brief_measurement_is_a_median_of_three_and_says_how_far_it_is() -> None:
    model, told = Timed(), list[tuple[int, int]]()

    def report(done: int, total: int) -> None:
        told.append((done, total))

    costs = measure(model, lambda: model.now, (1, 2, 4, 8, 16), BRIEF, report=report)
    assert costs.seconds == (5, 7, 11, 19, 35)
    assert model.calls == 4 * 5 and told == [(n, 4) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("change", "drifted"),
    [
        (lambda width: 1.0, False),
        (lambda width: 1.2, False),
        (lambda width: 0.95, False),
        (lambda width: 0.85, True),
        (lambda width: 2.5, True),
        (lambda width: 1.0 if width == 1 else 1.4, True),
    ],
)
def test_drift_is_a_change_of_ratios_or_a_large_one_of_all(
    change: Callable[[int], float], drifted: bool
) -> None:
    """A machine a little slower throughout has not drifted; one quicker was measured amiss."""
    now = PassCosts((1, 8), (10 * change(1), 20 * change(8)))
    assert has_drifted(COSTS, now) is drifted


def test_widths_that_a_larger_one_beats_are_overpriced() -> None:
    """Two rows cost more than four here, and eight more than sixteen; a little is noise."""
    assert PassCosts((1, 2, 4, 8, 16), (9.0, 11.0, 10.0, 21.0, 20.0)).overpriced == (2, 8)
    assert PassCosts((1, 2, 4), (9.0, 11.0, 10.9)).overpriced == ()
