"""Lessons: the target's own law at every place, in shards that are not written twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ssd.train.calibrate import document_rows
from ssd.train.corpus import Corpus
from ssd.train.teach import Teaching, TeachSettings, teach
from tests.training import corpus, target, write_target

SETTINGS = TeachSettings(num_kept=6, shard_documents=7, batch_tokens=200)


def taught(tmp_path: Path, settings: TeachSettings = SETTINGS) -> tuple[Teaching, list[str]]:
    """Lessons on 20 documents, and what was reported."""
    folder = tmp_path / "target"
    folder = folder if folder.exists() else write_target(folder)
    lines: list[str] = []
    teach(folder, corpus(20), tmp_path / "lessons", settings, lines.append)
    return Teaching(tmp_path / "lessons"), lines


def test_lessons_are_the_target_s_law(tmp_path: Path) -> None:
    """After every id that an answer goes on from: ids best first, chances over all ids."""
    teaching, _ = taught(tmp_path)
    model, text = target(), corpus(20)
    documents = list(text.documents())
    for batch in text.batches(150, np.random.default_rng(5)):
        ids, chances = teaching.lesson(batch)
        at = 0
        for number in batch.documents:
            written, num_prompt = documents[number]
            law = torch.softmax(document_rows(model, written)[num_prompt - 1 : -1], dim=1)
            part = slice(at, at + len(law))
            # The teacher computes in bfloat16.
            assert (law.gather(1, ids[part]) - chances[part]).abs().mean() < 0.02
            shifted = law.roll(1, dims=0).gather(1, ids[part])
            assert (shifted - chances[part]).abs().mean() > 0.05, "the test can tell"
            assert (chances[part].diff(dim=1) <= 0).all()
            at += len(law)
        assert at == len(ids)


def test_shards_that_are_there_stay(tmp_path: Path) -> None:
    """A second run writes what is missing only, another corpus or size is refused."""
    _, lines = taught(tmp_path)
    assert len(lines) == 3
    shards = sorted((tmp_path / "lessons").glob("teach-*.npz"))
    shards[1].unlink()
    _, lines = taught(tmp_path)
    assert len(lines) == 1 and shards[1].exists()
    with pytest.raises(ValueError, match="choose another"):
        taught(tmp_path, TeachSettings(num_kept=5, shard_documents=7))


def test_a_shard_of_a_shorter_run_is_made_whole(tmp_path: Path) -> None:
    taught(tmp_path, replace(SETTINGS, num_documents=10))
    teaching, lines = taught(tmp_path)
    assert len(lines) == 2 and teaching.num_taught == 20


def test_documents_without_a_lesson_teach_their_ids(tmp_path: Path) -> None:
    """Only the first ten are taught; the others' ids count with chance 1."""
    settings = TeachSettings(num_kept=6, num_documents=10, shard_documents=7)
    teaching, _ = taught(tmp_path, settings)
    assert teaching.num_taught == 10
    batch = next(corpus(20).part(10, 20).batches(10_000, np.random.default_rng(0)))
    ids, chances = teaching.lesson(batch)
    assert torch.equal(ids[:, 0], batch.ids[batch.is_answer])
    assert (chances[:, 0] == 1).all() and (chances[:, 1:] == 0).all()


def test_a_folder_without_lessons_is_refused(tmp_path: Path) -> None:
    """In one sentence that says what to run."""
    with pytest.raises(ValueError, match="teach` first"):
        Teaching(tmp_path)
    teaching, _ = taught(tmp_path)
    with pytest.raises(ValueError, match="teach this corpus first"):
        teaching.check(Corpus.of([([1, 2, 3], 1)], 61))
