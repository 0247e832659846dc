"""One device, one job at a time: who may use it, for how long, and what is told meanwhile."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from queue import Empty, SimpleQueue

from compare.job import (
    Ended,
    Engine,
    Failed,
    Job,
    Limits,
    MachineBusy,
    Message,
    Outcome,
    Refused,
    Report,
    Setup,
    Started,
    TryLaterError,
    Waiting,
    sentence_of,
)
from compare.lab_engines import Engines
from compare.lab_run import Run
from compare.lab_task import Line, Task
from compare.naming import base_name, check_methods
from ssd.lanes import Guessing

_IDLE_S = 3.0  # without a job, after which the device is put to other use
_MOST_PREPARED = 8
_log = logging.getLogger(__name__)

Alone = Callable[[Callable[[], None]], AbstractContextManager[None]]
Work = Callable[[Job, int], Generator[Message, None, None]]


@contextmanager
def no_lock(on_wait: Callable[[], None]) -> Iterator[None]:
    """Nothing, at once: for a machine on which no other program times anything."""
    yield


class _MachineTaken(Exception):
    """Another program's timed run has the machine."""


def _give_up() -> None:
    raise _MachineTaken


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
        borrow: Callable[[Work], Work] | None = None,
    ) -> None:
        """`alone` keeps other programs' timed runs off the machine while a job has it.

        `borrow` wraps the work of a job where the device is lent for one call only, which then
        happens in another process: it takes and gives plain data, and Stop ends it from outside.
        """
        self.methods, self.limits = tuple(methods), limits
        self._engines, self._alone = Engines(open_engine), alone
        self._is_remote = borrow is not None
        self._borrowed: Work = self._work if borrow is None else borrow(self._work)
        self._current: Task[Message] = Task()
        self._line = Line(limits.max_queue)
        self._jobs: SimpleQueue[tuple[Job, Task[Message]] | Setup] = SimpleQueue()
        self._turns = itertools.count()
        self._prepared: set[Setup] = set()
        self._tasks: dict[str, Task[Message]] = {}
        self._stops: set[str] = set()  # whose Stop is for the job at hand or the one to come
        threading.Thread(target=self._serve, name="engine", daemon=True).start()

    def run(self, job: Job, visitor: str = "") -> Generator[tuple[Message, ...], None, None]:
        """What happens to `job`, a batch every second or two, some of them empty.

        Closing the iterator stops the job. `visitor` is the name by which `stop` finds it.
        """
        task: Task[Message] = Task()
        is_for_now = False
        try:
            self._check(job)
            is_for_now = True
            self._line.join(task)
        except ValueError as refusal:
            yield (Refused(sentence_of(str(refusal)), is_for_now),)
            return
        self._tasks[visitor] = task
        if visitor in self._stops:  # looked up after the task is known, so that no Stop is lost
            task.stop()
        self._jobs.put((job, task))
        told, loading = 0, None
        try:
            while not task.is_over:
                if (ahead := self._line.ahead(task)) not in (0, told):
                    told = ahead
                    yield (Waiting(ahead),)
                elif (news := self._engines.loading) not in (None, loading):
                    loading = news  # what is loaded ahead of this job
                    yield (loading,)
                yield task.take()
                if task.is_stopped and not task.is_at_work:
                    yield (Ended("stopped", (), Outcome()),)
                    return
        finally:
            task.abandon()
            if not task.is_at_work:
                self._line.leave(task)
            if self._tasks.get(visitor) is task:
                del self._tasks[visitor]
                self._stops.discard(visitor)

    def prepare(self, setup: Setup) -> None:
        """Load the engine for `setup`, if nobody waits, for a job that is to be expected."""
        is_new = setup not in self._prepared and len(self._prepared) < _MOST_PREPARED
        if is_new and not self._is_remote and self._jobs.empty():
            self._prepared.add(setup)
            self._jobs.put(setup)

    def expect(self, visitor: str) -> None:
        """A job of the visitor's is about to come: a Stop from now on is for it, no other is."""
        self._stops.discard(visitor)

    def stop(self, visitor: str) -> None:
        """End the visitor's job within one round; its iterator goes on to the partial results.

        Where the job has not come yet, it ends as soon as it does.
        """
        self._stops.add(visitor)
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
        Guessing(nodes=job.nodes)  # which checks its range
        if not 1 <= job.repeats <= limits.max_repeats:
            raise ValueError(f"repeats must lie from 1 to {limits.max_repeats}, got {job.repeats}")
        if not 1 <= job.max_new_tokens <= limits.max_new_tokens:
            raise ValueError(
                f"new tokens must lie from 1 to {limits.max_new_tokens}, got {job.max_new_tokens}"
            )

    def _serve(self) -> None:
        """The engine's thread: one job after another, for as long as the process lives."""
        while True:
            try:
                item = self._jobs.get(timeout=_IDLE_S if self._engines.has_rough else None)
            except Empty:
                self._if_free(lambda: self._engines.refine(lambda: not self._jobs.empty()))
                continue
            if isinstance(item, Setup):
                self._if_free(partial(self._engines.prepare, item))
                continue
            job, task = item
            try:
                if not task.is_stopped:
                    self._run(job, task)
            except ValueError as error:
                task.put(Refused(sentence_of(str(error)), isinstance(error, TryLaterError)))
            except Exception:
                _log.exception("a job failed")
                task.put(Failed())
            finally:
                task.finish()
                self._line.leave(task)

    def _if_free(self, work: Callable[[], None]) -> None:
        """Do `work`, for which nobody waits, unless another program times something."""
        try:
            with self._alone(_give_up):
                work()
        except _MachineTaken:
            pass

    def _run(self, job: Job, task: Task[Message]) -> None:
        with self._alone(lambda: task.put(MachineBusy())):
            if task.is_stopped:
                return
            self._current = task
            messages = self._borrowed(job, next(self._turns))
            for message in messages:
                if isinstance(message, Started):
                    task.begin()
                task.put(message)
                if self._is_remote and task.is_stopped:
                    messages.close()
                    task.put(Ended("stopped", (), Outcome()))
                    return

    def _work(self, job: Job, shift: int) -> Generator[Message, None, None]:
        """All of a job. `shift`: which of its methods comes first."""
        task = self._current
        report = task.ignore if self._is_remote else task.put
        engine = self._engines.get(job.setup, report)
        yield from Run(engine, job, self.limits, lambda: task.is_stopped).messages(shift)
