"""The GPT-2 family from a checkpoint: LayerNorm, learned positions, GELU; the paper's models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ssd.models.layers import GELU, Layer, LayerNorm, Linear
from ssd.models.transformer import Architecture, Weights


def architecture(config: Mapping[str, Any]) -> Architecture:
    """The shape that a `config.json` of `model_type` gpt2 describes.

    Raises ValueError for a variant that the forward does not compute.
    """
    if config.get("activation_function", "gelu_new") != "gelu_new":
        raise ValueError(f"the activation must be gelu_new, got {config['activation_function']!r}")
    for variant in ("scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn"):
        if config.get(variant):
            raise ValueError(f"{variant} must be off, got {config[variant]!r}")
    if not config.get("scale_attn_weights", True):
        raise ValueError("scale_attn_weights must be on, got False")
    heads = int(config["n_head"])
    return Architecture(
        vocab_size=int(config["vocab_size"]),
        context_length=int(config["n_positions"]),
        num_layers=int(config["n_layer"]),
        num_heads=heads,
        num_kv_heads=heads,
        head_size=int(config["n_embd"]) // heads,
        rotary_base=None,
    )


def weights(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor], dtype: torch.dtype
) -> Weights:
    """All weights in `dtype`, from tensors named as in transformers."""
    bare = {name.removeprefix("transformer."): value.to(dtype) for name, value in tensors.items()}
    epsilon = float(config.get("layer_norm_epsilon", 1e-5))

    def linear(name: str) -> Linear:
        # GPT-2 stores its matrices the other way round, [in, out].
        return Linear(bare[f"{name}.weight"].T.contiguous(), bare[f"{name}.bias"])

    def norm(name: str) -> LayerNorm:
        return LayerNorm(bare[f"{name}.weight"], bare[f"{name}.bias"], epsilon)

    def block(prefix: str) -> Layer:
        return Layer(
            attention_norm=norm(f"{prefix}.ln_1"),
            qkv=linear(f"{prefix}.attn.c_attn"),
            output=linear(f"{prefix}.attn.c_proj"),
            mlp_norm=norm(f"{prefix}.ln_2"),
            mlp=GELU(linear(f"{prefix}.mlp.c_fc"), linear(f"{prefix}.mlp.c_proj")),
        )

    embedding = bare["wte.weight"]
    return Weights(
        embedding=embedding,
        positions=bare["wpe.weight"],
        layers=tuple(block(f"h.{number}") for number in range(int(config["n_layer"]))),
        norm=norm("ln_f"),
        head=Linear(bare.get("lm_head.weight", embedding)),
    )
