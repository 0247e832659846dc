"""One job on the device: its lanes in turn, and what they come to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from compare.job import (
    Ended,
    EndReason,
    Engine,
    Job,
    Judging,
    Lane,
    LaneEnded,
    Limits,
    Message,
    Record,
    Repeating,
    Started,
    Told,
)
from compare.naming import base_name, has_verdict
from compare.run import rotated

STEPPED = ("staged", "tree", "lookup", "speculative", "replay")
"""The methods whose rounds the step view can show, the one to show first in front."""


class Run:
    """A job with the device, until its lanes end, it is stopped or its time is used up."""

    def __init__(
        self, engine: Engine, job: Job, limits: Limits, is_stopped: Callable[[], bool]
    ) -> None:
        self._engine, self._job, self._limits = engine, job, limits
        self._is_stopped = is_stopped
        self._deadline = time.monotonic() + limits.time_budget_s
        self._records: list[Record] = []
        self._answer: tuple[int, ...] = ()
        self._is_cut = False

    def messages(self, shift: int) -> Iterator[Message]:
        """What it says, the first of its methods being number `shift`.

        Raises ValueError where the prompt is too long.
        """
        engine, job, most = self._engine, self._job, self._limits.max_prompt_tokens
        orders = [rotated(job.methods, shift + repeat) for repeat in range(job.repeats)]
        if (num_prompt_tokens := engine.num_prompt_tokens(job)) > most:
            raise ValueError(
                f"the prompt has {num_prompt_tokens} tokens: shorten it to {most} or fewer"
            )
        yield Started(orders[0], num_prompt_tokens, engine.environment(job))
        engine.warm_up(orders[0])
        for repeat, methods in enumerate(orders):
            if repeat and not self._is_cancelled():
                yield Repeating(repeat + 1, job.repeats)
            for method in methods:
                if not self._is_cancelled():
                    yield from self._lane(method, repeat)
        yield Judging()
        order = {method: at for at, method in enumerate(job.methods)}
        self._records.sort(key=lambda record: (record["repeat"], order[record["method"]]))
        yield Ended(self._reason(), tuple(self._records), engine.conclude(job, self._records))

    def _lane(self, method: str, repeat: int) -> Iterator[Told | LaneEnded]:
        """Run one lane; what it says is told the first time only."""
        job = self._job
        has_details = job.has_details and repeat == 0 and method == stepped(job.methods)
        lane = Lane(method, repeat, self._answer, has_details, self._is_cancelled)
        for told in self._engine.lane(lane, job):
            if not isinstance(told, Told | LaneEnded):
                self._take(told)
            elif repeat == 0:
                yield told

    def _take(self, record: Record) -> None:
        self._records.append(record)
        is_whole = record["error"] is None and record["finish_reason"] != "cancelled"
        if is_whole and has_verdict(record["method"], self._job.sampling.temperature):
            self._answer = self._answer or tuple(record["token_ids"])

    def _is_cancelled(self) -> bool:
        self._is_cut = self._is_cut or self._is_stopped() or time.monotonic() > self._deadline
        return self._is_cut

    def _reason(self) -> EndReason:
        if not self._is_cut:
            return "finished"
        return "stopped" if self._is_stopped() else "budget"


def stepped(methods: Sequence[str]) -> str | None:
    """The method whose rounds the step view shows, None where none of them guesses."""
    return next((each for name in STEPPED for each in methods if base_name(each) == name), None)
