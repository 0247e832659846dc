"""How near a precision stays to the model as it was published: agreement and perplexity.

On the answers of a record file, teacher-forced: the target as the file's runs had it, against the
published weights in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.certificate import inconsistencies
from compare.near_tie import Rows
from compare.records import RunRecord


@dataclass(frozen=True)
class Fidelity:
    """Sums over `tokens` places. `agreeing`: where both would choose the same id, greedily.

    `log_loss`, `reference_log_loss`: of the answers' ids under each model, in nats, summed.
    """

    tokens: int = 0
    agreeing: int = 0
    log_loss: float = 0.0
    reference_log_loss: float = 0.0

    def __add__(self, more: Fidelity) -> Fidelity:
        return Fidelity(
            self.tokens + more.tokens,
            self.agreeing + more.agreeing,
            self.log_loss + more.log_loss,
            self.reference_log_loss + more.reference_log_loss,
        )

    def to_json(self) -> dict[str, Any]:
        """Agreement as a share, and perplexities. Raises ValueError where there is no token."""
        if not self.tokens:
            raise ValueError("expected answers with tokens, got none: nothing can be compared")
        return {
            "tokens": self.tokens,
            "agreement": self.agreeing / self.tokens,
            "perplexity": float(np.exp(self.log_loss / self.tokens)),
            "reference_perplexity": float(np.exp(self.reference_log_loss / self.tokens)),
        }


def of_answer(tokens: Sequence[int], rows: Rows, reference: Rows) -> Fidelity:
    """The figures of one answer. `rows`, `reference`: the logits before each token, `[n, V]`."""
    assert len(tokens) == len(rows) == len(reference), "a row for each token"
    return Fidelity(
        tokens=len(tokens),
        agreeing=int((rows.argmax(axis=1) == reference.argmax(axis=1)).sum()),
        log_loss=_log_loss(tokens, rows),
        reference_log_loss=_log_loss(tokens, reference),
    )


def of_records(
    records: Iterable[RunRecord],
    rows_of: Callable[[RunRecord], Rows],
    reference: Callable[[Sequence[int]], Rows],
) -> Iterable[Fidelity]:
    """The figures of each answer, as they come; one answer a prompt, for all are the same.

    `reference`: ids -> logits after each of them, `[T, V]`.
    """
    seen: set[str] = set()
    for record in records:
        if record.error is not None or not record.token_ids or record.key.prompt_id in seen:
            continue
        for what in inconsistencies(record):
            raise ValueError(
                f"{record.key.method} on {record.key.prompt_id} contradicts itself ({what}): "
                "see `compare verify`"
            )
        seen.add(record.key.prompt_id)
        wanted = reference([*record.prompt_ids, *record.token_ids])
        before = wanted[len(record.prompt_ids) - 1 : -1]
        yield of_answer(record.token_ids, rows_of(record), before)


def _log_loss(tokens: Sequence[int], rows: Rows) -> float:
    highest = rows.max(axis=1)
    log_mass = highest + np.log(np.exp(rows - highest[:, None]).sum(axis=1))
    return float((log_mass - rows[np.arange(len(tokens)), list(tokens)]).sum())
