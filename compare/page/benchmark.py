"""What happens in the Benchmark tab: suites are run, records are loaded, results are handed out."""

from __future__ import annotations

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
from compare.page.benchmark_files import NUM_RESULTS, Measured, results
from compare.page.callbacks import button, check_seed, language_of, number, same, whole_number
from compare.page.harmless import harmless_json
from compare.page.shown import Update
from compare.record_file import RecordReader
from compare.suite_run import Over, Stage, SuiteRun
from compare.suites import Suite, limited, load_suite, parse_suite
from ssd.sampling import Sampling

MAX_SUITE_BYTES = 2_000_000
MAX_RECORD_BYTES = 64_000_000
_TELL_S = 0.5


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
class Benchmarks:
    """The tab's callbacks on one lab, and the runs that visitors have going."""

    lab: Lab
    _runs: dict[str, SuiteRun] = field(default_factory=dict)

    def run(self, request: gr.Request, *values: Any) -> Iterator[tuple[Update, ...]]:
        """The outputs while a suite runs: the view, Run, Stop, and at the end the results."""
        yield (_told("preparing"), button(False), button(True), *_unchanged())
        visitor = f"{request.session_hash} benchmark"
        try:
            form = Form(*values)
            job, suite = form.job(self.lab.limits.pairs[0]), form.prompts()
        except (ValueError, TypeError, OverflowError, OSError) as error:
            yield (_refused(str(error)), button(True), button(False), *_unchanged())
            return
        with tempfile.TemporaryDirectory(prefix="ssd-benchmark-") as folder:
            path = Path(folder) / "benchmark.jsonl"
            suite_run = SuiteRun(self.lab, suite, job, path)
            self._runs[visitor] = suite_run
            try:
                yield from self._follow(suite_run, visitor, path, request)
            finally:
                del self._runs[visitor]

    def stop(self, request: gr.Request) -> None:
        """Stop the visitor's own suite; the run goes on to what whole prompts there are."""
        visitor = f"{request.session_hash} benchmark"
        if (suite_run := self._runs.get(visitor)) is not None:
            suite_run.stop(visitor)

    def load(self, file: str | None, request: gr.Request) -> Iterator[tuple[Update, ...]]:
        """The view and the results for the records in an uploaded file."""
        if file is None:
            yield (gr.skip(), *_unchanged())
            return
        path = Path(file)
        try:
            found = _read(path)
        except ValueError as error:
            sentence = str(error).replace(str(path), path.name)
            yield (_refused(sentence), *_unchanged())
            return
        with tempfile.TemporaryDirectory(prefix="ssd-benchmark-") as folder:
            made = results(found, path, Path(folder), language_of(request))
            yield (_told("loaded", name=path.name, summary=found.summary), *made)

    def _follow(
        self, suite_run: SuiteRun, visitor: str, path: Path, request: gr.Request
    ) -> Iterator[tuple[Update, ...]]:
        """Tell of a suite that runs: twice a second, and at its end."""
        told = 0.0
        with closing(suite_run.run(visitor, self.lab.limits.suite_budget_s)) as stages:
            for stage in stages:
                if isinstance(stage, Over):
                    yield from self._end(suite_run, stage, path, request)
                elif time.monotonic() - told > _TELL_S:
                    told = time.monotonic()
                    yield (_progress(stage), *same(2), *_unchanged())

    def _end(
        self, suite_run: SuiteRun, over: Over, path: Path, request: gr.Request
    ) -> Iterator[tuple[Update, ...]]:
        buttons = (button(True), button(False))
        if over.reason == "refused":
            yield (_refused(over.sentence), *buttons, *_unchanged())
        elif not suite_run.digests.runs:
            yield (_told(over.reason), *buttons, *_unchanged())
        else:
            found = Measured(suite_run.environment, suite_run.digests)
            made = results(found, path, path.parent, language_of(request))
            yield (_told(over.reason, summary=found.summary), *buttons, *made)


def _read(path: Path) -> Measured:
    """The record file at `path`, read as a stream. Raises ValueError."""
    size = path.stat().st_size
    if size > MAX_RECORD_BYTES:
        raise ValueError(
            f"the file {path.name} has {size / 1e6:.0f} MB: a record file may have "
            f"{MAX_RECORD_BYTES / 1e6:g} MB"
        )
    reader = RecordReader(path)
    return Measured(reader.environment(), Digests.of(reader.lines()))


def _progress(stage: Stage) -> str:
    return _told("running", **vars(stage))


def _refused(sentence: str) -> str:
    text = sentence.strip() or "The benchmark cannot run as it was asked for"
    return _told("sentence", sentence=text[0].upper() + text[1:].rstrip(".") + ".")


def _told(state: str, **values: Any) -> str:
    """A value of the view. Each differs from the last, so that the same refusal shows again."""
    data = {"state": state, "serial": uuid.uuid4().hex, **values}
    return harmless_json(data)


def _unchanged() -> tuple[Update, ...]:
    return same(NUM_RESULTS)
