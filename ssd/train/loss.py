"""The loss of a draft over its reduced head, in pieces that stay in the processor's cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

_ROWS = 256  # rows of logits at a time: all of them are gigabytes
_LEAST = 1e-4  # of the draft's mass outside the kept ids


@dataclass(frozen=True)
class Aim:
    """What the draft should say at each place: `columns` of its head and their `chances`, `[M, K]`.

    Best first. Column -1 is an id that the head lacks: its chance is 0. `rest`, `[M]`: the chance
    of all ids that are not kept.
    """

    columns: Tensor
    chances: Tensor
    rest: Tensor

    @classmethod
    def of(cls, ids: Tensor, chances: Tensor, to_column: Tensor) -> Aim:
        """The aim of the laws that give `ids` `chances`, `[M, K]`. `to_column`: `[V]`."""
        columns = to_column[ids]
        rest = (1.0 - chances.sum(1)).clamp(min=0.0)
        return cls(columns, chances.masked_fill(columns < 0, 0.0), rest)

    def part(self, rows: slice) -> Aim:
        """Some of the places."""
        return Aim(self.columns[rows], self.chances[rows], self.rest[rows])


def loss(hidden: Tensor, head: Tensor, aim: Aim) -> tuple[Tensor, int]:
    """The mean cross-entropy of `aim` under the draft, in nats, and how many first guesses hit.

    But for a constant this is the KL divergence from the target's law. A first guess hits where
    it is the likeliest id. `hidden`: `[M, E]`, with gradient; `head`: `[V', E]`, bfloat16, frozen.
    """
    value: Tensor = _Loss.apply(hidden, head, aim)  # type: ignore[no-untyped-call]
    return value[0], int(value[1].item())


class _Loss(torch.autograd.Function):
    """Loss and gradient together, so that logits need not be kept for a backward pass."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, head: Tensor, aim: Aim) -> Tensor:
        """`[2]`: the loss, and the hits."""
        total, hits = torch.zeros(()), 0
        gradient = torch.empty(hidden.shape, dtype=torch.bfloat16)
        for start in range(0, len(hidden), _ROWS):
            part = slice(start, start + _ROWS)
            num_rows = len(aim.columns[part])
            # The last piece is filled up: one shape for all.
            rows = F.pad(hidden[part].bfloat16(), (0, 0, 0, _ROWS - num_rows))
            logits = (rows @ head.T)[:num_rows].float()
            hits += int((logits.argmax(1) == aim.columns[part, 0]).sum())
            piece, slope = _piece(torch.log_softmax(logits, dim=1), aim.part(part))
            total += piece
            slope = F.pad(slope.bfloat16(), (0, 0, 0, _ROWS - num_rows))
            gradient[part] = (slope @ head)[:num_rows]
        ctx.save_for_backward(gradient)
        ctx.scale = 1.0 / max(1, len(hidden))
        return torch.stack((total * ctx.scale, torch.tensor(float(hits))))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of the loss in `hidden`."""
        (gradient,) = ctx.saved_tensors
        return gradient * (slopes[0][0] * ctx.scale).to(gradient.dtype), None, None


def _piece(log_law: Tensor, aim: Aim) -> tuple[Tensor, Tensor]:
    """The summed loss of a few rows, and its slope in their logits, `[m, V']`.

    Over the kept ids and one more outcome, the rest of the head: with kept mass p and Q under the
    draft, rest r, the loss is -sum p_j log q_j - r log(1 - Q). Overwrites `log_law`.
    """
    at = aim.columns.clamp(min=0)
    kept = (aim.columns >= 0).float()
    log_kept = log_law.gather(1, at)
    law = log_law.exp_()
    q = log_kept.exp() * kept
    rest = aim.rest[:, None]
    outside = (1.0 - q.sum(1, keepdim=True)).clamp_(min=_LEAST)
    total = -(aim.chances * log_kept).sum() - (rest * outside.log()).sum()
    pull = rest / outside
    slope = law.mul_(aim.chances.sum(1, keepdim=True) - pull * (1.0 - outside))
    return total, slope.scatter_add_(1, at, pull * q - aim.chances)
