"""A smaller head: the same scores of the ids that stay, the most frequent ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ssd.models.assets import read_draft
from ssd.train.body import Material
from ssd.train.calibrate import document_rows
from ssd.train.corpus import Corpus
from ssd.train.distill import Trainer
from ssd.train.head import cut_head
from tests.training import SETTINGS, corpus, target, write_target


def test_the_ids_that_stay_score_as_before(tmp_path: Path) -> None:
    """Ten of forty; the share of held-out ids is counted."""
    material = Material(write_target(tmp_path / "target"), corpus())
    Trainer(material, SETTINGS, tmp_path / "draft").run(lambda line: None)
    # A text in which the ids from 20 to 29 are the most frequent.
    text = Corpus.of([([*range(40), *range(20, 30)], 40)] * 40, 61)
    share = cut_head(tmp_path / "draft", text, 10, tmp_path / "small")
    assert share == 1.0
    large, _ = read_draft(tmp_path / "draft", target())
    small, _ = read_draft(tmp_path / "small", target())
    assert large.head_ids is not None and small.head_ids is not None
    assert small.head_ids.tolist() == list(range(20, 30))
    ids = next(iter(corpus().documents()))[0]
    where = np.searchsorted(large.head_ids.numpy(), small.head_ids.numpy())
    assert torch.allclose(document_rows(small, ids), document_rows(large, ids)[:, where], atol=1e-5)
    with pytest.raises(ValueError, match="must be a new folder"):
        cut_head(tmp_path / "draft", text, 10, tmp_path / "small")
    with pytest.raises(ValueError, match="below the head's 10, got 10"):
        cut_head(tmp_path / "small", text, 10, tmp_path / "smaller")
