"""Models with their products computed otherwise say the same as before, nearly or exactly."""

from __future__ import annotations

import pytest
import torch

from ssd.exact import Numerics
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.models.families import fingerprint
from ssd.models.int4 import Int4Linear, quantised, restored
from ssd.models.int8 import DynamicLinear, Int8Linear, IntegerLinear, PlainSums, RescoredLinear
from ssd.models.layers import Linear
from ssd.models.packed import (
    ByRows,
    PackedLinear,
    in_integers,
    packed,
    packed_or_plain,
    quantised_draft,
)
from ssd.models.transformer import Transformer
from tests.test_int8 import HAS_BYTES
from tests.tiny import Tiny, tiny, tiny_llama

DTYPES = (torch.bfloat16, torch.float32)


def packs(dtype: torch.dtype) -> bool:
    """Whether oneDNN packs weights of `dtype` here: bf16 not without AVX-512 or its like."""
    try:
        torch.ops.mkldnn._reorder_linear_weight(torch.ones(16, 16, dtype=dtype), 16)
    except RuntimeError:
        return False
    return True


PACKED = {dtype: PackedLinear if packs(dtype) else Linear for dtype in DTYPES}
"""What a layer of each dtype becomes here."""
ALL_IN_BYTES = 0.25
"""The largest error, as `error` gives it, of activations in 7 bits with one scale for all rows, in
every layer of a random model 32 wide (0.03 to 0.23 over four seeds); `test_int8` knows each sum."""
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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_packed_layers_compute_the_same(family: str, dtype: torch.dtype) -> None:
    plain = tiny(family, 1).model(dtype)
    assert isinstance(packed(plain).weights.head, PACKED[dtype])
    assert error(rows(packed(plain)), rows(plain)) < (0.02 if dtype == torch.bfloat16 else 1e-5)


def test_packing_leaves_other_dtypes_alone() -> None:
    plain = tiny("llama", 1).model(torch.float16)
    assert packed(plain) is plain and quantised_draft(plain) is plain


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_quantised_draft_rounds_its_weights_to_4_bits_in_few_rows_only(
    dtype: torch.dtype,
) -> None:
    exactly = even(vocab_size=64)
    half = {name: weight.bfloat16().float() for name, weight in exactly.tensors.items()}
    checkpoint = Tiny(exactly.config, half)
    quick = quantised_draft(checkpoint.model(dtype))
    assert isinstance(quick.weights.head, ByRows)
    few, many = rows(quick, IDS[:4]), rows(quick)
    assert error(few, rows(rounded(checkpoint, 4, 4).model(dtype), IDS[:4])) < 0.06
    is_exact = isinstance(quick.weights.head.wide, PACKED[dtype])
    assert error(many, rows(checkpoint.model(dtype))) < (0.06 if is_exact else ALL_IN_BYTES)
    assert error(few, rows(checkpoint.model(dtype), IDS[:4])) > 0.06


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_quantised_draft_has_bytes_where_results_are_many(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    """In more than a few rows; elsewhere bf16 where it can be packed, else bytes there too."""
    monkeypatch.setattr("ssd.models.packed._MANY", 64)
    plain = even().model(dtype)
    quick = quantised_draft(plain)
    kinds = [layer.wide for layer in quick.weights.layers[0].linears]  # type: ignore[attr-defined]
    most = [layer.most for layer in quick.weights.layers[0].linears]  # type: ignore[attr-defined]
    large = DynamicLinear if HAS_BYTES else PACKED[dtype]
    is_packed = dtype == torch.bfloat16 and packs(dtype)
    small = PACKED[dtype] if is_packed or not HAS_BYTES else DynamicLinear
    assert [type(kind) for kind in kinds] == [small, small, large, small]
    assert most == [8, 8, 4, 8] if is_packed else [4, 4, 4, 4]
    assert error(rows(quick), rows(plain)) < (0.06 if is_packed else ALL_IN_BYTES)


def test_a_draft_without_byte_kernels_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(linear: Linear) -> DynamicLinear:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr("ssd.models.packed._MANY", 64)
    monkeypatch.setattr("ssd.models.packed.DynamicLinear.of", missing)
    layer = quantised_draft(even().model(torch.float32)).weights.layers[0].linears[2]
    assert isinstance(layer, ByRows) and isinstance(layer.wide, PACKED[torch.float32])


def test_a_draft_that_four_bits_do_not_fit_is_packed() -> None:
    for checkpoint in (tiny("gpt2", 1), even(vocab_size=61)):
        quick = quantised_draft(checkpoint.model(torch.bfloat16))
        assert isinstance(quick.weights.head, PACKED[torch.bfloat16] | DynamicLinear)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("seed", range(5))
def test_integer_weights_compute_what_they_stand_for(bits: int, seed: int) -> None:
    checkpoint = even(seed)
    integer = in_integers(checkpoint.model(torch.float32), bits)
    assert integer.weights.embedding.dtype == torch.float32
    assert isinstance(integer.weights.head, RescoredLinear)
    assert error(rows(integer), rows(rounded(checkpoint, bits).model(torch.float32))) < 0.04
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


def test_layers_of_eight_bits_are_the_faster_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what vector instructions torch uses, and whether there is a kernel with exact sums."""
    kinds = {"AVX512": Int8Linear, "AVX2": IntegerLinear if HAS_BYTES else Int8Linear}
    for name, kind in kinds.items():
        monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda name=name: name)
        assert isinstance(in_integers(even().model(torch.float32), 8).weights.layers[0].qkv, kind)
    monkeypatch.setattr("ssd.models.packed.byte_sums", lambda: PlainSums.of)
    assert isinstance(in_integers(even().model(torch.float32), 8).weights.layers[0].qkv, Int8Linear)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_layer_is_packed_where_torch_and_the_processor_can(dtype: torch.dtype) -> None:
    linear = Linear(torch.randn(64, 32).to(dtype))
    assert isinstance(packed_or_plain(linear), PACKED[dtype])
    x = torch.randn(3, 32).to(dtype)
    assert torch.allclose(packed_or_plain(linear)(x), linear(x), atol=0.1)


def test_few_rows_take_one_way_and_many_the_other() -> None:
    layer = ByRows(lambda x: x * 2, lambda x: x * 3, 4)  # type: ignore[arg-type]
    assert float(layer(torch.ones(4, 1)).sum()) == 8
    assert float(layer(torch.ones(5, 1)).sum()) == 15
