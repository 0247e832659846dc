"""Intervals of rates and medians."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_Z = 1.959964  # the normal law's 97.5 % point
_RESAMPLES = 2000


def wilson(accepted: int, tried: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate of `accepted` in `tried`; (0, 1) where none was tried."""
    if tried == 0:
        return 0.0, 1.0
    rate, z2 = accepted / tried, _Z * _Z
    middle = rate + z2 / (2 * tried)
    spread = _Z * math.sqrt(rate * (1 - rate) / tried + z2 / (4 * tried * tried))
    scale = 1 + z2 / tried
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the median of at least one value; the same at every call."""
    found = np.array(values)
    picks = np.random.default_rng(0).integers(len(found), size=(_RESAMPLES, len(found)))
    low, high = np.quantile(np.median(found[picks], axis=1), (0.025, 0.975))
    return float(low), float(high)
