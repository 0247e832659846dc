"""Tables 1 and 2 of the paper (Spector and Ré, arXiv 2308.04623), with our pair beside its own.

The paper: GPT-2 Large fine-tuned on Python, a draft of 40 M parameters, a Katz trigram, one
RTX 4090, the 164 prompts of HumanEval; "top-k" is k = 50 at temperature 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compare.naming import REFERENCE
from compare.table import grid

_COLUMNS = ("baseline", "speculative", "staged")


@dataclass(frozen=True)
class Row:
    """One sampling: memory read per token relative to the baseline's, and tokens per second.

    Each: baseline, speculative, staged; None where it was not measured.
    """

    name: str
    bandwidth: tuple[float | None, ...]
    tokens_per_second: tuple[float | None, ...]

    @property
    def speedups(self) -> tuple[float | None, ...]:
        """Tokens per second relative to the baseline's."""
        first = self.tokens_per_second[0]
        return tuple(x / first if x and first else None for x in self.tokens_per_second)


PAPER: Mapping[str, Row] = {
    "greedy": Row("Deterministic", (1.00, 0.31, 0.23), (150.0, 350.0, 475.0)),
    "top-k-50": Row("Top-k", (1.00, 0.48, 0.35), (150.0, 219.0, 298.0)),
}


def our_row(label: str, methods: Mapping[str, Mapping[str, Any]], speculative: str) -> Row:
    """The row that a summary's `methods` make, with the best `speculative` method in its column."""
    found = [methods.get(name, {}) for name in (REFERENCE, speculative, "staged")]
    read: list[float | None] = [data.get("bytes_per_token") for data in found]
    speeds = tuple(data.get("tokens_per_second") for data in found)
    bandwidth = tuple(x / read[0] if x and read[0] else None for x in read)
    return Row(PAPER[label].name, bandwidth, speeds)


def paper_text(ours: Mapping[str, Row]) -> str:
    """Both tables: ours on the left, the paper's on the right."""
    heads = ("sampling", *_COLUMNS, *(f"{name} (paper)" for name in _COLUMNS))
    first, second, third = ([heads] for _ in range(3))
    for label, row in ours.items():
        paper = PAPER[label]
        first.append(_cells(row.name, row.bandwidth, paper.bandwidth, ".2f"))
        second.append(_cells(row.name, row.tokens_per_second, paper.tokens_per_second, ".1f"))
        third.append(_cells(row.name, row.speedups, paper.speedups, ".2f"))
    return "\n\n".join(
        f"{title}\n{grid(rows, left=(0,))}"
        for title, rows in (
            ("Table 1: memory read per token, relative to the baseline", first),
            ("Table 2: tokens per second (the paper's on an RTX 4090)", second),
            ("the same relative to the baseline", third),
        )
    )


def _cells(
    name: str, ours: tuple[float | None, ...], papers: tuple[float | None, ...], form: str
) -> tuple[str, ...]:
    return (name, *("-" if value is None else format(value, form) for value in (*ours, *papers)))
