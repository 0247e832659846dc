"""What the commands share: their checks, the machine's lock, words on stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compare.lock import machine_lock
from compare.settings import Settings
from ssd import commands

if TYPE_CHECKING:
    from ssd.models.load import LoadedPair, Options


def say(message: str) -> None:
    """Print a line on stderr."""
    print(message, file=sys.stderr, flush=True)


def settings_from(args: argparse.Namespace) -> Settings:
    """The settings of a command line."""
    return Settings(
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        repetition_penalty=args.repetition_penalty,
        seed=args.seed,
        max_new_tokens=args.max_new_tokens,
        stop=tuple(args.stop),
        nodes=args.nodes,
        chain=args.chain,
        raw=args.raw,
        system=args.system,
    )


def check_varied(args: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Raises ValueError, with `why`, where one of these options is given after all."""
    asked, usual = settings_from(args), Settings()
    for name in names:
        if getattr(asked, name) != getattr(usual, name):
            raise ValueError(f"{why}: leave out --{name.replace('_', '-')}")


def check_counts(args: argparse.Namespace) -> None:
    """Raises ValueError where a number of prompts, repeats, nodes or a chain is out of range."""
    for name in ("limit", "repeats"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise ValueError(f"--{name} must be 1 or more, got {value}")
    commands.guessing_from(args)


def check_out(path: Path, *, may_exist: bool) -> bool:
    """Whether the output is new. Raises ValueError where it exists or cannot be written."""
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise ValueError(f"the output {path} cannot be written: {error.strerror}") from error
    if is_folder:
        raise ValueError(f"the output {path} is a folder: name a file")
    if exists:
        if may_exist:
            return False
        raise ValueError(
            f"the output {path} exists already: name another file, or go on with --resume"
        )
    folder = path.parent
    if not folder.is_dir():
        raise ValueError(f"the output {path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"the output {path} cannot be written: the folder {folder} is read-only")
    return True


@contextmanager
def alone() -> Iterator[None]:
    """Nothing; inside, no other timed run is under way on this machine."""
    with machine_lock(lambda: say("another timed run is under way on this machine: waiting")):
        yield


def load(options: Options) -> LoadedPair:
    """The pair, with progress on stderr. Raises ValueError or ModelUnavailable."""
    from ssd.models.load import load_pair

    return load_pair(options, commands.progress_line())
