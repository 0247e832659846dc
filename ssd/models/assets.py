"""The shipped draft and N-gram table."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.torch import load_file, save_file
from torch import Tensor

from ssd.exact import Numerics
from ssd.models.checkpoint import read_checkpoint
from ssd.models.layers import Linear, RMSNorm
from ssd.models.llama import layers
from ssd.models.transformer import Transformer, Weights
from ssd.ngram import KatzTable

if TYPE_CHECKING:
    from transformers import LlamaModel

ASSETS = Path(__file__).resolve().parent.parent / "assets"
_CARD, _KATZ, _SHARDS = "draft.json", "katz.npz", "draft-*.safetensors"


@dataclass(frozen=True)
class DraftAsset:
    """What is known of a draft besides its weights.

    `hope`, `noisy_hope`: how often its first guess is right, greedy and at temperature 1;
    `sharpness`: how far to trust its perturbed scores.
    """

    hope: float = 0.4
    noisy_hope: float = 0.3
    sharpness: float = 1.0


def read_draft(folder: Path, target: Transformer) -> tuple[Transformer, DraftAsset]:
    """The draft in `folder`, which borrows the target's embedding and, as head, some of its rows.

    Raises ValueError where the files are missing or of another target.
    """
    card, tensors = _card(folder), _tensors(folder)
    embedding = target.weights.embedding
    if card["width"] != embedding.shape[1] or card["vocab_size"] != embedding.shape[0]:
        raise ValueError(
            f"the draft in {folder} was trained for a target of width {card['width']} and "
            f"{card['vocab_size']} ids, got {embedding.shape[1]} and {embedding.shape[0]}"
        )
    architecture = replace(
        target.architecture, num_layers=card["num_layers"], context_length=card["context_length"]
    )
    dtype, device = embedding.dtype, embedding.device
    placed = {name: value.to(device) for name, value in tensors.items()}
    head_ids = placed["head_ids"].long()
    weights = Weights(
        embedding=embedding,
        positions=None,
        layers=layers(placed, architecture, card["epsilon"], dtype),
        norm=RMSNorm(placed["norm.weight"].to(dtype), card["epsilon"]),
        head=Linear(embedding[head_ids].contiguous()),
        head_ids=head_ids,
    )
    known = DraftAsset()
    asset = DraftAsset(
        hope=card["hope"],
        noisy_hope=card.get("noisy_hope", known.noisy_hope),
        sharpness=card["sharpness"],
    )
    return Transformer(architecture, weights, Numerics()), asset


def read_draft_tensors(folder: Path, target: Path) -> tuple[LlamaModel, tuple[Tensor, Tensor]]:
    """The draft in `folder` as transformers' module, in float32, and its head: rows and their ids.

    For training alone; `target` is the target's folder.
    """
    from transformers import LlamaConfig, LlamaModel

    card, tensors = _card(folder), _tensors(folder)
    config = LlamaConfig.from_pretrained(target)
    config.num_hidden_layers = card["num_layers"]
    embedding = read_checkpoint(target).tensors["model.embed_tokens.weight"]
    head_ids = tensors.pop("head_ids").long()
    body = LlamaModel(config)
    state = {name: tensor.float() for name, tensor in tensors.items()}
    body.load_state_dict({**state, "embed_tokens.weight": embedding.float()})
    return body.eval(), (embedding[head_ids].float(), head_ids)


def _card(folder: Path) -> dict[str, Any]:
    path = folder / _CARD
    if not path.is_file():
        raise ValueError(f"expected a draft in {folder}, got no {_CARD} there: train one first")
    card: dict[str, Any] = json.loads(path.read_text())
    return card


def _tensors(folder: Path) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in sorted(folder.glob(_SHARDS)):
        tensors.update(load_file(path))
    return tensors


def update_card(folder: Path, figures: dict[str, float]) -> None:
    """Write `figures` into the card of the draft in `folder`."""
    (folder / _CARD).write_text(json.dumps({**_card(folder), **figures}, indent=1) + "\n")


def write_draft(folder: Path, tensors: dict[str, Tensor], card: dict[str, object]) -> None:
    """Store a draft in files under 10 MB, and its card."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(_SHARDS):
        old.unlink()
    shards: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, tensor in tensors.items():
        num_bytes = tensor.numel() * tensor.element_size()
        if size + num_bytes > 9_500_000:
            shards.append({})
            size = 0
        shards[-1][name] = tensor.contiguous()
        size += num_bytes
    for number, shard in enumerate(shards, start=1):
        save_file(shard, folder / f"draft-{number:05d}-of-{len(shards):05d}.safetensors")
    (folder / _CARD).write_text(json.dumps(card, indent=1) + "\n")


def read_katz(folder: Path) -> KatzTable | None:
    """The table in `folder`; None where there is none."""
    path = folder / _KATZ
    if not path.is_file():
        return None
    with np.load(path) as arrays:
        return KatzTable(arrays["keys"], arrays["tokens"], arrays["probabilities"])


def write_katz(folder: Path, table: KatzTable) -> None:
    """Store a table."""
    np.savez_compressed(
        folder / _KATZ, keys=table.keys, tokens=table.tokens, probabilities=table.probabilities
    )
