"""What one run of one method on one prompt was, and its JSON (DESIGN 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compare.record_details import check, whole
from compare.step_record import SECONDS, Json, Seconds, StepRecord, duration, ints

SCHEMA = 1


@dataclass(frozen=True)
class RunKey:
    """Which run: one method on one prompt, once."""

    method: str
    prompt_id: str
    repeat: int = 0

    @classmethod
    def from_json(cls, data: Json) -> RunKey:
        """The key of a line. Raises KeyError, TypeError or ValueError."""
        return cls(_str(data["method"]), _str(data["prompt_id"]), whole(data["repeat"]))


@dataclass(frozen=True)
class RunRecord:
    """One run. A failed one has an `error` and no numbers.

    `logit_hashes`: one a token, of the raw row that chose it; empty for a baseline.
    `bytes_read`: weights and cache of every pass of the decode, None where unknown.
    `settings`: where they differ from the environment's, else None.
    """

    key: RunKey
    category: str
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...] = ()
    logit_hashes: tuple[str, ...] = ()
    text: str = ""
    finish_reason: str | None = None
    steps: tuple[StepRecord, ...] = ()
    seconds: Seconds | None = None
    bytes_read: int | None = None
    error: str | None = None
    settings: Json | None = field(default=None)

    def to_json(self) -> dict[str, Any]:
        """The record as its line has it."""
        seconds = self.seconds
        data = {
            "kind": "run",
            "method": self.key.method,
            "prompt_id": self.key.prompt_id,
            "category": self.category,
            "repeat": self.key.repeat,
            "prompt_ids": self.prompt_ids,
            "token_ids": self.token_ids,
            "logit_hashes": self.logit_hashes,
            "text": self.text,
            "finish_reason": self.finish_reason,
            "steps": [step.to_json() for step in self.steps],
            "seconds": seconds and {n: round(getattr(seconds, n), 9) for n in SECONDS},
            "bytes_read": self.bytes_read,
            "error": self.error,
        }
        return data if self.settings is None else {**data, "settings": self.settings}

    @classmethod
    def from_json(cls, data: Json) -> RunRecord:
        """The record that `to_json` wrote. Raises ValueError naming what is wrong."""
        try:
            return cls(
                key=RunKey.from_json(data),
                category=_str(data["category"]),
                prompt_ids=ints(data["prompt_ids"]),
                token_ids=ints(data["token_ids"]),
                logit_hashes=tuple(_str(item) for item in data["logit_hashes"]),
                text=_str(data["text"]),
                finish_reason=_text_or_none(data["finish_reason"]),
                steps=tuple(StepRecord.from_json(step) for step in data["steps"]),
                seconds=_seconds(data["seconds"], data["error"]),
                bytes_read=None if data.get("bytes_read") is None else whole(data["bytes_read"]),
                error=_text_or_none(data["error"]),
                settings=_mapping_or_none(data.get("settings")),
            )
        except KeyError as error:
            raise ValueError(f"the field {error} is missing") from error
        except (TypeError, AttributeError) as error:
            raise ValueError(f"a field has another type ({error})") from error


def _seconds(data: Json | None, error: str | None) -> Seconds | None:
    if data is None:
        check(error is not None, "a run without an error has no seconds")
        return None
    return Seconds(**{name: duration(data[name]) for name in SECONDS})


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was expected, got {value!r:.60}")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _str(value)


def _mapping_or_none(value: object) -> Json | None:
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"an object was expected, got {value!r:.60}")
    return value
