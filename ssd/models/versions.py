"""What a measurement or a record was made with."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions of Python and of those `packages` that are installed, by name."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
