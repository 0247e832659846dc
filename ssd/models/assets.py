"""The shipped draft and N-gram table."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ssd.calibration import UNCALIBRATED, Calibration
from ssd.cost import Hope
from ssd.exact import Numerics
from ssd.models.int4 import from_bytes, in_bytes, restored
from ssd.models.layers import Linear, RMSNorm
from ssd.models.llama import layers
from ssd.models.transformer import Transformer, Weights
from ssd.ngram import KatzTable

ASSETS = Path(__file__).resolve().parent.parent / "assets"
KATZ = "katz.npz"
NPZ_FAULTS = (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, zlib.error)
"""What reading arrays raises where a file of them is none, or not whole."""
HEAD = "head.weight"  # the tensor of a head of the draft's own
_CARD, _SHARDS = "draft.json", "draft-*.safetensors"
_CODES, _SCALES = ".codes", ".scales"
_USUAL = Hope(0.4, 0.3)  # of a draft whose card tells less


@dataclass(frozen=True)
class DraftAsset:
    """What is known of a draft besides its weights.

    `alone`: how often its first guess is right; `helped`: the same where the N-gram leaves room
    for it; `calibration`: how often a guess is right by its rank and share.
    """

    alone: Hope = _USUAL
    helped: Hope = _USUAL
    calibration: Calibration = UNCALIBRATED


def read_draft(
    folder: Path, target: Transformer, head: Tensor | None = None
) -> tuple[Transformer, DraftAsset]:
    """The draft in `folder`, which borrows the target's embedding and, where it has no head of its
    own, rows of its head.

    `head`: the weight of the target's head where it is not the embedding. Raises ValueError where
    the files are missing or of another target.
    """
    try:
        return _read_draft(folder, target, head)
    except (LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise ValueError(
            f"expected a draft that `ssd.train draft` made in {folder}, got one whose files do not "
            f"fit together ({error}): train it again, or copy all of its files"
        ) from error


def _read_draft(
    folder: Path, target: Transformer, head: Tensor | None
) -> tuple[Transformer, DraftAsset]:
    card = read_card(folder)
    embedding = target.weights.embedding
    if card["width"] != embedding.shape[1] or card["vocab_size"] != embedding.shape[0]:
        raise ValueError(
            f"the draft in {folder} was trained for a target of width {card['width']} and "
            f"{card['vocab_size']} ids, got {embedding.shape[1]} and {embedding.shape[0]}"
        )
    alone = Hope(card["hope"], card.get("noisy_hope", _USUAL.noisy))
    helped = Hope(card.get("helped_hope", alone.greedy), card.get("helped_noisy_hope", alone.noisy))
    asset = DraftAsset(alone, helped, Calibration.of(card))
    return draft_model(card, _tensors(folder), target, head), asset


def draft_model(
    card: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    target: Transformer,
    head: Tensor | None = None,
) -> Transformer:
    """The draft of `target` that has these `tensors`; for `head` see `read_draft`."""
    embedding = target.weights.embedding
    architecture = replace(
        target.architecture, num_layers=card["num_layers"], context_length=card["context_length"]
    )
    dtype, device = embedding.dtype, embedding.device
    placed = {name: value.to(device) for name, value in tensors.items()}
    head_ids = placed["head_ids"].long()
    rows = (embedding if head is None else head.to(device, dtype))[head_ids]
    own = placed[HEAD].to(dtype) if HEAD in placed else rows.contiguous()
    if own.shape != rows.shape:
        raise LookupError(f"a head of {tuple(own.shape)} for rows of {tuple(rows.shape)}")
    weights = Weights(
        embedding=embedding,
        positions=None,
        layers=layers(placed, architecture, card["epsilon"], dtype),
        norm=RMSNorm(placed["norm.weight"].to(dtype), card["epsilon"]),
        head=Linear(own),
        head_ids=head_ids,
    )
    return Transformer(architecture, weights, Numerics())


def read_draft_state(folder: Path) -> tuple[tuple[int, ...], dict[str, Tensor]]:
    """The draft in `folder` to go on training: the numbers of its layers, and its tensors.

    Without a head of its own, which is no more than the target's rows, rounded.
    """
    tensors = _tensors(folder)
    tensors.pop(HEAD, None)
    return tuple(range(read_card(folder)["num_layers"])), tensors


def read_card(folder: Path) -> dict[str, Any]:
    """What is known of the draft in `folder`. Raises ValueError where there is none."""
    path = folder / _CARD
    if not path.is_file():
        raise ValueError(f"expected a draft in {folder}, got no {_CARD} there: train one first")
    try:
        card = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON ({error}): train the draft again") from error
    if not isinstance(card, dict):
        raise ValueError(f"{path} must hold an object, got {str(card)[:40]!r}")
    return card


def _tensors(folder: Path) -> dict[str, Tensor]:
    stored: dict[str, Tensor] = {}
    for path in sorted(folder.glob(_SHARDS)):
        stored.update(load_file(path))
    return in_full(stored)


def in_four_bits(name: str, codes: Tensor, scales: Tensor) -> dict[str, Tensor]:
    """The tensors in which the weight `name` is stored that has `codes` and `scales`."""
    return {name + _CODES: in_bytes(codes), name + _SCALES: scales}


def in_full(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """`stored` with the weights that lie there in 4 bits as float32 numbers."""
    tensors = {}
    for name, tensor in stored.items():
        bare = name.removesuffix(_CODES)
        if bare != name:
            tensors[bare] = restored(from_bytes(tensor), stored[bare + _SCALES])
        elif not name.endswith(_SCALES):
            tensors[name] = tensor
    return tensors


def update_card(folder: Path, figures: Mapping[str, Any]) -> None:
    """Write `figures` into the card of the draft in `folder`."""
    _write_card(folder, {**read_card(folder), **figures})


def _write_card(folder: Path, card: Mapping[str, Any]) -> None:
    """Replace the card as a whole: a write that fails leaves the old one."""
    scratch = folder / f".{_CARD}.new"
    scratch.write_text(json.dumps(card, indent=1) + "\n")
    scratch.replace(folder / _CARD)


def write_draft(folder: Path, tensors: dict[str, Tensor], card: dict[str, object]) -> None:
    """Store a draft in files under 10 MB, and its card."""
    folder.mkdir(parents=True, exist_ok=True)
    shards: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, tensor in tensors.items():
        num_bytes = tensor.numel() * tensor.element_size()
        if size + num_bytes > 9_500_000:
            shards.append({})
            size = 0
        shards[-1][name] = tensor.contiguous()
        size += num_bytes
    written = []
    for number, shard in enumerate(shards, start=1):
        path = folder / f"draft-{number:05d}-of-{len(shards):05d}.safetensors"
        save_file(shard, scratch := path.with_suffix(".new"))
        scratch.replace(path)
        written.append(path)
    _write_card(folder, card)
    for old in set(folder.glob(_SHARDS)) - set(written):
        old.unlink()


def read_katz(folder: Path) -> KatzTable | None:
    """The table in `folder`; None where there is none. Raises ValueError where it is no table."""
    path = folder / KATZ
    if not path.is_file():
        return None
    try:
        with np.load(path) as arrays:
            table = KatzTable(arrays["keys"], arrays["tokens"], arrays["probabilities"])
        if table.keys.dtype != np.uint64 or table.tokens.dtype.kind != "u":
            raise TypeError("its keys and tokens are no whole numbers")
    except NPZ_FAULTS as error:
        raise ValueError(
            f"expected an N-gram that `ssd.train ngram` made, got {path} ({error}): make it again"
        ) from error
    return table


def write_katz(folder: Path, table: KatzTable) -> None:
    """Store a table."""
    scratch = folder / f".{KATZ}"
    np.savez_compressed(
        scratch, keys=table.keys, tokens=table.tokens, probabilities=table.probabilities
    )
    scratch.replace(folder / KATZ)
