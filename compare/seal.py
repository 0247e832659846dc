"""A check sum on each line of a record file, so that an edit by hand shows.

It shows a slip, not a forger, who would seal the line anew: `verify --replay` decodes again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from compare.step_record import Json

Seals = Literal["whole", "absent", "broken"]
"""Of a file: every line sealed, none of them, or some not as they were written."""

_NAME = "seal"
_BROKEN = "broken"


def sealed(data: Json) -> dict[str, Any]:
    """`data` with the seal of all else that it holds."""
    return {**data, _NAME: _seal(data)}


def is_sealed(data: Json) -> bool:
    """Whether `data` has a seal, be it whole or broken."""
    return _NAME in data


def is_broken(data: Json) -> bool:
    """Whether `data` has a seal that is not of what it holds."""
    return is_sealed(data) and data[_NAME] != _seal(data)


def broken(data: Json) -> dict[str, Any]:
    """`data` with a seal that is not of what it holds."""
    return {**data, _NAME: _BROKEN}


def bare(data: Json) -> dict[str, Any]:
    """`data` without a seal."""
    return {name: value for name, value in data.items() if name != _NAME}


def _seal(data: Json) -> str:
    """BLAKE2b-64 in hex of the data's JSON with sorted names, in ASCII."""
    text = json.dumps(bare(data), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
