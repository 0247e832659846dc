"""Which pass widths keep a row's bits on this machine: probed once a machine, and remembered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache as cached
from typing import Any

import torch
from torch import Tensor

from ssd.cost import Effort, default_clock, measure
from ssd.exact import (
    CANDIDATE_WIDTHS,
    FIRST_ROWS,
    PROBE_ROWS,
    Numerics,
    NumericsKind,
    ProbeResult,
    probe,
)
from ssd.model import Pass
from ssd.models import machine
from ssd.models.download import Progress
from ssd.models.machine import Survey
from ssd.models.timing import model_key
from ssd.models.transformer import Transformer

_FEW = 4  # rows, up to which widths are weighed against each other
_CAREFUL = Effort(patience=12)  # what few rows cost is what every plain pass costs


def probed(
    model: Transformer, kind: NumericsKind, survey: Survey
) -> tuple[Transformer, ProbeResult]:
    """`model` computing with the widths that the probe found invariant, and what it found.

    A brief survey probes with fewer rows. A small width that takes longer than a larger one is left
    out: its passes are padded further.
    """
    name = model_key(model, "exact")

    def fresh() -> dict[str, Any]:
        alone = cached(lambda width: model.with_numerics(Numerics("exact", (width,))))
        result = probe(
            lambda ids: _lonely_rows(alone(len(ids)), ids),
            model.vocab_size,
            report=lambda done, total: survey.report(Progress("probing the kernels", done, total)),
            num_rows=FIRST_ROWS if survey.is_brief else PROBE_ROWS,
        )
        return {"widths": list(result.invariant_widths), "rows": result.num_rows}

    found = survey.remembered("probe", name, fresh, _are_widths)
    result = ProbeResult(tuple(found["widths"]), found["rows"])
    if kind == "fast" or not result.is_invariant:
        return model.with_numerics(Numerics(kind, CANDIDATE_WIDTHS)), result
    exact = model.with_numerics(Numerics(kind, result.invariant_widths))

    def affordable() -> dict[str, Any]:
        few = tuple(width for width in result.invariant_widths if width <= _FEW)
        clock = default_clock(model.weights.embedding.device)
        slow = measure(exact, clock, few, _CAREFUL).overpriced
        return {"widths": [width for width in few if width not in slow]}

    few = machine.remembered(survey.cache, "widths", name, affordable, _are_widths)["widths"]
    widths = [width for width in result.invariant_widths if width > _FEW or width in few]
    return model.with_numerics(Numerics(kind, tuple(widths))), result


def _are_widths(found: dict[str, Any]) -> bool:
    return len(found["widths"]) > 0 and all(width in CANDIDATE_WIDTHS for width in found["widths"])


def _lonely_rows(model: Transformer, ids: Sequence[int]) -> Tensor:
    """Logits of rows that see nothing but themselves, in one pass."""
    width = len(ids)
    tokens = torch.tensor(ids)
    rows = Pass(tokens, tokens % model.context_length, 0, 0, torch.eye(width, dtype=torch.bool))
    return model.forward(rows, model.new_cache(), width)
