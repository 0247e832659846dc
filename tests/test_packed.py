"""Models with their products computed otherwise say the same as before, nearly or exactly."""

from __future__ import annotations

import pytest
import torch

from ssd.exact import Numerics
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.models.families import fingerprint
from ssd.models.integer import ByRows, DynamicLinear, Int4Linear, quantised, restored
from ssd.models.layers import Linear
from ssd.models.packed import PackedLinear, in_integers, packed, packed_or_plain, quickened
from ssd.models.transformer import Transformer
from tests.tiny import Tiny, tiny, tiny_llama

needs_vnni = pytest.mark.skipif(
    not torch.cpu.get_capabilities().get("avx512_vnni"), reason="no kernel for this processor"
)
IDS = [3, 14, 15, 9, 2, 6, 5, 35, 8, 9, 7, 9]


def even(seed: int = 0, vocab_size: int = 61) -> Tiny:
    """A Llama whose widths 32 divides. For 4 bits a head must have rows that 16 divides, too."""
    return tiny_llama(seed, intermediate_size=64, vocab_size=vocab_size)


def rounded(checkpoint: Tiny, bits: int, bits_of_head: int = 8) -> Tiny:
    """The twin whose weights are the numbers that integer ones stand for; the head is apart."""
    tensors = {}
    for name, weight in checkpoint.tensors.items():
        is_product = name.endswith("proj.weight")
        tensors[name] = _rounded(weight, bits) if is_product else weight
    tensors["lm_head.weight"] = _rounded(
        checkpoint.tensors["model.embed_tokens.weight"], bits_of_head
    )
    return Tiny({**checkpoint.config, "tie_word_embeddings": False}, tensors)


def _rounded(weight: torch.Tensor, bits: int) -> torch.Tensor:
    if bits == 4:
        return restored(*quantised(weight))
    scale = weight.abs().amax(1, keepdim=True) / 127
    return torch.round(weight / scale) * scale


def rows(model: Transformer, ids: list[int] = IDS) -> torch.Tensor:
    """Logits after each of `ids`, float32."""
    memo = CachedModel(model.with_numerics(Numerics("exact")), "target", Meter())
    memo.keep(ids[:1])
    return memo.extend(ids, range(-1, len(ids) - 1)).float()


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """The largest difference, in units of the largest logit."""
    return float((found - wanted).abs().max() / wanted.abs().max())


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_packed_products_are_the_same_products(family: str) -> None:
    plain = tiny(family, 1).model(torch.bfloat16)
    assert isinstance(packed(plain).weights.head, PackedLinear)
    assert error(rows(packed(plain)), rows(plain)) < 0.02


def test_packing_leaves_other_dtypes_alone() -> None:
    plain = tiny("llama", 1).model(torch.float32)
    assert packed(plain) is plain and quickened(plain) is plain


def test_a_quickened_draft_rounds_its_weights_in_few_rows_only() -> None:
    exactly = even(vocab_size=64)
    half = {name: weight.bfloat16().float() for name, weight in exactly.tensors.items()}
    checkpoint = Tiny(exactly.config, half)
    quick = quickened(checkpoint.model(torch.bfloat16))
    assert isinstance(quick.weights.head, ByRows)
    assert isinstance(quickened(even().model(torch.bfloat16)).weights.head, PackedLinear)
    few, many = rows(quick, IDS[:4]), rows(quick)
    assert error(few, rows(rounded(checkpoint, 4, 4).model(torch.bfloat16), IDS[:4])) < 0.06
    assert error(many, rows(checkpoint.model(torch.bfloat16))) < 0.06
    assert error(few, rows(checkpoint.model(torch.bfloat16), IDS[:4])) > 0.06


@needs_vnni
def test_a_quickened_draft_has_bytes_where_results_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In more than a few rows; in bf16 where the processor has no such kernel."""
    monkeypatch.setattr("ssd.models.packed._MANY", 64)
    checkpoint = even()
    plain = checkpoint.model(torch.bfloat16)
    quick = quickened(plain)
    kinds = [product.wide for product in quick.weights.layers[0].linears]
    assert [type(kind) for kind in kinds] == [
        PackedLinear, PackedLinear, DynamicLinear, PackedLinear,
    ]  # fmt: skip
    assert error(rows(quick), rows(plain)) < 0.06
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)
    old = quickened(plain).weights.layers[0].mlp.gate_up
    assert isinstance(old, ByRows) and isinstance(old.wide, PackedLinear)


def test_a_draft_that_four_bits_do_not_fit_is_packed() -> None:
    quick = quickened(tiny("gpt2", 1).model(torch.bfloat16))
    assert isinstance(quick.weights.head, PackedLinear)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("seed", range(5))
def test_integer_weights_compute_what_they_stand_for(bits: int, seed: int) -> None:
    checkpoint = even(seed)
    integer = in_integers(checkpoint.model(torch.float32), bits)
    assert integer.weights.embedding.dtype == torch.bfloat16
    assert error(rows(integer), rows(rounded(checkpoint, bits).model(torch.bfloat16))) < 0.06
    assert integer.weight_bytes < checkpoint.model(torch.bfloat16).weight_bytes


def test_integer_weights_have_names_of_their_own() -> None:
    model = even().model(torch.float32)
    kinds = [model, in_integers(model, 8), in_integers(model, 4)]
    other = even(1).model(torch.float32)
    kinds += [in_integers(other, 8), in_integers(other, 4)]
    assert len({fingerprint(kind.weights) for kind in kinds}) == 5
    again = in_integers(even().model(torch.float32), 4)
    assert fingerprint(again.weights) == fingerprint(kinds[2].weights)


def test_integers_that_do_not_fit_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^int4 needs .* use --precision bf16 or fp32") as refusal:
        in_integers(tiny("gpt2", 1).model(torch.float32), 4)
    assert "\n" not in str(refusal.value)


def test_layers_of_four_bits_are_four_bits() -> None:
    layer = in_integers(even().model(torch.float32), 4).weights.layers[0]
    assert all(isinstance(product, Int4Linear) for product in layer.linears)


def test_a_bf16_product_is_packed_where_this_torch_can() -> None:
    linear = Linear(torch.randn(64, 32).bfloat16())
    assert isinstance(packed_or_plain(linear), PackedLinear)
    x = torch.randn(3, 32).bfloat16()
    assert torch.allclose(packed_or_plain(linear)(x), linear(x), atol=0.1)
