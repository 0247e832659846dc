"""The draft as a folder that transformers loads, its head over all ids from the target's rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from safetensors.torch import save_file

from ssd.models.assets import read_card, read_draft_state
from ssd.models.checkpoint import read_checkpoint

_COPIED = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "chat_template.jinja",
)


def export(draft: Path, target: Path, out: Path) -> None:
    """Write the draft in `draft`, of the target in `target`, into the new folder `out`.

    On the ids of the draft's own head its logits are the draft's. Raises ValueError where `out`
    exists, or the draft is of another target.
    """
    if out.exists():
        raise ValueError(f"--out must be a new folder, got {out}, which is there: choose another")
    card, (layers, state) = read_card(draft), read_draft_state(draft)
    checkpoint = read_checkpoint(target)
    embedding = checkpoint.tensors["model.embed_tokens.weight"]
    if tuple(embedding.shape) != (card["vocab_size"], card["width"]):
        raise ValueError(
            f"the draft in {draft} was trained for {card['vocab_size']} ids of width "
            f"{card['width']}, got a target of {tuple(embedding.shape)}"
        )
    del state["head_ids"]
    dtype = embedding.dtype
    tensors = {f"model.{name}": tensor.to(dtype) for name, tensor in state.items()}
    tensors["model.embed_tokens.weight"] = embedding.contiguous()
    if "lm_head.weight" in checkpoint.tensors:
        tensors["lm_head.weight"] = checkpoint.tensors["lm_head.weight"].contiguous()
    config = {**checkpoint.config, "num_hidden_layers": len(layers)}
    config.pop("layer_types", None)  # one entry a layer, of the target's
    out.mkdir(parents=True)
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    for name in _COPIED:
        if (target / name).is_file():
            shutil.copyfile(target / name, out / name)
