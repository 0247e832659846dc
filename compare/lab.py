"""One device, one job at a time: who may use it, for how long, and what is told meanwhile."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence

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
from compare.lab_task import Line, QueueFull, Task

_ENGINES_KEPT = 2
_log = logging.getLogger(__name__)


class Lab:
    """The owner of the device. Knows nothing of pages.

    A worker thread holds the device for the whole of a job and gives it up when the engine has
    really stopped, whatever became of the visitor.
    """

    def __init__(
        self, open_engine: Callable[[Setup, Report], Engine], methods: Sequence[str], limits: Limits
    ) -> None:
        self.methods, self.limits = tuple(methods), limits
        self._open_engine = open_engine
        self._engines: dict[Setup, Engine] = {}
        self._line = Line(limits.max_queue)
        self._turns = itertools.count()
        self._tasks: dict[str, Task[Message]] = {}

    def run(self, job: Job, visitor: str = "") -> Iterator[tuple[Message, ...]]:
        """What happens to `job`, in batches of about a tenth of a second, some of them empty.

        Closing the iterator stops the job. `visitor` is the name by which `stop` finds it.
        """
        if (refusal := self._refusal(job)) is not None:
            yield (Refused(refusal),)
            return
        task: Task[Message] = Task()
        try:
            self._line.join(task)
        except QueueFull as full:
            yield (Refused(str(full)),)
            return
        self._tasks[visitor] = task
        threading.Thread(target=self._work, args=(job, task), name="engine", daemon=True).start()
        try:
            while not task.is_over:
                yield task.take()
                if task.is_stopped and task.is_loading:
                    yield (Ended("stopped", (), {}),)
                    return
        finally:
            task.abandon()
            if self._tasks.get(visitor) is task:
                del self._tasks[visitor]

    def stop(self, visitor: str) -> None:
        """End the visitor's job within one round; its iterator goes on to the partial results."""
        if (task := self._tasks.get(visitor)) is not None:
            task.stop()

    def _refusal(self, job: Job) -> str | None:
        """Why the job cannot run whatever the models are."""
        limits, unknown = self.limits, [m for m in job.methods if m not in self.methods]
        if not job.prompt.strip():
            return "The prompt is empty: write something for the model to answer."
        if len(job.prompt) > limits.max_prompt_characters:
            return (
                f"The prompt has {len(job.prompt)} characters: shorten it to "
                f"{limits.max_prompt_characters} or fewer."
            )
        if not job.methods:
            return "No lane is chosen: choose at least one."
        if unknown:
            return f"Unknown method {unknown[0]!r}: choose among {', '.join(self.methods)}."
        if len(set(job.methods)) < len(job.methods):
            return "A method is named twice: name each once."
        if not 1 <= job.max_new_tokens <= limits.max_new_tokens:
            return (
                f"New tokens must lie from 1 to {limits.max_new_tokens}, got {job.max_new_tokens}."
            )
        return None

    def _work(self, job: Job, task: Task[Message]) -> None:
        """The worker thread: wait for the device, run, give it up."""
        try:
            with self._line.turn(task, lambda ahead: task.put(Waiting(ahead))) as is_ours:
                if is_ours:
                    self._run(job, task)
                else:
                    task.put(Ended("stopped", (), {}))
        except ValueError as error:
            task.put(Refused(_sentence(error)))
        except Exception:
            _log.exception("a job failed")
            task.put(Failed())
        finally:
            task.finish()

    def _run(self, job: Job, task: Task[Message]) -> None:
        deadline = time.monotonic() + self.limits.time_budget_s
        engine = self._engine(job.setup, task)
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
            with task.loading():
                engine = self._open_engine(setup, task.put)
        self._engines[setup] = engine
        return engine


def _sentence(error: ValueError) -> str:
    """An error's message as a sentence."""
    text = str(error).strip() or "The job cannot run as it was asked for"
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
