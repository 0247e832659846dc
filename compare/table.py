"""A summary as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_HEADS = (
    "method",
    "speed-up",
    "[95 % interval]",
    "tok/s",
    "tok/pass",
    "acceptance",
    "passes",
    "draft passes",
    "verdicts",
    "rows equal",
)


def table(summary: Mapping[str, Any]) -> str:
    """The methods of a summary, a row each, under a line that says what was run on what."""
    rows = [_HEADS, *(_row(name, data) for name, data in summary["methods"].items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join([_title(summary["environment"]), "", *(_line(row, widths) for row in rows)])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.ljust(width) if number in (0, 8) else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _title(environment: Mapping[str, Any]) -> str:
    pair, settings = environment.get("pair", {}), environment.get("settings", {})
    suite = environment.get("suite", {})
    parts = (
        f"{suite.get('name')}, {suite.get('prompts')} prompts",
        f"{pair.get('pair')} on {pair.get('hardware')}",
        f"{pair.get('precision')} {pair.get('numerics')}",
        f"{pair.get('threads')} threads",
        f"temperature {settings.get('temperature')}",
    )
    return " · ".join(parts)


def _row(name: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    speedup = data["speedup"]
    return (
        name,
        "-" if speedup is None else f"{speedup['median']:.2f}x",
        "-" if speedup is None else f"[{speedup['low']:.2f}, {speedup['high']:.2f}]",
        _number(data["tokens_per_second"], ".1f"),
        _number(data["tokens_per_step"], ".2f"),
        _number(data["acceptance_rate"], ".1%"),
        str(data["target_passes"]),
        str(data["draft_passes"]),
        _verdicts(data),
        "-" if data["logit_rows_equal"] is None else "{} of {}".format(*data["logit_rows_equal"]),
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _verdicts(data: Mapping[str, Any]) -> str:
    failed = [f"{data['error']} failed"] if data["error"] else []
    if data["verdicts"] is None:
        agrees = (
            [] if data["agrees"] is None else [f"same ids in {data['agrees']} of {data['runs']}"]
        )
        return ", ".join(agrees + failed) or "-"
    counts = [f"{count} {verdict}" for verdict, count in data["verdicts"].items() if count]
    return ", ".join(counts + failed) or "-"
