"""From a Llama GGUF file to the folder that everything else reads.

llama.cpp stores the query and key rows of a head in pairs (2i, 2i + 1) for its interleaved rotary
embedding; Hugging Face's halves-based one wants (i, i + D/2), so they are put back in that order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, ReaderTensor
from gguf.quants import dequantize
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

_OUTER = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CONTROL_TYPE = 3  # in tokenizer.ggml.token_type


def convert(gguf: Path, folder: Path, report: Callable[[int, int], None]) -> None:
    """Nothing; writes weights (float32), configuration and tokenizer of `gguf` into `folder`.

    `report(done, total)` follows the bytes of the weights. Raises ValueError for a file that is not
    a Llama with a byte-level BPE vocabulary.
    """
    reader = GGUFReader(gguf)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    kind, vocabulary = fields.get("general.architecture"), fields.get("tokenizer.ggml.model")
    if (kind, vocabulary) != ("llama", "gpt2"):
        raise ValueError(f"expected a llama GGUF with a gpt2 vocabulary, got {kind}, {vocabulary}")
    config = _config(fields, is_tied=all(t.name != "output.weight" for t in reader.tensors))
    _write_json(folder / "config.json", config)
    generation = {name: config[f"{name}_token_id"] for name in ("bos", "eos", "pad")}
    _write_json(
        folder / "generation_config.json", {f"{k}_token_id": v for k, v in generation.items()}
    )
    _write_tokenizer(fields, folder)
    _write_weights(reader, config, folder / "model.safetensors", report)


def _config(fields: dict[str, Any], *, is_tied: bool) -> dict[str, Any]:
    """The Hugging Face configuration of a Llama's GGUF fields."""
    heads = fields["llama.attention.head_count"]
    width = fields["llama.embedding_length"]
    theta = fields["llama.rope.freq_base"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "_name_or_path": fields.get("general.name", ""),
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "hidden_size": width,
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "head_dim": fields.get("llama.rope.dimension_count", width // heads),
        "hidden_act": "silu",
        "max_position_embeddings": fields["llama.context_length"],
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        # Both spellings: `rope_theta` up to transformers 4, `rope_parameters` from 5 on.
        "rope_theta": theta,
        "rope_parameters": {"rope_theta": theta, "rope_type": "default"},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
        "tie_word_embeddings": is_tied,
        "initializer_range": 0.02,
        "use_cache": True,
        "dtype": "float32",
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "pad_token_id": fields["tokenizer.ggml.padding_token_id"],
    }


def _write_tokenizer(fields: dict[str, Any], folder: Path) -> None:
    """Nothing; writes the tokenizer, its settings and the chat template, if there is one."""
    _tokenizer(fields).save(str(folder / "tokenizer.json"))
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    keys = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": fields["llama.context_length"],
    }
    for name, key in keys.items():
        if (token := fields.get(f"tokenizer.ggml.{key}_token_id")) is not None:
            settings[f"{name}_token"] = tokens[token]
    _write_json(folder / "tokenizer_config.json", settings)
    if template := fields.get("tokenizer.chat_template"):
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8", newline="")


def _tokenizer(fields: dict[str, Any]) -> Tokenizer:
    """The byte-level BPE of the GGUF, built exactly as transformers builds it."""
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    kinds: list[int] = fields["tokenizer.ggml.token_type"]
    bos: int = fields["tokenizer.ggml.bos_token_id"]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: index for index, token in enumerate(tokens)},
            merges=[tuple(merge.split(" ", 1)) for merge in fields["tokenizer.ggml.merges"]],
            continuing_subword_prefix="",
            end_of_word_suffix="",
        )
    )
    add_space = bool(fields.get("tokenizer.ggml.add_space_prefix", False))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_space)
    tokenizer.decoder = decoders.ByteLevel()
    adds_bos = bool(fields.get("tokenizer.ggml.add_bos_token", False))
    single = f"{tokens[bos]} $A" if adds_bos else "$A"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single,
        pair=f"{single} $B:1",
        special_tokens=[(tokens[bos], bos)] if adds_bos else [],
    )
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL_TYPE]
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in control]
    )
    return tokenizer


def _write_weights(
    reader: GGUFReader, config: dict[str, Any], path: Path, report: Callable[[int, int], None]
) -> None:
    """Nothing; streams the tensors into a safetensors file, so that one at a time is in memory."""
    names = {tensor.name: _hf_name(tensor.name) for tensor in reader.tensors}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in reader.tensors:
        start, end = end, end + 4 * int(tensor.n_elements)
        shape = [int(size) for size in reversed(tensor.shape)]
        header[names[tensor.name]] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    done = 0
    with path.open("wb") as file:
        file.write(len(encoded).to_bytes(8, "little") + encoded)
        for weights in _weights(reader, config):
            done += file.write(weights.reshape(-1).view(np.uint8).data)
            report(done, end)


def _weights(reader: GGUFReader, config: dict[str, Any]) -> Iterator[np.ndarray]:
    for tensor in reader.tensors:
        weights = _unpermuted(tensor, config)
        yield np.ascontiguousarray(weights, dtype="<f4")


def _unpermuted(tensor: ReaderTensor, config: dict[str, Any]) -> np.ndarray:
    """The dequantised tensor, `[out, in]`, with the rows of q and k in Hugging Face's order."""
    weights: np.ndarray = dequantize(tensor.data, tensor.tensor_type)
    heads = {
        "attn_q": config["num_attention_heads"],
        "attn_k": config["num_key_value_heads"],
    }.get(tensor.name.split(".")[-2])
    if heads is None:
        return weights
    pairs = weights.reshape(heads, -1, 2, weights.shape[-1])  # [H, D/2, 2, in]
    return pairs.swapaxes(1, 2).reshape(weights.shape)


def _hf_name(name: str) -> str:
    """The Hugging Face name of a GGUF tensor; ValueError for one that a Llama does not have."""
    if name in _OUTER:
        return _OUTER[name]
    match = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if match is None or match[2] not in _INNER:
        raise ValueError(f"expected the tensors of a Llama in the GGUF, got {name!r}")
    return f"model.layers.{match[1]}.{_INNER[match[2]]}.weight"


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
