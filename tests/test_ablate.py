"""The ablation: its grid, its table, its figure, the command."""

from __future__ import annotations

import csv
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from compare import conduct
from compare.ablate import SOURCES, Cell, Grid, ablation_csv, ablation_text, cells
from compare.ablate_figure import ablation_figure, ablation_page
from compare.digest import Digests
from compare.metrics import summary
from compare.naming import check_methods
from compare.record_file import RecordReader
from compare.records import RunKey, RunRecord
from tests.command_line import assert_refused, exit_code
from tests.records_by_hand import ENVIRONMENT, failed, guessed, plain
from tests.tiny_pair import tiny_pair

STAGED = guessed(RunKey("staged:4:2:katz", "p"))
LINES = (
    plain((1, 2, 3, 4, 5, 6), RunKey("autoregressive", "p")),
    replace(STAGED, bytes_read=600),
    failed(RunKey("staged:4:2:none", "p")),
)


def _cells() -> list[Cell]:
    environment = {
        **ENVIRONMENT,
        "methods": ["autoregressive", "staged:4:2:katz", "staged:4:2:none", "staged:4:2:both"],
    }
    return list(cells(summary(environment, Digests.of(LINES))))


def test_the_grid_is_every_combination_and_the_reference() -> None:
    methods = Grid((4, None), (2, None), SOURCES).methods()
    assert check_methods(methods) == methods
    assert methods[0] == "autoregressive" and len(methods) == 1 + 2 * 2 * 4
    assert "staged:4:2:katz" in methods and "staged:auto:auto:both" in methods
    assert len(Grid().methods()) == 1 + 3 * 2 * 4


def test_a_cell_is_what_the_records_say() -> None:
    """By hand: 6 tokens in 2 passes, 2 and 1 draft passes, N-gram 0.125 s in both rounds."""
    found, nothing = _cells()
    passes = sum(step.draft_passes for step in STAGED.steps)
    ngram = sum(step.seconds.ngram for step in STAGED.steps)
    assert found == Cell(
        0.0, "katz", "4", "2", 3.0, passes / 2, 100.0, 6.0, 6.0, 6.0, pytest.approx(ngram / 2)
    )
    assert nothing.sources == "none" and nothing.latency is None
    assert nothing.tokens_per_pass is None and nothing.ngram_s_per_round is None


def test_the_table_and_the_csv_hold_every_cell() -> None:
    text = ablation_text(_cells())
    rows = [line.split() for line in text.splitlines()[2:]]
    assert text.startswith("temperature 0.0") and len(rows) == 2
    assert rows[0][:4] == ["katz", "4", "2", "3.00"] and "6.00" in rows[0]
    assert rows[1][3:] == ["-"] * 6
    lines = list(csv.DictReader(ablation_csv(_cells()).splitlines()))
    assert [line["sources"] for line in lines] == ["katz", "none"]
    assert float(lines[0]["latency"]) == 6.0 and lines[1]["latency"] == ""


def test_the_figure_has_a_panel_for_each_effect_and_temperature() -> None:
    warm = [replace(cell, temperature=1.0) for cell in _cells()]
    figure = ablation_figure([*_cells(), *warm])
    titles = [note.text for note in figure.layout.annotations]
    assert len(titles) == 10 and "tokens per target pass, T = 1" in titles
    assert len(figure.data) == 2 * 10
    named = [trace.name for trace in figure.data if trace.showlegend]
    assert named == ["N-gram katz, depth 2", "N-gram none, depth 2"]
    assert 3.0 in [trace.y[0] for trace in figure.data]
    page = ablation_page(_cells())
    assert page.startswith("<!doctype html>") and "Plotly" in page
    assert 'src="http' not in page and "cdn." not in page.split("plotly.js")[0]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("--temperature 1", "--temperature"),
        ("--nodes 3", "--nodes"),
        ("--chain 3", "--chain"),
        ("--sizes 4,x", "--sizes"),
        ("--sizes ,", "--sizes"),
        ("--sizes 1000", "0 to 127"),
        ("--sizes 4,4", "more than once"),
        ("--depths -1", "--depths"),
        ("--sources gossip", "--sources"),
        ("--temperatures x", "--temperatures"),
        ("--temperatures 0,nan", "--temperatures"),
        ("--temperatures 1,1.0", "more than once"),
        ("--limit 0", "--limit"),
        ("--suite no-such-suite", "no suite"),
    ],
)
def test_a_bad_argument_is_one_line_and_nothing_is_written(
    options: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ablate.jsonl"
    assert_refused(("ablate", "--out", str(out), *options.split()), word, tmp_path, capsys)


def test_a_file_that_is_in_the_way_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = tmp_path / "ablate.csv"
    held.write_text("mine")
    assert exit_code("ablate", "--out", str(tmp_path / "ablate.jsonl")) == 2
    assert "exists already" in capsys.readouterr().err and held.read_text() == "mine"


def test_the_command_writes_records_a_page_and_a_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = tiny_pair(tmp_path / "target")
    monkeypatch.setattr(conduct, "load", lambda options: pair)
    monkeypatch.setattr(conduct, "alone", nullcontext)
    suite = tmp_path / "suite.jsonl"
    suite.write_text(json.dumps({"id": "one", "text": "one and one and one"}) + "\n")
    asked = (
        "ablate", "--suite", str(suite), "--out", str(tmp_path / "a.jsonl"), "--sizes", "3,9",
        "--depths", "2", "--sources", "none,match", "--max-new-tokens", "12",
    )  # fmt: skip
    assert exit_code(*asked) == 0
    assert "temperature 1.0" in capsys.readouterr().out
    for label in ("T0", "T1"):
        path = tmp_path / f"a-{label}.jsonl"
        runs = [line for line in RecordReader(path).lines() if isinstance(line, RunRecord)]
        assert [run.error for run in runs] == [None] * 5
        for run in runs:
            if run.key.method.startswith("staged"):
                deepest = max(max(step.tree.depths) for step in run.steps)
                origins = {origin for step in run.steps for origin in step.tree.origins}
                assert deepest <= 2
                assert ("ngram" in origins) <= run.key.method.endswith("match")
        assert exit_code("verify", str(path)) == 0
    lines = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(lines) == 2 * 4
    first = (tmp_path / "a.html").read_text()
    assert "T = 1" in first and exit_code(*asked, "--resume") == 0
