"""The first line of a record file: on what, with what and how its runs were made."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compare.suites import Suite
from ssd.models.versions import versions

if TYPE_CHECKING:
    from compare.settings import Settings
    from ssd.models.load import LoadedPair, Options

_PACKAGES = ("torch", "transformers", "numpy", "tokenizers", "safetensors")


def environment(
    pair: LoadedPair, options: Options, settings: Settings, suite: Suite, methods: Mapping[str, Any]
) -> dict[str, Any]:
    """The environment of a run. `methods`: name -> the settings a method chose for itself."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": sys.argv[1:],
        "commit": _commit(),
        "platform": platform.platform(),
        "versions": versions(_PACKAGES),
        "pair": pair.description,
        "options": options_json(options),
        "is_exact": is_exact(pair, options),
        "settings": settings.to_json(),
        "suite": {"name": suite.name, "sha256": suite.sha256, "prompts": len(suite.prompts)},
        "methods": list(methods),
        "method_settings": dict(methods),
    }


def is_exact(pair: LoadedPair, options: Options) -> bool:
    """Whether equal ids must come with equal bits: the probe's word, in exact numerics."""
    return pair.is_exact and options.numerics == "exact"


def options_json(options: Options) -> dict[str, Any]:
    """The options by name, for the record."""
    folders = {name: getattr(options, name) for name in _FOLDERS}
    return {
        **{name: getattr(options, name) for name in _OPTION_NAMES},
        **{name: None if folder is None else str(folder) for name, folder in folders.items()},
    }


_OPTION_NAMES = ("pair", "device", "precision", "numerics", "threads")
_FOLDERS = ("model_dir", "draft")


def options_from_json(data: Mapping[str, Any]) -> Options:
    """The options that `options_json` gave. Raises ValueError."""
    from ssd.models.load import Options

    try:
        named = {name: data[name] for name in _OPTION_NAMES}
        folders = {name: data.get(name) for name in _FOLDERS}
        paths: dict[str, Any] = {
            n: None if path is None else Path(path) for n, path in folders.items()
        }
        return Options(**named, **paths)
    except (KeyError, TypeError) as error:
        raise ValueError(f"the options of the record are not known here ({error})") from error


def _commit() -> str | None:
    """The commit of the checkout this code lies in, `+` after it where files differ, or None."""
    top = Path(__file__).parent.parent
    if not (top / ".git").exists():
        return None
    try:
        commit = _git(top, "rev-parse", "HEAD")
        return commit + ("+" if _git(top, "status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(top: Path, *command: str) -> str:
    done = subprocess.run(
        ("git", "-C", str(top), *command), capture_output=True, text=True, timeout=10, check=True
    )
    return done.stdout.strip()
