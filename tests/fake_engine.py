"""An engine without models: scripted texts, made-up clocks, true records. For lab and page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compare.digest import Digests
from compare.job import Job, Lane, LaneEnded, Loading, Outcome, Record, Report, Setup, Told
from compare.metrics import summary
from compare.record_details import Candidate, InnerPass, StepDetails
from compare.record_words import words_of
from compare.recorder import step_record
from compare.records import RunKey, RunRecord
from compare.step_record import Seconds
from ssd.events import Prefill, StageSeconds, Step
from ssd.tree import Origin, TokenTree
from ssd.verify import Verdict

METHODS = ("autoregressive", "speculative", "staged")
CONTROL = 90_000  # an id that adds nothing to a text
_PROMPT = (CONTROL, 70, 71)
_GUESSED: dict[str, tuple[Origin, ...]] = {
    "autoregressive": (),
    "speculative": ("draft",),
    "staged": ("draft", "ngram", "ngram"),
}
_WRONG = 1000  # what is added to an id to make a wrong guess of it


@dataclass(frozen=True)
class Script:
    """What the ids say: id `i` is piece `i` of a text that starts over again and again."""

    pieces: Sequence[str]

    def token_bytes(self, token: int) -> bytes:
        return b"" if token == CONTROL else self.pieces[token % len(self.pieces)].encode()

    def token_text(self, token: int) -> str:
        return "<|end|>" if token == CONTROL else self.pieces[token % len(self.pieces)]


@dataclass
class FakeEngine:
    """Says `pieces` over and over. `round_s` is how long a round really takes."""

    pieces: Sequence[str] = ("def", " fib", "(", "n", "):", "\n   ", " return", " 1")
    round_s: float = 0.0
    running: threading.Lock = field(default_factory=threading.Lock)
    overlaps: int = 0
    refining: int = 0
    refined_times: int = 0

    def environment(self, job: Job) -> Mapping[str, object]:
        return {
            "created": "2026-01-01T00:00:00+00:00",
            "is_exact": True,
            "pair": {"pair": "fake", "hardware": "no machine", "versions": {"torch": "0"}},
            "settings": {"temperature": job.sampling.temperature},
        }

    def num_prompt_tokens(self, job: Job) -> int:
        if len(job.prompt) > 5000:
            raise ValueError(
                "the prompt must be shorter than the model's context of 1000 tokens, got "
                f"{len(job.prompt)} tokens: shorten it"
            )
        return len(job.prompt.split())

    def warm_up(self, methods: Sequence[str]) -> None:
        pass

    def refined(self, pause: Callable[[], None]) -> FakeEngine:
        for _ in range(self.refining):
            time.sleep(0.02)
            pause()
        self.refined_times += 1
        return self

    def lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
        if not self.running.acquire(blocking=False):
            self.overlaps += 1
        try:
            yield from self._lane(lane, job)
        finally:
            if self.running.locked():
                self.running.release()

    def _lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
        if job.prompt == "fail":
            raise RuntimeError("secret details")
        yield Told(lane.method, Prefill(10, 10, 0.05))
        script, steps, now = self._script(job), list[Step](), 0.0
        ids: list[int] = []
        while len(ids) < job.max_new_tokens and not lane.is_cancelled():
            time.sleep(self.round_s)
            count = min(1 + len(_GUESSED[lane.method]), job.max_new_tokens - len(ids))
            now += 0.017 + 0.001 * count
            root = ids[-1] if ids else _PROMPT[-1]
            step = _step(lane.method, root, range(len(ids), len(ids) + count), now)
            ids += step.tokens
            steps.append(step)
            pieces = tuple((i, script.token_text(i), script.token_text(i)) for i in step.tokens)
            yield Told(lane.method, step, pieces)
        yield LaneEnded(lane.method, "", None)
        yield self._record(lane, job, steps, ids)

    def _record(
        self, lane: Lane, job: Job, steps: Sequence[Step], ids: Sequence[int]
    ) -> Mapping[str, object]:
        records = tuple(map(step_record, steps))
        is_whole = len(ids) == job.max_new_tokens
        record = RunRecord(
            key=RunKey(lane.method, job.prompt_id, lane.repeat),
            category=job.category,
            prompt_ids=_PROMPT,
            token_ids=tuple(ids),
            logit_hashes=tuple(f"{token:016x}" for token in ids),
            text="".join(map(self._script(job).token_text, ids)),
            finish_reason="length" if is_whole else "cancelled",
            steps=records,
            seconds=sum((step.seconds for step in records), Seconds(prefill=0.05)),
            bytes_read=1000 * len(steps),
        )
        data = record.to_json()
        if lane.has_details:
            for step, told in zip(data["steps"], records, strict=True):
                step["details"] = _details(told.tree.tokens, told.path).to_json()
        return data

    def _script(self, job: Job) -> Script:
        return Script(job.prompt.split("|")[1:] or self.pieces)

    def conclude(self, job: Job, records: Sequence[Record]) -> Outcome:
        digests = Digests.of(RunRecord.from_json(record) for record in records)
        words = words_of(records, self._script(job))
        return Outcome(summary(dict(self.environment(job)), digests), (), words)


def _step(method: str, root: int, ids: range, now: float) -> Step:
    """A round that settles `ids`: all but the last were guessed, and one guess was wrong."""
    guessed = _GUESSED[method][: len(ids) - 1]
    wrong = (ids[0] + _WRONG,) if guessed else ()
    tree = TokenTree(
        tokens=(root, *ids[:-1], *wrong),
        parents=(*range(-1, len(guessed)), *(0 for _ in wrong)),
        origins=("target", *guessed, *("draft" for _ in wrong)),
    )
    share = 0.001 * len(ids)
    seconds = StageSeconds(share / 2, share / 2, 0.013, 0.004)
    path = tuple(range(1, len(guessed) + 1))
    return Step(
        tuple(ids),
        (*guessed, "target"),
        tree,
        Verdict(path, ids[-1]),
        len(guessed[:1]),
        seconds,
        now,
    )


def _details(tokens: Sequence[int], path: Sequence[int]) -> StepDetails:
    rows = tuple(
        (Candidate(tokens[min(node + 1, len(tokens) - 1)], 0.75), Candidate(3, 0.125))
        for node in range(len(tokens))
    )
    draft = (rows[0], *(None for _ in tokens[1:]))
    return StepDetails(rows, tuple(0.5 for _ in tokens), draft, (InnerPass(((),), ()),))


def opener(engine: FakeEngine, load_s: float = 0.0) -> Callable[[Setup, Report], FakeEngine]:
    """A loader of `engine` that takes a while and tells its progress."""

    def open_engine(setup: Setup, report: Report) -> FakeEngine:
        report(Loading("weights", 1, 2))
        time.sleep(load_s)
        return engine

    return open_engine
