"""The benchmark: which methods meet, how the best chain is found, and the ratios of one run.

Absolute figures move with the machine and with what else it does, so what is printed are ratios of
runs of the same prompts, interleaved. `speculative` is tried at every constant chain length and at
its adaptive one, and the best of them, picked on these very runs, is the opponent of `staged`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.digest import Digests
from compare.metrics import SHORT_ANSWER, decode_speedup
from compare.naming import BASELINES, LLAMA_CPP, REFERENCE, base_name
from compare.settings import Settings
from compare.table import grid, methods_table, prompt_cells

SAMPLINGS: Mapping[str, Mapping[str, Any]] = {
    "greedy": {"temperature": 0.0, "top_k": 0},
    "top-k-50": {"temperature": 1.0, "top_k": 50},
}
CHAINS = tuple(range(1, 9))
OPTIONAL = (LLAMA_CPP,)

_FEW = 5


def bench_methods(chains: Sequence[int], *, has_baselines: bool) -> tuple[str, ...]:
    """The methods of a benchmark that tries these constant chain lengths."""
    constant = tuple(f"speculative:{length}" for length in chains)
    others = ("hf-generate", "hf-assisted", LLAMA_CPP) if has_baselines else ()
    return (REFERENCE, *constant, "speculative", "staged", *others)


def label_of(settings: Settings) -> str | None:
    """The name of the settings' sampling among `SAMPLINGS`, None for another one."""
    plain = (settings.top_p, settings.repetition_penalty) == (1.0, 1.0)
    for label, sampling in SAMPLINGS.items():
        if plain and all(getattr(settings, name) == value for name, value in sampling.items()):
            return label
    return None


@dataclass(frozen=True)
class Search:
    """The median speed-up of each way to choose `speculative`'s chain, and the best of them."""

    medians: Mapping[str, float]

    @classmethod
    def of(cls, digests: Digests) -> Search:
        """The search that the runs of one file amount to."""
        tried = [name for name in digests.methods if base_name(name) == "speculative"]
        found = {name: decode_speedup(digests, name).by_prompt for name in tried}
        return cls({name: statistics.median(each.values()) for name, each in found.items() if each})

    @property
    def best(self) -> str | None:
        """The fastest, None where there is none."""
        return self._fastest(self.medians)

    @property
    def best_constant(self) -> str | None:
        """The fastest of the constant chain lengths, None where there is none."""
        return self._fastest([name for name in self.medians if ":" in name])

    def _fastest(self, names: Iterable[str]) -> str | None:
        return max(names, key=lambda name: self.medians[name], default=None)

    def words(self) -> str:
        """The search in a line."""
        if self.best is None:
            return "chain search: no run of speculative succeeded"
        tried = ", ".join(f"{_chain(name)} {ratio:.2f}x" for name, ratio in self.medians.items())
        return (
            f"chain search of speculative, median speed-up by chain length: {tried}; "
            f"the best: {_chain(self.best)}"
        )


def _chain(method: str) -> str:
    return method.partition(":")[2] or "adaptive"


def ratios(digests: Digests) -> dict[tuple[str, str], Mapping[str, float | None]]:
    """The speed-up of one method over another, for the pairs that tell something.

    Each: `median`, `low`, `high` (95 % bootstrap interval over prompts) and `min`, the worst prompt
    with an answer of 32 tokens or more.
    """
    found = {pair: decode_speedup(digests, *pair).to_json() for pair in _pairs(digests)}
    return {pair: ratio for pair, ratio in found.items() if ratio is not None}


def _pairs(digests: Digests) -> Iterator[tuple[str, str]]:
    search = Search.of(digests)
    yield "staged", REFERENCE
    for name in dict.fromkeys((search.best, search.best_constant)):
        if name is not None:
            yield name, REFERENCE
            yield "staged", name
    for baseline in BASELINES:
        if baseline in digests.methods:
            yield REFERENCE, baseline
            yield "staged", baseline


def bench_text(digests: Digests, summary: Mapping[str, Any]) -> str:
    """What the command says of one sampling's runs. `summary`: the metrics of the same runs."""
    search = Search.of(digests)
    table = _ratio_table(digests, summary["looping"])
    parts = [methods_table(summary["methods"]), search.words(), table]
    parts += [*_hosts(summary), *_losers(summary, search.best)]
    return "\n\n".join(parts)


def _ratio_table(digests: Digests, looping: Sequence[str]) -> str:
    others = digests.only({key.prompt_id for key in digests.runs} - set(looping))
    plain, rows = ratios(others), []
    for pair, ratio in ratios(digests).items():
        rest = plain.get(pair)
        rows.append(
            (
                " / ".join(pair),
                f"{ratio['median']:.2f}",
                f"[{ratio['low']:.2f}, {ratio['high']:.2f}]",
                "-" if ratio["min"] is None else f"{ratio['min']:.2f}",
                "-" if rest is None else f"{rest['median']:.2f}",
            )
        )
    worst = f"worst ({SHORT_ANSWER}+ tokens)"
    heads = ("speed", "ratio", "[95 % interval]", worst, "without looping")
    return grid([heads, *rows], left=(0,))


def _hosts(summary: Mapping[str, Any]) -> Iterator[str]:
    """The host's share of a decode: all but the models' and the N-gram's time."""
    shares = []
    for method in (REFERENCE, "staged"):
        seconds = summary["methods"].get(method, {}).get("seconds")
        if seconds:
            decode = sum(value for name, value in seconds.items() if name != "prefill")
            shares.append(f"{method} {seconds['other'] / decode:.1%}" if decode else method)
    if shares:
        yield f"host share of the decode time: {', '.join(shares)}"


def _losers(summary: Mapping[str, Any], best: str | None) -> Iterator[str]:
    """Where guessing does not pay: each method's slowest prompts."""
    for method in ("staged", best):
        rows = summary["per_prompt"].get(method, [])
        if rows:
            slower = sum(row["speedup"] < 1.0 for row in rows)
            cells = [prompt_cells(row) for row in rows[:_FEW]]
            lines = grid([tuple(cells[0]), *(tuple(each.values()) for each in cells)], left=(0,))
            yield (
                f"{method} is slower than {REFERENCE} on {slower} of {len(rows)} prompts; "
                f"its worst:\n{lines}"
            )
