"""Whether two answers part at a near-tie, judged against a float64 reference (DESIGN 5).

Each arm's numerical error is measured, not presumed: how far the gaps between its logits lie from
the reference's, on the text that it wrote itself. From where the answers part, every token of both
must be the reference's choice within that error; a token at the edge of top-k or top-p is judged by
whether it may belong to the set under the same error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compare.certificate import first_difference
from compare.records import RunKey
from compare.verdict_record import VerdictRecord
from ssd import noise

if TYPE_CHECKING:
    from ssd.request import Request
    from ssd.sampling import Sampling

Rows = NDArray[np.float64]

_QUANTILE = 0.999
_RIVALS = 64  # tokens a position whose gaps to the emitted one are measured


@dataclass(frozen=True)
class Arm:
    """One answer and the logits it was chosen by. `rows`: `[n, V]`, raw, one a token."""

    tokens: tuple[int, ...]
    rows: Rows


@dataclass(frozen=True)
class Judge:
    """Judges answers to one request. `reference`: ids -> logits after each of them, `[T, V]`."""

    request: Request
    reference: Callable[[Sequence[int]], Rows]

    def judge(self, key: RunKey, first: Arm, second: Arm) -> VerdictRecord:
        """The verdict on two answers that differ: NEAR-TIE or BUG, with what was measured."""
        parting = first_difference(first.tokens, second.tokens)
        assert parting is not None, "equal answers need no judge"
        if parting >= min(len(first.tokens), len(second.tokens)):
            return VerdictRecord(key, "BUG", "one answer ends where the other goes on", parting)
        shortfalls, errors = [], []
        for arm in (first, second):
            prompt = self.request.prompt
            rows = self.reference((*prompt, *arm.tokens[:-1]))[len(prompt) - 1 :]
            error = self._error(arm, rows)
            errors.append(error)
            shortfalls.append(self._shortfalls(arm, rows, parting, error))
        gap = max(values[0] for values in shortfalls)
        bad = [
            (parting + at, shortfall, error)
            for values, error in zip(shortfalls, errors, strict=True)
            for at, shortfall in enumerate(values)
            if shortfall > error
        ]
        tokens = (first.tokens[parting], second.tokens[parting])
        if not bad:
            reason = (
                f"the ids part at token {parting}, where both tokens lie within the measured error"
            )
            return VerdictRecord(key, "NEAR-TIE", reason, parting, tokens, gap, max(errors))
        at, shortfall, error = bad[0]
        reason = (
            f"the ids part at token {parting}, and token {at} falls {shortfall:.3g} short of the "
            f"reference's choice with a measured error of {error:.3g}"
        )
        finite = gap if np.isfinite(gap) else None
        return VerdictRecord(key, "BUG", reason, parting, tokens, finite, max(errors))

    def _error(self, arm: Arm, rows: Rows) -> float:
        """The arm's error in perturbed scores: the 99.9 % quantile of its gaps' own errors."""
        sampling, errors = self.request.sampling, []
        for at, (token, row, own) in enumerate(zip(arm.tokens, rows, arm.rows, strict=True)):
            history = self._history(arm, at)
            exact = _tempered(row, history, sampling)
            measured = _tempered(own.astype(np.float64), history, sampling)
            rivals = np.argpartition(exact, -_RIVALS)[-_RIVALS:] if len(exact) > _RIVALS else ...
            off = measured - exact
            errors.append(np.abs(off[rivals] - off[token]))
        return float(np.quantile(np.concatenate(errors), _QUANTILE))

    def _shortfalls(self, arm: Arm, rows: Rows, start: int, error: float) -> list[float]:
        """For each token from `start`, how far it falls short of the reference's choice."""
        return [
            self._shortfall(rows[at], self._history(arm, at), arm.tokens[at], error)
            for at in range(start, len(arm.tokens))
        ]

    def _shortfall(self, row: Rows, history: Sequence[int], token: int, error: float) -> float:
        sampling, position = self.request.sampling, len(history)
        scores = _tempered(row, history, sampling)
        if sampling.is_greedy:
            return float(scores.max() - scores[token])
        if not _may_stay(scores, token, sampling, error):
            return float("inf")
        rivals = np.flatnonzero(_must_stay(scores, sampling, error))
        rivals = np.union1d(rivals, [token])
        perturbed = scores[rivals] + noise.gumbel(self.request.seed, position, rivals)
        return float(perturbed.max() - perturbed[np.searchsorted(rivals, token)])

    def _history(self, arm: Arm, at: int) -> tuple[int, ...]:
        return (*self.request.prompt, *arm.tokens[:at])


def _tempered(row: Rows, history: Sequence[int], sampling: Sampling) -> Rows:
    """The row in float64 after penalty and temperature."""
    scores = row.copy()
    if sampling.repetition_penalty != 1.0:
        seen = np.unique(np.asarray(history, dtype=np.int64))
        picked, penalty = scores[seen], sampling.repetition_penalty
        scores[seen] = np.where(picked < 0, picked * penalty, picked / penalty)
    return scores if sampling.is_greedy else scores / sampling.temperature


def _may_stay(scores: Rows, token: int, sampling: Sampling, error: float) -> bool:
    """Whether top-k and top-p may leave `token` in, under scores that are off by `error`."""
    if 0 < sampling.top_k < len(scores):
        edge = np.partition(scores, -sampling.top_k)[-sampling.top_k]
        if scores[token] < edge - error:
            return False
    if sampling.top_p < 1.0:
        kept = _top_k(scores, sampling, -error)
        above = scores[kept & (scores > scores[token] + error)]
        mass = np.exp(above - scores.max()).sum() / np.exp(scores[kept] - scores.max()).sum()
        return bool(mass * np.exp(-error) < sampling.top_p)
    return True


def _must_stay(scores: Rows, sampling: Sampling, error: float) -> NDArray[np.bool_]:
    """`[V]`: the ids that top-k and top-p leave in even under scores that are off by `error`."""
    stays = _top_k(scores, sampling, error)
    if sampling.top_p < 1.0:
        kept = _top_k(scores, sampling, -error)
        weights = np.where(kept, np.exp(scores - scores.max()), 0.0)
        order = np.argsort(-scores, kind="stable")
        mass = np.concatenate(([0.0], np.cumsum(weights[order]))) / weights.sum()
        falling = -scores[order]
        # All that an error could lift above an id, itself left out.
        before = mass[np.searchsorted(falling, -scores + error, side="right")]
        before -= weights / weights.sum()
        stays &= before * np.exp(error) < sampling.top_p
    return stays


def _top_k(scores: Rows, sampling: Sampling, margin: float) -> NDArray[np.bool_]:
    """`[V]`: the ids that lie at least `margin` above what they must beat to stay in top-k.

    With a margin below 0, those that lie at most so much under the edge.
    """
    k = sampling.top_k
    if not 0 < k < len(scores):
        return np.ones(len(scores), dtype=np.bool_)
    rank = k if margin <= 0 else k + 1
    edge = float(np.partition(scores, -rank)[-rank])
    return np.asarray(scores >= edge + margin, dtype=np.bool_)
