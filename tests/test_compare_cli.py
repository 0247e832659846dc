"""The command line of compare: refusals, exit codes, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from compare import cli
from compare.record_file import Line, RecordWriter
from compare.records import RunKey, RunRecord
from compare.run import Plan
from compare.settings import Settings
from compare.verdict_record import VerdictRecord
from tests.command_line import assert_refused, exit_code
from tests.records_by_hand import ENVIRONMENT, edited, failed, guessed, plain
from tests.test_run import METHODS, SUITE, FakeBench, FakeCodec

REFERENCE = plain((1, 2, 3, 4, 5, 6), RunKey("autoregressive", "p"))
STAGED = guessed(RunKey("staged", "p"))


def _file(folder: Path, *lines: Line) -> Path:
    path = folder / "run.jsonl"
    writer = RecordWriter.create(path, ENVIRONMENT)
    for line in lines:
        writer.append(line)
    writer.close()
    return path


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("--limit 0", "--limit"),
        ("--nodes 1000", "nodes must be auto or 0 to 127"),
        ("--chain -1", "chain must be auto or 0 to 127"),
        ("--methods speculative:1000", "chain must be auto or 0 to 127"),
        ("--methods speculative:x", "whole number"),
        ("--limit x", "whole number"),
        ("--repeats 0", "--repeats"),
        ("--methods magic", "magic"),
        ("--methods staged,staged", "more than once"),
        ("--methods ,", "at least one"),
        ("--suite no-such-suite", "no suite"),
        ("--suite .", "folder"),
        ("--temperature -1", "--temperature"),
        ("--temperature nan", "--temperature"),
        ("--top-k -1", "--top-k"),
        ("--top-p 0", "--top-p"),
        ("--seed -1", "--seed"),
        ("--max-new-tokens 0", "--max-new-tokens"),
        ("--pair nobody", "pair"),
        ("--precision fp8", "precision"),
        ("--numerics wild", "numerics"),
        ("--no-such-option", "--no-such-option"),
    ],
)
def test_a_bad_argument_is_one_line_and_nothing_is_written(
    options: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.jsonl"
    assert_refused(("run", "--out", str(out), *options.split()), word, tmp_path, capsys)


def test_an_output_that_exists_or_has_no_place_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, REFERENCE)
    before = path.read_bytes()
    for out, word in (
        (path, "--resume"),
        (tmp_path, "folder"),
        (tmp_path / "no" / "r", "no folder"),
    ):
        assert exit_code("run", "--out", str(out)) == 2
        assert word in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_file_to_resume_is_checked_before_anything_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, REFERENCE)
    path.write_bytes(path.read_bytes().replace(b'"length"', b"NaN", 1))
    before = path.read_bytes()
    assert exit_code("run", "--out", str(path), "--resume") == 2
    assert "line 2" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_summary_prints_a_table_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, REFERENCE, STAGED)
    assert exit_code("summary", str(path)) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("staged"))
    assert "6.00x" in row and "1 IDENTICAL" in row and "6 of 6" in row and "66.7%" in row
    assert exit_code("summary", str(path), "--json") == 0
    assert json.loads(capsys.readouterr().out)["methods"]["staged"]["target_passes"] == 2


def test_summary_tells_of_looping_answers_and_noise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        plain(tokens, RunKey("autoregressive", prompt, repeat), pace)
        for prompt, tokens in (("circle", (1, 2) * 20), ("straight", tuple(range(40))))
        for repeat, pace in enumerate((1.0, 3.0))
    ]
    assert exit_code("summary", str(_file(tmp_path, *runs))) == 0
    printed = capsys.readouterr().out
    assert "Without looping answers" in printed and "1: circle" in printed
    assert printed.count("autoregressive  ") == 2 and "Noisy machine" in printed
    (tmp_path / "run.jsonl").unlink()
    assert exit_code("summary", str(_file(tmp_path, *runs[2::2]))) == 0
    printed = capsys.readouterr().out
    assert "looping" not in printed and "Noisy" not in printed


@pytest.mark.parametrize(("by", "word"), [("category", "toy, 1 prompts"), ("prompt", "6.00x")])
def test_summary_by_category_and_by_prompt(
    by: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("summary", str(_file(tmp_path, REFERENCE, STAGED)), "--by", by) == 0
    assert word in capsys.readouterr().out
    assert exit_code("summary", str(tmp_path / "run.jsonl"), "--by", "day") == 2


def test_summary_knows_only_0_and_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = edited(STAGED, token_ids=(1, 2, 3, 4, 5, 7))
    assert exit_code("summary", str(_file(tmp_path, REFERENCE, bad))) == 0
    assert "1 BUG" in capsys.readouterr().out
    assert exit_code("summary", str(tmp_path / "no")) == 2
    assert exit_code("summary", str(tmp_path)) == 2


def test_verify_finds_good_records_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("verify", str(_file(tmp_path, REFERENCE, STAGED))) == 0
    assert "staged: 1 IDENTICAL" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        edited(STAGED, token_ids=(1, 2, 3, 4, 5, 7)),
        edited(STAGED, logit_hashes=("0" * 16, *STAGED.logit_hashes[1:])),
        edited(STAGED, logit_hashes=()),
        edited(STAGED, steps=STAGED.steps[:1]),
        edited(STAGED, prompt_ids=(1,)),
    ],
)
def test_verify_finds_a_record_edited_by_hand(line: Line, tmp_path: Path) -> None:
    assert exit_code("verify", str(_file(tmp_path, REFERENCE, line))) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"token_ids":[1,2,3,4,5,6]', b'"token_ids":[1,2,3,4,5,7]'),
        (b'"tokens":[1,2,3]', b'"tokens":[1,2,4]'),
        (b'"parents":[-1,0,0,1,3]', b'"parents":[-1,0,0,2,3]'),
        (b'"origins":["ngram","draft","target"]', b'"origins":["draft","draft","target"]'),
        (b'"draft_n":4', b'"draft_n":3'),
        (b'"draft_n_accepted":2', b'"draft_n_accepted":1'),
        (b'"depth":3', b'"depth":2'),
        (b'"time":0.5', b'"time":0.4'),
        (b'"target":0.375', b'"target":0.275'),
        (b'"finish_reason":"length"', b'"finish_reason":"stop"'),
        (b'"0000000000000001"', b'"0000000000000002"'),
        (b'"0000000000000001",', b""),
        (b'"prompt_ids":[7,8,9]', b'"prompt_ids":[7,7,9]'),
    ],
)
def test_verify_finds_a_byte_changed_in_the_staged_run_s_line(
    old: bytes, new: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, REFERENCE, STAGED)
    head, reference, staged = path.read_bytes().splitlines(keepends=True)
    assert old in staged
    path.write_bytes(head + reference + staged.replace(old, new, 1))
    assert exit_code("verify", str(path)) == 3
    assert "BUG: staged on p" in capsys.readouterr().out


def test_verify_finds_hashes_missing_where_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    alone = edited(STAGED, logit_hashes=STAGED.logit_hashes[1:])
    assert exit_code("verify", str(_file(tmp_path, alone))) == 3


def test_verify_tells_a_failure_from_a_bug(tmp_path: Path) -> None:
    path = _file(tmp_path, REFERENCE, failed(RunKey("staged", "p")))
    assert exit_code("verify", str(path)) == 4


def test_a_claimed_near_tie_cannot_hide_a_parting_in_an_exact_configuration(tmp_path: Path) -> None:
    parted = plain((1, 2, 9, 4, 5, 6), RunKey("tree", "p"))
    verdict = VerdictRecord(parted.key, "BUG", "the ids part at token 2", 2)
    assert exit_code("verify", str(_file(tmp_path, REFERENCE, parted, verdict))) == 3


def test_a_soak_refuses_what_it_varies(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ("--tokens 0", "--temperature 1", "--top-k 5"):
        assert exit_code("soak", *options.split()) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(("wrong", "code"), [(False, 0), (True, 3)])
def test_the_exit_code_of_a_run_is_its_verdict(
    wrong: bool, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(tmp_path, FakeBench(lambda key: _parted(key) if wrong else None)) == code
    assert ("BUG: staged on b" in capsys.readouterr().err) == wrong
    assert exit_code("verify", str(tmp_path / "run.jsonl")) == code


def test_a_run_whose_method_fails_exits_with_4(tmp_path: Path) -> None:
    broken = FakeBench(lambda key: failed(key) if key == RunKey("staged", "b") else None)
    assert _run(tmp_path, broken) == 4


def test_ctrl_c_ends_with_a_summary_of_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(key: RunKey) -> None:
        if key == RunKey("staged", "b"):
            raise KeyboardInterrupt

    assert _run(tmp_path, FakeBench(interrupt)) == 130
    assert "autoregressive" in capsys.readouterr().out
    assert exit_code("summary", str(tmp_path / "run.jsonl")) == 0


def _parted(key: RunKey) -> RunRecord | None:
    return plain((1, 2, 9), key) if key == RunKey("staged", "b") else None


def _run(folder: Path, bench: FakeBench) -> int:
    path = folder / "run.jsonl"
    plan = Plan(SUITE, METHODS, Settings(), 1, ENVIRONMENT)
    bench.pair = SimpleNamespace(target=None, codec=FakeCodec())
    return cli.execute(plan, bench, RecordWriter.create(path, ENVIRONMENT), path)  # type: ignore[arg-type]
