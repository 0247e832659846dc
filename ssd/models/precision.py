"""Which precision `auto` means on a machine: the fastest of those that keep the model's choices."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ssd.cost import Effort, default_clock, measure
from ssd.exact import Numerics
from ssd.models import machine
from ssd.models.assets import ASSETS
from ssd.models.download import Progress
from ssd.models.machine import Survey
from ssd.models.transformer import Transformer

AGREEMENT = "agreement.json"
LEAST_AGREEMENT = 0.99
"""Of the first choices of the published weights; the embedded file's own 4 bits keep that many."""
HALF_AND_FULL = ("bf16", "fp32")
_EFFORT = Effort(patience=1, rounds=4)
_PASSES = {4: 25, 8: 25, 64: 2}  # of a typical answer, by their rows


@dataclass(frozen=True)
class Choice:
    """What `auto` became. `seconds`: of a typical answer in each precision that came into question.

    `agreement`: with the first choices of the published weights, where it is known.
    """

    precision: str
    seconds: dict[str, float]
    agreement: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """For a record."""
        return asdict(self)


def candidates(agreement: dict[str, float]) -> tuple[str, ...]:
    """What `auto` chooses from on a CPU: integers only where they are known to agree."""
    integers = [each for each in ("int4", "int8") if agreement.get(each, 0.0) >= LEAST_AGREEMENT]
    return (*integers, *HALF_AND_FULL)


def known_agreement(fingerprint: str, folder: Path = ASSETS) -> dict[str, float]:
    """The agreement of the precisions of a model that was measured before it was shipped.

    `fingerprint`: of its weights in float32. Empty for another model. Source of the file:
    `python -m ssd.train agreement`.
    """
    stored: dict[str, dict[str, float]] = json.loads((folder / AGREEMENT).read_text())
    return {name: share for name, share in stored.get(fingerprint, {}).items() if name != "ids"}


def fastest(
    names: Sequence[str],
    make: Callable[[str], Transformer],
    agreement: dict[str, float],
    key: str,
    survey: Survey,
) -> Choice:
    """The precision of `names` whose typical answer takes least time here, measured once a machine.

    That is a prompt of 128 ids read in two passes of 64, and 50 rounds that score 4 or 8 rows each.
    `make`: the model in a precision; `key`: what the measurement is of.
    """

    def fresh() -> dict[str, Any]:
        seconds = {}
        for number, name in enumerate(names):
            survey.report(Progress("choosing the precision", number, len(names)))
            model = make(name).with_numerics(Numerics("exact"))
            clock = default_clock(model.weights.embedding.device)
            costs = measure(model, clock, tuple(_PASSES), _EFFORT)
            seconds[name] = sum(_PASSES[w] * costs.at(w) for w in _PASSES)
        return {"seconds": seconds}

    def is_good(found: dict[str, Any]) -> bool:
        return set(found["seconds"]) == set(names)

    # The same for brief and careful surveys: a model must not change between two starts.
    found = machine.remembered(survey.cache, "precision", key, fresh, is_good)
    seconds: dict[str, float] = found["seconds"]
    return Choice(min(seconds, key=lambda name: seconds[name]), seconds, agreement)
