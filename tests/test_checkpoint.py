"""Model folders in Hugging Face's layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from ssd.models.checkpoint import read_checkpoint

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(2, dtype=torch.bfloat16)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return tmp_path


def shard(folder: Path) -> None:
    """Writes TENSORS in two files and an index."""
    names = {name: f"model-{name}.safetensors" for name in TENSORS}
    for name, file in names.items():
        save_file({name: TENSORS[name]}, folder / file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": names}))


@pytest.mark.parametrize("is_sharded", [False, True])
def test_weights_in_one_file_or_in_shards(folder: Path, is_sharded: bool) -> None:
    if is_sharded:
        shard(folder)
    else:
        save_file(TENSORS, folder / "model.safetensors")
    checkpoint = read_checkpoint(folder)
    assert checkpoint.folder == folder
    assert checkpoint.config == {"model_type": "llama"}
    assert checkpoint.tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert checkpoint.tensors[name].dtype == tensor.dtype
        assert torch.equal(checkpoint.tensors[name], tensor)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a model folder"):
        read_checkpoint(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"expected config.json"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "\udcff"])
def test_a_config_that_is_none(folder: Path, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"expected (a )?JSON"):
        read_checkpoint(folder)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("other.txt", "no weights: copy"),
        ("pytorch_model.bin", r"pickles: convert them .*save_pretrained"),
        ("model.gguf", r"only a GGUF: convert it .*gguf_file"),
        ("tf_model.h5", "another framework"),
    ],
)
def test_no_safetensors(folder: Path, name: str, words: str) -> None:
    (folder / name).write_bytes(b"")
    with pytest.raises(ValueError, match=words) as caught:
        read_checkpoint(folder)
    assert "\n" not in str(caught.value)


def test_shards_that_are_missing(folder: Path) -> None:
    shard(folder)
    (folder / "model-b.safetensors").unlink()
    with pytest.raises(ValueError, match=r"all but model-b.safetensors"):
        read_checkpoint(folder)
    (folder / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(ValueError, match="expected a weight_map"):
        read_checkpoint(folder)


@pytest.mark.parametrize("cut", [0, 3, 60, -1])
def test_weights_that_are_cut_short(folder: Path, cut: int) -> None:
    path = folder / "model.safetensors"
    save_file(TENSORS, path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match="cannot be read"):
        read_checkpoint(folder)
