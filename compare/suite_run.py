"""A suite on the lab: a job for each prompt, in turn with everybody else's jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from compare.digest import Digests
from compare.job import (
    Ended,
    Failed,
    Job,
    LaneEnded,
    Loading,
    MachineBusy,
    Message,
    Refused,
    Repeating,
    Started,
    Waiting,
)
from compare.lab import Lab
from compare.record_file import Line, RecordWriter
from compare.records import RunKey, RunRecord
from compare.suites import Prompt, Suite
from compare.verdict_record import VerdictRecord

OverReason = Literal["finished", "stopped", "budget", "refused", "failed"]


@dataclass(frozen=True)
class Stage:
    """How far a suite is: `done` of `total` runs.

    `left_s`: None while nothing is known of it. `prompt_id`: what is being answered. `waits_for`:
    what the job is waiting for, `ahead` where others come first.
    """

    done: int
    total: int
    left_s: float | None
    prompt_id: str
    waits_for: Literal["", "ahead", "machine", "loading"] = ""
    ahead: int = 0


@dataclass(frozen=True)
class Over:
    """The last word. `sentence`: of a refusal, else empty."""

    reason: OverReason
    sentence: str = ""


class SuiteRun:
    """One suite being run. Its records are in the file at `path` and, summed up, in `digests`.

    Each prompt is a job of its own, so that other visitors' jobs come between; its repeats and
    methods are interleaved as the lab does it. Only whole prompts are recorded.
    """

    def __init__(
        self,
        lab: Lab,
        suite: Suite,
        job: Job,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`job`: the settings of every prompt's job."""
        self._lab, self._suite, self._path, self._clock = lab, suite, path, clock
        self._job = replace(job, has_details=False)
        self._a_prompt = len(job.methods) * job.repeats
        self._stage = Stage(0, self._a_prompt * len(suite.prompts), None, "")
        self._is_stopped = False
        self._writer: RecordWriter | None = None
        self._waiting_lines: list[Line] = []
        self._first_refusal = ""
        self.environment: dict[str, Any] = {}
        self.digests = Digests()

    def stop(self, visitor: str) -> None:
        """End within one round; what whole prompts there are stay."""
        self._is_stopped = True
        self._lab.stop(visitor)

    def run(self, visitor: str, budget_s: float) -> Generator[Stage | Over, None, None]:
        """Where it stands, a few times a second, and at the end how it went.

        Closing the iterator stops it. A budget that is used up ends it after the prompt at hand.
        """
        start = self._clock()
        try:
            for number, prompt in enumerate(self._suite.prompts):
                spent = self._clock() - start
                if self._is_stopped or spent > budget_s:
                    yield Over("stopped" if self._is_stopped else "budget")
                    return
                over = yield from self._prompt(number, prompt, visitor, start)
                if over is not None:
                    yield over
                    return
            # Where no prompt could be asked, the first one's sentence says why.
            did_run = bool(self.environment)
            yield Over("finished") if did_run else Over("refused", self._first_refusal)
        finally:
            if self._writer is not None:
                self._writer.close()

    def _prompt(
        self, number: int, prompt: Prompt, visitor: str, start: float
    ) -> Generator[Stage, None, Over | None]:
        """Run one prompt; returns how the suite ends, None where it goes on."""
        done = number * self._a_prompt
        left = None
        if done:
            left = (self._clock() - start) / done * (self._stage.total - done)
        self._stage = replace(self._stage, done=done, left_s=left, prompt_id=prompt.id)
        job = replace(
            self._job,
            prompt=prompt.text,
            prompt_id=prompt.id,
            category=prompt.category,
            is_raw=prompt.is_raw,
        )
        repeat = 1
        with closing(self._lab.run(job, visitor)) as batches:
            for batch in batches:
                for message in batch:
                    if isinstance(message, Repeating):
                        repeat = message.number
                    over = self._take(message, job, done + (repeat - 1) * len(job.methods))
                    if over is not None:
                        return over
                yield self._stage
        return None

    def _take(self, message: Message, job: Job, done: int) -> Over | None:
        """Take in a message; how the suite ends by it, None where it goes on."""
        match message:
            case Started():
                self._begin(message.environment)
                self._stage = replace(self._stage, waits_for="")
            case Waiting():
                self._stage = replace(self._stage, waits_for="ahead", ahead=message.ahead)
            case MachineBusy():
                self._stage = replace(self._stage, waits_for="machine")
            case Loading():
                self._stage = replace(self._stage, waits_for="loading")
            case LaneEnded():
                self._stage = replace(self._stage, done=self._stage.done + 1)
            case Repeating():
                self._stage = replace(self._stage, done=done)
            case Ended(reason="finished"):
                self._keep(message)
            case Ended():
                return Over(message.reason)
            case Failed():
                return Over("failed")
            case Refused():
                if message.is_for_now:
                    return Over("refused", message.sentence)
                self._keep_refusal(job, message.sentence)
        return None

    def _begin(self, environment: Mapping[str, Any]) -> None:
        """Open the file, at the first prompt that runs."""
        if self.environment:
            return
        suite = self._suite
        self.environment = {
            **environment,
            "suite": {"name": suite.name, "sha256": suite.sha256, "prompts": len(suite.prompts)},
        }
        self._writer = RecordWriter.create(self._path, self.environment)
        for line in self._waiting_lines:
            self._append(line)

    def _keep(self, ended: Ended) -> None:
        for record in ended.records:
            self._append(RunRecord.from_json(record))
        for verdict in ended.outcome.verdicts:
            self._append(VerdictRecord.from_json(verdict))

    def _keep_refusal(self, job: Job, sentence: str) -> None:
        """A prompt that cannot be asked is a failed run of every method."""
        self._first_refusal = self._first_refusal or sentence
        for repeat in range(job.repeats):
            for method in job.methods:
                key = RunKey(method, job.prompt_id, repeat)
                line = RunRecord(key, job.category, (), error=sentence)
                if self._writer is None:
                    self._waiting_lines.append(line)
                else:
                    self._append(line)

    def _append(self, line: Line) -> None:
        assert self._writer is not None
        self._writer.append(line)
        self.digests.add(line)
