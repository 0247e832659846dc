"""The judge's two witnesses: an arm's own logits, replayed, and a float64 reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from compare.hugging_face import load_model
from compare.near_tie import Arm, Judge, Rows
from compare.records import RunRecord
from compare.step_record import TreeRecord
from compare.verdict_record import VerdictRecord
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.tree import Origin, TokenTree

if TYPE_CHECKING:
    from ssd.model import LanguageModel
    from ssd.models.load import LoadedPair
    from ssd.request import Request

Reference = Callable[[Sequence[int]], Rows]


class Adjudicator:
    """Judges two records of one prompt whose ids differ."""

    def __init__(self, target: LanguageModel, reference: Reference) -> None:
        self._target, self._reference = target, reference

    @classmethod
    def of(cls, pair: LoadedPair) -> Adjudicator:
        """The judge of a pair's runs. Loads the reference when it is needed first."""
        return cls(pair.target, Float64(pair))

    def judge(self, reference: RunRecord, run: RunRecord, request: Request) -> VerdictRecord:
        """The verdict on `run` against the reference's run: NEAR-TIE or BUG."""
        arms = [Arm(each.token_ids, replayed_rows(self._target, each)) for each in (reference, run)]
        return Judge(request, self._reference).judge(run.key, arms[0], arms[1])


def replayed_rows(target: LanguageModel, record: RunRecord) -> Rows:
    """The logits that chose a record's tokens, `[n, V]`, by its own trees and passes."""
    model = CachedModel(target, "target", Meter())
    context, rows = list(record.prompt_ids), []
    model.keep(context)
    for _ in model.fill():
        pass
    for step in record.steps:
        tree = TokenTree(step.tree.tokens, step.tree.parents, _origins(step.tree))
        logits = model.score(context, tree)
        nodes = [0, *step.path][: len(step.tokens)]
        rows.append(logits[nodes].double().cpu().numpy())
        context += step.tokens
        model.keep(context)
    return np.concatenate(rows)


def _origins(tree: TreeRecord) -> tuple[Origin, ...]:
    """A record's origins, which were checked where it was read."""
    return cast(tuple[Origin, ...], tree.origins)


class Float64:
    """Logits of the target computed in float64 by transformers.

    `dtype`: what its weights are rounded to before, the pair's own where None.
    """

    def __init__(self, pair: LoadedPair, dtype: torch.dtype | None = None) -> None:
        self._pair, self._dtype = pair, dtype

    def __call__(self, ids: Sequence[int]) -> Rows:
        """Logits after each of `ids`, `[T, V]`."""
        with torch.inference_mode():
            logits = self._model(torch.tensor([list(ids)]), use_cache=False).logits[0]
        rows: Rows = logits.numpy()
        return rows

    @cached_property
    def _model(self) -> Any:
        # On the CPU, where float64 is whole and fast enough.
        return load_model(self._pair.folder, self._dtype or self._pair.dtype, "eager").double()
