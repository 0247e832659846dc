"""The draft as it is trained: its body, and what it borrows from the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaModel

from ssd.models.assets import read_draft_state
from ssd.models.checkpoint import Checkpoint, read_checkpoint
from ssd.train.corpus import Batch, Corpus
from ssd.train.teach import Teaching

_LACKING = -1


@dataclass(frozen=True)
class Material:
    """What a draft learns from: a target's folder, text that it wrote, and, where they are, the
    lessons on all of that text and the draft to go on from."""

    target: Path
    corpus: Corpus
    teaching: Teaching | None = None
    start: Path | None = None

    @property
    def described(self) -> dict[str, str | int]:
        """What tells it from other material."""
        return {
            "target": self.target.name,
            "corpus": self.corpus.digest,
            "lessons": 0 if self.teaching is None else self.teaching.num_taught,
            "start": "" if self.start is None else str(self.start.resolve()),
        }


class Draft(nn.Module):
    """The body of the draft and the two frozen pieces of the target that it borrows."""

    def __init__(self, material: Material, layers: tuple[int, ...], num_ids: int) -> None:
        """`layers` of the target and `num_ids` are where it starts, without a `material.start`."""
        super().__init__()
        checkpoint = read_checkpoint(material.target)
        tensors, config = checkpoint.tensors, _config(checkpoint)
        embedding = tensors["model.embed_tokens.weight"].float()
        if material.start is None:
            state = _pruned(tensors, layers)
            head_ids = torch.from_numpy(material.corpus.split()[0].frequent_ids(num_ids))
        else:
            layers, state = read_draft_state(material.start)
            head_ids = state.pop("head_ids").long()
        config.num_hidden_layers = len(layers)
        self.layers = layers
        self.body = LlamaModel(config)
        state = {name: value.float() for name, value in state.items()}
        self.body.load_state_dict({**state, "embed_tokens.weight": embedding})
        self.body.embed_tokens.weight.requires_grad_(False)
        self.to_column: Tensor
        self.head: Tensor
        rows = tensors.get("lm_head.weight", embedding)
        self.register_buffer("head", rows[head_ids].bfloat16())
        to_column = torch.full((config.vocab_size,), _LACKING)
        to_column[head_ids] = torch.arange(len(head_ids))
        self.register_buffer("to_column", to_column)

    @property
    def head_ids(self) -> Tensor:
        """The ids that the head speaks of, ascending."""
        return torch.nonzero(self.to_column >= 0)[:, 0]

    def forward(self, batch: Batch) -> Tensor:
        """What the head reads at the places before the ids of answers, `[M, E]`."""
        hidden: Tensor = self.body(input_ids=batch.ids[:, :-1], use_cache=False).last_hidden_state
        return hidden[batch.is_answer[:, 1:]]


def _config(checkpoint: Checkpoint) -> LlamaConfig:
    """The target's configuration. Raises ValueError where it is not a Llama."""
    kind = checkpoint.config.get("model_type")
    if kind != "llama":
        raise ValueError(f"a draft can be trained for targets of the llama family, got {kind!r}")
    config: LlamaConfig = LlamaConfig.from_pretrained(checkpoint.folder)
    return config


def _pruned(tensors: Mapping[str, Tensor], layers: tuple[int, ...]) -> dict[str, Tensor]:
    """The target's blocks `layers`, renumbered, and its last norm."""
    state = {"norm.weight": tensors["model.norm.weight"]}
    for new, old in enumerate(layers):
        prefix = f"model.layers.{old}."
        found = [name for name in tensors if name.startswith(prefix)]
        if not found:
            raise ValueError(f"the target must have the layers {layers}, got none numbered {old}")
        for name in found:
            state[f"layers.{new}.{name.removeprefix(prefix)}"] = tensors[name].clone()
    return state
