"""Drafts by tokens per second: figures by hand from a record of two prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ssd.models.assets import read_card, write_draft
from ssd.train.__main__ import main
from ssd.train.candidates import rows


def run(method: str, prompt: str, ends: list[float], *, passes: int = 0) -> dict[str, object]:
    """Two tokens a step, steps that end at `ends`."""
    steps = [{"time": end, "draft_passes": passes} for end in ends]
    tokens = [1] * (2 * len(ends))
    return {
        "kind": "run", "method": method, "prompt_id": prompt, "token_ids": tokens, "steps": steps,
        "error": None,
    }  # fmt: skip


def record(path: Path, *entries: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_figures_by_hand(tmp_path: Path) -> None:
    """Median of the prompts' ratios, totals over both; a failed run and a repeat do not count."""
    path = record(
        tmp_path / "run.jsonl",
        {"kind": "environment"},
        run("autoregressive", "a", [1.0, 6.0]),
        run("staged", "a", [2.0], passes=3),
        run("staged", "a", [9.0], passes=9),
        run("autoregressive", "b", [4.0]),
        run("staged", "b", [1.0, 4.0]),
        {**run("staged", "c", [1.0]), "error": "failed"},
    )
    assert rows("new", path) == [
        {
            "candidate": "new",
            "method": "staged",
            "speedup": 2.0,
            "tokens_per_second": 1.0,
            "tokens_per_pass": 2.0,
            "passes": 3,
            "draft_passes": 3,
        }
    ]
    with pytest.raises(ValueError, match="got staged: record them together"):
        rows("new", record(path, run("staged", "a", [2.0])))
    with pytest.raises(ValueError, match="no such file"):
        rows("new", tmp_path / "nowhere")


def test_the_table_is_kept_in_the_card(tmp_path: Path) -> None:
    """One row a candidate and method, and how it was measured."""
    write_draft(tmp_path, {}, {"hope": 0.5})
    entries = [run("autoregressive", "a", [6.0]), run("tree", "a", [2.0])]
    path = record(tmp_path / "run.jsonl", *entries)
    given = ["candidates", "--out", str(tmp_path), "--how", "So."]
    assert main([*given, f"old={path}", f"new={path}"]) == 0
    found = read_card(tmp_path)["candidates"]
    assert [row["candidate"] for row in found["rows"]] == ["old", "new"] and found["how"] == "So."
    assert main([*given, "old"]) == 2
