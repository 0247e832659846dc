"""Documents of token ids that a target wrote, as training reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd.models.assets import NPZ_FAULTS

_HELD_OUT = 0.05
_BUCKET = 32  # few widths: memory grows with every shape that the kernels meet


@dataclass(frozen=True)
class Batch:
    """Padded documents: `ids`, `is_answer` `[B, W]`; `documents`: their numbers in the corpus."""

    ids: Tensor
    is_answer: Tensor
    documents: tuple[int, ...]


@dataclass(frozen=True)
class Corpus:
    """Documents of token ids: `tokens` one after another, `length` and `prompt` ids a document.

    `first`: the number of its first document in the corpus that it is a part of.
    """

    tokens: NDArray[np.integer]
    length: NDArray[np.integer]
    prompt: NDArray[np.integer]
    first: int = 0

    @classmethod
    def load(cls, path: Path) -> Corpus:
        """The corpus in an `.npz` file with the arrays `tokens`, `length` and `prompt`.

        Raises ValueError where `path` is not such a file.
        """
        if not path.is_file():
            raise ValueError(
                f"--corpus must be an .npz file of documents, got {path}: no such file"
            )
        try:
            with np.load(path) as arrays:
                found = cls(arrays["tokens"], arrays["length"], arrays["prompt"])
            if any(
                each.dtype.kind not in "iu" or each.ndim != 1
                for each in (found.tokens, found.length, found.prompt)
            ):
                raise ValueError("an array is not one of whole numbers in a row")
        except NPZ_FAULTS as error:
            raise ValueError(
                f"--corpus must be an .npz file with the arrays tokens, length and prompt, got "
                f"{path} ({error})"
            ) from error
        if int(found.length.sum()) != len(found.tokens) or len(found.length) != len(found.prompt):
            raise ValueError(
                f"the lengths in {path} must add up to its {len(found.tokens)} tokens, got "
                f"{int(found.length.sum())}: write the corpus again"
            )
        return found

    @classmethod
    def of(cls, documents: Sequence[tuple[Sequence[int], int]], vocab_size: int) -> Corpus:
        """The corpus of (ids, how many of them are the prompt)."""
        dtype = np.uint16 if vocab_size <= 1 << 16 else np.uint32
        ids = [np.asarray(document, dtype=dtype) for document, _ in documents]
        return cls(
            np.concatenate(ids) if ids else np.zeros(0, dtype=dtype),
            np.array([len(document) for document in ids], dtype=np.int32),
            np.array([num_prompt for _, num_prompt in documents], dtype=np.int32),
        )

    def save(self, path: Path) -> None:
        """Store the corpus as `load` reads it."""
        np.savez_compressed(path, tokens=self.tokens, length=self.length, prompt=self.prompt)

    @property
    def digest(self) -> str:
        """A short hash of all documents."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.tokens, self.length, self.prompt):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def num_answer_ids(self) -> int:
        """Ids that the target wrote."""
        return int((self.length - self.prompt).sum())

    def split(self) -> tuple[Corpus, Corpus]:
        """The training part, and the last 5 % of the documents for validation."""
        cut = int(len(self.length) * (1 - _HELD_OUT))
        return self.part(0, cut), self.part(cut, len(self.length))

    def part(self, start: int, end: int) -> Corpus:
        """The documents from `start` to before `end`."""
        low, high = int(self.length[:start].sum()), int(self.length[:end].sum())
        return Corpus(
            self.tokens[low:high],
            self.length[start:end],
            self.prompt[start:end],
            self.first + start,
        )

    def documents(self) -> Iterator[tuple[list[int], int]]:
        """Each document's ids, and how many of them are the prompt."""
        ends = self.length.cumsum()
        for end, length, prompt in zip(ends, self.length, self.prompt, strict=True):
            yield self.tokens[end - length : end].tolist(), int(prompt)

    def frequent_ids(self, count: int) -> NDArray[np.int64]:
        """The `count` most frequent ids, ascending."""
        frequency = np.bincount(self.tokens)
        return np.sort(np.argsort(-frequency, kind="stable")[:count])

    def batches(self, num_tokens: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Batches of about `num_tokens` padded ids, documents of like length together."""
        order = np.argsort(self.length + rng.uniform(0, 24, len(self.length)), kind="stable")
        groups: list[list[int]] = [[]]
        width = 0
        for index in order.tolist():
            width = max(width, _bucket(int(self.length[index])))
            if groups[-1] and width * (len(groups[-1]) + 1) > num_tokens:
                groups.append([])
                width = _bucket(int(self.length[index]))
            groups[-1].append(index)
        starts = self.length.cumsum() - self.length
        for group in (groups[i] for i in rng.permutation(len(groups))):
            yield self._batch(group, starts)

    def _batch(self, group: Sequence[int], starts: NDArray[np.integer]) -> Batch:
        width = _bucket(max(int(self.length[index]) for index in group))
        ids = np.zeros((len(group), width), dtype=np.int64)
        is_answer = np.zeros((len(group), width), dtype=bool)
        for row, index in enumerate(group):
            start, length = int(starts[index]), int(self.length[index])
            ids[row, :length] = self.tokens[start : start + length]
            is_answer[row, self.prompt[index] : length] = True
        numbers = tuple(self.first + index for index in group)
        return Batch(torch.from_numpy(ids), torch.from_numpy(is_answer), numbers)


def _bucket(length: int) -> int:
    return -(-length // _BUCKET) * _BUCKET
