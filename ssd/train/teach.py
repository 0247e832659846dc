"""The target's own law at every place of a corpus: soft targets for a draft.

Computed once and kept in shards, so that every later epoch is as cheap as one on bare ids, and the
target's greedy choice is known even where the text was sampled.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd.train.corpus import Batch, Corpus

_CARD = "teach.json"
_HEAD_ROWS = 256


@dataclass(frozen=True)
class TeachSettings:
    """How many ids are kept of each law; of how many documents, the first ones, None for all."""

    num_kept: int = 32
    num_documents: int | None = None
    shard_documents: int = 400
    batch_tokens: int = 4096


@dataclass(frozen=True)
class Lesson:
    """The target's likeliest ids after every place, best first: `ids`, `chances` `[P, K]`.

    A place is one before an id of an answer; chances are under the whole vocabulary.
    """

    ids: NDArray[np.integer]
    chances: NDArray[np.float16]


class Teaching:
    """The lessons of a corpus in the folder `out`."""

    def __init__(self, out: Path) -> None:
        path = out / _CARD
        if not path.is_file():
            raise ValueError(
                f"expected a folder of `teach` in {out}, got no {_CARD} there: "
                "run `python -m ssd.train teach` first"
            )
        self.card: dict[str, Any] = json.loads(path.read_text())
        self._lessons: list[Lesson | None] = [None] * self.card["num_documents"]
        for shard in sorted(out.glob("teach-*.npz")):
            with np.load(shard) as arrays:
                ids, chances = arrays["ids"], arrays["chances"]
                number, ends = int(arrays["first"]), arrays["places"].cumsum()
            for end, start in zip(ends, [0, *ends[:-1]], strict=True):
                self._lessons[number] = Lesson(ids[start:end], chances[start:end])
                number += 1

    @property
    def num_taught(self) -> int:
        """Documents that have a lesson."""
        return sum(lesson is not None for lesson in self._lessons)

    def check(self, corpus: Corpus) -> None:
        """Raises ValueError where the lessons are on another corpus, or there are none."""
        if self.card["corpus"] != corpus.digest:
            raise ValueError(
                f"expected lessons on the corpus {corpus.digest}, got {self.card['corpus']}: "
                "teach this corpus first"
            )
        if self.num_taught == 0:
            raise ValueError("expected lessons on some documents, got none: run `teach` first")

    def lesson(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """`ids`, `chances` `[M, K]` of the places of a batch, in the order of its mask.

        A document without a lesson teaches its own ids, each with chance 1.
        """
        parts = [
            self._lessons[number] or self._written(batch, row)
            for row, number in enumerate(batch.documents)
        ]
        ids = np.concatenate([part.ids for part in parts])
        chances = np.concatenate([part.chances for part in parts])
        assert len(ids) == int(batch.is_answer.sum())
        return torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(chances).float()

    def _written(self, batch: Batch, row: int) -> Lesson:
        written = batch.ids[row][batch.is_answer[row]].numpy()
        shape = (len(written), self.card["num_kept"])
        ids, chances = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.float16)
        ids[:, 0], chances[:, 0] = written, 1.0
        return Lesson(ids, chances)


def teach(
    target: Path, corpus: Corpus, out: Path, settings: TeachSettings, report: Callable[[str], None]
) -> None:
    """Write the lessons of `corpus` into `out`, shard by shard; those that are there stay.

    Raises ValueError where `out` holds lessons on another corpus or with other settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    card = {
        "corpus": corpus.digest,
        "num_documents": len(corpus.length),
        "target": target.name,
        "num_kept": settings.num_kept,
    }
    path = out / _CARD
    if path.is_file() and json.loads(path.read_text()) != card:
        raise ValueError(f"expected lessons on this corpus in {out}, got others: choose another")
    path.write_text(json.dumps(card, indent=1) + "\n")
    num_documents = len(corpus.length)
    if settings.num_documents is not None:
        num_documents = min(num_documents, settings.num_documents)
    starts = range(0, num_documents, settings.shard_documents)
    ends = {start: min(start + settings.shard_documents, num_documents) for start in starts}
    missing = [start for start in starts if _num_taught(_shard(out, start)) < ends[start] - start]
    if not missing:
        return
    teacher, begun = _Teacher(target, settings), time.monotonic()
    done = 0
    for count, start in enumerate(missing, start=1):
        part = corpus.part(start, ends[start])
        _write(_shard(out, start), start, part, teacher.lessons(part))
        done += len(part.tokens)
        spent = time.monotonic() - begun
        left = spent / count * (len(missing) - count) / 60
        report(f"shard {count} of {len(missing)}  {done / spent:.0f} ids/s  {left:.0f} min left")


def _shard(out: Path, start: int) -> Path:
    return out / f"teach-{start:07d}.npz"


def _num_taught(path: Path) -> int:
    """How many documents a shard teaches; one of a shorter run has fewer than a whole one."""
    if not path.is_file():
        return 0
    with np.load(path) as arrays:
        return len(arrays["places"])


def _write(path: Path, first: int, part: Corpus, lessons: list[Lesson]) -> None:
    scratch = path.with_suffix(".tmp")
    with scratch.open("wb") as file:
        np.savez(
            file,
            first=first,
            places=part.length - part.prompt,
            ids=np.concatenate([lesson.ids for lesson in lessons]),
            chances=np.concatenate([lesson.chances for lesson in lessons]),
        )
    scratch.replace(path)


class _Teacher:
    """The target as transformers runs it, in bfloat16: whole documents, several at a time."""

    def __init__(self, target: Path, settings: TeachSettings) -> None:
        from transformers import AutoModelForCausalLM

        self._model: Any = AutoModelForCausalLM.from_pretrained(target, dtype=torch.bfloat16).eval()
        self._settings = settings

    @torch.inference_mode()
    def lessons(self, part: Corpus) -> list[Lesson]:
        """The lessons of the documents of `part`, in their order."""
        found: dict[int, Lesson] = {}
        body, head = self._model.base_model, self._model.get_output_embeddings()
        for batch in part.batches(self._settings.batch_tokens, np.random.default_rng(0)):
            hidden = body(input_ids=batch.ids, use_cache=False).last_hidden_state[:, :-1]
            for row, number in enumerate(batch.documents):
                rows = hidden[row][batch.is_answer[row, 1:]]
                found[number] = _lesson(rows, head, self._settings.num_kept)
        return [found[number] for number in sorted(found)]


def _lesson(rows: Tensor, head: Callable[[Tensor], Tensor], num_kept: int) -> Lesson:
    ids, chances = [], []
    for start in range(0, len(rows), _HEAD_ROWS):
        logits = head(rows[start : start + _HEAD_ROWS]).float()
        top = torch.topk(logits, min(num_kept, logits.shape[1]))
        ids.append(top.indices)
        chances.append(torch.exp(top.values - torch.logsumexp(logits, dim=1, keepdim=True)))
    dtype = np.uint16 if logits.shape[1] <= 1 << 16 else np.uint32
    return Lesson(torch.cat(ids).numpy().astype(dtype), torch.cat(chances).half().numpy())
