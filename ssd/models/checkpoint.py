"""A model folder in Hugging Face's layout, read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

_SINGLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True)
class Checkpoint:
    """A model's configuration and weights, in the dtype they are stored in.

    The weights are views of the memory-mapped files: a page is read when it is first used.
    """

    folder: Path
    config: dict[str, Any]
    tensors: dict[str, Tensor]


def read_checkpoint(folder: Path) -> Checkpoint:
    """The checkpoint in `folder`: config.json, and safetensors weights in one file or in shards.

    Raises ValueError where something is missing or cannot be read.
    """
    if not folder.is_dir():
        raise ValueError(f"expected a model folder, got {folder}, which is not one: check the path")
    config = _read_json(folder / "config.json")
    tensors: dict[str, Tensor] = {}
    for path in _weight_files(folder):
        try:
            tensors.update(load_file(path))
        except (SafetensorError, OSError) as error:
            raise ValueError(
                f"expected safetensors weights in {path}, got a file that cannot be read "
                f"({error}): copy or download it again"
            ) from error
    return Checkpoint(folder, config, tensors)


def _weight_files(folder: Path) -> list[Path]:
    """The weight files of `folder`, all there."""
    if (folder / _SINGLE).is_file():
        return [folder / _SINGLE]
    if (folder / _INDEX).is_file():
        weight_map = _read_json(folder / _INDEX).get("weight_map")
        if not isinstance(weight_map, dict) or not weight_map:
            raise ValueError(f"expected a weight_map in {folder / _INDEX}, got none: copy it again")
        paths = [folder / name for name in sorted(set(map(str, weight_map.values())))]
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            raise ValueError(
                f"expected {len(paths)} weight files in {folder}, got all but "
                f"{', '.join(missing)}: copy or download the missing ones"
            )
        return paths
    raise ValueError(f"expected {_SINGLE} in {folder}, got {_instead(folder)}")


def _instead(folder: Path) -> str:
    """What `folder` has in place of safetensors weights, and the way out."""
    suffixes = {path.suffix for path in folder.iterdir()}
    if suffixes & {".bin", ".pt", ".pth"}:
        return (
            "PyTorch pickles: convert them once with transformers, "
            "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER), "
            "and copy the tokenizer's files beside them"
        )
    if ".gguf" in suffixes:
        return (
            "only a GGUF: convert it once with transformers, "
            "AutoModelForCausalLM.from_pretrained(FOLDER, gguf_file=FILE).save_pretrained(NEW)"
        )
    if suffixes & {".h5", ".msgpack", ".onnx"}:
        return "weights of another framework: download the model's safetensors files"
    return "no weights: copy or download the whole model folder"


def _read_json(path: Path) -> dict[str, Any]:
    """The JSON object in `path`."""
    if not path.is_file():
        raise ValueError(
            f"expected {path.name} in {path.parent}, got no such file: "
            "give the folder that holds the model's files"
        )
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"expected JSON in {path}, got something else ({error})") from error
    if isinstance(value, dict):
        return value
    raise ValueError(f"expected a JSON object in {path}, got a {type(value).__name__}")
