"""The keyed noise in plain Python integers, one id at a time."""

from __future__ import annotations

import math

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix(value: int) -> int:
    """SplitMix64's output for the state `value`."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)


def bits(seed: int, position: int, token: int) -> int:
    """53 random bits of one id."""
    key = mix((mix((seed + _GOLDEN) & _WORD) + (position + 1) * _GOLDEN) & _WORD)
    return mix((key + token * _GOLDEN) & _WORD) >> 11


def gumbel(seed: int, position: int, token: int) -> float:
    """-log(-log u) in float64."""
    return -math.log(-math.log(max(bits(seed, position, token), 0.5) / 2**53))
