"""Keyed Gumbel noise: a pure function of (seed, position, token id), never a stream.

The bits are SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) over a key that mixes seed and
position, so neighbouring seeds and positions share nothing. Computed on the host with 64-bit
integers and float64 logarithms, rounded once to float32: the same on every device.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SEED_LIMIT = 1 << 64
_MASK = SEED_LIMIT - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_TO_UNIT = 2.0**-53


def _mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)


def _key(seed: int, position: int) -> int:
    return _mix((_mix((seed + _GOLDEN) & _MASK) + (position + 1) * _GOLDEN) & _MASK)


def bits(seed: int, position: int, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
    """53 random bits for each id. `ids`: any shape of token ids."""
    value = ids.astype(np.uint64)
    value *= np.uint64(_GOLDEN)
    value += np.uint64(_key(seed, position))
    value ^= value >> np.uint64(30)
    value *= np.uint64(_FIRST)
    value ^= value >> np.uint64(27)
    value *= np.uint64(_SECOND)
    value ^= value >> np.uint64(31)
    value >>= np.uint64(11)
    return value


def uniform(seed: int, position: int, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Numbers strictly between 0 and 1, one for each id: multiples of 2^-53, a half for zero."""
    return np.maximum(bits(seed, position, ids).astype(np.float64), 0.5) * _TO_UNIT


def uniform_of(seed: int, position: int, token: int) -> float:
    """The number that `uniform` gives for one id, without arrays: for a few ids much quicker."""
    bits_of_it = _mix((token * _GOLDEN + _key(seed, position)) & _MASK) >> 11
    return max(float(bits_of_it), 0.5) * _TO_UNIT


def gumbel(seed: int, position: int, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """G(seed, position, id) = -log(-log u), float32, in the shape of `ids`."""
    return (-np.log(-np.log(uniform(seed, position, ids)))).astype(np.float32)
