"""Carrying plans out: a killed run, one gone on with, one that Ctrl-C ends, two at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from compare import conduct, console
from compare.__main__ import main
from compare.lock import MachineLock, machine_lock
from compare.record_file import RecordReader
from compare.records import RunKey, RunRecord
from tests.tiny_pair import tiny_pair

ROOT = Path(__file__).resolve().parent.parent
# `compare` on the tiny pair in a process of its own, slow enough to be met in the middle.
COMMAND = """
import sys, time
from contextlib import nullcontext
from pathlib import Path
from compare import conduct
from compare.__main__ import main
from compare.methods import Bench
from tests.tiny_pair import tiny_pair

class Slow(Bench):
    def run(self, task):
        time.sleep(0.05)
        return super().run(task)

pair = tiny_pair(Path(sys.argv[1]))
conduct.load = lambda options: pair
conduct.alone = nullcontext
conduct.Bench = Slow
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command line of a run of 8 prompts by three methods, on a tiny pair."""
    pair = tiny_pair(tmp_path / "target")
    monkeypatch.setattr(conduct, "load", lambda options: pair)
    monkeypatch.setattr(conduct, "alone", nullcontext)
    suite = tmp_path / "suite.jsonl"
    prompts = [{"id": str(n), "text": f"{n} and {n + 1} "} for n in range(8)]
    suite.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    return ["run", "--suite", str(suite), "--max-new-tokens", "10", "--nodes", "6", "--chain", "3"]


def _ids(path: Path) -> dict[RunKey, tuple[Any, ...]]:
    runs = [line for line in RecordReader(path).lines() if isinstance(line, RunRecord)]
    return {run.key: (run.token_ids, run.logit_hashes, run.error) for run in runs}


def test_a_run_killed_in_the_middle_loses_one_record_at_most_and_is_completed(
    asked: list[str], tmp_path: Path
) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    assert main([*asked, "--out", str(whole)]) == 0
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(tmp_path / "other"), *asked, "--out", str(cut)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    while not cut.exists() or cut.read_bytes().count(b"\n") < 5:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    seen = cut.read_bytes().count(b"\n") - 1  # the first line is the environment
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = _ids(cut)
    assert seen <= len(kept) < len(_ids(whole)) == 24
    before = cut.read_bytes()[: RecordReader(cut).whole_bytes()]
    assert main([*asked, "--out", str(cut), "--resume"]) == 0
    assert _ids(cut) == _ids(whole) and cut.read_bytes().startswith(before)


def test_a_cut_last_line_is_made_again(asked: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert main([*asked, "--out", str(path)]) == 0
    ids = _ids(path)
    data = path.read_bytes()
    path.write_bytes(data[:-100])
    assert len(_ids(path)) == 23
    assert main([*asked, "--out", str(path), "--resume"]) == 0
    assert _ids(path) == ids


def test_a_file_of_an_earlier_version_is_gone_on_with(asked: list[str], tmp_path: Path) -> None:
    """Its options lack what there was not yet, and its lines have no seals."""
    path = tmp_path / "run.jsonl"
    assert main([*asked, "--out", str(path)]) == 0
    ids, lines = _ids(path), [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    del lines[0]["options"]["draft"]
    for line in lines:
        del line["seal"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:-2]), "utf-8")
    assert main([*asked, "--out", str(path), "--resume"]) == 0
    assert _ids(path) == ids and RecordReader(path).seals() == "absent"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (["--seed", "1"], "settings"),
        (["--methods", "autoregressive"], "methods"),
        (["--numerics", "fast"], "options"),
    ],
)
def test_a_run_of_another_kind_is_not_gone_on_with(
    change: list[str],
    word: str,
    asked: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "run.jsonl"
    assert main([*asked, "--out", str(path)]) == 0
    before = path.read_bytes()
    capsys.readouterr()
    assert main([*asked, "--out", str(path), "--resume", *change]) == 2
    error = capsys.readouterr().err
    assert f"made with other {word}" in error and path.read_bytes() == before


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (lambda header: header["pair"]["probe"].update(key="another torch"), "other kernels"),
        (lambda header: header.pop("suite"), "does not say its suite"),
        (lambda header: header.pop("options"), "does not say its options"),
    ],
)
def test_a_file_of_other_kernels_or_without_its_settings_is_not_gone_on_with(
    edit: Any, word: str, asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    assert main([*asked, "--out", str(path)]) == 0
    first, *rest = path.read_text("utf-8").splitlines()
    header = json.loads(first)
    edit(header)
    path.write_text("".join(f"{line}\n" for line in (json.dumps(header), *rest)), "utf-8")
    capsys.readouterr()
    assert main([*asked, "--out", str(path), "--resume"]) == 2
    error = capsys.readouterr().err
    assert word in error and error.count("error:") == 1


def test_a_prompt_that_cannot_be_made_is_refused_before_a_file_is(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **named: object) -> None:
        raise ValueError("the template takes no system message")

    monkeypatch.setattr("tests.tiny_pair.LetterCodec.prompt_ids", refuse)
    assert main([*asked, "--out", str(tmp_path / "run.jsonl")]) == 2
    assert not (tmp_path / "run.jsonl").exists()


def test_a_second_run_says_that_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And then goes on by itself."""
    path = tmp_path / "lock"
    monkeypatch.setattr(console, "machine_lock", lambda on_wait: machine_lock(on_wait, path))
    code = (
        "import sys, pathlib; from compare.lock import MachineLock\n"
        "with MachineLock(pathlib.Path(sys.argv[1])): print('held', flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdin is not None
    assert holder.stdout.readline() == "held\n"
    assert not MachineLock(path).poll()

    def let_go(message: str) -> None:
        said.append(message)
        assert holder.stdin is not None
        holder.stdin.write("\n")
        holder.stdin.flush()

    said: list[str] = []
    monkeypatch.setattr(console, "say", let_go)
    with console.alone():
        assert holder.wait(60) == 0
        assert not MachineLock(path).poll()
    assert said == ["another timed run is under way on this machine: waiting"]
    assert MachineLock(path).poll()
    assert os.path.exists(path)
