"""Weights in 4 bits: what they do to their inputs stays, more than by rounding each alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from ssd.models.assets import read_card, read_draft, read_draft_state
from ssd.models.int4 import GROUP, quantised, restored
from ssd.models.transformer import Transformer
from ssd.train.__main__ import main
from ssd.train.body import Material
from ssd.train.calibrate import document_rows
from ssd.train.distill import Trainer
from ssd.train.quantise import compensated
from tests.test_int4 import numbers
from tests.training import SETTINGS, corpus, target, write_target


def loss(weight: Tensor, found: Tensor, moments: Tensor) -> float:
    """The sum of squares by which the results of the inputs change."""
    missed = (weight - found).double()
    return float(((missed @ moments.double()) * missed).sum())


def test_inputs_that_have_nothing_to_do_with_each_other() -> None:
    """Nothing can be made up for: each weight becomes the nearest of its group's sixteen."""
    weight = numbers(0, 12, 3 * GROUP)
    codes, scales = compensated(weight, torch.diag(torch.arange(1.0, 3 * GROUP + 1)))
    nearest, same_scales = quantised(weight)
    assert torch.equal(scales, same_scales)
    # The one rounds by the scale in float32, the other by its bf16: ties apart, the same.
    assert float((codes == nearest).float().mean()) > 0.97
    assert int((codes - nearest).abs().max()) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_inputs_that_go_together(seed: int) -> None:
    """Their results change less than by rounding each weight alone, by half and more."""
    inputs = numbers(seed, 500, 8) @ numbers(seed + 9, 8, 2 * GROUP)
    inputs += 0.1 * numbers(seed + 5, 500, 2 * GROUP)
    weight, moments = numbers(seed + 1, 16, 2 * GROUP), inputs.T @ inputs
    codes, scales = compensated(weight, moments)
    assert codes.shape == weight.shape and scales.shape == (16, 2, 2)
    assert int(codes.min()) >= 0 and int(codes.max()) <= 15
    alone = loss(weight, restored(*quantised(weight)), moments)
    assert loss(weight, restored(codes, scales), moments) < 0.5 * alone


def test_inputs_that_never_came() -> None:
    """Of no moments at all each weight is the nearest too, not a division by zero."""
    codes, scales = compensated(numbers(3, 4, GROUP), torch.zeros(GROUP, GROUP))
    assert torch.isfinite(restored(codes, scales)).all()


def test_a_width_that_does_not_go_with_groups() -> None:
    with pytest.raises(ValueError, match="a width that 32 divides, got 48"):
        compensated(numbers(1, 4, 48), torch.eye(48))


def train(folder: Path, **changes: object) -> None:
    """Write a tiny target, text and a draft that was trained on it into `folder`."""
    write_target(folder / "target", **changes)
    corpus().save(folder / "text.npz")
    material = Material(folder / "target", corpus())
    Trainer(material, SETTINGS, folder / "draft").run(lambda line: None)


def step(folder: Path, num_documents: int) -> int:
    """The exit code of rounding that draft."""
    given = ["--target", str(folder / "target"), "--corpus", str(folder / "text.npz")]
    more = ["--out", str(folder / "draft"), "--documents", str(num_documents)]
    return main(["quantise", *given, *more])


def draft(folder: Path) -> Transformer:
    return read_draft(folder / "draft", target(intermediate_size=64))[0]


def test_a_draft_in_four_bits(tmp_path: Path) -> None:
    """A third of the bytes, the same shape, nearly the same text; it can be trained on."""
    folder = tmp_path
    train(folder, intermediate_size=64)
    before, size = draft(folder), folder_bytes(folder / "draft")
    assert step(folder, 20) == 0
    after = draft(folder)
    assert folder_bytes(folder / "draft") < 0.5 * size
    assert read_card(folder / "draft")["quantised"]["bits"] == 4
    for layer, old in zip(after.weights.layers, before.weights.layers, strict=True):
        for product, was in zip(layer.linears, old.linears, strict=True):
            assert product.weight.shape == was.weight.shape
            again = restored(*quantised(product.weight))
            assert float((again - product.weight).norm() / product.weight.norm()) < 0.05
    ids = next(iter(corpus().documents()))[0]
    said, was_said = document_rows(after, ids), document_rows(before, ids)
    assert said.argmax(-1).tolist() == was_said.argmax(-1).tolist()
    assert 0 < float((said - was_said).norm() / was_said.norm()) < 0.3
    assert "head.weight" not in read_draft_state(folder / "draft")[1], "rows of the target's"


def folder_bytes(folder: Path) -> int:
    """Of the weights in `folder`."""
    found = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    assert found > 0
    return found


def test_a_draft_whose_width_does_not_fit_stays_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The inner width of 48 of the tiny target."""
    train(tmp_path)
    before = {path.name: path.read_bytes() for path in (tmp_path / "draft").iterdir()}
    assert step(tmp_path, 4) == 2
    assert "a width that 32 divides, got 48" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "draft").iterdir()} == before
