"""Traced layers: the same bits as the layers themselves, whatever the pass is about."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from ssd.exact import Numerics
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.models.int8 import DynamicLinear
from ssd.models.packed import ByRows, in_integers, packed, quantised_draft
from ssd.models.traced import TracedTransformer, traced
from ssd.models.transformer import Transformer
from tests.proposers import random_tree
from tests.test_int8 import HAS_BYTES
from tests.test_packed import PACKED, even
from tests.tiny import WIDTHS, exact, tiny


def plain(family: str, dtype: torch.dtype) -> Transformer:
    return exact(tiny(family, 1).model(dtype))


def draft() -> Transformer:
    return quantised_draft(even(vocab_size=64).model(torch.bfloat16))


MODELS: dict[str, Callable[[], Transformer]] = {
    "llama bf16": lambda: plain("llama", torch.bfloat16),
    "gpt2 bf16": lambda: plain("gpt2", torch.bfloat16),
    "llama packed": lambda: packed(plain("llama", torch.bfloat16)),
    "gpt2 packed": lambda: packed(plain("gpt2", torch.bfloat16)),
    "llama packed fp32": lambda: packed(tiny("llama", 1).model(torch.float32)),
    "gpt2 packed fp32": lambda: packed(tiny("gpt2", 1).model(torch.float32)),
    "int4": lambda: in_integers(even().model(torch.float32), 4),
    "int8": lambda: in_integers(even().model(torch.float32), 8),
    "a draft's": draft,
}


def logits(model: Transformer, seed: int) -> torch.Tensor:
    """Those of passes over trees and chains of many shapes in one growing context."""
    rng = random.Random(seed)
    cached = CachedModel(model, "target", Meter())
    context, found = [rng.randrange(20) for _ in range(40)], []
    for _ in range(12):
        tree = random_tree(rng, context[-1], 20, rng.choice([0, 1, 2, 5, 8, 12]), 6)
        found.append(cached.score(context, tree))
        context += [rng.randrange(20) for _ in range(rng.choice([1, 1, 3]))]
    return torch.cat(found)


@pytest.mark.parametrize("kind", ["exact", "fast"])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_bits(name: str, kind: str) -> None:
    """Also of passes that are about something else than those that were traced."""
    model = MODELS[name]().with_numerics(Numerics(kind, WIDTHS))  # type: ignore[arg-type]
    quick = traced(model)
    assert isinstance(quick, TracedTransformer)
    for seed in range(3):
        assert torch.equal(logits(quick, seed), logits(model, seed))


def test_few_traces_serve_all_passes_and_all_numerics() -> None:
    """With a mask and without, and the head; for a draft, with few rows and with many."""
    for model, most in ((packed(plain("llama", torch.bfloat16)), 3), (draft(), 6)):
        quick = traced(model)
        assert isinstance(quick, TracedTransformer)
        logits(quick, 1)
        logits(quick.with_numerics(Numerics("exact", WIDTHS[1:])), 2)
        assert 1 < len(quick._traces) <= most
    assert isinstance(model.weights.layers[0].qkv, ByRows)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_weights_that_are_no_tensors(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    """A kernel's own object goes into a trace too."""
    monkeypatch.setattr("ssd.models.packed._MANY", 0)
    model = quantised_draft(even(vocab_size=64).model(dtype))
    model = model.with_numerics(Numerics("fast", WIDTHS))
    assert isinstance(model.weights.head, ByRows)
    assert isinstance(model.weights.head.wide, DynamicLinear if HAS_BYTES else PACKED[dtype])
    quick = traced(model)
    assert isinstance(quick, TracedTransformer)
    assert torch.equal(logits(quick, 1), logits(model, 1))


def test_where_nothing_can_be_traced_the_model_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("no such operator")

    monkeypatch.setattr(torch.jit, "trace", broken)
    model = plain("llama", torch.bfloat16)
    assert traced(model) is model


def test_plain_float32_stays_as_it_is() -> None:
    """Of its linear layers a graph makes others, with other last bits."""
    model = plain("llama", torch.float32)
    assert traced(model) is model
