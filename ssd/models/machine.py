"""What was measured on this machine, kept between starts: probes and pass costs."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch


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


def _path(folder: Path, kind: str, name: str) -> Path:
    return folder / "measured" / f"{kind}-{name}.json"


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
