"""The seal of a line: what was edited shows, what was only written otherwise does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compare.page.reading import opened, shown_of
from compare.record_file import RecordReader, RecordWriter
from compare.records import RunKey
from compare.seal import is_broken, is_sealed, sealed
from tests.command_line import exit_code
from tests.records_by_hand import ENVIRONMENT, guessed, plain


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    writer = RecordWriter.create(path, ENVIRONMENT)
    writer.append(plain((1, 2, 3), RunKey("autoregressive", "p")))
    writer.append(guessed(RunKey("staged", "p")))
    writer.close()
    return path


def rewritten(path: Path, number: int, change: Callable[[dict[str, Any]], None]) -> Path:
    """`path` with its line of that number changed."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    change(lines[number - 1])
    path.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines), "utf-8")
    return path


def no_seal(line: dict[str, Any]) -> None:
    del line["seal"]


EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "text": lambda line: line.update(text="another text"),
    "draft passes": lambda line: line["steps"][0].update(draft_passes=77),
    "entropy": lambda line: line["steps"][0].update(entropy=[9.5] * 3),
    "seconds": lambda line: line["seconds"].update(prefill=1e-3),
    "an extra field": lambda line: line.update(note="fine"),
    "its seal": lambda line: line.update(seal="0" * 16),
    "no seal": no_seal,
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_a_run_shows(file: Path, edit: str) -> None:
    assert list(RecordReader(file).edited()) == []
    assert list(RecordReader(rewritten(file, 3, EDITS[edit])).edited()) == [3]


def test_verify_names_the_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("verify", str(rewritten(file, 3, EDITS["text"]))) == 3
    assert "BUG: line 3: edited since it was written" in capsys.readouterr().out


def test_an_edit_of_the_environment_shows(file: Path) -> None:
    changed = rewritten(file, 1, lambda line: line.update(commit="another"))
    assert list(RecordReader(changed).edited()) == [1]


def test_the_order_of_names_and_spaces_are_free(file: Path) -> None:
    """`rewritten` alone, which spaces and escapes otherwise, breaks no seal."""
    same = rewritten(file, 2, lambda line: None)
    assert list(RecordReader(same).edited()) == []


def test_a_file_of_an_earlier_version_has_no_seals(file: Path) -> None:
    for number in (1, 2, 3):
        rewritten(file, number, no_seal)
    assert list(RecordReader(file).edited()) == []


def test_any_text_and_number_keeps_its_seal() -> None:
    data = {"text": "\ud800 é 漢 \u2028", "x": 0.1 + 0.2, "n": 2**70, "t": (1, 2), "z": -0.0}
    back = json.loads(json.dumps(sealed(data)))
    assert is_sealed(back) and not is_broken(back)


def exported(file: Path) -> RecordReader:
    """What the page writes of what it read."""
    shown = shown_of(opened(file), "p", "imported", lambda records: {})
    assert shown.message()["seals"] == RecordReader(file).seals()
    again = file.with_name("again.jsonl")
    again.write_text(shown.lines, "utf-8")
    return RecordReader(again)


def test_the_page_seals_nothing_that_was_not_whole(file: Path) -> None:
    assert RecordReader(file).seals() == exported(file).seals() == "whole"
    edited = rewritten(file, 3, EDITS["text"])
    assert RecordReader(edited).seals() == exported(edited).seals() == "broken"
    for number in (1, 2):
        rewritten(edited, number, no_seal)  # begun by an earlier version, and edited later on
    assert RecordReader(edited).seals() == exported(edited).seals() == "broken"
    bare = rewritten(edited, 3, no_seal)
    assert RecordReader(bare).seals() == exported(bare).seals() == "absent"
