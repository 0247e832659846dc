"""The forwards of both families: transformers' logits, the naive twin's, and trees bit for bit."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import Tensor

from ssd.exact import Numerics, hash_rows
from ssd.meter import Meter
from ssd.model import CachedModel, Pass
from ssd.models import gpt2, llama
from ssd.models.families import fingerprint, transformer
from ssd.models.transformer import Architecture, Transformer
from ssd.tree import TokenTree
from tests.proposers import random_tree
from tests.reference.forward import naive_logits
from tests.tiny import CPU, FAMILIES, Tiny, exact, tiny, tiny_gpt2, tiny_llama

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("llama", {}),
    ("llama", {"num_key_value_heads": 1}),
    ("llama", {"num_key_value_heads": 4, "tie_word_embeddings": False}),
    ("llama", {"attention_bias": True, "mlp_bias": True}),
    ("llama", {"hidden_size": 30, "head_dim": 10, "num_attention_heads": 3,
               "num_key_value_heads": 1, "intermediate_size": 37, "vocab_size": 53}),
    ("llama", {"head_dim": 16, "rope_theta": 500000.0, "num_hidden_layers": 3}),
    ("llama", {"rms_norm_eps": 1e-2}),
    ("gpt2", {}),
    ("gpt2", {"tie_word_embeddings": False}),
    ("gpt2", {"n_embd": 21, "n_head": 3, "n_inner": 29, "vocab_size": 53, "n_layer": 3}),
    ("gpt2", {"n_head": 1}),
]  # fmt: skip
LABELS = [f"{family}-{'-'.join(changes) or 'plain'}" for family, changes in VARIANTS]


def whole(model: Transformer, ids: list[int]) -> Tensor:
    """Logits after each id, all of them nodes of one chain."""
    memo = CachedModel(model, "target", Meter())
    return memo.score(ids[:1], TokenTree.chain(ids[0], ids[1:], "draft"))


def random_ids(seed: int, count: int, vocab_size: int) -> list[int]:
    return random.Random(seed).choices(range(vocab_size), k=count)


@pytest.mark.parametrize(("family", "changes"), VARIANTS, ids=LABELS)
def test_logits_equal_transformers(family: str, changes: dict[str, Any]) -> None:
    """To the rounding of float32, in which both also turn and normalise in float64."""
    checkpoint = tiny(family, 5, **changes)
    ids = random_ids(1, 50, checkpoint.config["vocab_size"])
    reference = checkpoint.hugging_face()
    with torch.inference_mode():
        for dtype, tolerance in ((torch.float32, 2e-5), (torch.float64, 2e-6)):
            expected = reference.to(dtype)(torch.tensor([ids])).logits[0]
            for kind in ("exact", "fast"):
                model = checkpoint.model(dtype)
                found = whole(model.with_numerics(Numerics(kind, model.numerics.widths)), ids)
                assert found.dtype == dtype
                scale = float(expected.abs().max())
                assert float((found - expected).abs().max()) < tolerance * scale, (dtype, kind)
                assert torch.equal(found.argmax(-1), expected.argmax(-1))


@pytest.mark.parametrize(("family", "changes"), VARIANTS, ids=LABELS)
def test_logits_equal_the_naive_twin(family: str, changes: dict[str, Any]) -> None:
    checkpoint = tiny(family, 6, **changes)
    ids = random_ids(2, 24, checkpoint.config["vocab_size"])
    expected = naive_logits(checkpoint.config, checkpoint.tensors, ids)
    found = whole(checkpoint.model(torch.float64), ids)
    assert float((found - expected).abs().max()) < 2e-6 * float(expected.abs().max())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_a_node_of_a_tree_is_the_end_of_its_line(family: str, dtype: torch.dtype) -> None:
    """Logits of node i = last logits of the linear run along its path, bit for bit.

    Exact numerics at widths that the probe finds invariant, in bf16, fp16 and float32; in float64,
    which attention does not exceed, to its rounding.
    """
    bare = tiny(family, 7).model(dtype)
    model = bare if dtype == torch.float64 else exact(bare)
    rng = random.Random(3)
    for _ in range(12):
        context = random_ids(rng.randrange(10**6), rng.randint(1, 60), 61)
        tree = random_tree(rng, context[-1], 61, 24, 8)
        memo = CachedModel(model, "target", Meter())
        logits = memo.score(context, tree)
        assert logits.shape == (len(tree), 61)
        for node in rng.sample(range(len(tree)), min(6, len(tree))):
            line = [*context, *tree.path_tokens(node)]
            alone = CachedModel(model, "target", Meter())
            last = alone.score(line, TokenTree.root_only(line[-1]))
            if dtype == torch.float64:
                assert torch.allclose(logits[node], last[0], rtol=0, atol=1e-9)
            else:
                assert hash_rows(logits[node : node + 1]) == hash_rows(last)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_token_by_token_run_and_the_prompts_chunks_change_no_bit(family: str) -> None:
    """bf16, exact: one pass of all ids, one id a pass, and chunks of any size."""
    model = exact(tiny(family, 8).model(torch.bfloat16))
    ids = random_ids(4, 33, 61)
    at_once = whole(model, ids[:32])
    memo = CachedModel(model, "target", Meter())
    for end in range(1, 33):
        row = memo.score(ids[:end], TokenTree.root_only(ids[end - 1]))[0]
        assert torch.equal(row, at_once[end - 1])
    for sizes in ((1, 30), (7, 7, 7, 7), (16, 15)):
        memo, at = CachedModel(model, "target", Meter()), 0
        for size in sizes:
            at += size
            memo.keep(ids[: at + 1])
            list(memo.fill())
        row = memo.score(ids[:32], TokenTree.root_only(ids[31]))[0]
        assert torch.equal(row, at_once[31])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_position_of_the_context(family: str) -> None:
    checkpoint = tiny(family, 9)
    ids = random_ids(5, 96, 61)
    model = checkpoint.model()
    memo = CachedModel(model, "target", Meter())
    last = memo.score(ids, TokenTree.root_only(ids[-1]))[0]
    with torch.inference_mode():
        expected = checkpoint.hugging_face()(torch.tensor([ids])).logits[0, -1]
    assert torch.allclose(last, expected, atol=1e-4)


def test_a_forward_of_more_rows_than_the_largest_width_is_refused() -> None:
    model = tiny_llama(1).model().with_numerics(Numerics("exact", (4, 8)))
    rows = Pass(torch.arange(9), torch.arange(9), 0, 0, torch.eye(9, dtype=torch.bool))
    with pytest.raises(AssertionError):
        model.forward(rows, model.new_cache(), 9)


def test_forwards_do_not_change_the_model() -> None:
    model = tiny_llama(2).model(torch.bfloat16)
    before = fingerprint(model.weights)
    whole(model, random_ids(1, 40, 61))
    assert fingerprint(model.weights) == before


def test_fingerprints_tell_weights_apart() -> None:
    names = {
        fingerprint(model.weights)
        for model in (
            tiny_llama(1).model(),
            tiny_llama(2).model(),
            tiny_llama(1).model(torch.bfloat16),
            tiny_gpt2(1).model(),
        )
    }
    assert len(names) == 4
    assert fingerprint(tiny_llama(1).model().weights) in names


def test_weight_bytes_are_those_of_the_products() -> None:
    checkpoint = tiny_llama(1)
    counted = sum(
        value.numel()
        for name, value in checkpoint.tensors.items()
        if value.ndim == 2  # the embedding is the tied head
    )
    assert checkpoint.model(torch.bfloat16).weight_bytes == 2 * counted


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "mamba"}, "must be of a family"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, "rotary positions"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, "rotary positions"),
        ({"hidden_act": "gelu"}, "activation must be silu"),
        ({"num_key_value_heads": 3}, "multiple of key-value heads"),
    ],
)
def test_llamas_that_are_not_computed_are_refused(changes: dict[str, Any], words: str) -> None:
    checkpoint = tiny_llama(1)
    with pytest.raises(ValueError, match=words):
        transformer(checkpoint.config | changes, checkpoint.tensors, torch.float32, CPU)


@pytest.mark.parametrize(
    "changes",
    [
        {"activation_function": "relu"},
        {"scale_attn_by_inverse_layer_idx": True},
        {"reorder_and_upcast_attn": True},
        {"scale_attn_weights": False},
    ],
)
def test_gpt2s_that_are_not_computed_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        gpt2.architecture(tiny_gpt2(1).config | changes)


def test_architectures_as_configured() -> None:
    assert llama.architecture(tiny_llama(1).config) == Architecture(61, 96, 2, 4, 2, 8, 10000.0)
    nested = {"rope_parameters": {"rope_type": "default", "rope_theta": 7.0}}
    assert llama.architecture(tiny_llama(1).config | nested).rotary_base == 7.0
    assert gpt2.architecture(tiny_gpt2(1).config) == Architecture(61, 96, 2, 4, 4, 8, None)


def test_tied_heads_of_a_checkpoint_that_stores_them_too() -> None:
    checkpoint = tiny_llama(3)
    stored = Tiny(
        checkpoint.config,
        checkpoint.tensors | {"lm_head.weight": checkpoint.tensors["model.embed_tokens.weight"]},
    )
    ids = random_ids(1, 10, 61)
    assert torch.equal(whole(stored.model(), ids), whole(checkpoint.model(), ids))
