"""From the events of a run to its record, while it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compare.records import RunKey, RunRecord, Seconds, StepRecord, TreeRecord
from ssd.events import Event, Finish, Prefill, Step
from ssd.exact import hash_rows
from ssd.stop import VisibleText

if TYPE_CHECKING:
    from torch import Tensor

    from ssd.model import LanguageModel
    from ssd.request import Request
    from ssd.text import TextCodec
    from ssd.tree import TokenTree
    from ssd.verify import Verdict


@dataclass(frozen=True)
class PassBytes:
    """What one pass of a model reads: its weights, and so much for each slot of its cache."""

    weights: int
    slot: int

    @classmethod
    def of(cls, model: LanguageModel) -> PassBytes:
        """Those of `model`."""
        return cls(model.weight_bytes, model.new_cache().slot_bytes)

    def __call__(self, num_slots: int) -> int:
        return self.weights + num_slots * self.slot


class Recorder:
    """Watches one run: give it every event, and its `witness` to the engine.

    The witness is called outside the engine's clock, so hashing there costs the timing nothing.
    """

    def __init__(self, request: Request, target: PassBytes, draft: PassBytes) -> None:
        self._request = request
        self._target, self._draft = target, draft
        self._pending: tuple[str, ...] = ()
        self._tokens: list[int] = []
        self._hashes: list[str] = []
        self._steps: list[StepRecord] = []
        self._prefill = 0.0
        self._bytes = 0
        self._reason: str | None = None

    def witness(self, tree: TokenTree, verdict: Verdict, logits: Tensor) -> None:
        """Hash the rows that chose the round's tokens. `logits`: `[N, V]`."""
        self._pending = hash_rows(logits[list(verdict.nodes)])

    def add(self, event: Event) -> None:
        """Take in the next event of the run."""
        match event:
            case Prefill():
                self._prefill = event.seconds
            case Step():
                self._add_step(event)
            case Finish():
                self._reason = event.reason

    def _add_step(self, step: Step) -> None:
        num_slots = len(self._request.prompt) + len(self._tokens) + len(step.tree)
        self._bytes += self._target(num_slots) + step.draft_passes * self._draft(num_slots)
        self._tokens += step.tokens
        self._hashes += self._pending[: len(step.tokens)]
        self._steps.append(step_record(step))

    def record(self, key: RunKey, category: str, codec: TextCodec) -> RunRecord:
        """The run so far; its finish reason is `cancelled` where it has not ended."""
        stages = sum((step.seconds for step in self._steps), Seconds(prefill=self._prefill))
        return RunRecord(
            key=key,
            category=category,
            prompt_ids=self._request.prompt,
            token_ids=tuple(self._tokens),
            logit_hashes=tuple(self._hashes),
            text=visible_text(self._tokens, self._request, codec),
            finish_reason=self._reason or "cancelled",
            steps=tuple(self._steps),
            seconds=stages,
            bytes_read=self._bytes,
        )


def step_record(step: Step) -> StepRecord:
    """The record of an engine's step."""
    seconds = step.seconds
    return StepRecord(
        tokens=step.tokens,
        origins=step.origins,
        tree=TreeRecord(step.tree.tokens, step.tree.parents, step.tree.origins),
        path=step.verdict.path[: len(step.tokens)],
        draft_passes=step.draft_passes,
        time=step.time,
        seconds=Seconds(0.0, seconds.ngram, seconds.draft, seconds.target, seconds.other),
    )


def visible_text(tokens: Iterable[int], request: Request, codec: TextCodec) -> str:
    """What a reader sees of `tokens`: no end token, no stop string."""
    text = VisibleText(codec.stream(), request.stop.ids, request.stop.strings)
    return text.push(list(tokens)) + text.flush()
