"""Text from a model: each document as if it were written alone, by a slow loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from ssd import noise
from ssd.models.transformer import Transformer
from ssd.train.calibrate import document_rows
from ssd.train.rows import Rows
from ssd.train.write import Task, WriteSettings, write
from tests.tiny import FAMILIES, tiny

PROMPTS = ([3, 1, 4], [1, 5], [9, 2, 6, 5, 3, 5, 8], [9], [7, 9, 3, 2], [3, 8, 4], [6, 2])
SETTINGS = WriteSettings(
    num_ids=12, length=40, top_k=9, num_rows=3, seed=4, stop_ids=frozenset(range(0, 61, 5))
)


def tasks() -> list[Task]:
    """Greedy and warm ones."""
    return [Task(n, tuple(p), (0.0, 0.8)[n % 2]) for n, p in enumerate(PROMPTS)]


def slow(model: Transformer, task: Task, settings: WriteSettings) -> list[int]:
    """One document by itself: the whole of it is computed anew for each id."""
    ids = list(task.prompt)
    while len(ids) - len(task.prompt) < settings.num_ids and len(ids) < settings.length:
        row = document_rows(model, ids)[-1].float()
        top = row.topk(min(settings.top_k or len(row), len(row)))
        scores, columns = top.values.numpy(), top.indices.numpy()
        if task.temperature > 0:
            seed = (settings.seed << 32) + task.number
            scores = scores / np.float32(task.temperature) + noise.gumbel(seed, len(ids), columns)
        ids.append(int(columns[int(np.argmax(scores))]))
        if ids[-1] in settings.stop_ids:
            break
    return ids


@pytest.mark.parametrize("family", FAMILIES)
def test_documents_are_those_written_alone(family: str) -> None:
    """Seven documents in three rows: what a row held before, and its company, leave no trace."""
    model = tiny(family, 3).model()
    found = {written.number: written for written in write(model, tasks(), SETTINGS)}
    assert sorted(found) == list(range(len(PROMPTS)))
    for task in tasks():
        written = found[task.number]
        assert list(written.ids) == slow(model, task, SETTINGS), task
        assert written.num_prompt == len(task.prompt)
    lengths = {len(written.ids) - written.num_prompt for written in found.values()}
    assert len(lengths) > 1, "some end early, so that rows are refilled at different times"


def test_text_does_not_depend_on_the_number_of_rows() -> None:
    """One row, or more rows than tasks."""
    model = tiny("llama", 3).model()
    texts = []
    for num_rows in (1, 3, 20):
        settings = WriteSettings(**{**SETTINGS.__dict__, "num_rows": num_rows})
        texts.append(sorted((w.number, w.ids) for w in write(model, tasks(), settings)))
    assert texts[0] == texts[1] == texts[2]


def test_a_prompt_without_room_is_refused() -> None:
    """One that fills the longest document, or has no ids."""
    model = tiny("llama", 3).model()
    for prompt in ((1,) * 40, ()):
        with pytest.raises(ValueError, match=f"1 to 39 ids, got {len(prompt)} in prompt 5"):
            list(write(model, [Task(5, prompt, 0.0)], SETTINGS))


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_give_the_model_s_logits(family: str) -> None:
    """Three contexts of different lengths, each step against whole documents; one row is reused."""
    model = tiny(family, 5).model()
    rows = Rows(model, 3, 60)
    contexts: list[list[int]] = [list(p) for p in PROMPTS[:3]]
    for row, ids in enumerate(contexts):
        assert close(rows.start(row, ids), model, ids)
    rng = np.random.default_rng(0)
    for step in range(40):
        if step == 9:
            rows.leave(1)
            contexts[1] = [8, 2, 8]
            rows.start(1, contexts[1])
        tokens = rng.integers(61, size=3).tolist()
        logits = rows.step(tokens)
        for ids, token, got in zip(contexts, tokens, logits, strict=True):
            ids.append(token)
            assert close(got, model, ids)


def close(got: Tensor, model: Transformer, ids: Sequence[int]) -> bool:
    return torch.allclose(got, document_rows(model, ids)[-1], atol=2e-4)
