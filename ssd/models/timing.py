"""How long passes take on this machine, and which form of a draft takes least; both remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ssd.cost import BRIEF, FULL, WIDTHS, Effort, PassCosts, has_drifted, measure, one_pass
from ssd.exact import Numerics
from ssd.models import machine
from ssd.models.download import Progress
from ssd.models.families import fingerprint
from ssd.models.machine import Survey
from ssd.models.packed import packed, quantised_draft
from ssd.models.traced import traced
from ssd.models.transformer import Transformer

_NARROW = (1, 4)  # rows of a draft's pass that its form is chosen for
_GLANCE = (1, 4, 16)  # widths that show whether pass times have drifted
_PLAIN_ROUNDS, _WARM_UPS = 33, 2
_FORMS, _TIMES = "choosing the draft's form", "measuring pass times"


@dataclass(frozen=True)
class Stopwatch:
    """How passes are timed.

    `before`: what runs ahead of each of them; `beside`: the name of the model that it is of.
    """

    clock: Callable[[], float]
    before: Callable[[], object]
    beside: str
    survey: Survey

    @property
    def effort(self) -> Effort:
        """How long passes are timed."""
        return BRIEF if self.survey.is_brief else FULL

    def seconds(self, model: Transformer, stage: str, widths: Sequence[int] = WIDTHS) -> PassCosts:
        """The pass times of `model` as a round has them, after a pass of the target."""

        def report(done: int, total: int) -> None:
            self.survey.report(Progress(stage, done, total))

        return measure(model, self.clock, widths, self.effort, self.before, report)


def cheapest(draft: Transformer, stopwatch: Stopwatch) -> Transformer:
    """The draft with the products that take least time for few rows. It need not be exact.

    Its rows guess and decide nothing, so it computes in `fast` numerics.
    """
    forms = {"packed": packed, "quantised": quantised_draft}

    def made(name: str) -> Transformer:
        return traced(forms[name](draft).with_numerics(Numerics("fast")))

    def fresh() -> dict[str, Any]:
        costs = {
            name: sum(stopwatch.seconds(made(name), _FORMS, _NARROW).seconds) for name in forms
        }
        return {"form": min(costs, key=lambda name: costs[name])}

    name = model_key(draft, "form", _NARROW, stopwatch.beside)
    found = machine.remembered(
        stopwatch.survey.cache, "form", name, fresh, lambda found: found["form"] in forms
    )
    return made(found["form"])


def pass_costs(model: Transformer, stopwatch: Stopwatch) -> PassCosts:
    """The pass times of `model` on this machine; a careful survey measures drifted ones again."""
    survey = stopwatch.survey

    def fresh() -> dict[str, Any]:
        costs = stopwatch.seconds(model, _TIMES)
        return {"widths": list(costs.widths), "seconds": list(costs.seconds)}

    kind = (type(model).__name__, model.numerics.kind, model.numerics.widths)
    parts = (*kind, WIDTHS, stopwatch.beside)
    name = model_key(model, *parts)
    found = survey.remembered("cost", name, fresh, _are_costs)
    costs = PassCosts(tuple(found["widths"]), tuple(found["seconds"]))
    if not survey.is_brief and has_drifted(costs, stopwatch.seconds(model, _TIMES, _GLANCE)):
        machine.forget(survey.cache, "cost", name)
        found = survey.remembered("cost", name, fresh, _are_costs)
    return PassCosts(tuple(found["widths"]), tuple(found["seconds"]))


def exact_over_plain(target: Transformer, stopwatch: Stopwatch) -> float | None:
    """How long a pass of one row takes in exact numerics, in units of one in plain (fast) numerics.

    Both behind a context of 256 tokens, in turn, the median of their ratios. What the baseline of a
    comparison pays for exactness: near 1 where a width of 1 is invariant. None in fast numerics.
    """
    if target.numerics.kind == "fast":
        return None

    def fresh() -> dict[str, Any]:
        fast = target.with_numerics(Numerics("fast", target.numerics.widths))
        exact_pass, plain_pass, ratios = one_pass(target), one_pass(fast), []
        for _ in range(_PLAIN_ROUNDS):
            exact_s, plain_s = (_seconds(run, stopwatch.clock) for run in (exact_pass, plain_pass))
            ratios.append(exact_s / plain_s)
        return {"ratio": median(ratios[_WARM_UPS:])}

    name = model_key(target, "plain", target.numerics.widths)
    found = machine.remembered(
        stopwatch.survey.cache, "plain", name, fresh, lambda found: found["ratio"] > 0
    )
    ratio: float = found["ratio"]
    return ratio


def _seconds(run: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    run()
    return clock() - start


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
