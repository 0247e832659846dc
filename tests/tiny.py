"""Random checkpoints of both families, small enough for thousands of passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ssd.exact import Numerics, probe
from ssd.model import Pass
from ssd.models.families import transformer
from ssd.models.transformer import Transformer

FAMILIES = ("llama", "gpt2")
CPU = torch.device("cpu")
WIDTHS = (16, 32)
_PROBES = 3


@dataclass(frozen=True)
class Tiny:
    """A configuration as in config.json, and tensors named as in transformers."""

    config: dict[str, Any]
    tensors: dict[str, Tensor]

    def model(self, dtype: torch.dtype = torch.float32) -> Transformer:
        """The product's model of it."""
        return transformer(self.config, self.tensors, dtype, CPU)

    def hugging_face(self) -> Any:
        """transformers' own model of it, float32, eager attention."""
        import transformers

        kind = {"llama": "Llama", "gpt2": "GPT2"}[self.config["model_type"]]
        config = getattr(transformers, f"{kind}Config")(
            **{k: v for k, v in self.config.items() if k != "model_type"},
            attn_implementation="eager",
        )
        head = {"llama": "LlamaForCausalLM", "gpt2": "GPT2LMHeadModel"}[self.config["model_type"]]
        model = getattr(transformers, head)(config).eval()
        missing, unexpected = model.load_state_dict(self.tensors, strict=False)
        assert not unexpected and set(missing) <= {"lm_head.weight"}
        model.tie_weights()
        return model


def tiny_llama(seed: int, **changes: Any) -> Tiny:
    """A Llama with grouped queries; `changes` go into its configuration."""
    config: dict[str, Any] = {
        "model_type": "llama", "vocab_size": 61, "hidden_size": 32, "intermediate_size": 48,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
        "max_position_embeddings": 96, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False, **changes,
    }  # fmt: skip
    random = _Random(seed)
    width, inner, size = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, shared = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    tensors = {"model.embed_tokens.weight": random(config["vocab_size"], width, scale=1.0)}
    for number in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{number}"
        products = {
            "self_attn.q_proj": (queries, width), "self_attn.k_proj": (shared, width),
            "self_attn.v_proj": (shared, width), "self_attn.o_proj": (width, queries),
            "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width),
            "mlp.down_proj": (width, inner),
        }  # fmt: skip
        for name, shape in products.items():
            tensors[f"{prefix}.{name}.weight"] = random(*shape)
            if config["attention_bias" if name.startswith("self") else "mlp_bias"]:
                tensors[f"{prefix}.{name}.bias"] = random(shape[0], scale=0.3)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{prefix}.{name}.weight"] = 1 + random(width, scale=0.2)
    tensors["model.norm.weight"] = 1 + random(width, scale=0.2)
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = random(config["vocab_size"], width, scale=1.0)
    return Tiny(config, tensors)


def tiny_gpt2(seed: int, **changes: Any) -> Tiny:
    """A GPT-2; `changes` go into its configuration."""
    config: dict[str, Any] = {
        "model_type": "gpt2", "vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4,
        "n_positions": 96, "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True, **changes,
    }  # fmt: skip
    random, width = _Random(seed), config["n_embd"]
    inner = config.get("n_inner") or 4 * width
    tensors = {
        "transformer.wte.weight": random(config["vocab_size"], width, scale=1.0),
        "transformer.wpe.weight": random(config["n_positions"], width, scale=0.5),
    }
    for number in range(config["n_layer"]):
        prefix = f"transformer.h.{number}"
        products = {
            "attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width),
            "mlp.c_fc": (width, inner), "mlp.c_proj": (inner, width),
        }  # fmt: skip
        for name, shape in products.items():
            tensors[f"{prefix}.{name}.weight"] = random(*shape)
            tensors[f"{prefix}.{name}.bias"] = random(shape[1], scale=0.3)
        for name in ("ln_1", "ln_2"):
            tensors |= _layer_norm(f"{prefix}.{name}", random, width)
    tensors |= _layer_norm("transformer.ln_f", random, width)
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = random(config["vocab_size"], width, scale=1.0)
    return Tiny(config, tensors)


def tiny(family: str, seed: int, **changes: Any) -> Tiny:
    """A random checkpoint of `family`."""
    return {"llama": tiny_llama, "gpt2": tiny_gpt2}[family](seed, **changes)


def with_draft(checkpoint: Tiny, amount: float, seed: int = 1) -> Tiny:
    """The same model with every matrix shaken: a draft that often agrees."""
    random = _Random(seed)
    shaken = {
        name: value + random(*value.shape, scale=amount * float(value.std()))
        if value.ndim == 2
        else value
        for name, value in checkpoint.tensors.items()
    }
    return Tiny(checkpoint.config, shaken)


class _Random:
    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int, scale: float | None = None) -> Tensor:
        scale = 1.5 * shape[-1] ** -0.5 if scale is None else scale
        return torch.randn(*shape, generator=self._generator) * scale


def _layer_norm(name: str, random: _Random, width: int) -> dict[str, Tensor]:
    return {
        f"{name}.weight": 1 + random(width, scale=0.2),
        f"{name}.bias": random(width, scale=0.2),
    }


def exact(model: Transformer) -> Transformer:
    """`model` with passes padded to two widths at which the probe finds all rows the same here.

    The probe draws 192 rows, few for products this small, so it is asked several times.
    """
    for batch in range(_PROBES):

        def run(ids: Sequence[int], batch: int = batch) -> Tensor:
            width = len(ids)
            tokens = torch.tensor(ids)
            positions = (tokens * 7 + batch * 29) % model.context_length
            rows = Pass(tokens, positions, 0, 0, torch.eye(width, dtype=torch.bool))
            alone = model.with_numerics(Numerics("exact", (width,)))
            return alone.forward(rows, alone.new_cache(), width)

        found = probe(run, model.vocab_size, WIDTHS)
        assert found.invariant_widths == WIDTHS, f"not invariant here: {found}"
    return model.with_numerics(Numerics("exact", WIDTHS))
