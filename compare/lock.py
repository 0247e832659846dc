"""One timed run at a time on this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


def machine_lock_path() -> Path:
    """The file whose lock stands for the machine."""
    return Path(tempfile.gettempdir()) / "ssd-lab-timing.lock"


@contextmanager
def machine_lock(on_wait: Callable[[], None], path: Path | None = None) -> Iterator[None]:
    """Nothing; inside, no other timed run is under way. `on_wait` is called once before a wait.

    The lock ends with the process, however that ends. Raises ValueError where there is no place
    for it.
    """
    path = path or machine_lock_path()
    lock = FileLock(path, mode=0o666, thread_local=False)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            on_wait()
            lock.acquire(timeout=-1)
    except OSError as error:
        raise ValueError(f"the lock {path} cannot be taken: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()
