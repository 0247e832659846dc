"""Corpora: stored and read alike, split, batched with every document once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ssd.train.corpus import Corpus
from tests.training import corpus


def test_read_as_stored(tmp_path: Path) -> None:
    """The same documents and digest; a large vocabulary takes wider numbers."""
    text = corpus()
    text.save(tmp_path / "text.npz")
    found = Corpus.load(tmp_path / "text.npz")
    assert list(found.documents()) == list(text.documents()) and found.digest == text.digest
    assert corpus(59).digest != text.digest
    assert list(Corpus.of([([1, 70_000], 1)], 80_000).documents()) == [([1, 70_000], 1)]


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    """Missing, not an archive, lacking arrays, lengths that do not add up: one sentence each."""
    path = tmp_path / "text.npz"
    with pytest.raises(ValueError, match="no such file"):
        Corpus.load(path)
    path.write_text("hello")
    with pytest.raises(ValueError, match="tokens, length and prompt"):
        Corpus.load(path)
    np.savez(path, tokens=np.zeros(3))
    with pytest.raises(ValueError, match="tokens, length and prompt"):
        Corpus.load(path)
    np.savez(path, tokens=np.zeros(3), length=np.array([3]), prompt=np.array([1]))
    with pytest.raises(ValueError, match="whole numbers in a row"):
        Corpus.load(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-30], whole[:90] + b"x" * 40 + whole[130:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="tokens, length and prompt"):
            Corpus.load(path)
    np.savez(path, tokens=np.zeros(3, int), length=np.array([2]), prompt=np.array([1]))
    with pytest.raises(ValueError, match="add up to its 3 tokens, got 2"):
        Corpus.load(path)


def test_the_last_documents_are_held_out() -> None:
    """5 % of them, and their numbers are those in the whole."""
    training, held_out = corpus(60).split()
    assert len(training.length) == 57 and len(held_out.length) == 3
    assert list(held_out.documents()) == list(corpus(60).documents())[57:]
    batch = next(held_out.batches(10_000, np.random.default_rng(0)))
    assert sorted(batch.documents) == [57, 58, 59]


def test_batches_hold_every_document_once_in_few_widths() -> None:
    """Padded to multiples of 32, no larger than asked for, answers marked."""
    text = corpus(100)
    documents, seen = list(text.documents()), []
    for batch in text.batches(300, np.random.default_rng(0)):
        assert batch.ids.numel() <= 300 and batch.ids.shape[1] % 32 == 0
        for row, number in enumerate(batch.documents):
            ids, num_prompt = documents[number]
            assert batch.ids[row, : len(ids)].tolist() == ids
            marked = batch.is_answer[row].nonzero()[:, 0].tolist()
            assert marked == list(range(num_prompt, len(ids)))
        seen += batch.documents
    assert sorted(seen) == list(range(100))


def test_frequent_ids_are_the_most_frequent() -> None:
    """Ascending, so that a row's place in the head can be looked up."""
    text = Corpus.of([([5, 5, 5, 2, 2, 9, 7, 7, 7, 7], 1)], 61)
    assert text.frequent_ids(3).tolist() == [2, 5, 7]
