"""Measured pass times by width: what a guess costs on this machine."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import torch

from ssd.meter import Meter
from ssd.model import LanguageModel, Pass

WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32, 48, 64)
_CONTEXT = 256
_DRIFT = 1.25
_DISTURBED = 1.1
_CLEAR = 0.98
_MOVED = 0.02


@dataclass(frozen=True)
class Effort:
    """How long passes are timed: until no median has moved for `patience` rounds in a row.

    `rounds`: the most there are; the first warms up and does not count.
    """

    patience: int = 4
    rounds: int = 12


FULL = Effort()
BRIEF = Effort(patience=2, rounds=4)
"""For a first answer soon: medians of three."""


@dataclass(frozen=True)
class PassCosts:
    """Seconds of one forward at each of `widths`, ascending."""

    widths: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def overpriced(self) -> tuple[int, ...]:
        """The widths that clearly take longer than a larger one."""
        return tuple(
            width
            for number, width in enumerate(self.widths)
            if self.seconds[number] * _CLEAR > min(self.seconds[number + 1 :], default=math.inf)
        )

    def ends(self, low: int, high: int) -> list[int]:
        """The widths from `low` to `high` between which the seconds lie on one line."""
        between = self.widths[bisect_right(self.widths, low) : bisect_left(self.widths, high)]
        return sorted({low, *between, high}) if low <= high else []

    def at(self, width: int) -> float:
        """Seconds of a pass of `width` rows: between two measured widths, on the line."""
        index = bisect_left(self.widths, width)
        if index == 0:
            return self.seconds[0]
        if index == len(self.widths):
            return self.seconds[-1] * width / self.widths[-1]
        low, high = self.widths[index - 1], self.widths[index]
        share = (width - low) / (high - low)
        return self.seconds[index - 1] * (1 - share) + self.seconds[index] * share


@dataclass(frozen=True)
class Hope:
    """How often a first guess of the draft is right, greedy and when sampling."""

    greedy: float
    noisy: float


@dataclass(frozen=True)
class Pricing:
    """What guessing is weighed against: the pass costs of the target and of the draft.

    What a further draft pass may bring: `alone`, and `helped` where the N-gram guesses too. What
    the N-gram leaves is harder.
    """

    target: PassCosts
    draft: PassCosts
    alone: Hope
    helped: Hope


def measure(
    model: LanguageModel,
    clock: Callable[[], float],
    widths: Sequence[int] = WIDTHS,
    effort: Effort = FULL,
    before: Callable[[], object] = lambda: None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> PassCosts:
    """The pass times of `model` behind a context of 256 tokens.

    Each is the median of several, taken in turn over the widths, so that other work on the machine
    disturbs little and all alike. The shortest would flatter the wide passes, whose times vary
    more. `clock` is a meter's: it waits for the device. `before` runs ahead of each pass: in a
    round the target's pass has driven a draft's weights out of the caches. `report` is called after
    each round with their number and the most there are.
    """
    cache = model.new_cache()
    taken: dict[int, list[float]] = {width: [] for width in widths if width <= model.max_width}
    medians = dict.fromkeys(taken, math.inf)
    in_vain = 0
    for number in range(effort.rounds):
        for width, seconds in taken.items():
            rows = _alone(model, width)
            before()
            start = clock()
            model.forward(rows, cache, width)
            if number:  # the first one warms up
                seconds.append(clock() - start)
        if number:
            known, medians = medians, {width: median(seconds) for width, seconds in taken.items()}
            has_moved = any(abs(medians[w] / known[w] - 1) > _MOVED for w in taken)
            in_vain = 0 if has_moved else in_vain + 1
        report(number + 1, effort.rounds)
        if in_vain == effort.patience:
            break
    return PassCosts(tuple(medians), tuple(medians.values()))


def one_pass(model: LanguageModel) -> Callable[[], object]:
    """A pass of one row, to be run before another model is timed, as it is in a round."""
    cache, row = model.new_cache(), _alone(model, 1)
    return lambda: model.forward(row, cache, 1)


def _alone(model: LanguageModel, width: int) -> Pass:
    """Rows behind a context of 256 tokens, which see it and themselves."""
    return Pass(
        tokens=torch.arange(width),
        positions=torch.full((width,), min(_CONTEXT, model.context_length - 1)),
        prefix=_CONTEXT,
        first=_CONTEXT,
        mask=torch.eye(width, dtype=torch.bool),
    )


def has_drifted(known: PassCosts, now: PassCosts) -> bool:
    """Whether known pass times no longer hold.

    They changed against each other by a quarter, or one doubled; or one is a tenth shorter now:
    nothing makes a pass too short, so it was disturbed when it was measured.
    """
    pairs = zip(now.widths, now.seconds, strict=True)
    growth = [seconds / known.at(width) for width, seconds in pairs]
    is_shorter = min(growth) * _DISTURBED < 1
    return is_shorter or max(growth) > _DRIFT * min(growth) or max(growth) > 2


def default_clock(device: torch.device) -> Callable[[], float]:
    """A clock in seconds that waits for `device`'s work first."""
    clock = Meter().clock
    if device.type != "cuda":
        return clock

    def synchronised() -> float:
        torch.cuda.synchronize(device)
        return clock()

    return synchronised
