"""The messages of a job as one growing text, a JSON object a line: what the browser reads."""

from __future__ import annotations

import uuid
from typing import Any

from compare.job import (
    Ended,
    Failed,
    Job,
    Judging,
    LaneEnded,
    Loading,
    MachineBusy,
    Message,
    Refused,
    Repeating,
    Started,
    Told,
    Waiting,
)
from compare.page.harmless import harmless_json
from compare.page.refusals import in_languages
from compare.page.shown import Shown
from ssd.events import Prefill, Step


class Stream:
    """The growing text of one job. Its first line names it, so that a browser knows a new one."""

    def __init__(self, job: Job, name: str, budget_s: float) -> None:
        self._job = job
        self._budget_s = budget_s
        self.text = _line({"type": "job", "name": name})

    def add(self, message: Message) -> None:
        """Append a message."""
        self.text += _line(self._object(message))

    def show(self, shown: Shown) -> None:
        """Append a finished run."""
        self.text += _line(shown.message())

    def _object(self, message: Message) -> dict[str, Any]:
        match message:
            case Waiting():
                return {"type": "waiting", "ahead": message.ahead}
            case MachineBusy():
                return {"type": "busy"}
            case Repeating():
                return {"type": "repeating", **vars(message)}
            case Loading():
                return {"type": "loading", **vars(message)}
            case Started():
                return {
                    "type": "started",
                    "shown": self._job.methods,
                    "order": message.methods,
                    "max_new_tokens": self._job.max_new_tokens,
                    "num_prompt_tokens": message.num_prompt_tokens,
                }
            case Told():
                return _told(message)
            case LaneEnded():
                error = message.error and in_languages(message.error)
                return {"type": "lane_end", **vars(message), "error": error}
            case Judging():
                return {"type": "judging"}
            case Ended():
                return {
                    "type": "ended",
                    "reason": message.reason,
                    "budget_s": round(self._budget_s),
                }
            case Refused():
                return {"type": "refused", "sentence": in_languages(message.sentence)}
            case Failed():
                return {"type": "failed"}


def stream_of(shown: Shown) -> str:
    """A stream that tells of nothing but a finished run."""
    head = _line({"type": "job", "name": uuid.uuid4().hex})
    return head + _line(shown.message()) + _line({"type": "ended", "reason": "finished"})


def _told(message: Told) -> dict[str, Any]:
    event = message.event
    if isinstance(event, Prefill):
        return {"type": "prefill", "method": message.method, **vars(event)}
    assert isinstance(event, Step)
    return {
        "type": "step",
        "method": message.method,
        "time": round(event.time, 6),
        "nodes": len(event.tree) - 1,
        "tokens": [
            (*piece, origin) for piece, origin in zip(message.pieces, event.origins, strict=True)
        ],
    }


def _line(data: dict[str, Any]) -> str:
    return harmless_json(data) + "\n"
