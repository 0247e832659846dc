"""The methods that can be compared: each turns a task into a record of its run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from compare.naming import HUGGING_FACE, LLAMA_CPP, NATIVE, REFERENCE, Method
from compare.records import RunKey, RunRecord

if TYPE_CHECKING:
    from ssd.events import Event
    from ssd.lanes import Guessing
    from ssd.models.load import LoadedPair
    from ssd.request import Request


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
    """A decoder that decides nothing: not ours, or not exact."""

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
        named = Method.parse(method)
        return named.told if named.is_ours else self._baselines[named.name].settings

    def _run(self, task: Task) -> RunRecord:
        if Method.parse(task.key.method).is_ours:
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
        from compare.llama_cpp import LlamaCpp
        from compare.native import Native

        theirs = {name: HuggingFace(self.pair, name) for name in HUGGING_FACE}
        return {NATIVE: Native(self.pair), **theirs, LLAMA_CPP: LlamaCpp(self.pair)}


def recorded(pair: LoadedPair, task: Task) -> Iterator[Event | RunRecord]:
    """The events of a run of one of our methods, and at the end its record.

    Where `replay` is not told the answer, an untimed run finds it first.
    """
    from compare.recorder import PassBytes, Recorder
    from ssd.lanes import Watch, events

    method, answer = Method.parse(task.key.method), task.answer
    if method.name == "replay" and not answer:
        *_, known = recorded(pair, replace(task, key=replace(task.key, method=REFERENCE)))
        assert isinstance(known, RunRecord)
        answer = known.token_ids
    target, draft = PassBytes.of(pair.target), PassBytes.of(pair.draft)
    # Leviathan's rule draws without keyed noise: the candidates' noise terms would explain nothing.
    has_details = task.has_details and method.name != "speculative-rejection"
    recorder = Recorder(task.request, target, draft, has_details=has_details)
    watch = Watch(recorder.witness, task.is_cancelled, recorder.draft_pass)
    guessing = method.guessing(task.guessing)
    for event in events(pair, method.name, task.request, guessing, watch, answer=answer):
        recorder.add(event)
        yield event
    yield recorder.record(task.key, task.category, pair.codec)


def _name(error: Exception) -> str:
    """What to put before an error's own words: our sentences stand alone."""
    return "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
