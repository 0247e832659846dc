"""The real engine behind the lab: a loaded pair, its lanes, their records and the verdicts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from compare.adjudicate import Adjudicator
from compare.digest import Digests
from compare.environment import environment
from compare.job import Job, Lane, LaneEnded, Loading, Outcome, Record, Report, Setup, Told
from compare.methods import Bench, Task, recorded
from compare.metrics import summary
from compare.naming import Method
from compare.record_words import words_of
from compare.records import RunKey, RunRecord
from compare.run import verdict_on
from compare.settings import Settings
from compare.step_record import STAGES, StepRecord
from compare.suites import Prompt, Suite
from compare.verdict_record import VerdictRecord
from ssd.events import Finish, Prefill, StageSeconds, Step
from ssd.lanes import Guessing
from ssd.models.download import ModelUnavailable, Progress
from ssd.models.fetch import default_cache, given_folder
from ssd.models.load import LoadedPair, Options, load_pair, refined
from ssd.models.pairs import PAIRS
from ssd.request import Request
from ssd.stop import VisibleText
from ssd.text import TextCodec
from ssd.tree import Origin, TokenTree
from ssd.verify import Verdict

PAIR_NAMES = tuple(PAIRS)

_WARM_UP_TOKENS = 6


def open_engine(setup: Setup, report: Report) -> PairEngine:
    """The engine for `setup`. Raises ValueError, in one sentence, where it cannot be had."""
    options = Options(pair=setup.pair, precision=setup.precision, numerics=setup.numerics)

    def tell(progress: Progress) -> None:
        report(Loading(progress.stage, progress.done, progress.total))

    try:
        pair = load_pair(options, tell, is_brief=True)
        return PairEngine(pair, options, Bench(pair))
    except ModelUnavailable as error:
        raise ValueError(str(error)) from error


def codec_of(pair: str) -> TextCodec | None:
    """The tokenizer of a pair's target where it is on this machine, without loading a model."""
    if pair not in PAIRS:
        return None
    name = PAIRS[pair].target
    try:
        folder = given_folder(name, None) or default_cache() / name
    except ValueError:  # the owner's folder of models has others
        return None
    return TextCodec.load(folder) if (folder / "tokenizer.json").is_file() else None


@dataclass(frozen=True)
class PairEngine:
    """A loaded pair, as the lab drives it (`compare.job.Engine`)."""

    pair: LoadedPair
    options: Options
    bench: Bench

    def environment(self, job: Job) -> Mapping[str, Any]:
        """The first line of a record file, for this one prompt."""
        prompt = Prompt(job.prompt_id, job.category, job.prompt, job.is_raw)
        digest = hashlib.sha256(job.prompt.encode("utf-8", "surrogatepass")).hexdigest()
        suite = Suite("page", (prompt,), digest)
        methods = {method: self.bench.settings_of(method) for method in job.methods}
        return environment(self.pair, self.options, _settings(job), suite, methods)

    def num_prompt_tokens(self, job: Job) -> int:
        """The prompt's length. Raises ValueError where the answer has no room in the context."""
        request, context = self._request(job), self.pair.target.context_length
        request.check_room(context)
        room = context - len(request.prompt)
        if job.max_new_tokens > room:
            raise ValueError(
                f"the prompt's {len(request.prompt)} tokens and {job.max_new_tokens} new ones are "
                f"more than the model's context of {context}: ask for {room} new tokens or fewer"
            )
        return len(request.prompt)

    def warm_up(self, methods: Sequence[str]) -> None:
        """Run each of the methods for a few tokens."""
        job = Job("Count from one to ten.", tuple(methods), max_new_tokens=_WARM_UP_TOKENS)
        request = self._request(job)
        for method in methods:
            key = RunKey(method, "warm-up")
            self.bench.run(Task(key, "warm-up", request, Guessing(), answer=request.prompt[:4]))

    def refined(self, pause: Callable[[], None]) -> PairEngine:
        """The same engine with the machine measured more carefully; `pause` may raise to end it."""
        pair = refined(self.pair, lambda progress: pause())
        return replace(self, pair=pair, bench=Bench(pair))

    def lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
        """A run of one method; its record comes last."""
        request = self._request(job)
        task = Task(
            key=RunKey(lane.method, job.prompt_id, lane.repeat),
            category=job.category,
            request=request,
            guessing=Guessing(nodes=job.nodes),
            answer=lane.answer,
            has_details=lane.has_details,
            is_cancelled=lane.is_cancelled,
        )
        shown = VisibleText(self.pair.codec.stream(), request.stop.ids, request.stop.strings)
        is_ours = Method.parse(lane.method).is_ours
        source = recorded(self.pair, task) if is_ours else self._baseline(task)
        for event in source:
            if isinstance(event, RunRecord):
                yield LaneEnded(lane.method, shown.flush(), event.error)
                yield event.to_json()
            elif not isinstance(event, Finish):
                tokens = event.tokens if isinstance(event, Step) else ()
                pieces = tuple(self._piece(shown, token) for token in tokens)
                yield Told(lane.method, event, pieces)

    def conclude(self, job: Job, records: Sequence[Record]) -> Outcome:
        """The summary and verdicts of the job's records, and the words in them."""
        found, runs = dict(self.environment(job)), [RunRecord.from_json(r) for r in records]
        digests = Digests.of(runs)
        if all(run.finish_reason != "cancelled" for run in runs):
            self._judge(found, digests, job, {run.key: run for run in runs})
        verdicts = tuple(verdict.to_json() for verdict in digests.verdicts.values())
        return Outcome(summary(found, digests), verdicts, words_of(records, self.pair.codec))

    def _baseline(self, task: Task) -> Iterator[Prefill | Step | RunRecord]:
        """The run of a decoder that tells nothing while it runs, told afterwards."""
        record = self.bench.run(task)
        if record.seconds is not None:
            num = len(record.prompt_ids) - 1
            yield Prefill(num, num, record.seconds.prefill)
        for step in record.steps:
            yield _as_event(step)
        yield record

    def _judge(
        self, found: dict[str, Any], digests: Digests, job: Job, runs: Mapping[RunKey, RunRecord]
    ) -> None:
        """Add a verdict on each run that is not plainly identical."""

        def judge(reference: RunRecord, run: RunRecord) -> VerdictRecord:
            return Adjudicator.of(self.pair).judge(reference, run, self._request(job))

        for key in runs:
            verdict = verdict_on(found, digests, key, judge, runs.__getitem__)
            if verdict is not None:
                digests.add(verdict)

    def _request(self, job: Job) -> Request:
        codec = self.pair.codec
        return _settings(job).request(codec.prompt_ids(job.prompt, raw=job.is_raw), codec)

    def _piece(self, shown: VisibleText, token: int) -> tuple[int, str, str]:
        return token, shown.push([token]), self.pair.codec.token_text(token)


def _as_event(step: StepRecord) -> Step:
    """The step of an engine that a record's step tells of."""
    tree = TokenTree(
        step.tree.tokens, step.tree.parents, cast(tuple[Origin, ...], step.tree.origins)
    )
    seconds = {name: getattr(step.seconds, name) for name in STAGES}
    return Step(
        tokens=step.tokens,
        origins=cast(tuple[Origin, ...], step.origins),
        tree=tree,
        verdict=Verdict(step.path, step.tokens[-1]),
        draft_passes=step.draft_passes,
        seconds=StageSeconds(**seconds),
        time=step.time,
    )


def _settings(job: Job) -> Settings:
    sampling = job.sampling
    return Settings(
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        repetition_penalty=sampling.repetition_penalty,
        seed=job.seed,
        max_new_tokens=job.max_new_tokens,
        nodes=job.nodes,
    )
