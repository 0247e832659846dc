"""The methods that can be compared: each turns a task into a record of its run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from compare.records import RunKey, RunRecord

if TYPE_CHECKING:
    from ssd.events import Event
    from ssd.lanes import Guessing
    from ssd.models.load import LoadedPair
    from ssd.request import Request

REFERENCE = "autoregressive"
OURS = (
    REFERENCE,
    "speculative",
    "staged",
    "tree",
    "lookup",
    "replay",
    "speculative-rejection",
)
BASELINES = ("hf-generate", "hf-assisted", "hf-lookup")
METHODS = (*OURS, *BASELINES)
DEFAULT_METHODS = (REFERENCE, "speculative", "staged")


def check_methods(names: Sequence[str]) -> tuple[str, ...]:
    """The names themselves. Raises ValueError for an unknown or repeated one, or for none."""
    if not names:
        raise ValueError(f"expected at least one method, got none: choose from {_choices()}")
    for name in names:
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}: choose from {_choices()}")
        if names.count(name) > 1:
            raise ValueError(f"the method {name} is named more than once: name it once")
    return tuple(names)


def _choices() -> str:
    return ", ".join(METHODS)


def has_verdict(method: str, temperature: float) -> bool:
    """Whether the method must give the reference's ids: not so baselines and rejection at T > 0."""
    if method != "speculative-rejection":
        return method in OURS
    from ssd.sampling import GREEDY_BELOW  # here, for torch takes seconds to import

    return temperature < GREEDY_BELOW


@dataclass(frozen=True)
class Task:
    """One run to be made: what is asked, and under which key it is recorded.

    `answer`: the known answer, for `replay`; empty where it is not known yet. `has_details`:
    whether the steps of the record get details for the step view.
    """

    key: RunKey
    category: str
    request: Request
    guessing: Guessing
    answer: tuple[int, ...] = ()
    has_details: bool = False
    is_cancelled: Callable[[], bool] = lambda: False


class Baseline(Protocol):
    """A decoder that is not ours."""

    @property
    def settings(self) -> dict[str, Any]:
        """What it was told, for the record."""

    def run(self, task: Task) -> RunRecord:
        """The record of one run."""


@dataclass(frozen=True)
class Bench:
    """Runs methods on one pair."""

    pair: LoadedPair

    def run(self, task: Task) -> RunRecord:
        """The record of the task; of a failure, a record with its one sentence."""
        try:
            return self._run(task)
        except Exception as error:  # whatever a model or a library raises is the run's outcome
            return RunRecord(
                key=task.key,
                category=task.category,
                prompt_ids=task.request.prompt,
                error=" ".join(f"{_name(error)}{error}".split()) or type(error).__name__,
            )

    def settings_of(self, method: str) -> dict[str, Any]:
        """What the method chose for itself, for the record."""
        return {} if method in OURS else self._baselines[method].settings

    def _run(self, task: Task) -> RunRecord:
        if task.key.method in OURS:
            task.request.check_room(self.pair.target.context_length)
            return self._ours(task)
        return self._baselines[task.key.method].run(task)

    def _ours(self, task: Task) -> RunRecord:
        *_, record = recorded(self.pair, task)
        assert isinstance(record, RunRecord)
        return record

    @cached_property
    def _baselines(self) -> dict[str, Baseline]:
        from compare.baselines import HuggingFace

        return {name: HuggingFace(self.pair, name) for name in BASELINES}


def recorded(pair: LoadedPair, task: Task) -> Iterator[Event | RunRecord]:
    """The events of a run of one of our methods, and at the end its record.

    Where `replay` is not told the answer, an untimed run finds it first.
    """
    from compare.recorder import PassBytes, Recorder
    from ssd.lanes import Watch, events

    answer = task.answer
    if task.key.method == "replay" and not answer:
        *_, known = recorded(pair, replace(task, key=replace(task.key, method=REFERENCE)))
        assert isinstance(known, RunRecord)
        answer = known.token_ids
    target, draft = PassBytes.of(pair.target), PassBytes.of(pair.draft)
    # Leviathan's rule draws without keyed noise: the candidates' noise terms would explain nothing.
    has_details = task.has_details and task.key.method != "speculative-rejection"
    recorder = Recorder(task.request, target, draft, has_details=has_details)
    watch = Watch(recorder.witness, task.is_cancelled, recorder.draft_pass)
    method, guessing = task.key.method, task.guessing
    for event in events(pair, method, task.request, guessing, watch, answer=answer):
        recorder.add(event)
        yield event
    yield recorder.record(task.key, task.category, pair.codec)


def _name(error: Exception) -> str:
    """What to put before an error's own words: our sentences stand alone."""
    return "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
