"""JSON that can stand anywhere in a page."""

from __future__ import annotations

import json
from typing import Any


def harmless_json(value: Any) -> str:
    """One line of JSON that is also JavaScript: ASCII without `<`, so nothing in it is markup."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
