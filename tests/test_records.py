"""Record files: what is written comes back, and what is not whole is refused."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compare.digest import Digests
from compare.record_details import Candidate, InnerPass, StepDetails
from compare.record_file import RecordReader, RecordWriter
from compare.records import RunKey, RunRecord
from compare.verdict_record import VerdictRecord
from tests.records_by_hand import ENVIRONMENT, edited, failed, guessed, plain

KEY = RunKey("staged", "p", 1)
STEP_KEYS = "tokens origins tree path depth draft_passes time seconds draft_n draft_n_accepted"
RUN_KEYS = (
    "kind method prompt_id category repeat prompt_ids token_ids logit_hashes text finish_reason "
    "steps seconds bytes_read error"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of three records."""
    path = tmp_path / "run.jsonl"
    writer = RecordWriter.create(path, ENVIRONMENT)
    for line in (
        plain((1, 2), RunKey("autoregressive", "p")),
        guessed(KEY),
        failed(RunKey("tree", "p")),
    ):
        writer.append(line)
    writer.close()
    return path


def test_json_has_the_names_of_the_contract() -> None:
    data = json.loads(json.dumps(guessed(KEY).to_json()))
    assert list(data) == RUN_KEYS.split()
    step = data["steps"][0]
    assert list(step) == STEP_KEYS.split()
    assert (step["depth"], step["draft_n"], step["draft_n_accepted"]) == (3, 4, 2)
    assert set(step["tree"]) == {"tokens", "parents", "origins"}
    assert set(step["seconds"]) == {"ngram", "draft", "target", "other"}
    assert set(data["seconds"]) == {"prefill", "ngram", "draft", "target", "other"}


def test_records_come_back_as_they_were(file: Path) -> None:
    lines = list(RecordReader(file).lines())
    assert lines[1] == guessed(KEY)
    assert isinstance(lines[2], RunRecord)
    assert lines[2].error == "it broke" and lines[2].seconds is None
    first = json.loads(file.read_text().splitlines()[0])
    assert first["kind"] == "environment" and first["schema"] == 1


def test_a_verdict_comes_back_as_it_was(file: Path) -> None:
    verdict = VerdictRecord(KEY, "NEAR-TIE", "why", 3, (4, 5), 0.1, 0.2)
    writer = RecordWriter.resume(file, RecordReader(file).whole_bytes())
    writer.append(verdict)
    writer.close()
    assert list(RecordReader(file).lines())[-1] == verdict


def test_half_a_character_and_any_text_survive(tmp_path: Path) -> None:
    writer = RecordWriter.create(tmp_path / "r", {**ENVIRONMENT, "note": "\ud800 春 \u2028"})
    writer.close()
    assert RecordReader(tmp_path / "r").environment()["note"] == "\ud800 春 \u2028"


def test_an_output_is_never_overwritten(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(ValueError, match="--resume"):
        RecordWriter.create(file, ENVIRONMENT)
    assert file.read_bytes() == before


def test_an_output_without_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        RecordWriter.create(tmp_path / "no" / "r", ENVIRONMENT)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_a_full_disk_is_one_sentence() -> None:
    writer = RecordWriter(Path("/dev/full"), io.FileIO("/dev/full", "r+"))
    with pytest.raises(ValueError, match="takes no more"):
        writer.append(guessed(KEY))


def test_a_cut_last_line_is_dropped_with_a_word_and_resume_goes_on(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    words: list[str] = []
    lines = list(RecordReader(file, words.append).lines())
    assert len(lines) == 2
    assert any("line 4" in word for word in words)
    writer = RecordWriter.resume(file, RecordReader(file).whole_bytes())
    writer.append(failed(RunKey("tree", "p")))
    writer.close()
    assert file.read_bytes() == whole


def test_what_is_read_again_is_read_with_the_word_once(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])
    words: list[str] = []
    list(RecordReader(file, words.append).lines())
    assert len(words) == 1


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (b'"time":0.5', b'"time":NaN', "NaN"),
        (b'"time":0.5', b'"time":1e999', "1e999"),
        (b'"time":0.5', b'"time":"x"', "number"),
        (b'"time":0.5,', b"", "time"),
        (b'"path":[1,3]', b'"path":[1,9]', "path"),
        (b'"parents":[-1,0,1]', b'"parents":[-1,2,1]', "parents"),
        (b'"parents":[-1,0,1]', b'"parents":[-1,0]', "uneven"),
        (b'["ngram"', b'["ghost"', "ghost"),
        (b'"kind":"run","method":"staged"', b'"kind":"walk","method":"staged"', "walk"),
        (b'"prompt_id":"p","category":"toy","repeat":1', b'"prompt_id":"p"', "repeat"),
        (b'"steps":[{"tokens":[1,2,3]', b'"steps":[[{"tokens":[1,2,3]', "JSON"),
    ],
)
def test_a_bad_line_in_the_middle_is_named(file: Path, old: bytes, new: bytes, word: str) -> None:
    file.write_bytes(file.read_bytes().replace(old, new, 1))
    with pytest.raises(ValueError, match="line 3") as refusal:
        list(RecordReader(file).lines())
    assert word in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_cut_anywhere_but_in_the_last_line_is_refused(file: Path) -> None:
    """Bytes missing around the end of the first or the second line."""
    whole = file.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    for number in (1, 2):
        end = ends[number - 1]
        file.write_bytes(whole[: end - 5] + whole[end + 5 :])
        with pytest.raises(ValueError, match=rf"line {number}\b.*not valid JSON"):
            list(RecordReader(file).lines())


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"kind":"run","x":' + b'{"a":' * 100_000,
        b'{"kind":"run","x":' + b"9" * 5000 + b"}",
        b'{"kind":"run"}',
        b'{"kind":"verdict","method":"a"}',
        b"\xff\xfe",
        b"null",
        b"",
    ],
)
def test_a_line_that_is_no_record_is_one_sentence(file: Path, line: bytes) -> None:
    with file.open("ab") as end:
        end.write(line + b"\n")
    with pytest.raises(ValueError, match=r"line 5") as refusal:
        list(RecordReader(file).lines())
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("pair", [], "pair"),
        ("settings", 1, "settings"),
        ("settings", {"temperature": "hot"}, "number"),
        ("suite", "quick", "suite"),
        ("is_exact", "yes", "is_exact"),
    ],
)
def test_an_environment_of_other_types_is_refused(
    tmp_path: Path, key: str, value: Any, word: str
) -> None:
    RecordWriter.create(tmp_path / "r", {**ENVIRONMENT, key: value}).close()
    with pytest.raises(ValueError, match=rf"line 1: .*{word}"):
        RecordReader(tmp_path / "r").environment()


def test_a_file_is_read_as_a_stream(tmp_path: Path) -> None:
    """In memory at once are a few records, and of those read the digests: not the file."""
    path, run = tmp_path / "long", _detailed()
    long = edited(run, text="x" * 200_000)
    writer = RecordWriter.create(path, ENVIRONMENT)
    for repeat in range(60):
        writer.append(edited(long, key=RunKey("staged", "p", repeat)))
    writer.close()
    assert path.stat().st_size > 12_000_000
    tracemalloc.start()
    digests = Digests.of(RecordReader(path).lines())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(digests.runs) == 60 and peak < 3_000_000


def test_a_second_record_of_one_run_is_refused(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines, lines[1]]))
    with pytest.raises(ValueError, match=r"line 5.*second time"):
        list(RecordReader(file).lines())


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "not a record file"),
        (b"{}\n", "not a record file"),
        (b"[]\n", "line 1"),
        (b'{"kind":"environment","schema":2}\n', "schema 2"),
        (b'{"kind":"environment"', "cut"),
        (b"\xff\xfe\x00\n", "line 1"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "r").write_bytes(content)
    with pytest.raises(ValueError, match=word):
        list(RecordReader(tmp_path / "r").lines())


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no"):
        with pytest.raises(ValueError, match="cannot be read"):
            RecordReader(path).environment()


DETAILS = StepDetails(
    target=tuple((Candidate(token, 0.5, -0.25), Candidate(7, 0.25, 1.5)) for token in range(5)),
    entropy=(0.0, 1.5, None, 0.25, 2.0),
    draft=((Candidate(1, 1.0),), None, None, (), None),
    inner=(InnerPass(((), (1,)), ((1, 2),)), InnerPass(((1, 2, 9),))),
)


def _detailed() -> RunRecord:
    run = guessed(KEY)
    first = replace(run.steps[0], entropy=(0.5, None, 0.0), details=DETAILS)
    return edited(run, steps=(first, run.steps[1]))


def _data() -> Any:
    return json.loads(json.dumps(_detailed().to_json()))


def test_entropy_and_details_come_back_as_they_were() -> None:
    step = _data()["steps"][0]
    assert list(step) == [*STEP_KEYS.split(), "entropy", "details"]
    assert step["entropy"] == [0.5, None, 0.0]
    assert step["details"]["target"][0] == [[0, 0.5, -0.25], [7, 0.25, 1.5]]
    assert step["details"]["draft"] == [[[1, 1.0]], None, None, [], None]
    assert step["details"]["inner"][0] == {"wanted": [[], [1]], "ahead": [[1, 2]]}
    assert RunRecord.from_json(_data()) == _detailed()


@pytest.mark.parametrize(
    "details", [None, 1, "x", [], {}, {"target": [], "of": "another version"}, {"version": 9}]
)
def test_details_of_another_kind_are_as_if_absent(details: Any) -> None:
    data = _data()
    data["steps"][0]["details"] = details
    assert RunRecord.from_json(data).steps[0].details is None
    data["steps"][0]["details"] = {**_data()["steps"][0]["details"], "more": 1}
    assert RunRecord.from_json(data) == _detailed()


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("target", [[[1, 0.5]]] * 4, "number of nodes"),
        ("target", [[[1, 0.5]]] * 6, "6 nodes"),
        ("target", [[[1, 1.5]]] * 5, "probability"),
        ("target", [[[1, float("nan")]]] * 5, "nan"),
        ("target", [[[1, 0.5, float("inf")]]] * 5, "inf"),
        ("target", [[[1]]] * 5, "probability"),
        ("target", [[[1, 0.5, 0.0, 0.0]]] * 5, "4 a candidate"),
        ("target", [[[1.0, 0.5]]] * 5, "whole number"),
        ("target", [[[1 << 70, 0.5]]] * 5, "64 bits"),
        ("target", [[[1, 0.5]] * 65] * 5, "65 candidates"),
        ("target", [[[1, "0.5"]]] * 5, "number"),
        ("target", [{}] * 5, "list"),
        ("draft", [None] * 4, "number of nodes"),
        ("entropy", [0.0] * 4, "entropies"),
        ("entropy", [-1.0] * 5, "below 0"),
        ("inner", [{"wanted": []}], "ahead"),
        ("inner", [{"wanted": [[0] * 1025], "ahead": []}], "1025 ids"),
        ("inner", [{"wanted": [[]], "ahead": []}] * 1025, "1025 passes"),
        ("inner", [{"wanted": [[True]], "ahead": []}], "True"),
    ],
)
def test_details_that_cannot_be_are_refused(key: str, value: Any, word: str) -> None:
    data = _data()
    data["steps"][0]["details"][key] = value
    with pytest.raises(ValueError, match=word):
        RunRecord.from_json(data)


@pytest.mark.parametrize("value", [[0.5], [0.5, 0.5, -1], "x", [0.5, 0.5, float("nan")], 1e400])
def test_an_entropy_that_cannot_be_is_refused(value: Any) -> None:
    data = _data()
    data["steps"][0]["entropy"] = value
    with pytest.raises(ValueError):
        RunRecord.from_json(data)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bytes_read", "many"),
        ("finish_reason", 3),
        ("error", ["no"]),
        ("settings", "none"),
        ("token_ids", "123"),
        ("token_ids", [10**400]),
        ("seconds", [1]),
        ("seconds", {"prefill": -1.0, "ngram": 0, "draft": 0, "target": 0, "other": 0}),
    ],
)
def test_a_field_of_another_type_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ValueError):
        RunRecord.from_json({**_data(), key: value})
