"""The clock of a lane, against a clock that is set by hand."""

from __future__ import annotations

import pytest

from ssd.events import StageSeconds
from ssd.meter import Meter


class HandClock:
    """A clock that moves by what it is told; `step` is added at every look."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 100.0
        self.step = step

    def __call__(self) -> float:
        """The time."""
        self.now += self.step
        return self.now


def test_stages_and_the_rest_add_up() -> None:
    clock = HandClock()
    meter = Meter(clock)
    for stage, seconds in (("draft", 1.0), ("target", 4.0), ("draft", 2.0), ("ngram", 0.5)):
        with meter.time(stage):  # type: ignore[arg-type]
            clock.now += seconds
        clock.now += 0.25
    split = meter.split(8.5)
    assert split == StageSeconds(ngram=0.5, draft=3.0, target=4.0, other=1.0)
    assert split.total == 8.5
    assert meter.passes == {"ngram": 1, "draft": 2, "target": 1}


def test_a_split_starts_anew() -> None:
    clock = HandClock()
    meter = Meter(clock)
    with meter.time("target"):
        clock.now += 3
    meter.split(3)
    assert meter.split(0) == StageSeconds()
    assert meter.passes["target"] == 1, "passes are counted over the whole run"


def test_a_failed_pass_is_charged_and_the_meter_goes_on() -> None:
    clock = HandClock()
    meter = Meter(clock)
    with pytest.raises(RuntimeError), meter.time("draft"):
        clock.now += 2
        raise RuntimeError
    with meter.time("target"):
        clock.now += 1
    assert meter.split(3) == StageSeconds(draft=2, target=1)


def test_stages_do_not_nest() -> None:
    meter = Meter()
    with pytest.raises(AssertionError), meter.time("draft"), meter.time("target"):
        pass
