"""Text from a model, many documents at once: a target's answers, or what a draft would say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from ssd import noise
from ssd.models.transformer import Transformer
from ssd.train.rows import Rows


@dataclass(frozen=True)
class Task:
    """A document to write: its number, what it begins with, at which temperature it goes on."""

    number: int
    prompt: tuple[int, ...]
    temperature: float


@dataclass(frozen=True)
class Written:
    """A document: `ids` of the prompt and of the answer, the end token included."""

    number: int
    ids: tuple[int, ...]
    num_prompt: int


@dataclass(frozen=True)
class WriteSettings:
    """How documents are written.

    `num_ids`: the longest answer; `length`: the longest document; `top_k`: ids that may be drawn
    when sampling, None for all; `num_rows`: documents at a time; `stop_ids` end an answer. What a
    document says depends on `seed` and its number, not on its company, but for roundings.
    """

    num_ids: int = 256
    length: int = 768
    top_k: int | None = 200
    num_rows: int = 64
    seed: int = 0
    stop_ids: frozenset[int] = frozenset()


def write(model: Transformer, tasks: Iterable[Task], settings: WriteSettings) -> Iterator[Written]:
    """The documents of `tasks`, each when it is done; a row that becomes free takes the next task.

    Raises ValueError for a prompt that leaves no room.
    """
    writer, waiting = _Writer(model, settings), iter(tasks)
    while True:
        for row in writer.free_rows:
            if (task := next(waiting, None)) is None:
                break
            writer.start(row, task)
        if writer.is_idle:
            return
        writer.step()
        yield from writer.finished()


class _Writer:
    """The rows, and what has been written in each."""

    def __init__(self, model: Transformer, settings: WriteSettings) -> None:
        self._settings = settings
        self._length = min(settings.length, model.context_length)
        self._rows = Rows(model, settings.num_rows, self._length)
        self._head_ids = None if model.head_ids is None else model.head_ids.cpu()
        self._tasks: list[Task | None] = [None] * settings.num_rows
        self._answers: list[list[int]] = [[] for _ in range(settings.num_rows)]
        # Logits after what each row holds.
        num_columns = model.vocab_size if self._head_ids is None else len(self._head_ids)
        self._logits = torch.zeros(settings.num_rows, num_columns)

    @property
    def free_rows(self) -> list[int]:
        """Rows without a task."""
        return [row for row, task in enumerate(self._tasks) if task is None]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written."""
        return not any(self._tasks)

    @torch.inference_mode()
    def start(self, row: int, task: Task) -> None:
        """Begin `task` in `row`."""
        if not 0 < len(task.prompt) < self._length:
            raise ValueError(
                f"a prompt must have 1 to {self._length - 1} ids, got {len(task.prompt)} "
                f"in prompt {task.number}: shorten it"
            )
        self._tasks[row], self._answers[row] = task, []
        self._logits[row] = self._rows.start(row, task.prompt).float()

    def step(self) -> None:
        """One more id in every row."""
        chosen = self._chosen()
        for row, task in enumerate(self._tasks):
            if task is not None:
                self._answers[row].append(chosen[row])
        if not all(self._is_done(row) for row in range(len(self._tasks))):
            self._logits = self._rows.step(chosen).float().cpu()

    def finished(self) -> Iterator[Written]:
        """The documents that ended with the last id; their rows become free."""
        for row, task in enumerate(self._tasks):
            if task is not None and self._is_done(row):
                self._tasks[row] = None
                self._rows.leave(row)
                yield Written(task.number, (*task.prompt, *self._answers[row]), len(task.prompt))

    def _is_done(self, row: int) -> bool:
        task, answer = self._tasks[row], self._answers[row]
        if task is None:
            return True
        if answer[-1] in self._settings.stop_ids or len(answer) >= self._settings.num_ids:
            return True
        return len(task.prompt) + len(answer) >= self._length

    def _chosen(self) -> list[int]:
        best = self._logits.argmax(1)
        top_k = min(self._settings.top_k or self._logits.shape[1], self._logits.shape[1])
        top = torch.topk(self._logits, top_k, sorted=False)
        for row, task in enumerate(self._tasks):
            if task is not None and task.temperature > 0:
                columns = top.indices[row].numpy()
                position = len(task.prompt) + len(self._answers[row])
                seed = _seed(self._settings.seed, task.number)
                scores = top.values[row].numpy() / np.float32(task.temperature)
                perturbed = scores + noise.gumbel(seed, position, columns)
                best[row] = int(columns[int(np.argmax(perturbed))])
        ids: list[int] = (best if self._head_ids is None else self._head_ids[best]).tolist()
        return ids


def _seed(seed: int, number: int) -> int:
    """A seed for one document."""
    return (seed << 32) + number
