"""What happens when a visitor presses something: one job of the lab, told as one stream."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import gradio as gr
from gradio.components import Component

from compare.job import Ended, Job, Numerics, Refused, Setup, Started
from compare.lab import Lab
from compare.page import words
from compare.page.reading import opened, shown_of, words_with
from compare.page.recordings import recordings
from compare.page.shown import Follower, Shown, Update
from compare.page.stream import Stream, stream_of
from compare.record_words import Bytewise
from ssd.sampling import Sampling

_log = logging.getLogger(__name__)


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
                temperature=number("the temperature", self.temperature),
                top_k=whole_number("top-k", self.top_k),
                top_p=number("top-p", self.top_p),
                repetition_penalty=number("the repetition penalty", self.repetition_penalty),
            ),
            seed=check_seed(whole_number("the seed", self.seed)),
            max_new_tokens=whole_number("new tokens", self.max_new_tokens),
            nodes=whole_number("guessed tokens a round", self.nodes) or None,
            setup=Setup(self.pair, self.precision, cast(Numerics, self.numerics)),
            repeats=whole_number("repeats", self.repeats),
        )

    def _sized(self, method: str) -> str:
        """A method's name with what the controls say of it alone."""
        chain = whole_number("the chain", self.chain)
        if chain and method in ("speculative", "speculative-rejection"):
            return f"{method}:{chain}"
        return method if self.has_ngram or method != "staged" else "staged:auto:auto:none"


def check_seed(seed: int) -> int:
    """The seed itself. Raises ValueError where it is not a whole number of 64 bits."""
    if not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise ValueError(f"the seed must be a whole number from 0 to 2^64 - 1, got {seed!r:.40}")
    return seed


def number(name: str, value: float | None) -> float:
    """The value as a number. Raises ValueError, naming it, where it is none."""
    if value is None:
        raise ValueError(f"{name} is empty: give a number")
    return float(value)


def whole_number(name: str, value: float | None) -> int:
    """The value as a whole number. Raises ValueError, naming it, where it is none of 0 or more."""
    found = number(name, value)
    if not found.is_integer() or found < 0:
        raise ValueError(f"{name} must be a whole number of 0 or more, got {found:g}")
    return int(found)


@dataclass(frozen=True)
class Callbacks:
    """The page's callbacks on one lab.

    `followers`: what is drawn when another run is shown; `codec_of`: the tokenizer of a pair, if it
    is at hand.
    """

    lab: Lab
    followers: Sequence[Follower]
    codec_of: Callable[[str], Bytewise | None]

    @property
    def outputs(self) -> list[Component]:
        """What the followers draw."""
        return [output for follower in self.followers for output in follower.outputs]

    def prepare(self, pair: str, precision: str, numerics: str) -> None:
        """Load the models while the visitor types, where they are on this machine already."""
        if self.codec_of(pair) is not None:
            self.lab.prepare(Setup(pair, precision, cast(Numerics, numerics)))

    def begin(self, request: gr.Request) -> tuple[Update, ...]:
        """Run and Stop, before a run: a Stop counts from here on."""
        self.lab.expect(request.session_hash or "")
        return run_and_stop(True)

    def run(self, request: gr.Request, *values: Any) -> Iterator[tuple[str, Shown | None]]:
        """The stream as it grows, and at its end the run that came of it."""
        try:
            job = Fields(*values).job()
        except (ValueError, TypeError, OverflowError) as error:
            yield self._refused(str(error)), None
            return
        yield from self._run(job, request)

    def _run(self, job: Job, request: gr.Request) -> Iterator[tuple[str, Shown | None]]:
        stream, environment = self._stream(job), dict[str, Any]()
        shown: Shown | None = None
        yield stream.text, shown
        for batch in self.lab.run(job, visitor=request.session_hash or ""):
            for message in batch:
                if isinstance(message, Started):
                    environment = dict(message.environment)
                if isinstance(message, Ended) and message.records:
                    shown = _shown(job, environment, message)
                    stream.show(shown)
                stream.add(message)
            yield stream.text, shown

    def finish(self, result: Shown | None, request: gr.Request) -> tuple[Update, ...]:
        """After a run: nothing is kept of it, Run and Stop, and the followers' outputs."""
        drawn = self._same() if result is None else self.draw(result, request)
        return (None, *run_and_stop(False), *drawn)

    def stop(self, request: gr.Request) -> None:
        """Stop the visitor's own job; the run goes on to its partial results."""
        self.lab.stop(request.session_hash or "")

    def first(self, request: gr.Request) -> tuple[Update, ...]:
        """The followers' outputs for the recorded run that a new page shows."""
        return self.draw(recordings()[0], request)

    def recorded(self, event: gr.EventData, request: gr.Request) -> tuple[Update, ...]:
        """The stream and the followers' outputs for the recorded run that was chosen."""
        name = getattr(event, "name", None)
        chosen = [shown for shown in recordings() if shown.name == name]
        if not chosen:
            return self._same(1)
        return (stream_of(chosen[0]), *self.draw(chosen[0], request))

    def imported(
        self, path: str | None, prompt_id: str | None, request: gr.Request
    ) -> tuple[Update, ...]:
        """The outputs of an import: the stream, the choice of a prompt, those of the followers.

        Shows the prompt named, or the file's first. A file that is refused changes nothing else.
        """
        if path is None:
            return self._same(2)
        try:
            file = opened(Path(path))
            chosen = prompt_id if prompt_id in file.prompt_ids else file.prompt_ids[0]
            pair = str((file.environment.get("pair") or {}).get("pair"))
            shown = shown_of(file, chosen, "imported", words_with(self.codec_of(pair)))
        except ValueError as error:
            text = str(error).replace(path, f"the file {Path(path).name}")
            return (self._refused(text), *self._same(1))
        choice = gr.update(
            choices=list(file.prompt_ids), value=chosen, visible=len(file.prompt_ids) > 1
        )
        return (stream_of(shown), choice, *self.draw(shown, request))

    def draw(self, shown: Shown, request: gr.Request) -> tuple[Update, ...]:
        """The followers' outputs for a run."""
        language = language_of(request)
        return tuple(update for each in self.followers for update in _drawn(each, shown, language))

    def _refused(self, sentence: str) -> str:
        """A stream that holds nothing but a refusal."""
        stream = self._stream(Job(prompt="", methods=()))
        stream.add(Refused(sentence))
        return stream.text

    def _stream(self, job: Job) -> Stream:
        return Stream(job, uuid.uuid4().hex, self.lab.limits.time_budget_s)

    def _same(self, more: int = 0) -> tuple[Update, ...]:
        """The followers' outputs, and `more` others, as they are."""
        return same(len(self.outputs) + more)


def _drawn(follower: Follower, shown: Shown, language: words.Language) -> Sequence[Update]:
    """A follower's outputs; a figure that cannot be drawn does not take the run away."""
    try:
        return follower.draw(shown, language)
    except Exception:
        _log.exception("a run could not be drawn")
        return same(len(follower.outputs))


def language_of(request: gr.Request) -> words.Language:
    """The language of the visitor's browser."""
    return words.language(str(request.headers.get("accept-language", "")))


def run_and_stop(is_running: bool) -> tuple[Update, Update]:
    """The buttons Run and Stop, of which one at a time can be pressed."""
    return gr.update(interactive=not is_running), gr.update(interactive=is_running)


def same(count: int) -> tuple[Update, ...]:
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
