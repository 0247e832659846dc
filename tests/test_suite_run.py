"""Suites on the lab: what is recorded, what Stop and a budget leave, how refusals are told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from compare.job import Job, Lane, LaneEnded, Limits, Record, Told
from compare.lab import Lab
from compare.metrics import summary
from compare.record_file import RecordReader
from compare.records import RunRecord
from compare.suite_run import Over, Stage, SuiteRun
from compare.suites import Prompt, Suite
from tests.fake_engine import METHODS, FakeEngine, opener

LONG = Prompt("long", "text", "word " * 2000)
SUITE = Suite("toy", (Prompt("a", "code", "one"), Prompt("b", "chat", "two")), "0")
JOB = Job("", METHODS, max_new_tokens=8)


def lab(engine: FakeEngine | None = None, limits: Limits | None = None) -> Lab:
    return Lab(opener(engine or FakeEngine()), METHODS, limits or Limits())


def run(suite_run: SuiteRun, budget_s: float = 60.0) -> tuple[list[Stage], Over]:
    *stages, over = suite_run.run("visitor", budget_s)
    assert isinstance(over, Over) and all(isinstance(stage, Stage) for stage in stages)
    return [stage for stage in stages if isinstance(stage, Stage)], over


def test_every_prompt_method_and_repeat_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    job = Job("", METHODS, max_new_tokens=8, repeats=2)
    suite_run = SuiteRun(lab(), SUITE, job, path)
    stages, over = run(suite_run)
    assert over == Over("finished")
    lines = list(RecordReader(path).lines())
    keys = {(line.key.method, line.key.prompt_id, line.key.repeat) for line in lines}
    assert keys == {(m, p, r) for m in METHODS for p in ("a", "b") for r in (0, 1)}
    assert {line.category for line in lines if isinstance(line, RunRecord)} == {"code", "chat"}
    assert RecordReader(path).environment()["suite"] == {"name": "toy", "sha256": "0", "prompts": 2}
    found = summary(suite_run.environment, suite_run.digests)
    assert found["methods"]["staged"]["verdicts"]["IDENTICAL"] == 4
    assert {stage.total for stage in stages} == {12}
    assert [stage.done for stage in stages] == sorted(stage.done for stage in stages)


def test_records_carry_no_details(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run(SuiteRun(lab(), SUITE, JOB, path))
    steps = [
        s for line in RecordReader(path).lines() if isinstance(line, RunRecord) for s in line.steps
    ]
    assert steps and all(step.details is None for step in steps)


def test_a_prompt_that_cannot_be_asked_is_a_failed_run_and_the_suite_goes_on(
    tmp_path: Path,
) -> None:
    for prompts in ((LONG, *SUITE.prompts), (*SUITE.prompts, LONG)):
        path = tmp_path / f"{prompts[0].id}.jsonl"
        suite_run = SuiteRun(lab(), Suite("toy", prompts, "0"), JOB, path)
        assert run(suite_run)[1] == Over("finished")
        runs = [line for line in RecordReader(path).lines() if isinstance(line, RunRecord)]
        failed = [each for each in runs if each.error is not None]
        assert {each.key.prompt_id for each in failed} == {"long"} and len(failed) == len(METHODS)
        assert len(runs) == 3 * len(METHODS)
        assert "shorter" in str(failed[0].error)


def test_a_suite_none_of_whose_prompts_can_be_asked_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    _, over = run(SuiteRun(lab(), Suite("toy", (LONG,), "0"), JOB, path))
    assert over.reason == "refused" and "shorter" in over.sentence
    assert not path.exists()


def test_a_full_queue_ends_the_suite_and_makes_no_failed_runs(tmp_path: Path) -> None:
    release = threading.Event()

    class Held(FakeEngine):
        def lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
            release.wait(10)
            yield from super().lane(lane, job)

    busy = lab(Held(), Limits(max_queue=0))
    first = busy.run(Job("hold", METHODS, max_new_tokens=4), "other")
    next(first)
    suite_run = SuiteRun(busy, SUITE, JOB, tmp_path / "run.jsonl")
    _, over = run(suite_run)
    release.set()
    first.close()
    assert over.reason == "refused" and "queue is full" in over.sentence
    assert not suite_run.digests.runs


def test_stop_keeps_the_whole_prompts(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    suite_run = SuiteRun(lab(FakeEngine(round_s=0.01)), SUITE, JOB, path)
    over = None
    for told in suite_run.run("visitor", 60.0):
        if isinstance(told, Over):
            over = told
        elif told.prompt_id == "b":
            suite_run.stop("visitor")
    assert over == Over("stopped")
    assert {line.key.prompt_id for line in RecordReader(path).lines()} == {"a"}


def test_a_budget_that_is_used_up_ends_after_the_prompt_at_hand(tmp_path: Path) -> None:
    ticks = iter(range(0, 10_000, 7))
    path = tmp_path / "run.jsonl"
    suite_run = SuiteRun(lab(), SUITE, JOB, path, clock=lambda: float(next(ticks)))
    assert run(suite_run, budget_s=10.0)[1] == Over("budget")
    assert {line.key.prompt_id for line in RecordReader(path).lines()} == {"a"}


def test_a_fault_of_ours_ends_the_suite(tmp_path: Path) -> None:
    suite = Suite("toy", (SUITE.prompts[0], Prompt("x", "code", "fail")), "0")
    suite_run = SuiteRun(lab(), suite, JOB, tmp_path / "run.jsonl")
    assert run(suite_run)[1] == Over("failed")
    assert {key.prompt_id for key in suite_run.digests.runs} == {"a"}
