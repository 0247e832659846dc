"""A corpus of a target's answers, written in shards: a run that is killed goes on."""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ssd.models.transformer import Transformer
from ssd.text import TextCodec
from ssd.train.corpus import Corpus
from ssd.train.prompts import Prompt
from ssd.train.write import Task, WriteSettings, Written, write

_SHARD = 200  # documents
_REPORT_S = 10.0


class Prompts(Protocol):
    """Where prompts come from."""

    def prompt(self, number: int) -> Prompt:
        """Prompt `number`."""


@dataclass(frozen=True)
class Cycle:
    """Given prompts, again from the first one after the last."""

    prompts: tuple[Prompt, ...]

    def prompt(self, number: int) -> Prompt:
        """Prompt `number`."""
        return self.prompts[number % len(self.prompts)]


@dataclass(frozen=True)
class AnswerSettings:
    """How many documents, and how they are written; stored beside them.

    `temperatures`: each document's is drawn from them; 0 is greedy.
    """

    num_documents: int = 10_000
    temperatures: tuple[float, ...] = (0.0, 0.0, 0.0, 0.7, 1.0)
    num_ids: int = 256
    length: int = 768
    top_k: int = 200
    num_rows: int = 64
    seed: int = 0


@dataclass(frozen=True)
class Writer:
    """A target that answers prompts."""

    model: Transformer
    codec: TextCodec
    prompts: Prompts
    settings: AnswerSettings

    def task(self, number: int) -> Task:
        """Document `number`, yet to be written. A prompt that is too long is cut."""
        settings, prompt = self.settings, self.prompts.prompt(number)
        rng = np.random.default_rng([settings.seed, number, 1])
        temperature = settings.temperatures[int(rng.integers(len(settings.temperatures)))]
        ids = self.codec.prompt_ids(prompt.text, raw=prompt.is_raw)
        return Task(number, ids, temperature)

    def documents(self, numbers: list[int]) -> Iterator[Written]:
        """The documents `numbers`, in the order in which they are finished."""
        settings = self.settings
        how = WriteSettings(
            num_ids=settings.num_ids,
            length=min(settings.length, self.model.context_length),
            top_k=settings.top_k,
            num_rows=settings.num_rows,
            seed=settings.seed,
            stop_ids=self.codec.stop_ids,
        )
        tasks = (self.task(number) for number in numbers)
        room = how.length - 1
        return write(self.model, (task for task in tasks if len(task.prompt) <= room), how)


def write_answers(
    writer: Writer, out: Path, facts: dict[str, Any], report: Callable[[str], None]
) -> Corpus:
    """The corpus of all documents, stored in `out` with a card of `facts` and settings beside it.

    Prompts that leave no room for an answer are left out. Raises ValueError where `out` or its
    shards were written with other settings.
    """
    card = {**facts, "python": platform.python_version(), "settings": asdict(writer.settings)}
    card = json.loads(json.dumps(card))
    parts, card_path = out.with_suffix(".parts"), out.with_suffix(".json")
    if out.is_file():
        _check_same(card_path, card, out)
        return Corpus.load(out)
    if card_path.exists() or (parts.is_dir() and not (parts / "card.json").is_file()):
        taken = card_path if card_path.exists() else parts
        raise ValueError(f"{taken} would be overwritten beside {out}: give another --out")
    parts.mkdir(parents=True, exist_ok=True)
    _check_same(parts / "card.json", card, parts)
    (parts / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    found = _read_parts(parts)
    missing = [n for n in range(writer.settings.num_documents) if n not in found]
    found |= _write_parts(writer, missing, parts, report)
    documents = [(found[n].ids, found[n].num_prompt) for n in sorted(found)]
    corpus = Corpus.of(documents, writer.model.vocab_size)
    scratch = out.with_suffix(".tmp.npz")
    corpus.save(scratch)
    totals = {
        "corpus": corpus.digest,
        "documents": len(corpus.length),
        "answer_ids": corpus.num_answer_ids,
    }
    card_path.write_text(json.dumps({**card, **totals}, indent=1) + "\n")
    scratch.replace(out)
    shutil.rmtree(parts)
    return corpus


def _check_same(path: Path, card: dict[str, Any], what: Path) -> None:
    if path.is_file():
        found = json.loads(path.read_text())
        if {name: found.get(name) for name in card} != card:
            raise ValueError(
                f"{what} was written with other settings than these: give the same options, or "
                "another --out"
            )


def _write_parts(
    writer: Writer, numbers: list[int], parts: Path, report: Callable[[str], None]
) -> dict[int, Written]:
    found: dict[int, Written] = {}
    shard: list[Written] = []
    num_ids, begun = 0, time.monotonic()
    told = begun
    for written in writer.documents(numbers):
        found[written.number] = written
        shard.append(written)
        num_ids += len(written.ids) - written.num_prompt
        if len(shard) == _SHARD or len(found) == len(numbers):
            _store(parts, shard)
            shard = []
        now = time.monotonic()
        if now - told > _REPORT_S:
            told, spent = now, now - begun
            left = spent / len(found) * (len(numbers) - len(found)) / 60
            report(
                f"{len(found)} of {len(numbers)} documents  {num_ids / spent:.0f} ids/s  "
                f"{left:.0f} min left"
            )
    if shard:
        _store(parts, shard)
    return found


def _store(parts: Path, shard: list[Written]) -> None:
    path = parts / f"part-{shard[0].number:07d}.npz"
    scratch = path.with_suffix(".tmp")
    with scratch.open("wb") as file:
        np.savez_compressed(
            file,
            number=np.array([written.number for written in shard]),
            length=np.array([len(written.ids) for written in shard]),
            prompt=np.array([written.num_prompt for written in shard]),
            tokens=np.concatenate([np.array(written.ids, dtype=np.int32) for written in shard]),
        )
    scratch.replace(path)


def _read_parts(parts: Path) -> dict[int, Written]:
    found = {}
    for path in sorted(parts.glob("part-*.npz")):
        with np.load(path) as arrays:
            ends = arrays["length"].cumsum()
            columns = (arrays["number"], ends - arrays["length"], ends, arrays["prompt"])
            tokens = arrays["tokens"].tolist()
            for number, start, end, prompt in zip(*(c.tolist() for c in columns), strict=True):
                found[number] = Written(number, tuple(tokens[start:end]), prompt)
    return found
