"""The ablation: what the tree's size, its depth and the second stage each contribute.

Every combination is `staged` with a fixed tree, named `staged:NODES:DEPTH:SOURCES`; all of them and
the reference run interleaved, so what is compared met the same machine.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from compare.metrics import per
from compare.naming import REFERENCE, SOURCES, Method
from compare.table import grid

_HEADS = (
    "N-gram",
    "nodes",
    "depth",
    "tok/pass",
    "draft passes/round",
    "MB/token",
    "speed-up",
    "[95 % interval]",
    "N-gram ms/round",
)


@dataclass(frozen=True)
class Grid:
    """What is varied. `sizes`: nodes a round, None by price; `depths`: None for the lane's own."""

    sizes: tuple[int | None, ...] = (4, 12, 24)
    depths: tuple[int | None, ...] = (3, 10)
    sources: tuple[str, ...] = SOURCES

    def methods(self) -> tuple[str, ...]:
        """The methods that cover the grid, the reference first."""
        names = (
            f"staged:{_size(nodes)}:{_size(depth)}:{source}"
            for nodes in self.sizes
            for depth in self.depths
            for source in self.sources
        )
        return (REFERENCE, *names)


@dataclass(frozen=True)
class Cell:
    """One combination at one temperature, and its effects; an effect is None where a run failed.

    `latency`: the median speed-up over the reference, with its interval.
    """

    temperature: float
    sources: str
    nodes: str
    depth: str
    tokens_per_pass: float | None
    draft_passes_per_round: float | None
    bytes_per_token: float | None
    latency: float | None
    latency_low: float | None
    latency_high: float | None
    ngram_s_per_round: float | None


def cells(summary: Mapping[str, Any]) -> Iterator[Cell]:
    """The combinations in a summary, in the order in which they were asked for."""
    temperature = summary["environment"]["settings"]["temperature"]
    for name in summary["environment"]["methods"]:
        method, data = Method.parse(name), summary["methods"].get(name)
        if data is None or len(method.values) != 3:
            continue
        nodes, depth, sources = method.values
        rounds, speedup = data["target_passes"], data["speedup"] or {}
        yield Cell(
            temperature=temperature,
            sources=sources,
            nodes=nodes,
            depth=depth,
            tokens_per_pass=data["tokens_per_step"],
            draft_passes_per_round=per(data["draft_passes"], rounds),
            bytes_per_token=data["bytes_per_token"],
            latency=speedup.get("median"),
            latency_low=speedup.get("low"),
            latency_high=speedup.get("high"),
            ngram_s_per_round=per(data["seconds"]["ngram"], rounds),
        )


def ablation_text(found: Sequence[Cell]) -> str:
    """A table for each temperature."""
    parts = []
    for temperature in dict.fromkeys(cell.temperature for cell in found):
        rows = [_row(cell) for cell in found if cell.temperature == temperature]
        parts.append(f"temperature {temperature}\n{grid([_HEADS, *rows], left=(0,))}")
    return "\n\n".join(parts)


def ablation_csv(found: Sequence[Cell]) -> str:
    """The cells as comma-separated values, the names of the fields first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Cell)])
    writer.writerows(astuple(cell) for cell in found)
    return out.getvalue()


def _row(cell: Cell) -> tuple[str, ...]:
    interval = "-"
    if cell.latency_low is not None and cell.latency_high is not None:
        interval = f"[{cell.latency_low:.2f}, {cell.latency_high:.2f}]"
    return (
        cell.sources,
        cell.nodes,
        cell.depth,
        _number(cell.tokens_per_pass, ".2f"),
        _number(cell.draft_passes_per_round, ".2f"),
        _number(cell.bytes_per_token, ".1f", 1e-6),
        _number(cell.latency, ".2f"),
        interval,
        _number(cell.ngram_s_per_round, ".3f", 1e3),
    )


def _number(value: float | None, form: str, scale: float = 1.0) -> str:
    return "-" if value is None else format(value * scale, form)


def _size(size: int | None) -> str:
    return "auto" if size is None else str(size)
