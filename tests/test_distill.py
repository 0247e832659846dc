"""Distilling on a tiny target: a draft that loads, a run that goes on, from a start, in time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ssd.models.assets import read_draft
from ssd.train.body import Material
from ssd.train.calibrate import document_rows
from ssd.train.distill import Settings, Trainer
from ssd.train.teach import Teaching, TeachSettings, teach
from tests.training import SETTINGS, corpus, target, write_target


def silent(line: str) -> None:
    """A report to nobody."""


@pytest.fixture
def material(tmp_path: Path) -> Material:
    """A tiny target and text."""
    return Material(write_target(tmp_path / "target"), corpus())


def card(out: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((out / "draft.json").read_text())["training"]
    return found


def test_a_draft_learns_and_loads(material: Material, tmp_path: Path) -> None:
    """After training it guesses most ids of held-out text, as trained and in the engine."""
    out = tmp_path / "draft"
    Trainer(material, SETTINGS, out).run(silent)
    top1 = json.loads((out / "draft.json").read_text())["training"]["held_out"]["top1"]
    assert top1 > 0.8  # by luck 1 in 40
    draft, asset = read_draft(out, target())
    assert asset.alone.greedy == pytest.approx(top1, abs=1e-3)
    assert draft.head_ids is not None
    hits = []
    for ids, num_prompt in list(corpus().split()[1].documents()):
        guessed = draft.head_ids[document_rows(draft, ids).argmax(-1)]
        hits += (guessed[num_prompt - 1 : -1] == torch.tensor(ids[num_prompt:])).tolist()
    assert np.mean(hits) == pytest.approx(top1, abs=0.05)


def test_a_killed_run_goes_on(material: Material, tmp_path: Path) -> None:
    """Beyond the checkpoint nothing is done twice, and the result is that of one run."""
    out = tmp_path / "draft"
    first: list[str] = []
    second: list[str] = []
    Trainer(material, SETTINGS, out).run(first.append)
    assert (out / "checkpoint.pt").exists(), "a checkpoint every 25 steps"
    Trainer(material, SETTINGS, out).run(second.append)
    assert len(second) < len(first)
    with pytest.raises(ValueError, match="same options, or another --out"):
        Trainer(material, replace(SETTINGS, lr=1e-3), out)
    with pytest.raises(ValueError, match="same material"):
        Trainer(replace(material, corpus=corpus(20)), SETTINGS, out)


def test_a_start_is_gone_on_from(material: Material, tmp_path: Path) -> None:
    """The new run begins where the old draft stands, and its card tells of both."""
    Trainer(material, SETTINGS, tmp_path / "old").run(silent)
    again = replace(material, start=tmp_path / "old")
    trainer = Trainer(again, replace(SETTINGS, num_tokens=600, lr=1e-5), tmp_path / "new")
    old = json.loads((tmp_path / "old" / "draft.json").read_text())["training"]
    assert trainer.figures().top1 == pytest.approx(old["held_out"]["top1"], abs=0.03)
    trainer.run(silent)
    found = card(tmp_path / "new")
    assert found["start"] == old
    fresh = Trainer(material, SETTINGS, tmp_path / "fresh")
    assert fresh.figures().top1 < 0.3, "without a start nothing is known"


def test_a_run_ends_by_the_clock(material: Material, tmp_path: Path) -> None:
    """However many ids are asked for, minutes bound the run; its card says what it learned from."""
    lasting = replace(SETTINGS, num_tokens=10**9, minutes=0.01)
    Trainer(material, lasting, tmp_path / "draft").run(silent)
    settings = card(tmp_path / "draft")["settings"]
    assert isinstance(settings, dict) and 0 < settings["num_tokens"] < 10**7


def test_it_learns_from_lessons(material: Material, tmp_path: Path) -> None:
    """With lessons the draft comes to say what the target says, not what is written."""
    folder = tmp_path / "lessons"
    teach(material.target, material.corpus, folder, TeachSettings(num_kept=8), silent)
    settings = Settings(**{**SETTINGS.__dict__, "num_ids": 61, "num_tokens": 30_000})
    Trainer(replace(material, teaching=Teaching(folder)), settings, tmp_path / "taught").run(silent)
    Trainer(material, settings, tmp_path / "told").run(silent)
    model, hits = target(), {}
    for name in ("taught", "told"):
        draft, _ = read_draft(tmp_path / name, model)
        right = [
            document_rows(draft, ids)[3:-1].argmax(1) == document_rows(model, ids)[3:-1].argmax(1)
            for ids, _ in corpus().split()[1].documents()
        ]
        hits[name] = torch.cat(right).float().mean().item()
    assert hits["taught"] > 0.5 > 3 * hits["told"]


def test_lessons_on_other_text_are_refused(material: Material, tmp_path: Path) -> None:
    """One sentence with both corpora."""
    folder = tmp_path / "lessons"
    teach(material.target, corpus(20), folder, TeachSettings(), silent)
    with pytest.raises(ValueError, match=f"{corpus().digest}.*{corpus(20).digest}"):
        Trainer(replace(material, teaching=Teaching(folder)), SETTINGS, tmp_path / "draft")


def test_only_llamas_and_layers_that_are_there(tmp_path: Path, material: Material) -> None:
    """Another family, or a layer beyond the last, is refused in one sentence."""
    with pytest.raises(ValueError, match="none numbered 7"):
        Trainer(material, replace(SETTINGS, layers=(0, 7)), tmp_path / "draft")
    config = json.loads((material.target / "config.json").read_text())
    (material.target / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}))
    with pytest.raises(ValueError, match="llama family, got 'gpt2'"):
        Trainer(material, SETTINGS, tmp_path / "draft")
