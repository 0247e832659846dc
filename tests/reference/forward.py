"""Whole-sequence forwards of both families straight from a checkpoint's tensors, in float64.

No cache, no tree, no padding, no fused products: a loop over layers, heads and positions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def naive_logits(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor], ids: Sequence[int]
) -> Tensor:
    """Logits after each of `ids`, `[T, V]` float64. Tensors are named as in transformers."""
    bare = {
        name.removeprefix("model.").removeprefix("transformer."): value.double()
        for name, value in tensors.items()
    }
    forward = {"llama": _llama, "gpt2": _gpt2}[config["model_type"]]
    return forward(config, bare, ids)


def _attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Causal attention of one head, `[T, D]`, one position at a time."""
    rows = []
    for position in range(len(queries)):
        scores = torch.stack(
            [queries[position] @ keys[other] for other in range(position + 1)]
        ) / math.sqrt(queries.shape[1])
        weights = torch.exp(scores - scores.max())
        rows.append((weights / weights.sum()) @ values[: position + 1])
    return torch.stack(rows)


def _linear(tensors: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    y = x @ tensors[f"{name}.weight"].T
    bias = tensors.get(f"{name}.bias")
    return y if bias is None else y + bias


def _rotated(x: Tensor, base: float) -> Tensor:
    """One head `[T, D]` with number i turned against number i + D/2."""
    half = x.shape[1] // 2
    rows = []
    for position, row in enumerate(x):
        turned = row.clone()
        for i in range(half):
            angle = position * base ** (-2 * i / x.shape[1])
            turned[i] = row[i] * math.cos(angle) - row[i + half] * math.sin(angle)
            turned[i + half] = row[i + half] * math.cos(angle) + row[i] * math.sin(angle)
        rows.append(turned)
    return torch.stack(rows)


def _llama(config: Mapping[str, Any], tensors: Mapping[str, Tensor], ids: Sequence[int]) -> Tensor:
    heads, size = config["num_attention_heads"], config["head_dim"]
    group = heads // config["num_key_value_heads"]

    def norm(name: str, x: Tensor) -> Tensor:
        mean = (x * x).mean(dim=-1, keepdim=True)
        return x / torch.sqrt(mean + config["rms_norm_eps"]) * tensors[f"{name}.weight"]

    x = tensors["embed_tokens.weight"][list(ids)]
    for number in range(config["num_hidden_layers"]):
        prefix = f"layers.{number}"
        inner = norm(f"{prefix}.input_layernorm", x)
        q, k, v = (_linear(tensors, f"{prefix}.self_attn.{part}_proj", inner) for part in "qkv")
        outs = []
        for head in range(heads):
            own, shared = head * size, head // group * size
            outs.append(
                _attention(
                    _rotated(q[:, own : own + size], config["rope_theta"]),
                    _rotated(k[:, shared : shared + size], config["rope_theta"]),
                    v[:, shared : shared + size],
                )
            )
        x = x + _linear(tensors, f"{prefix}.self_attn.o_proj", torch.cat(outs, dim=1))
        inner = norm(f"{prefix}.post_attention_layernorm", x)
        gate = _linear(tensors, f"{prefix}.mlp.gate_proj", inner)
        up = _linear(tensors, f"{prefix}.mlp.up_proj", inner)
        x = x + _linear(tensors, f"{prefix}.mlp.down_proj", gate / (1 + torch.exp(-gate)) * up)
    head_weight = tensors.get("lm_head.weight", tensors["embed_tokens.weight"])
    return norm("norm", x) @ head_weight.T


def _gpt2(config: Mapping[str, Any], tensors: Mapping[str, Tensor], ids: Sequence[int]) -> Tensor:
    heads = config["n_head"]
    size = config["n_embd"] // heads

    def norm(name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        deviation = torch.sqrt((centred * centred).mean(dim=-1, keepdim=True) + 1e-5)
        return centred / deviation * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    def product(name: str, x: Tensor) -> Tensor:
        return x @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    def gelu(x: Tensor) -> Tensor:
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    x = tensors["wte.weight"][list(ids)] + tensors["wpe.weight"][: len(ids)]
    for number in range(config["n_layer"]):
        prefix = f"h.{number}"
        q, k, v = product(f"{prefix}.attn.c_attn", norm(f"{prefix}.ln_1", x)).chunk(3, dim=1)
        outs = [
            _attention(*(part[:, head * size : (head + 1) * size] for part in (q, k, v)))
            for head in range(heads)
        ]
        x = x + product(f"{prefix}.attn.c_proj", torch.cat(outs, dim=1))
        inner = norm(f"{prefix}.ln_2", x)
        x = x + product(f"{prefix}.mlp.c_proj", gelu(product(f"{prefix}.mlp.c_fc", inner)))
    return norm("ln_f", x) @ tensors.get("lm_head.weight", tensors["wte.weight"]).T
