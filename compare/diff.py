"""Two record files side by side: CPU and GPU, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.certificate import first_difference
from compare.digest import Digest, Digests
from compare.metrics import summary
from compare.records import SCHEMA
from compare.table import grid

FIGURES = (
    "tokens_per_second",
    "speedup",
    "end_to_end_speedup",
    "time_to_first_token",
    "tokens_per_step",
    "acceptance_rate",
    "nodes_per_step",
    "target_passes",
    "draft_passes",
    "bytes_per_token",
    "prompts",
    "tokens",
)
_NOT_DIFFERENCES = {"kind", "schema", "created", "command"}
_MAX_SHOWN = 10


@dataclass(frozen=True)
class Side:
    """One of the two files: its name, its first line, its runs."""

    name: str
    environment: Mapping[str, Any]
    digests: Digests

    @property
    def probe_key(self) -> Any:
        """What the probe's result holds for; None where the file does not say."""
        probe = self.environment.get("pair", {}).get("probe")
        return probe.get("key") if isinstance(probe, Mapping) else None


def diff(a: Side, b: Side) -> dict[str, Any]:
    """What both files say of each method that they share, and where they differ.

    Figures come as `a`, `b` and `ratio`, which is b over a; speed-ups by their medians. `ids`
    counts the runs of the same prompt ids and repeat, and those of them with the same answer.
    `logit_rows_equal` is null unless both probes have the same key: hashes of two machines say
    nothing of each other.
    """
    has_same_probe = a.probe_key is not None and a.probe_key == b.probe_key
    first, second = (summary(side.environment, side.digests)["methods"] for side in (a, b))
    shared = [method for method in first if method in second]
    return {
        "schema": SCHEMA,
        "a": a.name,
        "b": b.name,
        "has_same_probe": has_same_probe,
        "environment": dict(_differing(a.environment, b.environment)),
        "methods": {
            method: {
                "figures": _figures(first[method], second[method]),
                **_answers(a.digests, b.digests, method, has_same_probe=has_same_probe),
            }
            for method in shared
        },
        "only_in_a": [method for method in first if method not in second],
        "only_in_b": [method for method in second if method not in first],
    }


def _figures(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name in FIGURES:
        a, b = (
            each["median"] if isinstance(each, Mapping) else each
            for each in (first[name], second[name])
        )
        ratio = b / a if a and b is not None else None
        found[name] = {"a": a, "b": b, "ratio": ratio}
    return found


def _answers(
    first: Digests, second: Digests, method: str, *, has_same_probe: bool
) -> dict[str, Any]:
    pairs = list(_pairs(first, second, method))
    partings = [
        {"prompt_id": a.key.prompt_id, "repeat": a.key.repeat, "position": position}
        for a, b in pairs
        if (position := first_difference(a.token_ids, b.token_ids)) is not None
    ]
    rows = [zip(a.logit_hashes, b.logit_hashes, strict=False) for a, b in pairs]
    equal = sum(one == other for each in rows for one, other in each)
    total = sum(max(len(a.logit_hashes), len(b.logit_hashes)) for a, b in pairs)
    return {
        "ids": {"shared": len(pairs), "same": len(pairs) - len(partings), "partings": partings},
        "logit_rows_equal": [equal, total] if has_same_probe and total else None,
    }


def _pairs(first: Digests, second: Digests, method: str) -> Iterator[tuple[Digest, Digest]]:
    """The runs of both files that were asked the same."""
    for run in first.of_method(method):
        other = second.runs.get(run.key)
        if other is None or run.error is not None or other.error is not None:
            continue
        if run.prompt_ids == other.prompt_ids:
            yield run, other


def _differing(
    first: Mapping[str, Any], second: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, list[Any]]]:
    """The entries of the environments that differ, by dotted name, with both values."""
    for name in dict.fromkeys((*first, *second)):
        if not prefix and name in _NOT_DIFFERENCES:
            continue
        a, b = first.get(name), second.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if name != "pass_seconds":  # measured anew on every machine
                yield from _differing(a, b, f"{prefix}{name}.")
        elif a != b:
            yield prefix + name, [a, b]


def diff_text(data: Mapping[str, Any]) -> str:
    """The comparison for the terminal."""
    parts = [f"A: {data['a']}\nB: {data['b']}", _environment_words(data["environment"])]
    for method, found in data["methods"].items():
        rows = [
            (name, *(_number(figure[key]) for key in ("a", "b")), _ratio(figure["ratio"]))
            for name, figure in found["figures"].items()
        ]
        table = grid([(method, "A", "B", "B / A"), *rows], left=(0,))
        parts.append(f"{table}\n{_ids_words(found['ids'])}\n{_rows_words(data, found)}")
    for side in ("a", "b"):
        if data[f"only_in_{side}"]:
            parts.append(f"only in {side.upper()}: {', '.join(data[f'only_in_{side}'])}")
    return "\n\n".join(parts)


def _environment_words(found: Mapping[str, Sequence[Any]]) -> str:
    if not found:
        return "the environments are the same"
    rows = [("differs", "A", "B"), *((n, str(a)[:60], str(b)[:60]) for n, (a, b) in found.items())]
    return grid(rows, left=(0, 1, 2))


def _ids_words(ids: Mapping[str, Any]) -> str:
    if not ids["shared"]:
        return "ids: no run of the same prompt in both"
    text = f"ids: the same in {ids['same']} of {ids['shared']} shared runs"
    shown = [
        f"{each['prompt_id']} (repeat {each['repeat']}) at token {each['position']}"
        for each in ids["partings"][:_MAX_SHOWN]
    ]
    left = len(ids["partings"]) - len(shown)
    more = f", and {left} more" if left else ""
    return text if not shown else f"{text}; they part in {', '.join(shown)}{more}"


def _rows_words(data: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    rows = found["logit_rows_equal"]
    if rows is not None:
        return f"logit rows: {rows[0]} of {rows[1]} equal to the last bit"
    if data["has_same_probe"]:
        return "logit rows: no hashes to compare"
    return "logit rows: not compared, for the machines' probes have other keys"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"
