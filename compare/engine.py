"""The real engine behind the lab: a loaded pair, its lanes, their records and the verdicts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.adjudicate import Adjudicator
from compare.digest import Digests
from compare.environment import environment
from compare.job import Job, LaneEnded, Loading, Record, Report, Setup, Told
from compare.methods import REFERENCE, Task, recorded
from compare.metrics import certificate, judges, summary
from compare.records import RunKey, RunRecord
from compare.settings import Settings
from compare.suites import Prompt, Suite
from ssd.events import Finish, Step
from ssd.lanes import Guessing, events
from ssd.models.download import ModelUnavailable, Progress
from ssd.models.load import LoadedPair, Options, load_pair
from ssd.request import Request
from ssd.stop import VisibleText

_PROMPT_ID = "prompt"
_WARM_UP_TOKENS = 6


def open_engine(setup: Setup, report: Report) -> PairEngine:
    """The engine for `setup`. Raises ValueError, in one sentence, where it cannot be had."""
    options = Options(pair=setup.pair, precision=setup.precision, numerics=setup.numerics)

    def tell(progress: Progress) -> None:
        report(Loading(progress.stage, progress.done, progress.total))

    try:
        return PairEngine(load_pair(options, tell), options)
    except ModelUnavailable as error:
        raise ValueError(str(error)) from error


@dataclass(frozen=True)
class PairEngine:
    """A loaded pair, as the lab drives it (`compare.job.Engine`)."""

    pair: LoadedPair
    options: Options

    def environment(self, job: Job) -> Mapping[str, Any]:
        """The first line of a record file, for this one prompt."""
        prompt = Prompt(_PROMPT_ID, "page", job.prompt)
        digest = hashlib.sha256(job.prompt.encode("utf-8", "surrogatepass")).hexdigest()
        suite = Suite("page", (prompt,), digest)
        methods: dict[str, Any] = {method: {} for method in job.methods}
        return environment(self.pair, self.options, _settings(job), suite, methods)

    def num_prompt_tokens(self, job: Job) -> int:
        """The prompt's length. Raises ValueError where it fills the target's context."""
        request = self._request(job)
        request.check_room(self.pair.target.context_length)
        return len(request.prompt)

    def warm_up(self, methods: Sequence[str]) -> None:
        """Run each of the methods for a few tokens."""
        job = Job("Count from one to ten.", tuple(methods), max_new_tokens=_WARM_UP_TOKENS)
        request = self._request(job)
        for method in methods:
            for _ in events(self.pair, method, request, answer=request.prompt[:4]):
                pass

    def lane(
        self, method: str, job: Job, is_cancelled: Callable[[], bool]
    ) -> Iterator[Told | LaneEnded | Record]:
        """A run of one method; its record comes last."""
        request = self._request(job)
        key = RunKey(method, _PROMPT_ID)
        guessing = Guessing(nodes=job.nodes)
        task = Task(key, "page", request, guessing, is_cancelled=is_cancelled)
        shown = VisibleText(self.pair.codec.stream(), request.stop.ids, request.stop.strings)
        for event in recorded(self.pair, task):
            if isinstance(event, RunRecord):
                yield event.to_json()
            elif isinstance(event, Finish):
                yield LaneEnded(method, shown.flush(), None)
            else:
                tokens = event.tokens if isinstance(event, Step) else ()
                yield Told(method, event, tuple(self._piece(shown, token) for token in tokens))

    def summarise(self, job: Job, records: Sequence[Record]) -> Mapping[str, Any]:
        """The summary and verdicts of the job's records."""
        found, runs = self.environment(job), [RunRecord.from_json(record) for record in records]
        digests = Digests.of(runs)
        if not found["is_exact"] and all(run.finish_reason != "cancelled" for run in runs):
            self._judge(found, digests, self._request(job), runs)
        return summary(found, digests)

    def _judge(
        self,
        found: Mapping[str, Any],
        digests: Digests,
        request: Request,
        runs: Sequence[RunRecord],
    ) -> None:
        """Add a judgement on each run whose ids part from the reference's."""
        reference = next((run for run in runs if run.key.method == REFERENCE), None)
        for run in runs:
            if reference is None or not judges(found, run.key.method):
                continue
            verdict = certificate(found, digests, digests.runs[run.key])
            if verdict is not None and verdict.parting is not None:
                digests.add(Adjudicator.of(self.pair).judge(reference, run, request))

    def _request(self, job: Job) -> Request:
        codec = self.pair.codec
        return _settings(job).request(codec.prompt_ids(job.prompt), codec)

    def _piece(self, shown: VisibleText, token: int) -> tuple[int, str, str]:
        return token, shown.push([token]), self.pair.codec.token_text(token)


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
