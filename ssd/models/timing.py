"""How long passes take on this machine, and which form of a draft takes least; both remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssd.cost import PATIENCE, WIDTHS, PassCosts, has_drifted, measure
from ssd.exact import Numerics
from ssd.models import machine
from ssd.models.download import Progress, Report
from ssd.models.families import fingerprint
from ssd.models.packed import packed, quantised_draft
from ssd.models.traced import traced
from ssd.models.transformer import Transformer

_NARROW = (1, 4)  # rows of a draft's pass that its form is chosen for
_GLANCE = (1, 4, 16)  # widths that show whether pass times have drifted


@dataclass(frozen=True)
class Stopwatch:
    """How passes are timed and where that is kept.

    `before`: what runs ahead of each of them; `beside`: the name of the model that it is of.
    """

    clock: Callable[[], float]
    before: Callable[[], object]
    beside: str
    cache: Path
    report: Report

    def seconds(
        self, model: Transformer, widths: Sequence[int] = WIDTHS, patience: int = PATIENCE
    ) -> PassCosts:
        """The pass times of `model` as a round has them, after a pass of the target."""
        return measure(model, self.clock, widths, patience, self.before)


def cheapest(draft: Transformer, stopwatch: Stopwatch) -> Transformer:
    """The draft with the products that take least time for few rows. It need not be exact.

    Its rows guess and decide nothing, so it computes in `fast` numerics.
    """
    forms = {"packed": packed, "quantised": quantised_draft}

    def made(name: str) -> Transformer:
        return traced(forms[name](draft).with_numerics(Numerics("fast")))

    def fresh() -> dict[str, Any]:
        costs = {name: sum(stopwatch.seconds(made(name), _NARROW).seconds) for name in forms}
        return {"form": min(costs, key=lambda name: costs[name])}

    name = model_key(draft, "form", _NARROW, stopwatch.beside)
    found = machine.remembered(
        stopwatch.cache, "form", name, fresh, lambda found: found["form"] in forms
    )
    return made(found["form"])


def pass_costs(model: Transformer, stopwatch: Stopwatch) -> PassCosts:
    """The pass times of `model` on this machine, measured anew when they have drifted."""

    def fresh() -> dict[str, Any]:
        stopwatch.report(Progress("measuring pass times", 0))
        costs = stopwatch.seconds(model)
        return {"widths": list(costs.widths), "seconds": list(costs.seconds)}

    cache = stopwatch.cache
    kind = (type(model).__name__, model.numerics.kind, model.numerics.widths)
    parts = (*kind, WIDTHS, stopwatch.beside)
    name = model_key(model, *parts)
    found = machine.remembered(cache, "cost", name, fresh, _are_costs)
    costs = PassCosts(tuple(found["widths"]), tuple(found["seconds"]))
    if has_drifted(costs, stopwatch.seconds(model, _GLANCE)):
        machine.forget(cache, "cost", name)
        found = machine.remembered(cache, "cost", name, fresh, _are_costs)
    return PassCosts(tuple(found["widths"]), tuple(found["seconds"]))


def _are_costs(found: dict[str, Any]) -> bool:
    return len(found["widths"]) == len(found["seconds"]) > 0 and min(found["seconds"]) > 0


def model_key(model: Transformer, *parts: object) -> str:
    """A short name for `model` on this machine, and for `parts`."""
    embedding = model.weights.embedding
    return machine.key(
        embedding.device,
        weights=fingerprint(model.weights),
        dtype=str(embedding.dtype),
        parts=parts,
    )
