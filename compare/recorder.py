"""From the events of a run to its record, while it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compare.record_details import StepDetails
from compare.recorder_details import row_entropy, step_details
from compare.records import RunKey, RunRecord
from compare.step_record import Seconds, StepRecord, TreeRecord
from ssd.events import Event, Finish, Prefill, Step
from ssd.exact import hash_rows
from ssd.stop import VisibleText

if TYPE_CHECKING:
    from torch import Tensor

    from ssd.draft import DraftPass
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


@dataclass(frozen=True)
class _Seen:
    """What the witness saw in a round, its last tokens included that a stop may cut."""

    hashes: tuple[str, ...] = ()
    entropy: tuple[float | None, ...] = ()
    details: StepDetails | None = None


class Recorder:
    """Watches one run: give it every event, and its `witness` and `draft_pass` to the engine.

    The witness is called outside the engine's clock, so what it does costs the timing nothing.
    `has_details`: whether the steps get details for the step view.
    """

    def __init__(
        self,
        request: Request,
        target: PassBytes,
        draft: PassBytes,
        *,
        has_details: bool = False,
    ) -> None:
        self._request, self._has_details = request, has_details
        self._target, self._draft = target, draft
        self._passes: list[DraftPass] = []
        self._pending = _Seen()
        self._tokens: list[int] = []
        self._hashes: list[str] = []
        self._steps: list[StepRecord] = []
        self._prefill = 0.0
        self._bytes = 0
        self._reason: str | None = None

    def draft_pass(self, read: DraftPass) -> None:
        """Note a pass of the draft; within the clock, so no more than that."""
        if self._has_details:
            self._passes.append(read)

    def witness(self, tree: TokenTree, verdict: Verdict, logits: Tensor) -> None:
        """Take from a round's logits, `[N, V]`, what the record says of them."""
        context = [*self._request.prompt, *self._tokens]
        nodes, details = verdict.nodes, None
        if self._has_details:
            details = step_details(tree, logits, self._passes, context, self._request)
            entropy = tuple(details.entropy[node] for node in nodes)
        else:
            histories = [[*context, *tree.path_tokens(node)] for node in nodes]
            scored = zip(logits[list(nodes)], histories, strict=True)
            entropy = tuple(row_entropy(self._request.sampling.scores(*each)) for each in scored)
        self._pending = _Seen(hash_rows(logits[list(nodes)]), entropy, details)
        self._passes.clear()

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
        self._hashes += self._pending.hashes[: len(step.tokens)]
        record = step_record(step)
        self._steps.append(
            replace(
                record,
                entropy=self._pending.entropy[: len(step.tokens)],
                details=self._pending.details,
            )
        )

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
