"""The clock of one lane: seconds by stage and passes, read by the decode loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from ssd.events import StageSeconds

Stage = Literal["ngram", "draft", "target"]


class Meter:
    """Counts passes and seconds of the stages of one lane. Owned by the lane, shared by its parts.

    `clock` returns seconds; on a GPU it must wait for the device first.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.passes: dict[Stage, int] = {"ngram": 0, "draft": 0, "target": 0}
        self._seconds: dict[Stage, float] = {"ngram": 0.0, "draft": 0.0, "target": 0.0}
        self._running: Stage | None = None

    @contextmanager
    def time(self, stage: Stage) -> Iterator[None]:
        """Charge what happens inside to `stage`, as one pass. Stages do not nest."""
        assert self._running is None, f"{stage} inside {self._running}"
        self._running = stage
        start = self.clock()
        try:
            yield
        finally:
            self._seconds[stage] += self.clock() - start
            self.passes[stage] += 1
            self._running = None

    def split(self, total: float) -> StageSeconds:
        """`total` seconds split by stage, what no stage claims as `other`; starts anew."""
        named = dict(self._seconds)
        for stage in self._seconds:
            self._seconds[stage] = 0.0
        return StageSeconds(**named, other=total - sum(named.values()))
