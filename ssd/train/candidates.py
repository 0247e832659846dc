"""Drafts against each other by what they are for: tokens per second, from record files."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ssd.train.entries import each_entry

BASELINE = "autoregressive"
COLUMNS = ("method", "speedup", "tokens_per_second", "tokens_per_pass", "passes", "draft_passes")


def rows(name: str, path: Path) -> list[dict[str, Any]]:
    """One row for each method of the record in `path` but the baseline, for the candidate `name`.

    `speedup`: decode time of the baseline over the method's, median over prompts. Raises ValueError
    where the record has no runs of the baseline, or none of another method.
    """
    runs = _runs(path)
    base = runs.pop(BASELINE, {})
    if not base or not runs:
        raise ValueError(
            f"expected runs of {BASELINE} and of another method in {path}, got "
            f"{', '.join([*runs, *([BASELINE] if base else [])]) or 'none'}: record them together"
        )
    return [
        {"candidate": name, "method": method, **_figures(of_method, base)}
        for method, of_method in runs.items()
    ]


def _runs(path: Path) -> dict[str, dict[str, Mapping[str, Any]]]:
    """method -> prompt -> its first run that did not fail."""
    if not path.is_file():
        raise ValueError(f"expected a record file, got {path}: no such file")
    found: dict[str, dict[str, Mapping[str, Any]]] = {}

    def take(entry: Mapping[str, Any]) -> None:
        if entry["kind"] == "run" and not entry.get("error"):
            _seconds(entry)
            found.setdefault(entry["method"], {}).setdefault(entry["prompt_id"], entry)

    each_entry(path, take)
    return found


def _figures(
    runs: Mapping[str, Mapping[str, Any]], base: Mapping[str, Mapping[str, Any]]
) -> dict[str, float]:
    shared = [prompt for prompt in runs if prompt in base]
    seconds = {prompt: _seconds(runs[prompt]) for prompt in shared}
    steps: Sequence[Mapping[str, Any]] = [s for prompt in shared for s in runs[prompt]["steps"]]
    tokens = sum(len(runs[prompt]["token_ids"]) for prompt in shared)
    ratios = [_seconds(base[prompt]) / seconds[prompt] for prompt in shared]
    return {
        "speedup": round(statistics.median(ratios), 3),
        "tokens_per_second": round(tokens / sum(seconds.values()), 1),
        "tokens_per_pass": round(tokens / len(steps), 3),
        "passes": len(steps),
        "draft_passes": sum(step["draft_passes"] for step in steps),
    }


def _seconds(run: Mapping[str, Any]) -> float:
    """Seconds of decoding."""
    return float(run["steps"][-1]["time"])
