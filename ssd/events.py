"""What a decoding run says while it runs, and the whole of what it said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ssd.tree import Origin, TokenTree
from ssd.verify import Verdict

FinishReason = Literal["stop", "length", "context", "cancelled"]


@dataclass(frozen=True)
class StageSeconds:
    """Seconds by stage; `target` and `draft` are forwards alone, `other` is all without a name."""

    ngram: float = 0.0
    draft: float = 0.0
    target: float = 0.0
    other: float = 0.0

    @property
    def total(self) -> float:
        """The sum of the stages."""
        return self.ngram + self.draft + self.target + self.other

    def __add__(self, more: StageSeconds) -> StageSeconds:
        return StageSeconds(
            self.ngram + more.ngram,
            self.draft + more.draft,
            self.target + more.target,
            self.other + more.other,
        )


@dataclass(frozen=True)
class Prefill:
    """`done` of `total` prompt tokens are in the caches, after `seconds` of prefill in all."""

    done: int
    total: int
    seconds: float


@dataclass(frozen=True)
class Step:
    """One round: the settled tokens (cut at a stop) and who first proposed each.

    `time` is the decode clock at the end of the round in seconds, prefill excluded; `seconds` are
    the round's own and add up to the time since the round before.
    """

    tokens: tuple[int, ...]
    origins: tuple[Origin, ...]
    tree: TokenTree
    verdict: Verdict
    draft_passes: int
    seconds: StageSeconds
    time: float


@dataclass(frozen=True)
class Finish:
    """The last event of every run."""

    reason: FinishReason


Event = Prefill | Step | Finish


@dataclass(frozen=True)
class Result:
    """A whole run, from `collect`."""

    tokens: tuple[int, ...]
    finish_reason: FinishReason
    steps: tuple[Step, ...]
    prefill_seconds: float
    seconds: StageSeconds = field(default_factory=StageSeconds)

    @property
    def target_passes(self) -> int:
        """Target passes of the decode, prefill excluded."""
        return len(self.steps)

    @property
    def draft_passes(self) -> int:
        """Draft passes of the decode, prefill excluded."""
        return sum(step.draft_passes for step in self.steps)


def collect(events: Iterable[Event]) -> Result:
    """The run that `events` tell, to its end."""
    steps: list[Step] = []
    prefill = 0.0
    reason: FinishReason = "cancelled"
    for event in events:
        match event:
            case Prefill():
                prefill = event.seconds
            case Step():
                steps.append(event)
            case Finish():
                reason = event.reason
    return Result(
        tokens=tuple(token for step in steps for token in step.tokens),
        finish_reason=reason,
        steps=tuple(steps),
        prefill_seconds=prefill,
        seconds=sum((step.seconds for step in steps), StageSeconds()),
    )
