"""The life of one job between its worker and its visitor, and the line before the device."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Message = TypeVar("Message")

_BATCH_S = 0.1
_WAKE_S = 0.05
_MESSAGES_HELD = 256


class Task(Generic[Message]):
    """A bounded channel from a worker to one reader, with a stop flag the other way."""

    def __init__(self) -> None:
        self._messages: queue.Queue[Message] = queue.Queue(_MESSAGES_HELD)
        self._stop = threading.Event()
        self._gone = threading.Event()
        self._finished = threading.Event()
        self._loading = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether the worker should end at the next chance."""
        return self._stop.is_set()

    @property
    def is_loading(self) -> bool:
        """Whether the worker is where it cannot stop; nothing is lost by leaving it there."""
        return self._loading.is_set()

    @property
    def is_over(self) -> bool:
        """Whether the worker is done and everything has been read."""
        return self._finished.is_set() and self._messages.empty()

    def stop(self) -> None:
        """Ask the worker to end; what it has so far is still read."""
        self._stop.set()

    def abandon(self) -> None:
        """Ask the worker to end; nobody reads any more."""
        self._gone.set()
        self._stop.set()

    def finish(self) -> None:
        """The worker's last word."""
        self._finished.set()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Mark what is inside as a part that cannot stop."""
        self._loading.set()
        try:
            yield
        finally:
            self._loading.clear()

    def put(self, message: Message) -> None:
        """Hand over a message; waits for a slow reader, never for one who left."""
        while not self._gone.is_set():
            try:
                self._messages.put(message, timeout=_BATCH_S)
            except queue.Full:
                continue
            return

    def take(self) -> tuple[Message, ...]:
        """The messages of the next tenth of a second, or what is left where the worker is done."""
        deadline = time.monotonic() + _BATCH_S
        batch: list[Message] = []
        while (left := deadline - time.monotonic()) > 0 and not self.is_over:
            try:
                batch.append(self._messages.get(timeout=min(left, _WAKE_S)))
            except queue.Empty:
                continue
        return tuple(batch)


class QueueFull(Exception):
    """Too many jobs are waiting."""


class Line:
    """The line before the device: first come, first served, one at a time."""

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._changed = threading.Condition()
        self._line: deque[object] = deque()

    def join(self, task: Task[Message]) -> None:
        """Take a place. Raises QueueFull. Whoever joins must take its `turn`."""
        with self._changed:
            if len(self._line) > self._max_waiting:
                raise QueueFull(
                    f"The queue is full: {self._max_waiting} are waiting; try again in a minute."
                )
            self._line.append(task)

    @contextmanager
    def turn(self, task: Task[Message], tell: Callable[[int], None]) -> Iterator[bool]:
        """Hold the device inside; false where the task was stopped while it waited.

        `tell` hears how many are ahead, whenever that changes.
        """
        ahead, told = self._ahead(task), 0
        try:
            while ahead and not task.is_stopped:
                if ahead != told:
                    tell(ahead)
                    told = ahead
                with self._changed:
                    self._changed.wait(_BATCH_S)
                ahead = self._ahead(task)
            yield ahead == 0
        finally:
            with self._changed:
                self._line.remove(task)
                self._changed.notify_all()

    def _ahead(self, task: Task[Message]) -> int:
        with self._changed:
            return self._line.index(task)
