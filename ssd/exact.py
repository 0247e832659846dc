"""Bit-identical logits: order-independent attention, the row-invariance probe, logit hashes.

A tree verifies many positions in one pass, a plain loop one at a time. Their logits agree to the
last bit where a row's result depends neither on how many rows share the call (the probe finds the
widths where that holds; passes are padded to one of them) nor on the order of the keys (attention
sums in float64, so that reordering moves a result by 1e-16 and no rounding notices).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

NumericsKind = Literal["exact", "fast"]

CANDIDATE_WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128)
PROBE_ROWS = 192
FIRST_ROWS = 64
"""Rows of a first, shorter probe, for an answer soon."""


class Slots(Protocol):
    """The keys and values that a pass reads in one layer."""

    def keys(self) -> Tensor:
        """`[H, S, D]`, until the next reading."""

    def values(self) -> Tensor:
        """`[H, S, D]`, until the next reading."""


@dataclass(frozen=True)
class Numerics:
    """How a model computes. `widths`: the padded pass widths, ascending; the last is the largest.

    `exact` sums attention in float64 and pads every pass to a width; `fast` is plain attention in
    the model's dtype and pads nothing.
    """

    kind: NumericsKind = "exact"
    widths: tuple[int, ...] = CANDIDATE_WIDTHS

    def width(self, num_rows: int) -> int:
        """The width of a pass of `num_rows` rows: the smallest that holds them."""
        if self.kind == "fast":
            return num_rows
        assert num_rows <= self.widths[-1], f"{num_rows} rows in a pass of {self.widths[-1]}"
        return next(width for width in self.widths if width >= num_rows)

    def attention_dtype(self, dtype: torch.dtype) -> torch.dtype:
        """The dtype in which attention of a model of `dtype` computes."""
        return torch.float64 if self.kind == "exact" else dtype

    def attend(self, queries: Tensor, slots: Slots, bias: Tensor | None) -> Tensor:
        """Attention, `[H, T, D]` in the dtype of all its inputs.

        `queries`: `[H, T, D]`; `bias`: `[T, S]`, 0 or -inf, None where every query sees every key.
        """
        if self.kind == "fast":
            mask = None if bias is None else bias.to(queries.dtype)[None, None]
            return F.scaled_dot_product_attention(
                queries[None], slots.keys()[None], slots.values()[None], attn_mask=mask
            )[0]
        scale = float(queries.shape[-1]) ** -0.5  # a number for a trace, not a product of its own
        ignored = queries[:1, :1, :1]  # something to add none of
        scores = torch.baddbmm(
            ignored if bias is None else bias,
            queries,
            slots.keys().transpose(1, 2),
            beta=0 if bias is None else 1,
            alpha=scale,
        )
        weights = torch.softmax(scores, dim=-1)
        return torch.bmm(weights, slots.values())


@dataclass(frozen=True)
class ProbeResult:
    """What the probe found: the largest set of widths at which all rows agree to the last bit."""

    invariant_widths: tuple[int, ...]
    num_rows: int

    @property
    def is_invariant(self) -> bool:
        """Whether a row's result can be kept independent of its company, up to a useful width."""
        return len(self.invariant_widths) > 1 and self.invariant_widths[-1] >= 16


def probe(
    run: Callable[[Sequence[int]], Tensor],
    vocab_size: int,
    widths: Sequence[int] = CANDIDATE_WIDTHS,
    report: Callable[[int, int], None] = lambda done, total: None,
    num_rows: int = PROBE_ROWS,
) -> ProbeResult:
    """Which pass widths give every row, at every place in the pass, the same bits.

    `run(ids)` is the model's logits `[T, V]` for rows that see nothing but themselves, in one pass
    of just that width. Each of `num_rows` rows takes part in every product of the model, thousands
    in all, for differences can be rare.
    """
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(vocab_size, (num_rows,), generator=generator).tolist()
    groups: dict[bytes, list[int]] = defaultdict(list)
    for done, width in enumerate(widths):
        report(done, len(widths))
        starts = range(0, num_rows, width)
        rows = [ids[at % num_rows] for at in range(starts[-1] + width)]  # so that all are full
        logits = torch.cat([run(rows[at : at + width]) for at in starts])
        again = [at % num_rows for at in range(len(rows))]
        is_same_twice = torch.equal(logits, logits[again])
        seen = logits[:num_rows] if is_same_twice else logits
        groups[hashlib.blake2b(_bytes(seen)).digest()].append(width)
    report(len(widths), len(widths))
    best = max(groups.values(), key=lambda group: (len(group), -group[0]))
    return ProbeResult(tuple(best), num_rows)


def hash_rows(logits: Tensor) -> tuple[str, ...]:
    """BLAKE2b-64 in hex over the raw bytes of each row. `logits`: `[T, V]` in the output dtype."""
    return tuple(hashlib.blake2b(_bytes(row), digest_size=8).hexdigest() for row in logits)


def _bytes(values: Tensor) -> bytes:
    return values.contiguous().cpu().view(torch.uint8).numpy().tobytes()
