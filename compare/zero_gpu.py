"""A GPU that is lent for one call at a time: Hugging Face's ZeroGPU, where its package is there."""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from compare.job import Job, Message, TryLaterError
from compare.lab import Work

_LOADING_S = 30
_TOKEN_S = 0.04
_LONGEST_S = 120


def borrower() -> Callable[[Work], Work] | None:
    """What borrows a GPU for a job's work, all of its lanes in one call; None without the package.

    The work runs in a process of its own, forked for the call: models that it loads are gone with
    it, what was measured stays in the cache.
    """
    return (
        None
        if find_spec("spaces") is None
        else lambda work: borrowed(import_module("spaces"), work)
    )


def borrowed(spaces: Any, work: Work) -> Work:
    """`work` decorated by `spaces.GPU`; where the quota is used up it raises TryLaterError."""

    @spaces.GPU(duration=seconds_for)  # type: ignore[untyped-decorator]
    def lent(job: Job, shift: int) -> Generator[Message, None, None]:
        yield from work(job, shift)

    def told(job: Job, shift: int) -> Generator[Message, None, None]:
        try:
            yield from lent(job, shift)
        except Exception as error:
            # gr.Error, which this module does not import: its title says that it is about quotas.
            title = str(getattr(error, "title", ""))
            if "ZeroGPU" not in title:
                raise
            raise TryLaterError(
                f"{title}: try again later, or look at the recorded runs meanwhile"
            ) from error

    return told


def seconds_for(job: Job, shift: int) -> int:
    """How long a job may need the GPU: a shorter claim waits less."""
    tokens = len(job.methods) * job.repeats * job.max_new_tokens
    return min(_LONGEST_S, round(_LOADING_S + _TOKEN_S * tokens))
