"""The tables of a report, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.certificate import first_difference
from compare.digest import Digest, Digests
from compare.markup import Markup, element, joined
from compare.metrics import certificate, judges
from compare.naming import REFERENCE
from compare.table import method_cells, prompt_cells

MAX_DIFFERENCES = 200

Json = Mapping[str, Any]
Words = Mapping[str, str]
Heads = Mapping[str, tuple[str, str]]

_TEXT = {"method", "verdicts", "category", "prompt", "verdict", "reason"}
_LONG = {"reason", "verdicts"}


def methods_table(methods: Json, heads: Heads, words: Words) -> Markup:
    """A row for each method."""
    return grid([method_cells(name, data, words) for name, data in methods.items()], heads)


def prompts_tables(summary: Json, heads: Heads, words: Words) -> Iterator[Markup]:
    """For each method but the reference a folded table of its prompts."""
    for method, rows in summary["per_prompt"].items():
        if rows and method != summary["reference"]:
            title = element("summary", words["slowest_first"].format(method=method))
            yield element("details", title, grid([prompt_cells(row) for row in rows], heads))


def grid(rows: Sequence[Mapping[str, str]], heads: Heads) -> Markup:
    """A table of `rows`, each its cells by the name of the column."""
    names = list(rows[0]) if rows else []
    top = (
        element("th", heads[n][0], class_=_kind(n), title=heads[n][1], scope="col") for n in names
    )
    body = (element("tr", *(_cell(name, row[name]) for name in names)) for row in rows)
    whole = element(
        "table",
        element("thead", element("tr", *top)),
        element("tbody", *body),
    )
    return element("div", whole, class_="wide")


def _cell(name: str, text: str) -> Markup:
    if name == "method":
        return element("th", text, scope="row", class_="text")
    return element("td", text, class_=_kind(name))


def _kind(name: str) -> str:
    return "long" if name in _LONG else "text" if name in _TEXT else ""


@dataclass(frozen=True)
class Difference:
    """A run that is not plainly identical, and where it parts from the reference."""

    run: Digest
    verdict: str
    reason: str
    position: int | None = None
    tokens: tuple[int | None, int | None] = (None, None)


def differences(environment: Json, digests: Digests, words: Words) -> Iterator[Difference]:
    """The runs that failed, were judged otherwise than identical, or are a baseline's own."""
    for run in digests.runs.values():
        if run.error is not None:
            yield Difference(run, words["failed_run"], run.error)
            continue
        reference = digests.reference_of(run, REFERENCE)
        if reference is None:
            continue
        parting = first_difference(reference.token_ids, run.token_ids)
        tokens = (None, None) if parting is None else _tokens(reference, run, parting)
        if judges(environment, run.key.method):
            found = certificate(environment, digests, run)
            if found is not None and found.verdict != "IDENTICAL":
                yield Difference(run, found.verdict, found.reason, parting, tokens)
        elif parting is not None:
            yield Difference(run, words["differs"], "", parting, tokens)


def _tokens(reference: Digest, run: Digest, at: int) -> tuple[int | None, int | None]:
    answers = (reference.token_ids, run.token_ids)
    first, second = (ids[at] if at < len(ids) else None for ids in answers)
    return first, second


def differences_table(found: Sequence[Difference], words: Words, heads: Heads) -> Iterator[Markup]:
    """The differences as a table, the worst first, and how many were left out."""
    if not found:
        yield element("p", words["no_difference"])
        return
    ranks = {"BUG": 0, words["failed_run"]: 1, "NEAR-TIE": 2}
    worst = sorted(found, key=lambda each: ranks.get(each.verdict, 3))
    rows = [_difference_cells(each, words) for each in worst[:MAX_DIFFERENCES]]
    extra = ("repeat", "verdict", "first", "theirs", "its", "reason")
    yield grid(rows, {**heads, **{name: (words[name], "") for name in extra}})
    if len(found) > MAX_DIFFERENCES:
        more = words["more"].format(count=len(found) - MAX_DIFFERENCES)
        yield element("p", more, class_="soft")


def _difference_cells(each: Difference, words: Words) -> dict[str, str]:
    theirs, its = (
        words["ended"] if token is None and each.position is not None else _text(token)
        for token in each.tokens
    )
    key = each.run.key
    return {
        "method": key.method,
        "prompt": key.prompt_id,
        "repeat": str(key.repeat),
        "verdict": each.verdict,
        "first": _text(each.position),
        "theirs": theirs,
        "its": its,
        "reason": each.reason,
    }


def _text(value: int | None) -> str:
    return "" if value is None else str(value)


def definitions(pairs: Iterable[tuple[str, str]]) -> Markup:
    """A list of terms and what is said of each."""
    return element(
        "dl", joined(joined((element("dt", term), element("dd", text))) for term, text in pairs)
    )


def environment_pairs(environment: Json, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The environment as names, dotted, and values; a list or numbers by name in one line."""
    for name, value in environment.items():
        if isinstance(value, Mapping) and value:
            if all(isinstance(each, int | float) for each in value.values()):
                yield prefix + name, ", ".join(f"{k}: {v:.4g}" for k, v in value.items())
            else:
                yield from environment_pairs(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield prefix + name, ", ".join(map(str, value)) or "-"
        elif value not in (None, {}):
            yield prefix + name, str(value)
