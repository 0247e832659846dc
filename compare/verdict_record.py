"""The judgement of one run, and its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compare.records import RunKey
from compare.step_record import Json


@dataclass(frozen=True)
class VerdictRecord:
    """The judgement of a run that is not plainly identical, made while the model was at hand.

    `position`: of the first differing token in the answer; `tokens`: the reference's and the
    method's; `gap`, `error`: how far they lie apart, and the measured numerical error.
    """

    key: RunKey
    verdict: str
    reason: str
    position: int | None = None
    tokens: tuple[int, int] | None = None
    gap: float | None = None
    error: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The verdict as its line has it."""
        rest = {name: value for name, value in vars(self).items() if name != "key"}
        return {"kind": "verdict", **vars(self.key), **rest}

    @classmethod
    def from_json(cls, data: Json) -> VerdictRecord:
        """The verdict that `to_json` wrote. Raises ValueError."""
        try:
            key = RunKey.from_json(data)
            names = ("verdict", "reason", "position", "tokens", "gap", "error")
            values = {name: data[name] for name in names}
            if values["tokens"] is not None:
                values["tokens"] = tuple(values["tokens"])
            return cls(key, **values)
        except (KeyError, TypeError) as error:
            raise ValueError(f"a verdict without its fields ({error}) was found") from error
