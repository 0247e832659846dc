"""Two record files side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compare.__main__ import main
from compare.diff import Side, diff, diff_text
from compare.digest import Digests
from compare.record_file import Line, RecordWriter
from compare.records import RunKey, RunRecord
from tests.hostile_records import HOSTILE_ENVIRONMENT, hostile_digests
from tests.records_by_hand import ENVIRONMENT, asked, edited, failed, guessed, hashes, plain

ANSWER = (1, 2, 3, 4, 5, 6)
HERE = {**ENVIRONMENT, "pair": {"pair": "toy", "probe": {"key": "one"}, "device": "cpu"}}
THERE = {**HERE, "pair": {"pair": "toy", "probe": {"key": "two"}, "device": "cuda"}}


def _runs(pace: float = 1.0) -> list[RunRecord]:
    return [plain(ANSWER, RunKey("autoregressive", "p"), pace), guessed(RunKey("staged", "p"))]


def _diff(
    first: list[RunRecord], second: list[RunRecord], a: Any = HERE, b: Any = HERE
) -> dict[str, Any]:
    return diff(Side("a.jsonl", a, Digests.of(first)), Side("b.jsonl", b, Digests.of(second)))


def test_figures_come_in_pairs_with_their_ratio() -> None:
    found = _diff(_runs(), _runs(0.5))["methods"]
    plain_figures, staged = found["autoregressive"]["figures"], found["staged"]["figures"]
    assert plain_figures["tokens_per_second"] == {"a": 1.0, "b": 2.0, "ratio": 2.0}
    assert staged["speedup"] == {"a": 6.0, "b": 3.0, "ratio": 0.5}
    assert plain_figures["acceptance_rate"] == {"a": None, "b": None, "ratio": None}
    assert plain_figures["draft_passes"] == {"a": 0, "b": 0, "ratio": None}


def test_hashes_are_compared_only_where_the_probes_have_the_same_key() -> None:
    same = _diff(_runs(), _runs())
    assert same["has_same_probe"] and same["methods"]["staged"]["logit_rows_equal"] == [6, 6]
    other = _diff(_runs(), _runs(), HERE, THERE)
    assert not other["has_same_probe"]
    assert other["methods"]["staged"]["logit_rows_equal"] is None
    assert other["methods"]["staged"]["ids"]["same"] == 1
    assert "not compared" in diff_text(other) and "6 of 6" in diff_text(same)
    assert not _diff(_runs(), _runs(), ENVIRONMENT, ENVIRONMENT)["has_same_probe"]


def test_ids_are_compared_on_the_prompts_that_both_were_asked() -> None:
    parted = edited(
        guessed(RunKey("staged", "p")),
        token_ids=(1, 2, 9, 4, 5, 6),
        logit_hashes=hashes((1, 2, 9, 4, 5, 6)),
    )
    first = [*_runs(), guessed(RunKey("staged", "only here")), guessed(RunKey("staged", "q"))]
    second = [_runs()[0], parted, asked(guessed(RunKey("staged", "q")), (1, 2))]
    found = _diff(first, second)["methods"]["staged"]
    assert found["ids"] == {
        "shared": 1,
        "same": 0,
        "partings": [{"prompt_id": "p", "repeat": 0, "position": 2}],
    }
    assert found["logit_rows_equal"] == [5, 6]
    failed_there = [_runs()[0], failed(RunKey("staged", "p"))]
    assert _diff(_runs(), failed_there)["methods"]["staged"]["ids"]["shared"] == 0


def test_rows_that_one_answer_has_alone_are_not_equal() -> None:
    short = plain(ANSWER[:4], RunKey("autoregressive", "p"))
    found = _diff(_runs(), [short])["methods"]["autoregressive"]
    assert found["logit_rows_equal"] == [4, 6] and found["ids"]["partings"][0]["position"] == 4


def test_environments_are_told_apart_by_name_and_methods_of_one_file_are_named() -> None:
    data = _diff([*_runs(), plain(ANSWER, RunKey("tree", "p"))], _runs(), HERE, THERE)
    assert data["environment"] == {
        "pair.probe.key": ["one", "two"],
        "pair.device": ["cpu", "cuda"],
    }
    assert data["only_in_a"] == ["tree"] and data["only_in_b"] == []
    assert "only in A: tree" in diff_text(data)
    assert _diff(_runs(), _runs())["environment"] == {}


def test_any_text_can_be_told() -> None:
    side = Side("a", HOSTILE_ENVIRONMENT, hostile_digests())
    assert "PWNED" in diff_text(diff(side, Side("b", HERE, hostile_digests())))


def _file(path: Path, *lines: Line) -> str:
    writer = RecordWriter.create(path, HERE)
    for line in lines:
        writer.append(line)
    writer.close()
    return str(path)


def test_the_command_knows_only_0_and_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = edited(_runs()[1], token_ids=(1, 2, 9, 4, 5, 6))
    first = _file(tmp_path / "a", *_runs())
    second = _file(tmp_path / "b", _runs()[0], wrong)
    assert main(["diff", first, second]) == 0
    assert "they part in p (repeat 0) at token 2" in capsys.readouterr().out
    assert main(["diff", first, second, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["methods"]["staged"]["ids"]["same"] == 0
    assert main(["diff", first, str(tmp_path / "no")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
