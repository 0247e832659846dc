"""Training on a tiny target: a draft that loads, a run that resumes, calibration that tells."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ssd.models.assets import read_draft, read_draft_tensors, read_katz, write_draft, write_katz
from ssd.models.families import transformer
from ssd.models.transformer import Transformer
from ssd.ngram import KatzTable
from ssd.train import calibrate
from ssd.train.distill import Corpus, Settings, Trainer
from ssd.train.write import WriteSettings, write_text
from tests.tiny import tiny_llama

SETTINGS = Settings(
    layers=(0, 1), num_ids=40, num_tokens=12_000, batch_tokens=512, lr=2e-2, warmup_steps=2
)


@pytest.fixture
def target_dir(tmp_path: Path) -> Path:
    """A model folder of a tiny Llama."""
    tiny = tiny_llama(3)
    folder = tmp_path / "target"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(tiny.config))
    save_file(tiny.tensors, folder / "model.safetensors")
    return folder


def corpus(num_documents: int = 60) -> Corpus:
    """Documents in which every id is followed by the one a little above it: easily learned."""
    rng = np.random.default_rng(0)
    documents = [(int(rng.integers(40)) + 3 * np.arange(24)) % 40 for _ in range(num_documents)]
    length = np.full(num_documents, 24, dtype=np.int32)
    return Corpus(np.concatenate(documents).astype(np.uint16), length, np.full_like(length, 4))


def target(folder: Path) -> Transformer:
    """The engine's model of the folder."""
    tiny = tiny_llama(3)
    return transformer(tiny.config, tiny.tensors, torch.float32, torch.device("cpu"))


def test_a_draft_learns_and_loads(target_dir: Path, tmp_path: Path) -> None:
    """After training it guesses most ids of held-out text, as trained and in the engine."""
    out = tmp_path / "draft"
    Trainer(target_dir, corpus(), SETTINGS, out).run(lambda line: None)
    card = json.loads((out / "draft.json").read_text())
    assert card["held_out"]["top1"] > 0.8  # by luck 1 in 40
    draft, asset = read_draft(out, target(target_dir))
    assert asset.hope == pytest.approx(card["held_out"]["top1"], abs=1e-3)
    assert draft.head_ids is not None
    hits = []
    for ids, num_prompt in list(corpus().split()[1].documents()):
        guessed = draft.head_ids[calibrate.document_rows(draft, ids).argmax(-1)]
        hits += (guessed[num_prompt - 1 : -1] == torch.tensor(ids[num_prompt:])).tolist()
    assert np.mean(hits) == pytest.approx(card["held_out"]["top1"], abs=0.05)


def test_a_killed_run_goes_on(target_dir: Path, tmp_path: Path) -> None:
    """Beyond the checkpoint nothing is done twice."""
    out = tmp_path / "draft"
    more = Settings(**{**SETTINGS.__dict__, "num_tokens": 60 * 420})
    first, second = [], []
    Trainer(target_dir, corpus(), more, out).run(first.append)
    assert (out / "checkpoint.pt").exists(), "a checkpoint every 50 steps"
    Trainer(target_dir, corpus(), more, out).run(second.append)
    assert len(second) < len(first)


def test_text_is_written_in_the_draft_s_own_ids(target_dir: Path, tmp_path: Path) -> None:
    """As many documents as asked for, of the length asked for, of ids that its head speaks of."""
    out = tmp_path / "draft"
    Trainer(target_dir, corpus(), SETTINGS, out).run(lambda line: None)
    body, head = read_draft_tensors(out, target_dir)
    settings = WriteSettings(temperature=1.0, num_tokens=200, length=10, num_rows=8)
    documents = write_text(body, head, [[1, 4, 7], [2, 5, 8]], settings, lambda d, t: None)
    assert len(documents) == 24 and {len(document) for document in documents} == {10}
    assert {token for document in documents for token in document} <= set(head[1].tolist())
    again = write_text(body, head, [[1, 4, 7], [2, 5, 8]], settings, lambda d, t: None)
    assert again == documents


def test_assets_are_kept_in_small_files(tmp_path: Path) -> None:
    """No file reaches 10 MB; what is read is what was written."""
    tensors = {f"part{i}": torch.full((3_000_000,), float(i)).bfloat16() for i in range(5)}
    write_draft(tmp_path, tensors, {"hope": 0.5})
    files = sorted(tmp_path.glob("draft-*.safetensors"))
    assert len(files) == 5 and all(path.stat().st_size < 10_000_000 for path in files)
    write_draft(tmp_path, {"part": torch.zeros(3)}, {"hope": 0.5})
    assert len(list(tmp_path.glob("draft-*.safetensors"))) == 1, "older files are removed"


def test_a_draft_of_another_target_is_refused(target_dir: Path, tmp_path: Path) -> None:
    """One sentence with both sizes."""
    write_draft(tmp_path, {}, {"width": 8, "vocab_size": 9})
    with pytest.raises(ValueError, match=r"width 8 and 9 ids, got 32 and 61"):
        read_draft(tmp_path, target(target_dir))
    with pytest.raises(ValueError, match="train one first"):
        read_draft(tmp_path / "nowhere", target(target_dir))


def test_a_table_reads_as_written(tmp_path: Path) -> None:
    """And a missing one is None."""
    assert read_katz(tmp_path) is None
    table = KatzTable(
        np.array([5], dtype=np.uint64),
        np.array([[7, 8]], dtype=np.uint16),
        np.array([[0.5, 0.25]], dtype=np.float16),
    )
    write_katz(tmp_path, table)
    found = read_katz(tmp_path)
    assert found is not None and found.keys.tolist() == [5] and found.tokens.tolist() == [[7, 8]]


def test_rows_of_a_document_do_not_depend_on_chunks(target_dir: Path) -> None:
    """Teacher forcing in chunks gives what one pass gives."""
    model, ids = target(target_dir), list(range(50))
    whole = calibrate.document_rows(model, ids)
    small = model.with_numerics(type(model.numerics)("exact", (4, 8)))
    assert torch.allclose(calibrate.document_rows(small, ids), whole, atol=1e-5)


def test_a_model_that_drafts_for_itself_agrees_and_is_trusted(target_dir: Path) -> None:
    """Agreement is 1, and trusting its noisy scores fully is likelier than trusting them less."""
    model = target(target_dir)
    documents = list(corpus(6).documents())
    assert calibrate.agreement(model, model, documents) == 1.0
    noisy = calibrate.noisy_figures(model, model, documents, num_scores=50)
    assert noisy.agreement == 1.0
    assert noisy.sharpness == max(noisy.log_chance)


def test_match_hits_count_by_length() -> None:
    """In a text that repeats with period 4 long matches are always right."""
    hits = calibrate.match_hits([([1, 2, 3, 4] * 8, 8)])
    assert hits[6] == 1.0 and hits[1] == 0.0
