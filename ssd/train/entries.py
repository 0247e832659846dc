"""The entries of a record file, as training reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def each_entry(path: Path, take: Callable[[Mapping[str, Any]], None]) -> None:
    """Hand every line of the record file to `take`.

    Raises ValueError naming the line that is no entry, or that lacks what `take` wants of one.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            take(json.loads(line))
        except (json.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(
                f"line {number} of {path} must be an entry of a record, got {line[:60]!r} ({error})"
            ) from error
