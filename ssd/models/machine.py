"""What was measured on this machine, kept between starts: probes and pass costs."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ssd.models.download import Report

_PACKAGE = Path(__file__).resolve().parent.parent


def hardware(device: torch.device) -> str:
    """The name of the processor or of the GPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = [
        line.split(":", 1)[1].strip() for line in lines if line.startswith(("model\t", "stepping"))
    ]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name} ({'.'.join(model[:2])})" if model else name


def key(device: torch.device, **parts: object) -> str:
    """A short name for all that a measurement depends on: hardware, threads, versions, `parts`."""
    whole = {
        "hardware": hardware(device),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "system": platform.system(),
        **parts,
    }
    text = json.dumps(whole, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@cache
def code_version() -> str:
    """A short hash of the code that computes and measures; what other code measured is not used."""
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted((*_PACKAGE.glob("*.py"), *_PACKAGE.glob("models/**/*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _path(folder: Path, kind: str, name: str) -> Path:
    return folder / "measured" / f"{kind}-{name}-{code_version()}.json"


def forget(folder: Path, kind: str, name: str) -> None:
    """Drop a stored measurement, if there is one and it can be dropped."""
    with suppress(OSError):
        _path(folder, kind, name).unlink()


def remembered(
    folder: Path,
    kind: str,
    name: str,
    measure: Callable[[], dict[str, Any]],
    is_good: Callable[[dict[str, Any]], bool] = lambda found: True,
) -> dict[str, Any]:
    """The stored measurement of this `kind` and `name`, or a new one, stored if it can be.

    A file that cannot be read, or that `is_good` does not take, is measured anew; a folder that
    cannot be written is no error.
    """
    path = _path(folder, kind, name)
    try:
        stored: dict[str, Any] = json.loads(path.read_text())
        if is_good(stored):
            return stored
    except (OSError, ValueError, KeyError, TypeError):
        pass
    measured = measure()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as scratch:
            json.dump(measured, scratch)
        os.replace(scratch.name, path)
    except OSError:
        pass
    return measured


@dataclass(frozen=True)
class Survey:
    """How a machine is measured: where results are kept, who is told, and how carefully.

    `is_brief`: measure less, for an answer soon. Careful measurements take the place of brief ones.
    """

    cache: Path
    report: Report
    is_brief: bool = False

    def remembered(
        self,
        kind: str,
        name: str,
        measure: Callable[[], dict[str, Any]],
        is_good: Callable[[dict[str, Any]], bool],
    ) -> dict[str, Any]:
        """As the function `remembered`; a careful survey takes nothing measured briefly."""

        def is_enough(found: dict[str, Any]) -> bool:
            return is_good(found) and (self.is_brief or not found["is_brief"])

        def marked() -> dict[str, Any]:
            return {**measure(), "is_brief": self.is_brief}

        return remembered(self.cache, kind, name, marked, is_enough)
