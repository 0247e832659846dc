"""A summary as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

By = Literal["category", "prompt"]
Words = Mapping[str, str]

WORDS: Words = {
    "agrees": "same ids in {count} of {runs}",
    "failed": "{count} failed",
    "of": "{count} of {total}",
    "looping": "Without looping answers "
    "(fewer than half of their 4-grams are distinct; {count}: {names}):",
    "plain": "On this machine exact numerics makes the autoregressive loop take {ratio} times as "
    "long as the plain one{source}. Against the plain loop, the fastest of this precision: "
    "{speedups}. The speed-ups in the table are against the exact loop.",
    "plain_run": ", the method native",
    "plain_measured": " (measured when the model was loaded; add the method native to run it)",
    "chosen": "Precision {precision} was chosen: a typical answer takes least time in it here "
    "({seconds}){agreement}.",
    "agreement": "; it makes {share} of the first choices of the published weights",
    "noisy": "Noisy machine: repeats of {method} differ by {spread} (standard deviation; more than "
    "{limit} is much): run again with nothing else running",
}
"""The table's sentences; a report has them in other languages too."""

_HEADS = (
    "method",
    "speed-up",
    "[95 % interval]",
    "end-to-end",
    "first token",
    "tok/s",
    "tok/pass",
    "acceptance",
    "passes",
    "draft passes",
    "MB/token",
    "verdicts",
    "rows equal",
)
_PROMPT_HEADS = ("prompt", "speed-up", "tokens", "entropy", "distinct 4-grams", "category")


def table(summary: Mapping[str, Any]) -> str:
    """The methods of a summary, a row each, under a line that says what was run on what.

    Before them, what the numbers must not be trusted for; below, the table without looping answers
    where there are any.
    """
    parts = [title(summary["environment"]), *choice_words(summary), *cautions(summary)]
    parts.append(methods_table(summary["methods"]))
    if summary["without_looping"] is not None:
        parts += [looping_words(summary), methods_table(summary["without_looping"])]
    return "\n\n".join(parts)


def tables_by(summary: Mapping[str, Any], by: By) -> str:
    """The summary by category, or each method's speed-ups by prompt, the slowest first."""
    parts = _by_category(summary) if by == "category" else _by_prompt(summary)
    return "\n\n".join([title(summary["environment"]), *parts])


def methods_table(methods: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each method."""
    rows = [tuple(method_cells(name, data).values()) for name, data in methods.items()]
    return grid([_HEADS, *rows], left=(0, len(_HEADS) - 2))


def method_cells(name: str, data: Mapping[str, Any], words: Words = WORDS) -> dict[str, str]:
    """A method's row, by the heads of its columns."""
    speedup, end_to_end, rows = (
        data[key] for key in ("speedup", "end_to_end_speedup", "logit_rows_equal")
    )
    size = data["bytes_per_token"]
    cells = (
        name,
        "-" if speedup is None else f"{speedup['median']:.2f}x",
        "-" if speedup is None else f"[{speedup['low']:.2f}, {speedup['high']:.2f}]",
        "-" if end_to_end is None else f"{end_to_end['median']:.2f}x",
        _number(data["time_to_first_token"], ".2f", " s"),
        _number(data["tokens_per_second"], ".1f"),
        _number(data["tokens_per_step"], ".2f"),
        _number(data["acceptance_rate"], ".1%"),
        str(data["target_passes"]),
        str(data["draft_passes"]),
        _number(None if size is None else size / 1e6, ".1f"),
        verdict_words(data, words),
        "-" if rows is None else words["of"].format(count=rows[0], total=rows[1]),
    )
    return dict(zip(_HEADS, cells, strict=True))


def _by_category(summary: Mapping[str, Any]) -> Iterator[str]:
    for category, methods in summary["by_category"].items():
        prompts = max(data["prompts"] for data in methods.values())
        yield f"{category}, {prompts} prompts\n{methods_table(methods)}"


def _by_prompt(summary: Mapping[str, Any]) -> Iterator[str]:
    for method, found in summary["per_prompt"].items():
        if method != summary["reference"] and found:
            rows = [tuple(prompt_cells(row).values()) for row in found]
            yield f"{method}\n{grid([_PROMPT_HEADS, *rows], left=(0, len(_PROMPT_HEADS) - 1))}"


def prompt_cells(row: Mapping[str, Any]) -> dict[str, str]:
    """A prompt's row, by the heads of its columns; the entropy in bits."""
    cells = (
        row["prompt_id"],
        f"{row['speedup']:.2f}x",
        str(row["tokens"]),
        _number(None if row["entropy"] is None else row["entropy"] / math.log(2), ".2f"),
        f"{row['distinct_4_grams']:.0%}",
        row["category"],
    )
    return dict(zip(_PROMPT_HEADS, cells, strict=True))


def looping_words(summary: Mapping[str, Any], words: Words = WORDS) -> str:
    """A sentence on the answers that go round in circles."""
    names = summary["looping"]
    return words["looping"].format(count=len(names), names=", ".join(names))


def plain_words(summary: Mapping[str, Any], words: Words = WORDS) -> list[str]:
    """A sentence with the speed-ups over the plain loop, where the exact one is slower."""
    plain = summary.get("plain_loop")
    if plain is None:
        return []
    speedups = ", ".join(f"{name} {value:.2f}x" for name, value in plain["speedup"].items())
    source = words["plain_run" if plain["is_run"] else "plain_measured"]
    return [words["plain"].format(ratio=f"{plain['ratio']:.2f}", source=source, speedups=speedups)]


def cautions(summary: Mapping[str, Any], words: Words = WORDS) -> list[str]:
    """Sentences on a baseline that pays for exactness, and on a noisy machine."""
    noisy = [noise_words(summary["noise"], words)] if summary["noise"]["is_noisy"] else []
    return plain_words(summary, words) + noisy


def choice_words(summary: Mapping[str, Any], words: Words = WORDS) -> list[str]:
    """A sentence on the precision that `auto` chose, and why."""
    choice = summary.get("choice")
    if choice is None:
        return []
    name, share = choice["precision"], choice["agreement"]
    seconds = ", ".join(f"{each} {value:.2f} s" for each, value in choice["seconds"].items())
    agreement = "" if share is None else words["agreement"].format(share=f"{share:.1%}")
    return [words["chosen"].format(precision=name, seconds=seconds, agreement=agreement)]


def noise_words(noise: Mapping[str, Any], words: Words = WORDS) -> str:
    """A sentence on a machine whose repeats lie far apart."""
    spreads = {name: value for name, value in noise["spread"].items() if value is not None}
    worst = max(spreads, key=lambda name: spreads[name])
    return words["noisy"].format(
        method=worst, spread=f"{spreads[worst]:.0%}", limit=f"{noise['limit']:.0%}"
    )


def verdict_words(data: Mapping[str, Any], words: Words = WORDS) -> str:
    """The verdicts on a method, or how far a baseline agrees, and its failures."""
    failed = [words["failed"].format(count=data["error"])] if data["error"] else []
    if data["verdicts"] is None:
        agrees = words["agrees"].format(count=data["agrees"], runs=data["runs"])
        return ", ".join([*([] if data["agrees"] is None else [agrees]), *failed]) or "-"
    counts = [f"{count} {verdict}" for verdict, count in data["verdicts"].items() if count]
    return ", ".join(counts + failed) or "-"


def grid(rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Lines of the cells of `rows`, to the left in the columns of `left`, else to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def title(environment: Mapping[str, Any]) -> str:
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


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else format(value, form) + unit
