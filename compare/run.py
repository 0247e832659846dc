"""A run: every method on every prompt, interleaved and rotated, recorded as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from compare.digest import Digests
from compare.methods import Task
from compare.metrics import certificate, judges
from compare.naming import OURS, REFERENCE, base_name
from compare.record_file import Line
from compare.records import RunKey, RunRecord
from compare.settings import Settings
from compare.suites import Prompt, Suite
from compare.verdict_record import VerdictRecord

if TYPE_CHECKING:
    from ssd.request import Request
    from ssd.text import TextCodec

WARM_UP = Prompt("warm-up", "warm-up", "Count from one to three.")
_WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    `environment`: the record file's first line. `has_details`: as in `compare.methods.Task`.
    """

    suite: Suite
    methods: tuple[str, ...]
    settings: Settings
    repeats: int
    environment: dict[str, Any]
    has_details: bool = False


@dataclass(frozen=True)
class Moment:
    """How far a run is: `done` of `total` runs; `left_s` is None while nothing is known of it."""

    done: int
    total: int
    key: RunKey
    left_s: float | None


class Workbench(Protocol):
    """What runs a task; `compare.methods.Bench` outside tests."""

    def run(self, task: Task) -> RunRecord:
        """The record of the task, a failure's too."""


class Judging(Protocol):
    """What judges answers that differ; `compare.adjudicate.Adjudicator` outside tests."""

    def judge(self, reference: RunRecord, run: RunRecord, request: Request) -> VerdictRecord:
        """NEAR-TIE or BUG."""


@dataclass(frozen=True)
class Output:
    """Where a run's lines go. `find`: the full record of a run that was written before."""

    append: Callable[[Line], None]
    find: Callable[[RunKey], RunRecord]


class Runner:
    """Runs a plan, going on after what `digests` already holds."""

    def __init__(
        self, plan: Plan, bench: Workbench, judge: Judging, codec: TextCodec, output: Output
    ) -> None:
        self._plan, self._bench, self._judge = plan, bench, judge
        self._codec, self._output = codec, output
        self.digests = Digests()

    def warm_up(self) -> None:
        """Run each method once on a short task that is not recorded."""
        settings = replace(self._plan.settings, max_new_tokens=_WARM_UP_TOKENS)
        for method in self._plan.methods:
            self._bench.run(self._task(RunKey(method, WARM_UP.id), WARM_UP, settings))

    def run(self) -> Iterator[Moment]:
        """Make and record every run that is not there yet; one moment before each, one at the end.

        Raises ValueError where the output takes no more.
        """
        plan, start, made = self._plan, time.monotonic(), 0
        rounds = [
            (prompt, repeat, rotated(plan.methods, number + repeat))
            for number, prompt in enumerate(plan.suite.prompts)
            for repeat in range(plan.repeats)
        ]
        total = len(rounds) * len(plan.methods)
        key = RunKey(plan.methods[0], plan.suite.prompts[0].id)
        for prompt, repeat, methods in rounds:
            for method in methods:
                key = RunKey(method, prompt.id, repeat)
                if key not in self.digests.runs:
                    done = len(self.digests.runs)
                    spent = time.monotonic() - start
                    left = spent / made * (total - done) if made else None
                    yield Moment(done, total, key, left)
                    self._record(key, prompt)
                    made += 1
            self._certify(prompt, repeat)
        yield Moment(len(self.digests.runs), total, key, 0.0)

    def _record(self, key: RunKey, prompt: Prompt) -> None:
        try:
            record = self._bench.run(self._task(key, prompt, self._plan.settings))
        except ValueError as error:  # a prompt that cannot be asked
            record = RunRecord(key, prompt.category, (), error=str(error))
        self._output.append(record)
        self.digests.add(record)

    def _task(self, key: RunKey, prompt: Prompt, settings: Settings) -> Task:
        from ssd.lanes import Guessing

        request = settings.request(settings.prompt_ids(prompt, self._codec), self._codec)
        known = self.digests.runs.get(RunKey(REFERENCE, prompt.id))
        return Task(
            key=key,
            category=prompt.category,
            request=request,
            guessing=Guessing(settings.nodes, settings.chain),
            answer=known.token_ids if known is not None else (),
            has_details=self._plan.has_details,
        )

    def _certify(self, prompt: Prompt, repeat: int) -> None:
        """Judge and record what is not plainly identical among a prompt's runs."""
        environment, digests = self._plan.environment, self.digests

        def judge(reference: RunRecord, run: RunRecord) -> VerdictRecord:
            request = self._task(run.key, prompt, self._plan.settings).request
            return self._judge.judge(reference, run, request)

        for method in self._plan.methods:
            key = RunKey(method, prompt.id, repeat)
            if key in digests.verdicts:
                continue
            verdict = verdict_on(environment, digests, key, judge, self._output.find)
            if verdict is not None:
                self._output.append(verdict)
                digests.add(verdict)


def verdict_on(
    environment: dict[str, Any],
    digests: Digests,
    key: RunKey,
    judge: Callable[[RunRecord, RunRecord], VerdictRecord],
    find: Callable[[RunKey], RunRecord],
) -> VerdictRecord | None:
    """The verdict on a run that is not plainly identical, None for one that is or has none.

    `judge` is asked where the ids differ in a configuration that is not exact.
    """
    run = digests.runs[key]
    if not judges(environment, key.method):
        return None
    found = certificate(environment, digests, run)
    if found is None or found.verdict == "IDENTICAL":
        return None
    reference = digests.reference_of(run, REFERENCE)
    assert reference is not None
    if found.parting is None or environment["is_exact"]:
        return VerdictRecord(key, found.verdict, found.reason, found.parting)
    return judge(find(reference.key), find(key))


def rotated(methods: Sequence[str], by: int) -> tuple[str, ...]:
    """The methods, starting `by` places further on."""
    by %= len(methods)
    return (*methods[by:], *methods[:by])


def problems(environment: dict[str, Any], digests: Digests) -> tuple[list[str], list[str]]:
    """Sentences on the bugs, and on the failures, of methods that decide the exit code."""
    bugs, failures = [], []
    for key, run in digests.runs.items():
        if not judges(environment, key.method):
            continue
        where = f"{key.method} on {key.prompt_id}, repeat {key.repeat}"
        if run.error is not None and base_name(key.method) in OURS:
            failures.append(f"failed: {where}: {run.error}")
        found = certificate(environment, digests, run)
        if found is not None and found.verdict == "BUG":
            bugs.append(f"BUG: {where}: {found.reason}")
    return bugs, failures
