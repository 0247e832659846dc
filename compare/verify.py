"""Verdicts derived again from a record file, and with the model at hand by decoding again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from compare.certificate import certify, contradictions, inconsistencies
from compare.digest import Digests, reference_key
from compare.metrics import certificate, judges
from compare.naming import REFERENCE
from compare.record_file import RecordReader
from compare.records import RunKey, RunRecord
from compare.run import problems
from compare.settings import Settings

if TYPE_CHECKING:
    from compare.adjudicate import Adjudicator
    from compare.methods import Bench


@dataclass(frozen=True)
class Findings:
    """What a record file shows: verdicts by method, and sentences on bugs and failures."""

    verdicts: dict[str, Counter[str]]
    bugs: tuple[str, ...]
    failures: tuple[str, ...]


def read_again(reader: RecordReader, environment: dict[str, Any]) -> tuple[Digests, Findings]:
    """The findings from seals, ids, hashes and the inner agreement of each record."""
    digests, seals = Digests(), RecordReader(reader.path)  # which warns of a cut line once
    edited = [f"BUG: line {n}: edited since it was written" for n in seals.edited()]
    edited += [f"BUG: the environment: {what}" for what in contradictions(environment)]
    for line in reader.lines():
        digests.add(line)
        if isinstance(line, RunRecord):
            found = inconsistencies(line, environment)
            edited += [f"BUG: {_where(line.key)}: {what}" for what in found]
    bugs, failures = problems(environment, digests)
    verdicts: dict[str, Counter[str]] = {}
    for key, run in digests.runs.items():
        if judges(environment, key.method):
            judged = certificate(environment, digests, run)
            if judged is not None:
                verdicts.setdefault(key.method, Counter())[judged.verdict] += 1
    return digests, Findings(verdicts, (*edited, *bugs), tuple(failures))


def claims(digests: Digests) -> list[RunKey]:
    """The runs that are said to part at a near-tie."""
    return [key for key, verdict in digests.verdicts.items() if verdict.verdict == "NEAR-TIE"]


def judged_again(
    reader: RecordReader, keys: list[RunKey], environment: dict[str, Any], tools: Tools
) -> Iterator[str]:
    """A sentence for each claimed near-tie that the judge does not find again."""
    for key in keys:
        run = find(reader, key)
        reference = find(reader, reference_key(key, REFERENCE))
        request = _settings(run, environment).request(run.prompt_ids, tools.bench.pair.codec)
        verdict = tools.judge.judge(reference, run, request)
        if verdict.verdict != "NEAR-TIE":
            yield f"BUG: {_where(key)}: {verdict.reason}"


@dataclass(frozen=True)
class Tools:
    """The model at hand. `has_same_bits`: hashes made here may be held against the record's."""

    bench: Bench
    judge: Adjudicator
    has_same_bits: bool


def decoded_again(
    reader: RecordReader, environment: dict[str, Any], tools: Tools
) -> Iterator[tuple[RunKey, str | None]]:
    """Each of our runs, decoded again, and a sentence where it does not come out the same."""
    for record in our_runs(reader, environment):
        yield record.key, _difference(record, environment, tools)


def our_runs(reader: RecordReader, environment: dict[str, Any]) -> Iterator[RunRecord]:
    """The runs that have verdicts and did not fail."""
    for line in reader.lines():
        if not isinstance(line, RunRecord) or line.error is not None:
            continue
        if judges(environment, line.key.method):
            yield line


def _difference(record: RunRecord, environment: dict[str, Any], tools: Tools) -> str | None:
    from compare.methods import Task
    from ssd.lanes import Guessing

    settings = _settings(record, environment)
    request = settings.request(record.prompt_ids, tools.bench.pair.codec)
    guessing = Guessing(settings.nodes, settings.chain)
    again = tools.bench.run(
        Task(record.key, record.category, request, guessing, answer=record.token_ids)
    )
    again = replace(again, settings=record.settings)  # which a soak's lines name, each its own
    where = f"BUG: {_where(record.key)}"
    if again.error is not None:
        return f"{where}: decoding again failed: {again.error}"
    if not tools.has_same_bits:
        again = replace(again, logit_hashes=record.logit_hashes)
    is_exact = bool(environment["is_exact"]) and tools.has_same_bits
    found = certify(record, again, is_exact=is_exact)
    if found.verdict == "IDENTICAL":
        is_same = again.text == record.text
        return None if is_same else f"{where}: decoded again, the text is another"
    if found.parting is not None and not is_exact:
        judged = tools.judge.judge(record, again, request)
        return None if judged.verdict == "NEAR-TIE" else f"{where}: decoded again, {judged.reason}"
    return f"{where}: decoded again, {found.reason}"


def _settings(record: RunRecord, environment: dict[str, Any]) -> Settings:
    return Settings.from_json(record.settings or environment["settings"])


def find(reader: RecordReader, key: RunKey) -> RunRecord:
    """The record of a run that the file holds. Raises ValueError where it does not."""
    for line in reader.lines():
        if isinstance(line, RunRecord) and line.key == key:
            return line
    raise ValueError(f"{reader.path} speaks of a run that it does not hold: {_where(key)}")


def _where(key: RunKey) -> str:
    return f"{key.method} on {key.prompt_id}, repeat {key.repeat}"
