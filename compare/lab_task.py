"""The life of one job between its worker and its visitor, and the line before the device."""

from __future__ import annotations

import queue
import threading
import time
from typing import Generic, TypeVar

Message = TypeVar("Message")

_BATCH_S = 1.5  # drawing one takes 24 ms of the two cores that the engine computes on
_PATIENCE_S = 0.1
_WAKE_S = 0.05
_MESSAGES_HELD = 4096  # of a batch, far from full: a worker that waits for its reader is timed


class Task(Generic[Message]):
    """A bounded channel from a worker to one reader, with a stop flag the other way."""

    def __init__(self) -> None:
        self._messages: queue.Queue[Message] = queue.Queue(_MESSAGES_HELD)
        self._stop = threading.Event()
        self._gone = threading.Event()
        self._finished = threading.Event()
        self._begun = threading.Event()
        self._due = 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether the worker should end at the next chance."""
        return self._stop.is_set()

    @property
    def is_at_work(self) -> bool:
        """Whether the worker has begun: before that, stopping it keeps nothing."""
        return self._begun.is_set()

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

    def begin(self) -> None:
        """The worker is past waiting and loading; from here on it ends within one round."""
        self._begun.set()

    def put(self, message: Message) -> None:
        """Hand over a message; waits for a slow reader, never for one who left."""
        while not self._gone.is_set():
            try:
                self._messages.put(message, timeout=_PATIENCE_S)
            except queue.Full:
                continue
            return

    def ignore(self, message: Message) -> None:
        """Nothing: for a worker whose words from another process nobody reads."""

    def take(self) -> tuple[Message, ...]:
        """The messages up to `_BATCH_S` after the last batch, the first ones at once.

        Or what is left once the worker is done. Sleeps until then: to be woken by each message
        would take a processor away from the worker, and that in the middle of what it times.
        """
        now = time.monotonic()
        self._finished.wait(max(self._due - now, _WAKE_S))
        self._due = time.monotonic() + _BATCH_S
        return tuple(self._messages.get_nowait() for _ in range(self._messages.qsize()))


class Line:
    """Who is being served and who waits, first come, first served."""

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._lock = threading.Lock()
        self._line: list[object] = []

    def join(self, task: object) -> None:
        """Take the last place. Raises ValueError where too many wait."""
        with self._lock:
            if len(self._line) > self._max_waiting:
                raise ValueError(
                    f"the queue is full, {self._max_waiting} are waiting: try again in a minute"
                )
            self._line.append(task)

    def leave(self, task: object) -> None:
        """Give up the place, if there still is one."""
        with self._lock:
            if task in self._line:
                self._line.remove(task)

    def ahead(self, task: object) -> int:
        """How many come first; 0 for one who is not in the line."""
        with self._lock:
            return self._line.index(task) if task in self._line else 0
