"""One device, one job at a time: who may use it, for how long, and what is told meanwhile."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue

from compare.job import (
    Ended,
    EndReason,
    Engine,
    Failed,
    Job,
    Judging,
    LaneEnded,
    Limits,
    Message,
    Record,
    Refused,
    Report,
    Setup,
    Started,
    Told,
    Waiting,
)
from compare.lab_task import Line, Task

_ENGINES_KEPT = 2
_log = logging.getLogger(__name__)


class Lab:
    """The owner of the device. Knows nothing of pages.

    One thread of its own does all the work, job after job: two never overlap whatever becomes of
    their visitors, and what torch keeps per thread stays as the models were probed with.
    """

    def __init__(
        self, open_engine: Callable[[Setup, Report], Engine], methods: Sequence[str], limits: Limits
    ) -> None:
        self.methods, self.limits = tuple(methods), limits
        self._open_engine = open_engine
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
        try:
            self._check(job)
            self._line.join(task)
        except ValueError as refusal:
            yield (Refused(_sentence(refusal)),)
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
                    yield (Ended("stopped", (), {}),)
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
        for method in job.methods:
            if method not in self.methods:
                raise ValueError(f"there is no method {method!r}: choose from {known}")
            if job.methods.count(method) > 1:
                raise ValueError(f"the method {method} is named more than once: name it once")
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
        engine = self._engine(job.setup, task)
        task.begin()
        deadline = time.monotonic() + self.limits.time_budget_s
        num_prompt_tokens = engine.num_prompt_tokens(job)
        shift = next(self._turns) % len(job.methods)
        methods = job.methods[shift:] + job.methods[:shift]
        task.put(Started(methods, num_prompt_tokens, engine.environment(job)))
        engine.warm_up(methods)
        records: list[Record] = []
        is_cut = False

        def is_cancelled() -> bool:
            nonlocal is_cut
            is_cut = is_cut or task.is_stopped or time.monotonic() > deadline
            return is_cut

        for method in methods:
            if is_cancelled():
                break
            for told in engine.lane(method, job, is_cancelled):
                if isinstance(told, Told | LaneEnded):
                    task.put(told)
                else:
                    records.append(told)
        task.put(Judging())
        records.sort(key=lambda record: job.methods.index(record["method"]))
        reason: EndReason = "finished"
        if is_cut:
            reason = "stopped" if task.is_stopped else "budget"
        task.put(Ended(reason, records, engine.summarise(job, records)))

    def _engine(self, setup: Setup, task: Task[Message]) -> Engine:
        """The engine for `setup`, from the few that are kept or loaded now."""
        engine = self._engines.pop(setup, None)
        if engine is None:
            while len(self._engines) >= _ENGINES_KEPT:
                del self._engines[next(iter(self._engines))]
            engine = self._open_engine(setup, task.put)
        self._engines[setup] = engine
        return engine


def _sentence(error: ValueError) -> str:
    """An error's message as a sentence."""
    text = str(error).strip() or "The job cannot run as it was asked for"
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
