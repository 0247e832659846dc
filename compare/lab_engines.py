"""The engines that the lab keeps: loaded when needed or ahead of it, and refined when idle."""

from __future__ import annotations

import logging
from collections.abc import Callable

from compare.job import Engine, Loading, Report, Setup

_KEPT = 2
_log = logging.getLogger(__name__)

OpenEngine = Callable[[Setup, Report], Engine]


class _Wanted(Exception):
    """Somebody needs the device: what was begun in idle time ends."""


class Engines:
    """The few engines that stay loaded. All but `loading` is for the thread that computes."""

    def __init__(self, open_engine: OpenEngine) -> None:
        self._open_engine = open_engine
        self._kept: dict[Setup, Engine] = {}
        self._rough: set[Setup] = set()
        self.loading: Loading | None = None
        """How far an engine is that is loaded ahead; None where none is."""

    @property
    def has_rough(self) -> bool:
        """Whether an engine was measured only as long as its first answer needed."""
        return bool(self._rough)

    def get(self, setup: Setup, report: Report) -> Engine:
        """The engine for `setup`, kept or loaded now. Raises ValueError where it cannot be had."""
        engine = self._kept.pop(setup, None)
        if engine is None:
            while len(self._kept) >= _KEPT:
                oldest = next(iter(self._kept))
                del self._kept[oldest]
                self._rough.discard(oldest)
            engine = self._open_engine(setup, report)
            self._rough.add(setup)
        self._kept[setup] = engine
        return engine

    def prepare(self, setup: Setup) -> None:
        """Load the engine for `setup` ahead of its first job. Errors are that job's to report."""
        try:
            self.get(setup, self._note)
        except Exception:
            _log.debug("an engine could not be loaded ahead", exc_info=True)
        finally:
            self.loading = None

    def refine(self, is_wanted: Callable[[], bool]) -> None:
        """Measure the machine with more care for one engine, until that is done or `is_wanted`."""

        def pause() -> None:
            if is_wanted():
                raise _Wanted

        setup = next(iter(self._rough))
        try:
            self._kept[setup] = self._kept[setup].refined(pause)
        except _Wanted:
            return
        except Exception:
            _log.exception("an engine could not be refined")
        self._rough.discard(setup)

    def _note(self, message: Loading) -> None:
        self.loading = message
