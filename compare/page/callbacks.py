"""What happens when a visitor presses something: one job of the lab, told as one stream."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import gradio as gr
from gradio.components import Component

from compare.job import Ended, Job, Numerics, Refused, Setup, Started
from compare.lab import Lab
from compare.page import words
from compare.page.recordings import recordings
from compare.page.shown import Follower, Shown, Update
from compare.page.stream import Stream
from ssd.sampling import Sampling


@dataclass(frozen=True)
class Fields:
    """The controls' values, in the order in which the page has them."""

    prompt: str | None
    pair: str
    max_new_tokens: float | None
    temperature: float | None
    top_k: float | None
    top_p: float | None
    seed: float | None
    methods: Sequence[str] | None
    precision: str
    numerics: str
    nodes: float | None
    chain: float | None
    repetition_penalty: float | None
    repeats: float | None
    has_ngram: bool

    def job(self) -> Job:
        """The job they ask for. Raises ValueError where one is out of its range."""
        return Job(
            prompt=self.prompt or "",
            methods=tuple(map(self._sized, self.methods or ())),
            sampling=Sampling(
                temperature=_number("the temperature", self.temperature),
                top_k=_whole("top-k", self.top_k),
                top_p=_number("top-p", self.top_p),
                repetition_penalty=_number("the repetition penalty", self.repetition_penalty),
            ),
            seed=check_seed(_whole("the seed", self.seed)),
            max_new_tokens=_whole("new tokens", self.max_new_tokens),
            nodes=_whole("guessed tokens a round", self.nodes) or None,
            setup=Setup(self.pair, self.precision, cast(Numerics, self.numerics)),
            repeats=_whole("repeats", self.repeats),
        )

    def _sized(self, method: str) -> str:
        """A method's name with what the controls say of it alone."""
        chain = _whole("the chain", self.chain)
        if chain and method in ("speculative", "speculative-rejection"):
            return f"{method}:{chain}"
        return method if self.has_ngram or method != "staged" else "staged:auto:auto:none"


def check_seed(seed: int) -> int:
    """The seed itself. Raises ValueError outside 64 bits."""
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"the seed must lie from 0 to 2^64 - 1, got {seed}")
    return seed


def _number(name: str, value: float | None) -> float:
    if value is None:
        raise ValueError(f"{name} is empty: give a number")
    return float(value)


def _whole(name: str, value: float | None) -> int:
    number = _number(name, value)
    if not number.is_integer() or number < 0:
        raise ValueError(f"{name} must be a whole number of 0 or more, got {number:g}")
    return int(number)


@dataclass(frozen=True)
class Callbacks:
    """The page's callbacks on one lab. `followers`: what is drawn when another run is shown."""

    lab: Lab
    followers: Sequence[Follower]

    @property
    def outputs(self) -> list[Component]:
        """What the followers draw."""
        return [output for follower in self.followers for output in follower.outputs]

    def run(self, request: gr.Request, *values: Any) -> Iterator[tuple[Update, ...]]:
        """The outputs of Run: the stream, Run, Stop, and those of the followers."""
        try:
            job = Fields(*values).job()
        except (ValueError, TypeError, OverflowError) as error:
            yield self._refused(Job(prompt="", methods=()), str(error))
            return
        yield from self._run(job, request)

    def _run(self, job: Job, request: gr.Request) -> Iterator[tuple[Update, ...]]:
        stream, environment = self._stream(job), dict[str, Any]()
        yield (stream.text, _button(False), _button(True), *self._same())
        for batch in self.lab.run(job, visitor=request.session_hash or ""):
            drawn = self._same()
            for message in batch:
                if isinstance(message, Started):
                    environment = dict(message.environment)
                if isinstance(message, Ended) and message.records:
                    shown = _shown(job, environment, message)
                    stream.show(shown)
                    drawn = self.draw(shown, request)
                stream.add(message)
            yield (stream.text, *_same(2), *drawn)
        yield (stream.text, _button(True), _button(False), *self._same())

    def stop(self, request: gr.Request) -> None:
        """Stop the visitor's own job; the run goes on to its partial results."""
        self.lab.stop(request.session_hash or "")

    def first(self, request: gr.Request) -> tuple[Update, ...]:
        """The followers' outputs for the recorded run that a new page shows."""
        return self.draw(recordings()[0], request)

    def recorded(self, event: gr.EventData, request: gr.Request) -> tuple[Update, ...]:
        """The followers' outputs for the recorded run that was chosen."""
        name = getattr(event, "name", None)
        chosen = [shown for shown in recordings() if shown.name == name]
        return self.draw(chosen[0], request) if chosen else self._same()

    def draw(self, shown: Shown, request: gr.Request) -> tuple[Update, ...]:
        """The followers' outputs for a run."""
        language = words.language(str(request.headers.get("accept-language", "")))
        return tuple(
            update for follower in self.followers for update in follower.draw(shown, language)
        )

    def _refused(self, job: Job, sentence: str) -> tuple[Update, ...]:
        stream = self._stream(job)
        stream.add(Refused(sentence[:1].upper() + sentence[1:] + "."))
        return (stream.text, _button(True), _button(False), *self._same())

    def _stream(self, job: Job) -> Stream:
        return Stream(job, uuid.uuid4().hex, self.lab.limits.time_budget_s)

    def _same(self) -> tuple[Update, ...]:
        return _same(len(self.outputs))


def _button(is_on: bool) -> Update:
    return gr.update(interactive=is_on)


def _same(count: int) -> tuple[Update, ...]:
    """Outputs that stay as they are."""
    return tuple(gr.skip() for _ in range(count))


def _shown(job: Job, environment: Mapping[str, Any], ended: Ended) -> Shown:
    outcome = ended.outcome
    return Shown(
        environment=environment,
        records=ended.records,
        verdicts=outcome.verdicts,
        summary=outcome.summary,
        words=outcome.words,
        prompt=job.prompt,
    )
