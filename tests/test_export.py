"""The exported draft: transformers' logits on the head's ids are ours."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ssd.models.assets import read_draft
from ssd.models.checkpoint import read_checkpoint
from ssd.models.families import transformer
from ssd.train.body import Material
from ssd.train.calibrate import document_rows
from ssd.train.distill import Trainer
from ssd.train.export import export
from tests.tiny import CPU
from tests.training import SETTINGS, corpus, write_target


@pytest.mark.parametrize("is_tied", [True, False])
def test_transformers_computes_the_same(tmp_path: Path, is_tied: bool) -> None:
    """In float32, on a document; with a tied head and with one of its own."""
    from transformers import AutoModelForCausalLM

    folder = write_target(tmp_path / "target", tie_word_embeddings=is_tied)
    (folder / "tokenizer.json").write_text("{}")
    Trainer(Material(folder, corpus()), SETTINGS, tmp_path / "draft").run(lambda line: None)
    export(tmp_path / "draft", folder, tmp_path / "out")
    assert (tmp_path / "out" / "tokenizer.json").exists()
    checkpoint = read_checkpoint(folder)
    target = transformer(checkpoint.config, checkpoint.tensors, torch.float32, CPU)
    head = checkpoint.tensors["lm_head.weight"] if not is_tied else None
    draft, _ = read_draft(tmp_path / "draft", target, head)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.float32).eval()
    ids = next(iter(corpus().documents()))[0]
    with torch.inference_mode():
        rows = theirs(torch.tensor([ids])).logits[0]
    assert rows.shape[1] == 61 and draft.head_ids is not None
    assert torch.allclose(rows[:, draft.head_ids], document_rows(draft, ids), atol=1e-4)


def test_a_folder_that_is_there_is_refused(tmp_path: Path) -> None:
    """Nothing is written over; a target of another size is refused too."""
    folder = write_target(tmp_path / "target")
    Trainer(Material(folder, corpus()), SETTINGS, tmp_path / "draft").run(lambda line: None)
    with pytest.raises(ValueError, match="must be a new folder"):
        export(tmp_path / "draft", folder, tmp_path / "draft")
    other = write_target(tmp_path / "other", vocab_size=70)
    with pytest.raises(ValueError, match=r"61 ids of width 32, got a target of \(70, 32\)"):
        export(tmp_path / "draft", other, tmp_path / "out")
    assert not (tmp_path / "out").exists()
