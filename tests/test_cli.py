"""`python -m ssd generate`: what is refused, in one line, with exit code 2, without a model."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

import ssd.models.load
from ssd import commands
from ssd.__main__ import main

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is asked for here is a failed test."""

    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("a model was loaded for an input that can be refused without one")

    monkeypatch.setattr(ssd.models.load, "load_pair", refuse)


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr of a command that is refused."""
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    told = capsys.readouterr()
    assert code == 2 and told.out == ""
    lines = told.err.splitlines()
    assert len(lines) == 1 and told.err.endswith("\n"), told.err
    return lines[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--temperature", "-1"], "--temperature must be a number of 0 or more, got -1.0"),
        (["--temperature", "nan"], "--temperature must be a number of 0 or more, got nan"),
        (["--temperature", "inf"], "--temperature must be a number of 0 or more, got inf"),
        (["--temperature", "warm"], "--temperature"),
        (["--top-k", "-1"], "--top-k must be 0 (off) or more, got -1"),
        (["--top-k", "2.5"], "--top-k"),
        (["--top-p", "0"], "--top-p must lie above 0 and at most at 1, got 0.0"),
        (["--top-p", "1.5"], "--top-p must lie above 0 and at most at 1, got 1.5"),
        (["--top-p", "nan"], "--top-p must lie above 0 and at most at 1, got nan"),
        (["--repetition-penalty", "0"], "--repetition-penalty must be a number above 0, got 0.0"),
        (["--seed", "-1"], "--seed must lie from 0 to 2^64 - 1, got -1"),
        (["--seed", str(2**64)], f"--seed must lie from 0 to 2^64 - 1, got {2**64}"),
        (["--max-new-tokens", "0"], "--max-new-tokens must be 1 or more, got 0"),
        (["--max-new-tokens", "-5"], "--max-new-tokens must be 1 or more, got -5"),
        (["--method", "psychic"], "--method must be one of autoregressive, speculative, staged"),
        (["--pair", "none"], "pair must be one of smollm2-135m"),
        (["--precision", "fp8"], "precision must be one of auto, bf16"),
        (["--numerics", "sloppy"], "numerics must be one of exact, fast, got 'sloppy'"),
        (["--device", "abacus"], "device must be auto, cpu or cuda[:N], got 'abacus'"),
        (["--device", "mps"], "device must be auto, cpu or cuda[:N], got 'mps'"),
        (["--device", "cuda:99"], "device"),
        (["--threads", "0"], "threads must lie from 1 to 1024, got 0"),
        (["--nodes", "-1"], "nodes must be auto or 0 to 127, got -1"),
        (["--nodes", "128"], "nodes must be auto or 0 to 127, got 128"),
        (["--nodes", "many"], "--nodes"),
        (["--chain", "500"], "chain must be auto or 0 to 127, got 500"),
        (["--stop", ""], "--stop must have at least one character"),
        (["--frobnicate"], "--frobnicate"),
    ],
)  # fmt: skip
def test_bad_options(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    if options[0] != "--device":  # load_pair itself refuses devices, before it loads
        request.getfixturevalue("no_model")
    line = refused(["generate", "--prompt", "Hello", *options], capsys)
    assert words in line, line


def test_devices_are_refused_before_a_model_is_looked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "device" in refused(["generate", "--prompt", "Hi", "--device", "abacus"], capsys)
    assert not list(tmp_path.iterdir()), "nothing is written"


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("prompt", ["", " ", "\n\t ", "\u3000"])
def test_a_prompt_without_text(prompt: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["generate", "--prompt", prompt], capsys)
    assert "prompt" in line and "some text" in line


@pytest.mark.usefixtures("no_model")
def test_prompt_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "prompt"
    line = refused(["generate", "--prompt-file", str(file)], capsys)
    assert "--prompt-file must be a readable UTF-8 text file" in line and str(file) in line
    assert "--prompt-file" in refused(["generate", "--prompt-file", str(tmp_path)], capsys)
    file.write_bytes(b"\xff\xfe caf\xe9")
    assert "UTF-8" in refused(["generate", "--prompt-file", str(file)], capsys)
    file.write_bytes(b"  \n")
    assert "some text" in refused(["generate", "--prompt-file", str(file)], capsys)

    class Pipe:
        buffer = io.BytesIO(b"\xff")

    monkeypatch.setattr(sys, "stdin", Pipe())
    assert "UTF-8" in refused(["generate", "--prompt-file", "-"], capsys)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    "arguments",
    [[], ["generate"], ["dance"], ["generate", "--prompt", "a", "--prompt-file", "b"]],
)
def test_missing_or_contradicting_arguments(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    refused(arguments, capsys)


def test_a_model_folder_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = refused(["generate", "--prompt", "Hi", "--model-dir", str(tmp_path)], capsys)
    assert "config.json" in line and str(tmp_path) in line
    assert not list(tmp_path.iterdir())


def test_exit_codes_of_what_goes_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    def refusing() -> int:
        raise ValueError("expected this,\n  got that")

    def unreadable() -> int:
        Path("/proc/1/nowhere").read_text()
        return 0

    def without_numbers() -> int:
        raise FloatingPointError("the model's logits hold a NaN")

    assert commands.run_command(unreadable) == 2
    assert commands.run_command(without_numbers) == 4
    assert capsys.readouterr().err.count("error: ") == 2
    assert commands.run_command(interrupted) == 130
    assert commands.run_command(refusing) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "error: expected this, got that"


def test_the_command_itself() -> None:
    """As a person runs it, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "ssd", "generate", "--prompt", "Hi", "--seed", "-1"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --seed must lie from 0 to 2^64 - 1, got -1\n"
