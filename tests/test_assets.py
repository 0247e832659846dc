"""The files of a draft and an N-gram: written small, read as written, refused where they differ."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from ssd.calibration import Calibration, CalibrationTable, NGramTable
from ssd.models.assets import (
    ASSETS,
    read_card,
    read_draft,
    read_katz,
    update_card,
    write_draft,
    write_katz,
)
from ssd.ngram import KatzTable
from tests.training import target


def test_assets_are_kept_in_small_files(tmp_path: Path) -> None:
    """No file reaches 10 MB; what is read is what was written."""
    tensors = {f"part{i}": torch.full((3_000_000,), float(i)).bfloat16() for i in range(5)}
    write_draft(tmp_path, tensors, {"hope": 0.5})
    files = sorted(tmp_path.glob("draft-*.safetensors"))
    assert len(files) == 5 and all(path.stat().st_size < 10_000_000 for path in files)
    write_draft(tmp_path, {"part": torch.zeros(3)}, {"hope": 0.5})
    assert len(list(tmp_path.glob("draft-*.safetensors"))) == 1, "older files are removed"


def test_what_ships_is_small() -> None:
    """Each file under 10 MB, all under 60."""
    sizes = [path.stat().st_size for path in ASSETS.iterdir()]
    assert max(sizes) < 10_000_000 and sum(sizes) < 60_000_000


def test_a_draft_of_another_target_is_refused(tmp_path: Path) -> None:
    """One sentence with both sizes."""
    write_draft(tmp_path, {}, {"width": 8, "vocab_size": 9})
    with pytest.raises(ValueError, match=r"width 8 and 9 ids, got 32 and 61"):
        read_draft(tmp_path, target())
    with pytest.raises(ValueError, match="train one first"):
        read_draft(tmp_path / "nowhere", target())


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "draft.json").write_text("{"),
        lambda folder: (folder / "draft.json").write_text("[1]"),
        lambda folder: update_card(folder, {"calibration": [{"edges": [0.5]}]}),
        lambda folder: update_card(folder, {"calibration": 7}),
        lambda folder: update_card(folder, {"num_layers": "two"}),
        lambda folder: next(folder.glob("draft-*.safetensors")).unlink(),
        lambda folder: next(folder.glob("draft-*.safetensors")).write_bytes(b"short"),
        lambda folder: update_card(folder, {"vocab_size": 61}),  # and ids beyond that
    ],
)
def test_a_damaged_draft_is_refused_in_a_sentence(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """It names the folder or the file."""
    for path in ASSETS.iterdir():
        shutil.copy(path, tmp_path)
    update_card(tmp_path, {"width": 32, "vocab_size": 61})
    damage(tmp_path)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        read_draft(tmp_path, target())


def test_a_damaged_table_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "katz.npz"
    whole = (ASSETS / "katz.npz").read_bytes()
    floats = {name: np.zeros(2) for name in ("keys", "tokens", "probabilities")}
    for damage in (
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(b"PK"),
        lambda: path.write_bytes(whole[:5000]),
        lambda: np.savez(path, keys=np.zeros(2)),
        lambda: np.savez(path, **floats),
    ):
        damage()
        with pytest.raises(ValueError, match=re.escape(str(path))):
            read_katz(tmp_path)


def test_a_failed_write_leaves_the_card(tmp_path: Path) -> None:
    write_draft(tmp_path, {"part": torch.zeros(3)}, {"hope": 0.5})
    with pytest.raises(TypeError):
        update_card(tmp_path, {"hope": object()})
    assert read_card(tmp_path) == {"hope": 0.5}


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


TABLES = Calibration(
    (
        CalibrationTable(0.0, (0.5,), ((0.1, 0.9), (0.05, 0.3))),
        CalibrationTable(0.7, (0.5,), ((0.2, 0.8),)),
        CalibrationTable(1.0, (0.5,), ((0.3, 0.7),)),
    ),
    (NGramTable(1.0, (0.5,), ((0.0, 0.1), (0.2, 0.7, 1.0))),),
)


def test_chances_by_rank_share_and_temperature() -> None:
    """Buckets include their lower edge; later ranks are as the last; the nearest table speaks."""
    shares = np.array([[0.6, 0.5, 0.2], [0.4, 0.1, 0.0]])
    greedy = TABLES.chances(0.0, shares)
    assert greedy.tolist() == pytest.approx(np.array([[0.9, 0.3, 0.05], [0.1, 0.05, 0.05]]))
    assert TABLES.chances(0.8, np.array([0.6])).tolist() == pytest.approx([0.8])
    assert TABLES.chances(2.0, np.array([0.6])).tolist() == pytest.approx([0.7])
    assert TABLES.chances(0.01, np.array([0.6])).tolist() == pytest.approx([0.8]), "not greedy"


def test_a_card_holds_a_calibration(tmp_path: Path) -> None:
    """Written as JSON arrays and read back; a card without one has none; other keys stay."""
    write_draft(tmp_path, {}, {"hope": 0.5})
    assert Calibration.of(read_card(tmp_path)) == Calibration()
    update_card(tmp_path, TABLES.as_json())
    assert Calibration.of(read_card(tmp_path)) == TABLES
    assert json.loads((tmp_path / "draft.json").read_text())["hope"] == 0.5


def test_a_calibration_has_a_chance_for_every_bucket() -> None:
    """One more than edges, in each rank."""
    with pytest.raises(ValueError, match=r"must have 2 chances, got \[2, 1\]"):
        CalibrationTable(0.0, (0.5,), ((0.1, 0.9), (0.05,)))


def test_the_shipped_card_says_how_it_was_made() -> None:
    """Settings of every run up to this one."""
    training = read_card(ASSETS)["training"]
    assert training["settings"]["num_tokens"] > 0 and training["held_out"]["top1"] > 0
