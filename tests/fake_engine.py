"""An engine without models: scripted texts, made-up clocks. For the lab and the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compare.job import Job, LaneEnded, Loading, Record, Report, Setup, Told
from ssd.events import Prefill, StageSeconds, Step
from ssd.tree import Origin, TokenTree
from ssd.verify import Verdict

METHODS = ("autoregressive", "speculative", "staged")
_SPEED: dict[str, tuple[int, tuple[Origin, ...]]] = {
    "autoregressive": (1, ("target",)),
    "speculative": (2, ("draft", "target")),
    "staged": (4, ("draft", "ngram", "ngram", "target")),
}


@dataclass
class FakeEngine:
    """Says `pieces` over and over. `round_s` is how long a round really takes."""

    pieces: Sequence[str] = ("def", " fib", "(", "n", "):", "\n   ", " return", " 1")
    round_s: float = 0.0
    running: threading.Lock = field(default_factory=threading.Lock)
    overlaps: int = 0

    def environment(self, job: Job) -> Mapping[str, Any]:
        return {"schema": 1, "machine": "fake"}

    def num_prompt_tokens(self, job: Job) -> int:
        if len(job.prompt) > 5000:
            raise ValueError("the prompt must be shorter than the model's context, shorten it")
        return len(job.prompt.split())

    def warm_up(self, methods: Sequence[str]) -> None:
        pass

    def lane(
        self, method: str, job: Job, is_cancelled: Callable[[], bool]
    ) -> Iterator[Told | LaneEnded | Record]:
        if not self.running.acquire(blocking=False):
            self.overlaps += 1
        try:
            yield from self._lane(method, job, is_cancelled)
        finally:
            if self.running.locked():
                self.running.release()

    def _lane(
        self, method: str, job: Job, is_cancelled: Callable[[], bool]
    ) -> Iterator[Told | LaneEnded | Record]:
        if job.prompt == "fail":
            raise RuntimeError("secret details")
        width, origins = _SPEED[method]
        yield Told(method, Prefill(10, 10, 0.05))
        steps: list[dict[str, Any]] = []
        done, now = 0, 0.0
        while done < job.max_new_tokens and not is_cancelled():
            time.sleep(self.round_s)
            count = min(width, job.max_new_tokens - done)
            now += 0.015 + 0.002 * width
            ids = tuple(range(done, done + count))
            tree = TokenTree.chain(0, ids, "draft")
            seconds = StageSeconds(0.001, 0.002 * width, 0.013, 0.001)
            verdict = Verdict(tuple(range(1, count)), ids[-1])
            step = Step(ids, origins[:count], tree, verdict, 1, seconds, now)
            told = tuple((i, self._text(i, job), self._text(i, job)) for i in ids)
            yield Told(method, step, told)
            steps.append({"tokens": ids, "time": now, "origins": origins[:count]})
            done += count
        yield LaneEnded(method, "", None)
        yield {
            "kind": "run",
            "method": method,
            "steps": steps,
            "seconds": {
                "prefill": 0.05,
                "ngram": 0.1 * now,
                "draft": 0.2 * now,
                "target": 0.6 * now,
                "other": 0.1 * now,
            },
            "token_ids": list(range(done)),
        }

    def _text(self, token: int, job: Job) -> str:
        pieces = job.prompt.split("|")[1:] or self.pieces
        return pieces[token % len(pieces)]

    def summarise(self, job: Job, records: Sequence[Record]) -> Mapping[str, Any]:
        base = next((r for r in records if r["method"] == "autoregressive"), None)
        return {
            "schema": 1,
            "reference": "autoregressive",
            "methods": {r["method"]: _summary(r, base) for r in records},
        }


def _summary(record: Record, base: Record | None) -> dict[str, Any]:
    num, now = len(record["token_ids"]), record["steps"][-1]["time"] if record["steps"] else 0.0
    is_base = record["method"] == "autoregressive"
    ratio = base["steps"][-1]["time"] / now if base and now else None
    depths = [{"depth": d, "tried": 40 // d, "accepted": 30 // d} for d in range(1, 6)]
    return {
        "tokens": num,
        "tokens_per_second": num / now if now else None,
        "speedup": ratio and {"median": ratio, "low": ratio, "high": ratio, "min": ratio},
        "end_to_end_speedup": ratio and {"median": ratio, "low": ratio, "high": ratio},
        "time_to_first_token": 0.067,
        "target_passes": len(record["steps"]),
        "draft_passes": 0 if is_base else 3 * len(record["steps"]),
        "tokens_per_step": num / max(1, len(record["steps"])),
        "acceptance_rate": None if is_base else 0.71,
        "acceptance_by_depth": [] if is_base else depths,
        "seconds": record["seconds"],
        "verdicts": None if is_base else {"IDENTICAL": 1, "NEAR-TIE": 0, "BUG": 0},
        "logit_rows_equal": None if is_base else [num, num],
        "error": 0,
    }


def opener(engine: FakeEngine, load_s: float = 0.0) -> Callable[[Setup, Report], FakeEngine]:
    """A loader of `engine` that takes a while and tells its progress."""

    def open_engine(setup: Setup, report: Report) -> FakeEngine:
        report(Loading("weights", 1, 2))
        time.sleep(load_s)
        return engine

    return open_engine
