"""The model families by the `model_type` of their configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from ssd.exact import Numerics
from ssd.models import gpt2, llama
from ssd.models.int8 import IntegerLinear, RescoredLinear
from ssd.models.packed import PackedLinear
from ssd.models.transformer import Transformer, Weights

_FAMILIES = {"llama": llama, "gpt2": gpt2}


def transformer(
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    dtype: torch.dtype,
    device: torch.device,
) -> Transformer:
    """The model of a checkpoint. Raises ValueError for a family that is not computed here."""
    name = config.get("model_type")
    if name not in _FAMILIES:
        raise ValueError(
            f"the model must be of a family that this lab computes ({', '.join(_FAMILIES)}), "
            f"got {name!r}"
        )
    family = _FAMILIES[name]
    placed = {key: value.to(device) for key, value in tensors.items()}
    try:
        weights, architecture = family.weights(config, placed, dtype), family.architecture(config)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"the model must have the settings and tensors of a {name} in whole numbers, got one "
            f"without what is wanted ({error}); quantised checkpoints are not read"
        ) from error
    return Transformer(architecture, weights, Numerics())


def fingerprint(weights: Weights) -> str:
    """A short hash that tells weights apart: of a thousand numbers of every tensor."""
    digest = hashlib.blake2b(digest_size=8)
    for tensor in _tensors(weights):
        flat = tensor.detach().reshape(-1)
        sample = flat[:: max(1, len(flat) // 1000)]
        digest.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(sample.double().cpu().numpy().tobytes())
    return digest.hexdigest()


def _tensors(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, PackedLinear):  # what is packed has no order to sample
        return [value.sample, *_tensors(value.bias)]
    if isinstance(value, RescoredLinear):
        return [*_tensors(value.rough), value.weight]
    if isinstance(value, IntegerLinear):
        return [value.sample, value.scales]
    if isinstance(value, tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    if is_dataclass(value) and not isinstance(value, type):
        return [t for field in fields(value) for t in _tensors(getattr(value, field.name))]
    return []
