"""From a record file to what the page shows of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from compare.digest import Digests
from compare.metrics import summary
from compare.page.shown import Shown, Source
from compare.record_file import RecordReader
from compare.record_words import Bytewise, words_of
from compare.records import RunRecord
from compare.seal import Seals
from compare.step_record import Json
from compare.verdict_record import VerdictRecord

MAX_RECORD_BYTES = 64_000_000


@dataclass(frozen=True)
class Opened:
    """A record file that has been read through and found good.

    `prompt_ids`: those of its prompts with a run that did not fail, in the file's order.
    """

    path: Path
    environment: Json
    prompt_ids: tuple[str, ...]
    seals: Seals


def reader_of(path: Path) -> RecordReader:
    """A reader of an uploaded record file. Raises ValueError where it is too large, or no file."""
    size = path.stat().st_size
    if size > MAX_RECORD_BYTES:
        raise ValueError(
            f"the file {path.name} has {size / 1e6:.0f} MB: a record file may have "
            f"{MAX_RECORD_BYTES / 1e6:g} MB"
        )
    return RecordReader(path)


def opened(path: Path) -> Opened:
    """The file at `path`, read as a stream. Raises ValueError naming what is wrong in it."""
    reader = reader_of(path)
    found: dict[str, None] = {}
    for line in reader.lines():
        if isinstance(line, RunRecord) and line.error is None:
            found[line.key.prompt_id] = None
    if not found:
        raise ValueError("the file has no run that succeeded: there is nothing to show")
    return Opened(path, reader.environment(), tuple(found), reader.seals())


def shown_of(
    file: Opened, prompt_id: str, source: Source, words: Callable[[list[Json]], Mapping[int, str]]
) -> Shown:
    """One prompt of a file as the page shows it. `words`: what the ids in records say."""
    digests, records, verdicts = Digests(), list[Json](), list[Json]()
    for line in RecordReader(file.path).lines():
        if line.key.prompt_id != prompt_id:
            continue
        digests.add(line)
        (verdicts if isinstance(line, VerdictRecord) else records).append(line.to_json())
    return Shown(
        environment=file.environment,
        records=records,
        verdicts=verdicts,
        summary=summary(file.environment, digests),
        words=words(records),
        source=source,
        name=prompt_id,
        seals=file.seals,
    )


def words_with(codec: Bytewise | None) -> Callable[[list[Json]], Mapping[int, str]]:
    """What ids say under `codec`; nothing is known without one."""
    return lambda records: {} if codec is None else words_of(records, codec)
