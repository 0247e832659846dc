"""A check sum on each line of a record file, so that an edit by hand shows.

It shows a slip, not a forger, who would seal the line anew: `verify --replay` decodes again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from compare.records import Json

_NAME = "seal"


def sealed(data: Json) -> dict[str, Any]:
    """`data` with the seal of all else that it holds."""
    return {**data, _NAME: _seal(data)}


def is_sealed(data: Json) -> bool:
    """Whether `data` has a seal, be it whole or broken."""
    return _NAME in data


def is_broken(data: Json) -> bool:
    """Whether `data` has a seal that is not of what it holds."""
    return is_sealed(data) and data[_NAME] != _seal(data)


def _seal(data: Json) -> str:
    """BLAKE2b-64 in hex of the data's JSON with sorted names, in ASCII."""
    bare = {name: value for name, value in data.items() if name != _NAME}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
