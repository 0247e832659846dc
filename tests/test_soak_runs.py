"""The soak of runs, on an engine without models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from compare import cli_soak
from compare.job import Job, Lane, LaneEnded, Limits, Record, Told
from compare.lab import Lab
from compare.record_file import Line
from compare.records import RunRecord
from compare.settings import Settings
from compare.soak import SAMPLINGS, soak_prompts
from compare.soak_runs import ALLOWED_GROWTH, RunsState, resident_bytes, soak_jobs, soak_runs
from compare.suites import Prompt
from tests.command_line import exit_code
from tests.fake_engine import METHODS, FakeEngine, opener

PROMPTS = (Prompt("a", "toy", "say a"), Prompt("b", "toy", "say b"))
BASE = Job("", METHODS, max_new_tokens=8)


@dataclass
class Other(FakeEngine):
    """An engine whose staged lane says something else, or fails."""

    error: str | None = None

    def lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
        for told in super().lane(lane, job):
            yield self._changed(told) if isinstance(told, Mapping) else told

    def _changed(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        if record["method"] != "staged":
            return record
        if self.error is None:
            return {**record, "token_ids": [*record["token_ids"][:-1], 9]}
        bare = {"token_ids": [], "logit_hashes": [], "steps": [], "seconds": None}
        return {**record, **bare, "error": self.error}


def soaked(engine: FakeEngine, num_runs: int, lines: list[Line]) -> list[RunsState]:
    lab = Lab(opener(engine, 0.0), METHODS, Limits())
    return list(
        soak_runs(
            lab, soak_jobs(BASE, Settings(seed=7), soak_prompts(PROMPTS)), num_runs, lines.append
        )
    )


def test_every_job_is_another_and_all_are_recorded() -> None:
    lines: list[Line] = []
    states = soaked(FakeEngine(), 10, lines)
    assert [state.runs for state in states] == list(range(1, 11))
    assert (states[-1].bugs, states[-1].failures) == (0, 0)
    records = [line for line in lines if isinstance(line, RunRecord)]
    assert len({record.key for record in records}) == 30 == len(lines)
    assert all(record.settings is not None for record in records)
    jobs = [
        job
        for job, _ in zip(
            soak_jobs(BASE, Settings(seed=7), soak_prompts(PROMPTS)), states, strict=False
        )
    ]
    assert len({job.seed for job in jobs}) == 10
    assert len({job.sampling for job in jobs}) == len(SAMPLINGS)


def test_a_text_that_parts_is_a_bug_and_an_error_a_failure() -> None:
    (parted,) = soaked(Other(), 1, [])
    assert parted.bugs == 1 and parted.words[0].startswith("BUG: staged on 0: a, greedy")
    (failed,) = soaked(Other(error="out of memory"), 1, [])
    assert (failed.bugs, failed.failures) == (0, 1) and "out of memory" in failed.words[0]


def test_a_job_that_is_refused_is_a_failure() -> None:
    lab = Lab(opener(FakeEngine(), 0.0), METHODS, Limits(max_new_tokens=4))
    (state,) = soak_runs(
        lab, soak_jobs(BASE, Settings(seed=7), soak_prompts(PROMPTS)), 1, lambda line: None
    )
    assert state.failures == 1 and "did not finish" in state.words[0]


def test_memory_that_stays_and_memory_that_grows() -> None:
    steady = RunsState(resident=(10, 300, 310, 309, 311, 310, 308, 310))
    assert steady.growth == 1
    assert RunsState(resident=(10, 20, 30, 40, 50, 60, 70, 80)).growth == 40
    assert RunsState(resident=(1,) * 7).growth is None
    assert RunsState(resident=(0,) * 8).growth is None


@pytest.mark.parametrize(
    ("resident", "state", "code"),
    [
        ((100,) * 8, RunsState(), 0),
        ((100,) * 4 + (101 + ALLOWED_GROWTH,) * 4, RunsState(), 4),
        ((100,) * 8, RunsState(failures=1), 4),
        ((100,) * 8, RunsState(bugs=1, failures=1), 3),
        ((0,) * 8, RunsState(), 0),
    ],
)
def test_the_exit_code_says_what_was_found(
    resident: tuple[int, ...], state: RunsState, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    states = iter([replace(state, runs=8, resident=resident)])
    assert cli_soak._all_run(states, 8) == code
    assert "memory" in capsys.readouterr().out


def test_memory_is_read_where_the_system_says_it() -> None:
    assert resident_bytes() > 1 << 20


@pytest.mark.model
def test_runs_are_asked_for_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole way, from the options to a record that verifies."""
    out = tmp_path / "soak.jsonl"
    assert exit_code("soak", "--runs", "2", "--max-new-tokens", "6", "--out", str(out)) == 0
    assert "2 runs: 0 bugs, 0 failures" in capsys.readouterr().out
    assert exit_code("verify", str(out)) == 0
    assert exit_code("verify", str(out), "--replay") == 0
    assert exit_code("soak", "--runs", "2", "--stop", "x") == 2


def test_tokens_or_runs_but_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    for options in (
        "--runs 0",
        "--tokens 5 --runs 5",
        "--runs 3 --temperature 1",
        "--runs 3 --nodes 999",
        "--tokens 5 --chain 999",
    ):
        assert exit_code("soak", *options.split()) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_job_that_is_cut_is_a_failure() -> None:
    """By its time budget here."""
    lab = Lab(opener(FakeEngine(round_s=0.05), 0.0), METHODS, Limits(time_budget_s=0.01))
    (state,) = soak_runs(
        lab, soak_jobs(BASE, Settings(seed=7), soak_prompts(PROMPTS)), 1, lambda line: None
    )
    assert state.failures == 1 and "budget" in state.words[0]
