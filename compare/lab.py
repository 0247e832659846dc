"""One device, one job at a time: who may use it, for how long, and what is told meanwhile."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue

from compare.job import (
    Ended,
    EndReason,
    Engine,
    Failed,
    Job,
    Judging,
    Lane,
    LaneEnded,
    Limits,
    MachineBusy,
    Message,
    Outcome,
    Record,
    Refused,
    Repeating,
    Report,
    Setup,
    Started,
    Told,
    Waiting,
)
from compare.lab_task import Line, Task
from compare.naming import base_name, check_methods

_ENGINES_KEPT = 2
STEPPED = ("staged", "tree", "lookup", "speculative", "replay")
_log = logging.getLogger(__name__)

Alone = Callable[[Callable[[], None]], AbstractContextManager[None]]


@contextmanager
def no_lock(on_wait: Callable[[], None]) -> Iterator[None]:
    """Nothing, at once: for a machine on which no other program times anything."""
    yield


class Lab:
    """The owner of the device. Knows nothing of pages.

    One thread of its own does all the work, job after job: two never overlap whatever becomes of
    their visitors, and what torch keeps per thread stays as the models were probed with.
    """

    def __init__(
        self,
        open_engine: Callable[[Setup, Report], Engine],
        methods: Sequence[str],
        limits: Limits,
        alone: Alone = no_lock,
    ) -> None:
        """`alone` keeps other programs' timed runs off the machine while a job has it."""
        self.methods, self.limits = tuple(methods), limits
        self._open_engine, self._alone = open_engine, alone
        self._engines: dict[Setup, Engine] = {}
        self._line = Line(limits.max_queue)
        self._jobs: SimpleQueue[tuple[Job, Task[Message]]] = SimpleQueue()
        self._turns = itertools.count()
        self._tasks: dict[str, Task[Message]] = {}
        threading.Thread(target=self._serve, name="engine", daemon=True).start()

    def run(self, job: Job, visitor: str = "") -> Iterator[tuple[Message, ...]]:
        """What happens to `job`, in batches of about a tenth of a second, some of them empty.

        Closing the iterator stops the job. `visitor` is the name by which `stop` finds it.
        """
        task: Task[Message] = Task()
        is_for_now = False
        try:
            self._check(job)
            is_for_now = True
            self._line.join(task)
        except ValueError as refusal:
            yield (Refused(_sentence(refusal), is_for_now),)
            return
        self._tasks[visitor] = task
        self._jobs.put((job, task))
        told = 0
        try:
            while not task.is_over:
                batch = task.take()
                if (ahead := self._line.ahead(task)) not in (0, told):
                    told = ahead
                    batch = (Waiting(ahead), *batch)
                yield batch
                if task.is_stopped and not task.is_at_work:
                    yield (Ended("stopped", (), Outcome()),)
                    return
        finally:
            task.abandon()
            if not task.is_at_work:
                self._line.leave(task)
            if self._tasks.get(visitor) is task:
                del self._tasks[visitor]

    def stop(self, visitor: str) -> None:
        """End the visitor's job within one round; its iterator goes on to the partial results."""
        if (task := self._tasks.get(visitor)) is not None:
            task.stop()

    def _check(self, job: Job) -> None:
        """Raises ValueError where the job cannot run whatever the models are."""
        limits, known = self.limits, ", ".join(self.methods)
        if not job.prompt.strip():
            raise ValueError("the prompt is empty: write something for the model to answer")
        if len(job.prompt) > limits.max_prompt_characters:
            raise ValueError(
                f"the prompt has {len(job.prompt)} characters: shorten it to "
                f"{limits.max_prompt_characters} or fewer"
            )
        if not job.methods:
            raise ValueError(f"no lane is chosen: choose at least one of {known}")
        if len(job.methods) > limits.max_lanes:
            raise ValueError(
                f"{len(job.methods)} lanes are chosen: choose {limits.max_lanes} or fewer"
            )
        if job.setup.pair not in limits.pairs:
            pairs = ", ".join(limits.pairs)
            raise ValueError(f"the pair must be one of {pairs}, got {job.setup.pair!r}")
        for method in check_methods(job.methods):
            if base_name(method) not in self.methods:
                raise ValueError(f"there is no method {method!r} here: choose from {known}")
        if not 1 <= job.repeats <= limits.max_repeats:
            raise ValueError(f"repeats must lie from 1 to {limits.max_repeats}, got {job.repeats}")
        if not 1 <= job.max_new_tokens <= limits.max_new_tokens:
            raise ValueError(
                f"new tokens must lie from 1 to {limits.max_new_tokens}, got {job.max_new_tokens}"
            )

    def _serve(self) -> None:
        """The engine's thread: one job after another, for as long as the process lives."""
        while True:
            job, task = self._jobs.get()
            try:
                if not task.is_stopped:
                    self._run(job, task)
            except ValueError as error:
                task.put(Refused(_sentence(error)))
            except Exception:
                _log.exception("a job failed")
                task.put(Failed())
            finally:
                task.finish()
                self._line.leave(task)

    def _run(self, job: Job, task: Task[Message]) -> None:
        with self._alone(lambda: task.put(MachineBusy())):
            if task.is_stopped:
                return
            engine = self._engine(job.setup, task)
            task.begin()
            _Run(engine, job, task, self.limits).make(next(self._turns))

    def _engine(self, setup: Setup, task: Task[Message]) -> Engine:
        """The engine for `setup`, from the few that are kept or loaded now."""
        engine = self._engines.pop(setup, None)
        if engine is None:
            while len(self._engines) >= _ENGINES_KEPT:
                del self._engines[next(iter(self._engines))]
            engine = self._open_engine(setup, task.put)
        self._engines[setup] = engine
        return engine


class _Run:
    """A job with the device: its lanes in turn, until they end, Stop or the deadline."""

    def __init__(self, engine: Engine, job: Job, task: Task[Message], limits: Limits) -> None:
        self._engine, self._job, self._task = engine, job, task
        self._deadline = time.monotonic() + limits.time_budget_s
        self._max_prompt_tokens = limits.max_prompt_tokens
        self._records: list[Record] = []
        self._answer: tuple[int, ...] = ()
        self._is_cut = False

    def make(self, shift: int) -> None:
        """All of it, the first of the methods being number `shift`."""
        engine, job, task = self._engine, self._job, self._task
        orders = [_rotated(job.methods, shift + repeat) for repeat in range(job.repeats)]
        num_prompt_tokens = engine.num_prompt_tokens(job)
        if num_prompt_tokens > self._max_prompt_tokens:
            raise ValueError(
                f"the prompt has {num_prompt_tokens} tokens: shorten it to "
                f"{self._max_prompt_tokens} or fewer"
            )
        task.put(Started(orders[0], num_prompt_tokens, engine.environment(job)))
        engine.warm_up(orders[0])
        for repeat, methods in enumerate(orders):
            if repeat and not self._is_cancelled():
                task.put(Repeating(repeat + 1, job.repeats))
            for method in methods:
                if not self._is_cancelled():
                    self._lane(method, repeat)
        task.put(Judging())
        order = {method: at for at, method in enumerate(job.methods)}
        self._records.sort(key=lambda record: (record["repeat"], order[record["method"]]))
        outcome = engine.conclude(job, self._records)
        task.put(Ended(self._reason(), tuple(self._records), outcome))

    def _lane(self, method: str, repeat: int) -> None:
        """Run one lane; what it says is told the first time only."""
        number = self._job.first_repeat + repeat
        has_details = self._job.has_details and number == 0 and method == stepped(self._job.methods)
        lane = Lane(method, number, self._answer, has_details, self._is_cancelled)
        for told in self._engine.lane(lane, self._job):
            if not isinstance(told, Told | LaneEnded):
                self._records.append(told)
                if told["error"] is None and told["finish_reason"] != "cancelled":
                    self._answer = self._answer or tuple(told["token_ids"])
            elif repeat == 0:
                self._task.put(told)

    def _is_cancelled(self) -> bool:
        self._is_cut = self._is_cut or self._task.is_stopped or time.monotonic() > self._deadline
        return self._is_cut

    def _reason(self) -> EndReason:
        if not self._is_cut:
            return "finished"
        return "stopped" if self._task.is_stopped else "budget"


def stepped(methods: Sequence[str]) -> str | None:
    """The method whose rounds the step view shows, None where none of them guesses."""
    return next((each for name in STEPPED for each in methods if base_name(each) == name), None)


def _rotated(methods: tuple[str, ...], by: int) -> tuple[str, ...]:
    by %= len(methods)
    return methods[by:] + methods[:by]


def _sentence(error: ValueError) -> str:
    """An error's message as a sentence."""
    text = str(error).strip() or "The job cannot run as it was asked for"
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
