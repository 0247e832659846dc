"""The Llama family from a checkpoint: RMSNorm, rotary positions, grouped queries, SwiGLU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ssd.models.layers import Layer, Linear, RMSNorm, SwiGLU, interleave
from ssd.models.transformer import Architecture, Weights


def architecture(config: Mapping[str, Any]) -> Architecture:
    """The shape that a `config.json` of `model_type` llama describes.

    Raises ValueError for a variant that the forward does not compute.
    """
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise ValueError(f"rotary positions must be of the default kind, got {kind!r}")
    if config.get("hidden_act", "silu") != "silu":
        raise ValueError(f"the activation must be silu, got {config['hidden_act']!r}")
    heads = int(config["num_attention_heads"])
    return Architecture(
        vocab_size=int(config["vocab_size"]),
        context_length=int(config["max_position_embeddings"]),
        num_layers=int(config["num_hidden_layers"]),
        num_heads=heads,
        num_kv_heads=int(config.get("num_key_value_heads") or heads),
        head_size=int(config.get("head_dim") or int(config["hidden_size"]) // heads),
        rotary_base=float(rope.get("rope_theta", config.get("rope_theta", 10000.0))),
    )


def layers(
    tensors: Mapping[str, Tensor], shape: Architecture, epsilon: float, dtype: torch.dtype
) -> tuple[Layer, ...]:
    """The blocks, from tensors named as in transformers without the leading `model.`."""

    def get(name: str) -> Tensor:
        return tensors[name].to(dtype)

    def linear(name: str) -> Linear:
        bias = f"{name}.bias"
        return Linear(get(f"{name}.weight"), get(bias) if bias in tensors else None)

    def block(prefix: str) -> Layer:
        q, k, v = (linear(f"{prefix}.self_attn.{part}_proj") for part in "qkv")
        q, k = (_interleaved(part, shape.head_size) for part in (q, k))
        gate, up = (linear(f"{prefix}.mlp.{part}_proj") for part in ("gate", "up"))
        return Layer(
            attention_norm=RMSNorm(get(f"{prefix}.input_layernorm.weight"), epsilon),
            qkv=_stacked(q, k, v),
            output=linear(f"{prefix}.self_attn.o_proj"),
            mlp_norm=RMSNorm(get(f"{prefix}.post_attention_layernorm.weight"), epsilon),
            mlp=SwiGLU(_stacked(gate, up), linear(f"{prefix}.mlp.down_proj")),
        )

    return tuple(block(f"layers.{number}") for number in range(shape.num_layers))


def weights(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor], dtype: torch.dtype
) -> Weights:
    """All weights in `dtype`, from tensors named as in transformers."""
    bare = {name.removeprefix("model."): value for name, value in tensors.items()}
    epsilon = float(config.get("rms_norm_eps", 1e-6))
    embedding = bare["embed_tokens.weight"].to(dtype)
    head = bare.get("lm_head.weight")
    return Weights(
        embedding=embedding,
        positions=None,
        layers=layers(bare, architecture(config), epsilon, dtype),
        norm=RMSNorm(bare["norm.weight"].to(dtype), epsilon),
        head=Linear(embedding if head is None else head.to(dtype)),
    )


def _interleaved(linear: Linear, head_size: int) -> Linear:
    bias = None if linear.bias is None else interleave(linear.bias, head_size)
    return Linear(interleave(linear.weight, head_size), bias)


def _stacked(*linears: Linear) -> Linear:
    biases = [linear.bias for linear in linears if linear.bias is not None]
    return Linear(
        torch.cat([linear.weight for linear in linears]).contiguous(),
        torch.cat(biases) if biases else None,
    )
