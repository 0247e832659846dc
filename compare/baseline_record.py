"""From the rounds of a decoder that is not ours to a record with our accounting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compare.recorder import visible_text
from compare.records import RunRecord
from compare.step_record import Seconds, StepRecord, TreeRecord
from ssd.stop import StopCheck

if TYPE_CHECKING:
    from compare.methods import Task
    from ssd.models.load import LoadedPair


@dataclass(frozen=True)
class Round:
    """What one pass of the target settled: its tokens, the decode clock then, seconds by model.

    `draft_passes`: forwards of the draft in this round.
    """

    tokens: tuple[int, ...]
    time: float
    target: float
    draft: float = 0.0
    draft_passes: int = 0


@dataclass(frozen=True)
class Rounds:
    """A whole decode. `guesser`: the origin of tokens that a pass only confirmed."""

    prefill: float
    rounds: Sequence[Round]
    guesser: str = "ngram"


Bytes = Callable[[int, int], int]


def baseline_record(task: Task, pair: LoadedPair, decode: Rounds, read: Bytes) -> RunRecord:
    """The record of a decode, cut where our own stop rule ends it.

    `read(num_slots, draft_passes)`: the bytes that a round reads.
    """
    request = task.request
    steps, reason = _steps(task, decode, pair.target.context_length)
    tokens = tuple(token for step in steps for token in step.tokens)
    lengths = _running_lengths(len(request.prompt), steps)
    return RunRecord(
        key=task.key,
        category=task.category,
        prompt_ids=request.prompt,
        token_ids=tokens,
        text=visible_text(tokens, request, pair.codec),
        finish_reason=reason,
        steps=steps,
        seconds=sum((step.seconds for step in steps), Seconds(prefill=decode.prefill)),
        bytes_read=sum(read(n, step.draft_passes) for n, step in zip(lengths, steps, strict=True)),
    )


def _steps(task: Task, decode: Rounds, context_length: int) -> tuple[tuple[StepRecord, ...], str]:
    """The rounds as steps, and why they end."""
    request = task.request
    check, before, root = StopCheck(request.stop), 0.0, request.prompt[-1]
    steps: list[StepRecord] = []
    reason: str | None = None
    for each in decode.rounds:
        kept, reason = check.cut(each.tokens)
        steps.append(_step(root, each, kept, decode.guesser, each.time - before))
        before, root = each.time, each.tokens[kept - 1]
        if reason is not None:
            break
    length = len(request.prompt) + sum(len(step.tokens) for step in steps)
    return tuple(steps), reason or ("context" if length >= context_length else "cancelled")


def _step(root: int, each: Round, kept: int, guesser: str, seconds: float) -> StepRecord:
    """A round of a decoder whose guesses we do not see: its accepted ones form a chain."""
    tokens = each.tokens[:kept]
    guessed = tokens[:-1]
    origins = (*(guesser for _ in guessed), "target")
    return StepRecord(
        tokens=tokens,
        origins=origins,
        tree=TreeRecord(
            (root, *guessed), tuple(range(-1, len(guessed))), ("target", *origins[:-1])
        ),
        path=tuple(range(1, kept)),
        draft_passes=each.draft_passes,
        time=each.time,
        seconds=Seconds(0.0, 0.0, each.draft, each.target, seconds - each.target - each.draft),
    )


def _running_lengths(num_prompt: int, steps: Sequence[StepRecord]) -> Iterator[int]:
    """For each step, the slots its pass reads."""
    for step in steps:
        yield num_prompt + len(step.tree) - 1
        num_prompt += len(step.tokens)
