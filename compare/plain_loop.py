"""Speed-ups against the fastest autoregressive loop of the same precision (DESIGN 5).

Where exact numerics slows the autoregressive loop, speed-ups over it would flatter every method.
The plain loop is the method `native` where it was run; else what the machine showed of both loops
when the model was loaded.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compare.naming import NATIVE, REFERENCE

NOTICEABLE = 1.03
Speedups = Callable[[str, str], Mapping[str, float]]


def plain_loop(
    environment: Mapping[str, Any], methods: Sequence[str], speedups: Speedups
) -> dict[str, Any] | None:
    """What a summary says of the plain loop, None where the exact one is as fast or it is unknown.

    `ratio`: the exact loop's time in units of the plain one's; `is_run`: whether that was measured
    in this run; `speedup`: each method's median speed-up over the plain loop. `speedups(method,
    over)`: by prompt.
    """
    if NATIVE in methods:
        over_native = {method: speedups(method, NATIVE) for method in methods}
        ratios = list(speedups(NATIVE, REFERENCE).values())
        ratio = statistics.median(ratios) if ratios else None
        found = {m: statistics.median(by.values()) for m, by in over_native.items() if by}
    else:
        ratio = _number(environment.get("pair", {}).get("exact_over_plain"))
        over_exact = {method: speedups(method, REFERENCE) for method in methods}
        medians = {m: statistics.median(by.values()) for m, by in over_exact.items() if by}
        found = {} if ratio is None else {m: value / ratio for m, value in medians.items()}
    if ratio is None or ratio <= NOTICEABLE:
        return None
    return {"ratio": ratio, "is_run": NATIVE in methods, "speedup": found}


def precision_choice(environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a summary says of the precision that `auto` chose, None where it was asked for.

    `seconds`: of a typical answer by precision; `agreement`: of the chosen one with the first
    choices of the published weights, None where it is not known. A record may say anything: what
    is not of this form counts as nothing.
    """
    choice = environment.get("pair", {}).get("choice")
    if not isinstance(choice, Mapping) or not isinstance(choice.get("seconds"), Mapping):
        return None
    name, agreement = choice.get("precision"), choice.get("agreement")
    seconds = {str(key): _number(value) for key, value in choice["seconds"].items()}
    if not isinstance(name, str) or name not in seconds or None in seconds.values():
        return None
    share = _number(agreement.get(name)) if isinstance(agreement, Mapping) else None
    return {"precision": name, "seconds": seconds, "agreement": share}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value < math.inf else None
