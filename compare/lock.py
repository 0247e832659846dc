"""One timed run at a time on this machine."""

from __future__ import annotations

import getpass
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


def machine_lock_path() -> Path:
    """The file whose lock stands for the machine."""
    return Path(tempfile.gettempdir()) / "ssd-lab-timing.lock"


class MachineLock:
    """The machine, to be had by one holder at a time; ask with `poll`, or wait with `wait`.

    It ends with the process, however that ends. Where the file is another user's and the system
    keeps it to them, the lock is this user's alone. Any thread may release it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or machine_lock_path()
        self._lock = self._file_lock(self._path)

    def poll(self) -> bool:
        """Whether the machine is this holder's now; it is taken where it was free.

        Returns at once. Raises ValueError where there is no place for the lock.
        """
        return self._is_acquired(0)

    def wait(self) -> None:
        """Return once the machine is this holder's. Raises ValueError as `poll` does."""
        self._is_acquired(-1)

    def release(self) -> None:
        """Let the machine go; nothing where it is not held."""
        self._lock.release()

    def __enter__(self) -> MachineLock:
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _is_acquired(self, timeout: float) -> bool:
        if self._lock.is_locked:
            return True
        try:
            try:
                self._lock.acquire(timeout=timeout)
            except PermissionError:
                own = self._path.with_name(f"{getpass.getuser()}-{self._path.name}")
                self._lock = self._file_lock(own)
                self._lock.acquire(timeout=timeout)
        except Timeout:
            return False
        except OSError as error:
            raise ValueError(f"the lock {self._path} cannot be taken: {error.strerror}") from error
        return True

    def _file_lock(self, path: Path) -> FileLock:
        return FileLock(path, mode=0o666, thread_local=False)


@contextmanager
def machine_lock(on_wait: Callable[[], None], path: Path | None = None) -> Iterator[None]:
    """Nothing; inside, no other timed run is under way. `on_wait` is called once before a wait.

    Raises ValueError where there is no place for the lock.
    """
    lock = MachineLock(path)
    try:
        if not lock.poll():
            on_wait()
            lock.wait()
        yield
    finally:
        lock.release()
