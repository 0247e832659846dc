"""Runs: order, resume, verdicts, the soak, the lock; with a workbench that decodes nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compare.lock import MachineLock, machine_lock
from compare.methods import Task
from compare.naming import BASELINES, check_methods
from compare.record_file import Line
from compare.records import RunKey, RunRecord
from compare.run import Moment, Output, Plan, Runner, problems, rotated
from compare.settings import Settings
from compare.soak import SAMPLINGS, Soak, soak_prompts
from compare.suites import Prompt, Suite
from compare.verdict_record import VerdictRecord
from ssd.request import Request
from tests.records_by_hand import ENVIRONMENT, asked, edited, failed, hashes, plain

METHODS = ("autoregressive", "speculative", "staged")
SUITE = Suite("toy", (Prompt("a", "toy", "one"), Prompt("b", "toy", "two")), "0")


class FakeCodec:
    """Bytes for ids."""

    stop_ids = frozenset[int]()

    def prompt_ids(
        self, text: str, *, raw: bool = False, system: str | None = None
    ) -> tuple[int, ...]:
        """The bytes; a text with `?` cannot be asked."""
        if "?" in text:
            raise ValueError("no questions")
        return tuple(text.encode())

    def stream(self) -> Any:
        """Not needed here."""
        raise AssertionError


class FakeBench:
    """Answers 1 2 3, except where `wrong` says otherwise."""

    def __init__(self, wrong: Callable[[RunKey], RunRecord | None] = lambda key: None) -> None:
        self.tasks: list[Task] = []
        self.pair: Any = None
        self._wrong = wrong

    def run(self, task: Task) -> RunRecord:
        """A record made by hand."""
        self.tasks.append(task)
        record = self._wrong(task.key) or plain((1, 2, 3), task.key)
        return asked(record, task.request.prompt)


class FakeJudge:
    """Finds every parting to be a near-tie."""

    def judge(self, reference: RunRecord, run: RunRecord, request: Request) -> VerdictRecord:
        """A near-tie at token 2."""
        tokens = (reference.token_ids[2], run.token_ids[2])
        return VerdictRecord(run.key, "NEAR-TIE", "close", 2, tokens, 0.1, 0.2)


def _runner(
    bench: FakeBench, lines: list[Line], *, is_exact: bool = True, repeats: int = 1
) -> Runner:
    plan = Plan(SUITE, METHODS, Settings(), repeats, {**ENVIRONMENT, "is_exact": is_exact})

    def find(key: RunKey) -> RunRecord:
        return next(line for line in lines if isinstance(line, RunRecord) and line.key == key)

    runner = Runner(plan, bench, FakeJudge(), FakeCodec(), Output(lines.append, find))  # type: ignore[arg-type]
    for line in lines:
        runner.digests.add(line)
    return runner


def _keys(lines: Sequence[Line]) -> list[tuple[str, str, int]]:
    return [(line.key.method, line.key.prompt_id, line.key.repeat) for line in lines]


def test_methods_are_interleaved_and_rotated() -> None:
    lines: list[Line] = []
    moments = list(_runner(FakeBench(), lines, repeats=2).run())
    assert _keys(lines)[:6] == [
        *((method, "a", 0) for method in METHODS),
        *((method, "a", 1) for method in rotated(METHODS, 1)),
    ]
    assert _keys(lines)[6][:2] == ("speculative", "b")
    assert len(lines) == 12 == moments[-1].done == moments[-1].total
    assert moments[0].left_s is None and all(m.left_s is not None for m in moments[1:])


def test_the_warm_up_is_short_and_leaves_no_record() -> None:
    lines: list[Line] = []
    bench = FakeBench()
    _runner(bench, lines).warm_up()
    assert [task.key.method for task in bench.tasks] == list(METHODS)
    assert all(task.request.stop.max_new_tokens == 8 for task in bench.tasks)
    assert lines == []


def test_a_resumed_run_makes_what_is_missing_and_nothing_else() -> None:
    whole: list[Line] = []
    list(_runner(FakeBench(), whole).run())
    for cut in range(len(whole)):
        lines, bench = whole[:cut], FakeBench()
        list(_runner(bench, lines).run())
        assert lines == whole and len(bench.tasks) == len(whole) - cut


def test_a_stopped_run_keeps_what_it_made() -> None:
    lines: list[Line] = []
    steps = _runner(FakeBench(), lines).run()
    for _ in range(3):
        assert isinstance(next(steps), Moment)
    del steps
    assert len(lines) == 2


def test_a_prompt_that_cannot_be_asked_is_a_record_with_an_error() -> None:
    lines: list[Line] = []
    runner = _runner(FakeBench(), lines)
    suite = Suite("toy", (Prompt("a", "toy", "why?"), Prompt("b", "toy", "two")), "0")
    runner._plan = replace(runner._plan, suite=suite)
    list(runner.run())
    errors = [line.error for line in lines if isinstance(line, RunRecord)]
    assert errors == ["no questions"] * 3 + [None] * 3
    bugs, failures = problems({**ENVIRONMENT}, runner.digests)
    assert bugs == [] and len(failures) == 3


def _part(key: RunKey) -> RunRecord | None:
    return plain((1, 2, 9), key) if key == RunKey("staged", "b") else None


@pytest.mark.parametrize(("is_exact", "verdict"), [(True, "BUG"), (False, "NEAR-TIE")])
def test_ids_that_part_are_judged_and_recorded(is_exact: bool, verdict: str) -> None:
    lines: list[Line] = []
    runner = _runner(FakeBench(_part), lines, is_exact=is_exact)
    list(runner.run())
    verdicts = [line for line in lines if isinstance(line, VerdictRecord)]
    assert [(v.key, v.verdict) for v in verdicts] == [(RunKey("staged", "b"), verdict)]
    bugs, failures = problems({**ENVIRONMENT, "is_exact": is_exact}, runner.digests)
    assert len(bugs) == is_exact and failures == []


def test_rows_that_differ_are_a_bug_in_an_exact_configuration_and_recorded_as_such() -> None:
    def leak(key: RunKey) -> RunRecord | None:
        record = plain((1, 2, 3), key)
        changed = edited(record, logit_hashes=("f" * 16, *hashes((1, 2, 3))[1:]))
        return changed if key.method == "staged" else None

    lines: list[Line] = []
    runner = _runner(FakeBench(leak), lines)
    list(runner.run())
    assert len([line for line in lines if isinstance(line, VerdictRecord)]) == 2
    assert len(problems(ENVIRONMENT, runner.digests)[0]) == 2


def test_baselines_never_decide() -> None:
    runner = _runner(FakeBench(), [])
    runner.digests.add(plain((1, 2, 3), RunKey("autoregressive", "b")))
    for method in BASELINES:
        runner.digests.add(failed(RunKey(method, "a")))
        runner.digests.add(plain((1, 2, 9), RunKey(method, "b")))
    assert problems(ENVIRONMENT, runner.digests) == ([], [])


@pytest.mark.parametrize("method", ["speculative:3", "staged:24:6:katz", "tree:9"])
def test_a_size_in_the_name_changes_nothing_about_who_decides(method: str) -> None:
    runner = _runner(FakeBench(), [])
    runner.digests.add(plain((1, 2, 3), RunKey("autoregressive", "a")))
    runner.digests.add(plain((1, 2, 9), RunKey(method, "a")))
    runner.digests.add(failed(RunKey(method, "b")))
    bugs, failures = problems(ENVIRONMENT, runner.digests)
    assert len(bugs) == len(failures) == 1
    assert bugs[0].startswith(f"BUG: {method} on a")


@pytest.mark.parametrize(
    ("names", "word"),
    [
        ([], "at least one"),
        (["staged", "staged"], "more than once"),
        (["magic"], "no method 'magic'"),
    ],
)
def test_methods_are_checked(names: list[str], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        check_methods(names)


def test_a_known_answer_is_given_to_the_methods_that_come_later() -> None:
    bench = FakeBench()
    list(_runner(bench, []).run())
    assert bench.tasks[0].answer == () and bench.tasks[1].answer == (1, 2, 3)


def _soak(bench: FakeBench) -> Soak:
    return Soak(bench, FakeJudge(), FakeCodec(), Settings(seed=7), ENVIRONMENT)  # type: ignore[arg-type]


def test_a_soak_varies_prompts_settings_and_seeds_until_enough_tokens_are_compared() -> None:
    bench, lines = FakeBench(), list[Line]()
    states = list(_soak(bench).run(soak_prompts(SUITE.prompts), 30, lines.append))
    assert (states[-1].tokens, states[-1].differing, states[-1].runs) == (30, 0, 10)
    assert len(lines) == 30 and all(isinstance(line, RunRecord) and line.settings for line in lines)
    assert len({task.request.seed for task in bench.tasks}) == 10
    assert len({task.request.prompt for task in bench.tasks}) == 10
    assert len({task.request.sampling for task in bench.tasks}) == len(SAMPLINGS)


def test_a_soak_counts_every_differing_id() -> None:
    bench = FakeBench(lambda key: plain((1, 9, 9, 4), key) if key.method == "staged" else None)
    state = list(_soak(bench).run(soak_prompts(SUITE.prompts), 3, lambda line: None))[-1]
    assert (state.differing, state.bugs) == (3, 1)


def test_two_timed_runs_wait_for_each_other(tmp_path: Path) -> None:
    path, waited, order = tmp_path / "lock", threading.Event(), []

    def second() -> None:
        with machine_lock(waited.set, path):
            order.append("second")

    with machine_lock(lambda: None, path):
        thread = threading.Thread(target=second)
        thread.start()
        assert waited.wait(60)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]


def test_the_lock_can_be_polled(tmp_path: Path) -> None:
    first, second = MachineLock(tmp_path / "lock"), MachineLock(tmp_path / "lock")
    assert first.poll() and first.poll() and not second.poll()
    second.release()  # what is not held is not taken from its holder
    assert not second.poll()
    first.release()
    assert second.poll() and not first.poll()
    second.release()
    with first:
        assert not second.poll()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be taken"):
        MachineLock(tmp_path / "file" / "lock").poll()


def test_a_killed_run_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import os, sys, pathlib; from compare.lock import machine_lock\n"
        "with machine_lock(lambda: None, pathlib.Path(sys.argv[1])): os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    with machine_lock(lambda: pytest.fail("the lock is still held"), path):
        pass
