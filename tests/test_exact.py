"""The row-invariance probe, the padded widths, and hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from ssd.exact import CANDIDATE_WIDTHS, FIRST_ROWS, PROBE_ROWS, Numerics, hash_rows, probe
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.tree import TokenTree
from tests.tiny import FAMILIES, exact, tiny

TABLE = torch.randn(50, 8, generator=torch.Generator().manual_seed(0)).bfloat16()


def run(ids: Sequence[int]) -> Tensor:
    """A model whose rows know nothing of their company."""
    return TABLE[list(ids)].clone()


def next_bits(row: Tensor, column: int) -> None:
    """The smallest change there is: one bit of one number."""
    row.view(torch.int16)[column] ^= 1


def test_an_invariant_model_is_found_invariant_at_all_widths() -> None:
    result = probe(run, 50)
    assert result.invariant_widths == CANDIDATE_WIDTHS and result.is_invariant
    assert result.num_rows == PROBE_ROWS


@pytest.mark.parametrize("num_rows", [FIRST_ROWS, PROBE_ROWS])
@pytest.mark.parametrize("width", [1, 2, 7, 64, 128])
def test_one_bit_at_one_place_of_one_width_is_found(width: int, num_rows: int) -> None:
    for place in {0, width // 2, width - 1}:

        def planted(ids: Sequence[int], place: int = place) -> Tensor:
            logits = run(ids)
            if len(ids) == width:
                next_bits(logits[place], 3)
            return logits

        expected = tuple(w for w in CANDIDATE_WIDTHS if w != width)
        found = probe(planted, 50, num_rows=num_rows)
        assert found.invariant_widths == expected and found.num_rows == num_rows


def test_multiples_of_four_as_in_float32_products() -> None:
    def planted(ids: Sequence[int]) -> Tensor:
        logits = run(ids)
        if len(ids) % 4:
            for row in logits[len(ids) // 4 * 4 :]:
                next_bits(row, 0)
        return logits

    found = probe(planted, 50).invariant_widths
    assert found == tuple(w for w in CANDIDATE_WIDTHS if w % 4 == 0)


def test_another_kernel_from_some_width_on() -> None:
    def planted(ids: Sequence[int]) -> Tensor:
        logits = run(ids)
        if len(ids) >= 32:
            next_bits(logits[0], 1)
            logits[1:] = -logits[1:]
        return logits

    result = probe(planted, 50)
    assert result.invariant_widths == tuple(w for w in CANDIDATE_WIDTHS if w < 32)


def test_a_model_that_depends_on_its_company_everywhere_is_not_invariant() -> None:
    def planted(ids: Sequence[int]) -> Tensor:
        return run(ids) + len(ids)

    assert not probe(planted, 50).is_invariant


def test_a_rare_difference_is_seen() -> None:
    """A single id of fifty whose row differs at one width."""

    def planted(ids: Sequence[int]) -> Tensor:
        logits = run(ids)
        if len(ids) == 5:
            for row, token in zip(logits, ids, strict=True):
                if token == 18:
                    next_bits(row, 7)
        return logits

    assert 5 not in probe(planted, 50).invariant_widths


@dataclass(frozen=True)
class Stored:
    """Keys and values as they are."""

    all_keys: Tensor
    all_values: Tensor

    def keys(self) -> Tensor:
        """All keys."""
        return self.all_keys

    def values(self) -> Tensor:
        """All values."""
        return self.all_values


@pytest.mark.parametrize("kind", ["exact", "fast"])
def test_the_order_of_keys_moves_exact_attention_by_float64s_rounding(kind: str) -> None:
    """In float32, the models' own dtype here, it would move by far more, as `fast` shows."""
    generator = torch.Generator().manual_seed(1)
    numerics = Numerics(kind, (1,))  # type: ignore[arg-type]
    dtype = numerics.attention_dtype(torch.float32)
    queries, keys, values = (
        torch.randn(2, count, 16, generator=generator).to(dtype) for count in (3, 400, 400)
    )
    order = torch.randperm(400, generator=generator)
    bias = torch.zeros(3, 400, dtype=dtype)
    for mask in (None, bias):
        straight = numerics.attend(queries, Stored(keys, values), mask)
        shuffled = numerics.attend(queries, Stored(keys[:, order], values[:, order]), mask)
        moved = float((straight - shuffled).abs().max())
        assert moved < 1e-14 if kind == "exact" else moved > 1e-9


def test_a_masked_key_counts_for_nothing() -> None:
    numerics = Numerics("exact", (1,))
    queries, keys, values = torch.randn(3, 1, 4, 8, dtype=torch.float64).unbind(0)
    bias = torch.zeros(4, 4, dtype=torch.float64)
    bias[:, 3] = float("-inf")
    masked = numerics.attend(queries, Stored(keys, values), bias)
    keys[:, 3], values[:, 3] = 1e6, -1e6
    assert torch.equal(numerics.attend(queries, Stored(keys, values), bias), masked)
    expected = numerics.attend(queries, Stored(keys[:, :3], values[:, :3]), None)
    assert torch.allclose(masked, expected, rtol=0, atol=1e-14)


def test_widths_pad_to_the_next() -> None:
    numerics = Numerics("exact", (4, 8, 16))
    assert [numerics.width(n) for n in (1, 4, 5, 16)] == [4, 4, 8, 16]
    assert Numerics("fast", (4, 8, 16)).width(5) == 5
    with pytest.raises(AssertionError):
        numerics.width(17)


def test_hashes_are_of_the_raw_bytes_of_each_row() -> None:
    logits = torch.tensor([[1.0, -2.0, 0.5], [0.0, 1.0, 2.0]]).bfloat16()
    raw = logits.view(torch.int16).numpy().tobytes()
    assert hash_rows(logits) == tuple(
        hashlib.blake2b(raw[at : at + 6], digest_size=8).hexdigest() for at in (0, 6)
    )


def test_hashes_tell_the_least_bit_the_dtype_and_minus_zero() -> None:
    logits = torch.tensor([[0.0, 1.0]])
    changed = logits.clone()
    changed.view(torch.int32)[0, 1] ^= 1
    rows = {hash_rows(each)[0] for each in (logits, changed, -logits, logits.double())}
    assert len(rows) == 4
    assert len({hash_rows(torch.tensor([[0.0]]))[0], hash_rows(torch.tensor([[-0.0]]))[0]}) == 2


def test_hashes_of_a_view_are_those_of_its_numbers() -> None:
    logits = torch.arange(12.0).view(3, 4)
    assert hash_rows(logits.T) == hash_rows(logits.T.contiguous())


@pytest.mark.parametrize("family", FAMILIES)
def test_exact_attention_does_not_see_the_order_of_keys(family: str) -> None:
    """The accepted path's keys lie apart in a tree and side by side in a chain: the same bits."""
    model = exact(tiny(family, 1).model(torch.bfloat16))
    context = list(range(40))
    chain = TokenTree.chain(39, (5, 6, 7), "draft")
    apart = TokenTree((39, 9, 5, 8, 6, 3, 7), (-1, 0, 0, 2, 2, 3, 4), ("target", *("draft",) * 6))
    straight = CachedModel(model, "target", Meter()).score(context, chain)
    scattered = CachedModel(model, "target", Meter()).score(context, apart)
    assert hash_rows(straight) == hash_rows(scattered[[0, 2, 4, 6]])


@pytest.mark.parametrize("family", FAMILIES)
def test_fast_numerics_shows_differing_rows(family: str) -> None:
    """The negative control: plain bf16 attention does see it, in some of many rows."""
    checkpoint = tiny(family, 2)
    exactly = exact(checkpoint.model(torch.bfloat16))
    differing = {}
    for kind in ("exact", "fast"):
        model = exactly.with_numerics(Numerics(kind, exactly.numerics.widths))
        differing[kind] = 0
        for case in range(4):
            generator = torch.Generator().manual_seed(case)
            ids = torch.randint(61, (70,), generator=generator).tolist()
            at_once = CachedModel(model, "target", Meter()).score(
                ids[:50], TokenTree.chain(ids[49], ids[50:], "draft")
            )
            memo = CachedModel(model, "target", Meter())
            one_by_one = [
                memo.score(ids[:end], TokenTree.root_only(ids[end - 1]))[0] for end in range(50, 71)
            ]
            pairs = zip(hash_rows(at_once), hash_rows(torch.stack(one_by_one)), strict=True)
            differing[kind] += sum(a != b for a, b in pairs)
    assert differing["exact"] == 0 and differing["fast"] > 0, differing
