"""What happens in the Benchmark tab: suites are run, records are loaded, results are handed out."""

from __future__ import annotations

import logging
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import gradio as gr

from compare.digest import Digests
from compare.job import Job, Numerics, Setup
from compare.lab import Lab
from compare.page.benchmark_files import NUM_RESULTS, RECORDS, Measured, results
from compare.page.callbacks import (
    check_seed,
    language_of,
    number,
    run_and_stop,
    same,
    whole_number,
)
from compare.page.harmless import harmless_json
from compare.page.reading import reader_of
from compare.page.refusals import in_languages
from compare.page.shown import Update
from compare.suite_run import Over, SuiteRun
from compare.suites import Suite, limited, load_suite, parse_suite
from ssd.sampling import Sampling

MAX_SUITE_BYTES = 2_000_000
_TELL_S = 0.5
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Form:
    """The tab's controls, in the order in which it has them."""

    suite: str
    file: str | None
    methods: Sequence[str] | None
    repeats: float | None
    limit: float | None
    max_new_tokens: float | None
    temperature: float | None
    top_k: float | None
    seed: float | None
    numerics: str

    def job(self, pair: str) -> Job:
        """The settings of every prompt's job. Raises ValueError."""
        return Job(
            prompt="",
            methods=tuple(self.methods or ()),
            sampling=Sampling(
                number("the temperature", self.temperature), whole_number("top-k", self.top_k)
            ),
            seed=check_seed(whole_number("the seed", self.seed)),
            max_new_tokens=whole_number("new tokens", self.max_new_tokens),
            repeats=whole_number("repeats", self.repeats),
            setup=Setup(pair, numerics=cast(Numerics, self.numerics)),
        )

    def prompts(self) -> Suite:
        """The suite. Raises ValueError, whose one sentence says what is wrong."""
        limit = whole_number("the number of prompts", self.limit) or None
        return limited(self._suite(), limit)

    def _suite(self) -> Suite:
        if self.suite != "file":
            return load_suite(self.suite, lambda progress: None)
        if self.file is None:
            raise ValueError("no file is given: choose one below, or another suite")
        path = Path(self.file)
        size = path.stat().st_size
        if size > MAX_SUITE_BYTES:
            raise ValueError(
                f"the suite {path.name} has {size / 1e6:.1f} MB: a suite may have "
                f"{MAX_SUITE_BYTES / 1e6:g} MB, so take prompts out of it"
            )
        return parse_suite(path.name, path.read_bytes())


@dataclass(frozen=True)
class Ended:
    """What a suite came to, with the folder that its record file is in."""

    measured: Measured
    folder: tempfile.TemporaryDirectory[str]


@dataclass(frozen=True)
class Benchmarks:
    """The tab's callbacks on one lab, and the runs that visitors have going."""

    lab: Lab
    _runs: dict[str, SuiteRun] = field(default_factory=dict)

    def begin(self, request: gr.Request) -> tuple[Update, ...]:
        """Run and Stop, before a suite: a Stop counts from here on."""
        self.lab.expect(_visitor(request))
        return run_and_stop(True)

    def run(self, request: gr.Request, *values: Any) -> Iterator[tuple[str, Ended | None]]:
        """What the view says while a suite runs, and at its end what results are made from."""
        yield _told("preparing"), None
        try:
            form = Form(*values)
            job, suite = form.job(self.lab.limits.pairs[0]), form.prompts()
        except (ValueError, TypeError, OverflowError, OSError) as error:
            yield _refused(str(error)), None
            return
        folder = tempfile.TemporaryDirectory(prefix="ssd-benchmark-")
        suite_run = SuiteRun(self.lab, suite, job, Path(folder.name) / RECORDS)
        visitor = _visitor(request)
        self._runs[visitor] = suite_run
        ended: Ended | None = None
        try:
            for told, ended in self._follow(suite_run, visitor, folder):
                yield told, ended
        except Exception:
            _log.exception("a benchmark failed")
            yield _told("failed"), None
        finally:
            del self._runs[visitor]
            if ended is None:
                folder.cleanup()

    def finish(self, result: Ended | None, request: gr.Request) -> Iterator[tuple[Update, ...]]:
        """After a suite: nothing is kept of it, Run and Stop, and the results."""
        buttons = run_and_stop(False)
        if result is None:
            yield (None, *buttons, *_unchanged())
            return
        with result.folder as folder:
            path = Path(folder)
            made = results(result.measured, path / RECORDS, path, language_of(request))
            yield (None, *buttons, *made)

    def stop(self, request: gr.Request) -> None:
        """Stop the visitor's own suite; the run goes on to what whole prompts there are."""
        visitor = _visitor(request)
        if (suite_run := self._runs.get(visitor)) is not None:
            suite_run.stop(visitor)
        else:
            self.lab.stop(visitor)

    def load(self, file: str | None, request: gr.Request) -> Iterator[tuple[Update, ...]]:
        """The view and the results for the records in an uploaded file."""
        if file is None:
            yield (gr.skip(), *_unchanged())
            return
        path = Path(file)
        try:
            reader = reader_of(path)
            found = Measured(reader.environment(), Digests.of(reader.lines()))
        except ValueError as error:
            sentence = str(error).replace(str(path), f"the file {path.name}")
            yield (_refused(sentence), *_unchanged())
            return
        with tempfile.TemporaryDirectory(prefix="ssd-benchmark-") as folder:
            made = results(found, path, Path(folder), language_of(request))
            yield (_told("loaded", name=path.name, summary=found.summary), *made)

    def _follow(
        self, suite_run: SuiteRun, visitor: str, folder: tempfile.TemporaryDirectory[str]
    ) -> Iterator[tuple[str, Ended | None]]:
        """Tell of a suite that runs: twice a second, and at its end."""
        told = 0.0
        with closing(suite_run.run(visitor, self.lab.limits.suite_budget_s)) as stages:
            for stage in stages:
                if isinstance(stage, Over):
                    yield _end(suite_run, stage, folder)
                elif time.monotonic() - told > _TELL_S:
                    told = time.monotonic()
                    yield _told("running", **vars(stage)), None


def _visitor(request: gr.Request) -> str:
    """The name by which the lab knows the visitor's suite, other than a run of the Race tab."""
    return f"{request.session_hash} benchmark"


def _end(
    suite_run: SuiteRun, over: Over, folder: tempfile.TemporaryDirectory[str]
) -> tuple[str, Ended | None]:
    """How a suite ended; what came of it stays in `folder`."""
    if over.reason == "refused":
        return _refused(over.sentence), None
    if not suite_run.digests.runs:
        return _told(over.reason), None
    found = Measured(suite_run.environment, suite_run.digests)
    return _told(over.reason, summary=found.summary), Ended(found, folder)


def _refused(sentence: str) -> str:
    return _told("sentence", sentence=in_languages(sentence))


def _told(state: str, **values: Any) -> str:
    """A value of the view. Each differs from the last, so that the same refusal shows again."""
    data = {"state": state, "serial": uuid.uuid4().hex, **values}
    return harmless_json(data)


def _unchanged() -> tuple[Update, ...]:
    return same(NUM_RESULTS)
