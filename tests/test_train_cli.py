"""`python -m ssd.train`: the steps on a tiny target, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ssd.models.assets import read_card
from ssd.train.__main__ import main
from tests.training import corpus, write_target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a tiny target and text."""
    write_target(tmp_path / "target")
    corpus(80).save(tmp_path / "text.npz")
    return tmp_path


def step(folder: Path, name: str, *more: str) -> int:
    """One step, in the folder."""
    given = ["--target", str(folder / "target"), "--corpus", str(folder / "text.npz")]
    return main([name, *given, "--out", str(folder / "draft"), *more])


DRAFT = ("--ids", "40", "--tokens", "6e3", "--batch", "512", "--lr", "2e-2", "--decay", "0.5")


def test_steps_make_a_draft_with_a_card(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Draft, N-gram, calibration, card, export: each leaves its settings or figures behind."""
    assert step(folder, "draft", *DRAFT) == 0
    assert step(folder, "calibrate", "--documents", "4") == 0
    assert main(["card", "--out", str(folder / "draft")]) == 0
    card = read_card(folder / "draft")
    assert card["training"]["settings"]["lr"] == 0.02
    assert card["training"]["settings"]["layers"] == [0, 1], "the first and the last two of two"
    assert card["calibration"][0]["temperature"] == 0.0
    assert "0.02" in (folder / "draft" / "README.md").read_text()
    out = str(folder / "whole")
    draft, target = str(folder / "draft"), str(folder / "target")
    assert main(["export", "--target", target, "--draft", draft, "--out", out]) == 0
    assert (folder / "whole" / "config.json").is_file()
    assert "held out" in capsys.readouterr().out


def test_lessons_are_used(folder: Path) -> None:
    """The card says on how many documents."""
    lessons = str(folder / "lessons")
    given = ["--target", str(folder / "target"), "--corpus", str(folder / "text.npz")]
    assert main(["teach", *given, "--out", lessons, "--documents", "50", "--kept", "4"]) == 0
    assert step(folder, "draft", *DRAFT, "--teaching", lessons) == 0
    assert read_card(folder / "draft")["training"]["lessons"] == 50


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["draft", "--target", "no/such/folder"], "--target must be a model folder"),
        (["draft", "--minutes", "-1"], "--minutes must be a number above 0"),
        (["draft", "--lr", "0"], "--lr must lie above 0"),
        (["draft", "--teaching", "nowhere"], "run `python -m ssd.train teach` first"),
        (["draft", "--start", "x", "--layers", "0,1"], "cannot be given together"),
        (["ngram", "--temperature", "0"], "--temperature must be a number above 0"),
        (["calibrate"], "train one first"),
    ],
)
def test_refusals_are_one_line_and_exit_2(
    folder: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    name, *more = arguments
    assert step(folder, name, *more) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    assert not (folder / "draft").exists()


def test_options_that_are_no_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """The parser's own refusals are one line too."""
    for more in (["--tokens", "none"], ["--layers", "a,b"], ["--seed", "-1"]):
        with pytest.raises(SystemExit) as ended:
            main(["draft", "--corpus", "x.npz", "--out", "y", *more])
        assert ended.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_corpus_names_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An .npz, and prompts that can be read."""
    assert main(["corpus", "--out", str(tmp_path / "text.txt")]) == 2
    assert "must end in .npz" in capsys.readouterr().err
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps({"txt": 1}))
    arguments = ["corpus", "--out", str(tmp_path / "text.npz"), "--prompts", str(path)]
    assert main(arguments) == 2
    assert "line 1" in capsys.readouterr().err
