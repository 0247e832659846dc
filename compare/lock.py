"""One timed run at a time on this machine."""

from __future__ import annotations

import getpass
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout


def machine_lock_path() -> Path:
    """The file whose lock stands for the machine."""
    return Path(tempfile.gettempdir()) / "ssd-lab-timing.lock"


@contextmanager
def machine_lock(on_wait: Callable[[], None], path: Path | None = None) -> Iterator[None]:
    """Nothing; inside, no other timed run is under way. `on_wait` is called once before a wait.

    The lock ends with the process, however that ends. Where the file is another user's and the
    system keeps it to them, the lock is this user's alone. Raises ValueError where there is no
    place for it.
    """
    path = path or machine_lock_path()
    try:
        try:
            lock = _acquired(path, on_wait)
        except PermissionError:
            lock = _acquired(path.with_name(f"{getpass.getuser()}-{path.name}"), on_wait)
    except OSError as error:
        raise ValueError(f"the lock {path} cannot be taken: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def _acquired(path: Path, on_wait: Callable[[], None]) -> BaseFileLock:
    lock = FileLock(path, mode=0o666, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        lock.acquire(timeout=-1)
    return lock
