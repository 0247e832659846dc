"""What is asked of the lab, what it says, and what it asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ssd.events import Prefill, Step
from ssd.sampling import Sampling

Record = Mapping[str, Any]
Numerics = Literal["exact", "fast"]
EndReason = Literal["finished", "stopped", "budget"]


@dataclass(frozen=True)
class Limits:
    """What one job may ask for, and how many may wait."""

    max_new_tokens: int = 512
    max_prompt_characters: int = 100_000
    max_queue: int = 20
    time_budget_s: float = 300.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Limits:
        """The limits that `SSD_MAX_NEW_TOKENS`, `SSD_MAX_PROMPT_CHARACTERS`, `SSD_MAX_QUEUE` and
        `SSD_TIME_BUDGET` (seconds) set. Raises ValueError where one is not a whole number above 0.
        """

        def number(name: str, default: float) -> int:
            text = environ.get(name, str(int(default)))
            if not text.isascii() or not text.isdigit() or int(text) == 0:
                raise ValueError(f"{name} must be a whole number above 0, got {text!r}")
            return int(text)

        return cls(
            number("SSD_MAX_NEW_TOKENS", cls.max_new_tokens),
            number("SSD_MAX_PROMPT_CHARACTERS", cls.max_prompt_characters),
            number("SSD_MAX_QUEUE", cls.max_queue),
            float(number("SSD_TIME_BUDGET", cls.time_budget_s)),
        )


@dataclass(frozen=True)
class Setup:
    """Which models are loaded, and how they compute."""

    pair: str = "smollm2-135m"
    precision: str = "auto"
    numerics: Numerics = "exact"


@dataclass(frozen=True)
class Job:
    """One comparison. `nodes` None lets the engine price the tree."""

    prompt: str
    methods: tuple[str, ...]
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    max_new_tokens: int = 64
    nodes: int | None = None
    setup: Setup = field(default_factory=Setup)


@dataclass(frozen=True)
class Waiting:
    """`ahead` jobs come first."""

    ahead: int


@dataclass(frozen=True)
class Loading:
    """`done` of `total` parts of a stage of loading; `total` None where nobody knows."""

    stage: str
    done: int
    total: int | None


@dataclass(frozen=True)
class Started:
    """The job has the device and will run `methods` in this order."""

    methods: tuple[str, ...]
    num_prompt_tokens: int
    environment: Mapping[str, Any]


@dataclass(frozen=True)
class Told:
    """What the lane of `method` said. `pieces`: for each token of a step its id, the text that it
    completed and the text of the token by itself."""

    method: str
    event: Prefill | Step
    pieces: tuple[tuple[int, str, str], ...] = ()


@dataclass(frozen=True)
class LaneEnded:
    """The lane of `method` is done; `tail` is text that had been held back."""

    method: str
    tail: str
    error: str | None


@dataclass(frozen=True)
class Judging:
    """All lanes are done; their texts and logits are being compared."""


@dataclass(frozen=True)
class Ended:
    """The last message of a job that ran. The records of a job that was cut short are partial."""

    reason: EndReason
    records: Sequence[Record]
    summary: Mapping[str, Any]


@dataclass(frozen=True)
class Refused:
    """The last message of a job that did not run: one sentence that says what to change."""

    sentence: str


@dataclass(frozen=True)
class Failed:
    """The last message of a job that hit a fault of ours; the log has the details."""


Message = Waiting | Loading | Started | Told | LaneEnded | Judging | Ended | Refused | Failed
Report = Callable[[Loading], None]


class Engine(Protocol):
    """Loaded models, as the lab drives them."""

    def environment(self, job: Job) -> Mapping[str, Any]:
        """What the figures depend on: machine, versions, models, numerics, settings."""

    def num_prompt_tokens(self, job: Job) -> int:
        """The prompt's length. Raises ValueError where the models cannot take it."""

    def warm_up(self, methods: Sequence[str]) -> None:
        """Run each of the methods for a moment, so that the first lane pays for nothing."""

    def lane(
        self, method: str, job: Job, is_cancelled: Callable[[], bool]
    ) -> Iterator[Told | LaneEnded | Record]:
        """A run of one method; its record comes last."""

    def summarise(self, job: Job, records: Sequence[Record]) -> Mapping[str, Any]:
        """The summary and verdicts of the job's records."""
