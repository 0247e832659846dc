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
    """What one job may ask for, and how many may wait. `pairs`: those that are offered."""

    max_new_tokens: int = 512
    max_prompt_characters: int = 100_000
    max_prompt_tokens: int = 8192
    max_queue: int = 20
    max_lanes: int = 8
    max_repeats: int = 5
    time_budget_s: float = 300.0
    suite_budget_s: float = 1800.0
    pairs: tuple[str, ...] = ("smollm2-135m",)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], pairs: Sequence[str]) -> Limits:
        """The limits that the variables of `LIMIT_VARIABLES` and `SSD_PAIRS` set.

        `pairs`: the names that there are. Raises ValueError where a number is not a whole one above
        0 or a pair is unknown.
        """
        numbers = {
            field: _number(name, environ[name])
            for name, field in LIMIT_VARIABLES.items()
            if name in environ
        }
        offered = tuple(name for name in environ.get("SSD_PAIRS", "").split(",") if name)
        for name in offered:
            if name not in pairs:
                raise ValueError(f"SSD_PAIRS must name some of {', '.join(pairs)}, got {name!r}")
        return cls(**numbers, pairs=offered or cls.pairs)  # type: ignore[arg-type]


LIMIT_VARIABLES = {
    "SSD_MAX_NEW_TOKENS": "max_new_tokens",
    "SSD_MAX_PROMPT_CHARACTERS": "max_prompt_characters",
    "SSD_MAX_PROMPT_TOKENS": "max_prompt_tokens",
    "SSD_MAX_QUEUE": "max_queue",
    "SSD_MAX_LANES": "max_lanes",
    "SSD_MAX_REPEATS": "max_repeats",
    "SSD_TIME_BUDGET": "time_budget_s",
    "SSD_SUITE_BUDGET": "suite_budget_s",
}
"""What the owner of a server may set, each a whole number above 0; budgets are in seconds."""


def _number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ValueError(f"{name} must be a whole number above 0, got {text!r}")
    return int(text)


@dataclass(frozen=True)
class Setup:
    """Which models are loaded, and how they compute."""

    pair: str = "smollm2-135m"
    precision: str = "auto"
    numerics: Numerics = "exact"


@dataclass(frozen=True)
class Job:
    """One comparison. `nodes` None lets the engine price the tree.

    `methods`: names of `compare.naming`, sizes included. `repeats`: how often each runs.
    `prompt_id`, `category` and `is_raw` (no chat template) are a suite's. `has_details`: whether
    the stepped lane's record gets details.
    """

    prompt: str
    methods: tuple[str, ...]
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    max_new_tokens: int = 64
    nodes: int | None = None
    setup: Setup = field(default_factory=Setup)
    repeats: int = 1
    prompt_id: str = "prompt"
    category: str = "page"
    is_raw: bool = False
    has_details: bool = True


@dataclass(frozen=True)
class Waiting:
    """`ahead` jobs come first."""

    ahead: int


@dataclass(frozen=True)
class MachineBusy:
    """It is the job's turn, but another program's timed run has the machine."""


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
class Repeating:
    """The lanes have been shown; they run for the `number`-th time of `total`, for the times."""

    number: int
    total: int


@dataclass(frozen=True)
class Judging:
    """All lanes are done; their texts and logits are being compared."""


@dataclass(frozen=True)
class Outcome:
    """What the records of a job come to.

    `verdicts`: the verdict lines of a record file; `words`: see `compare.record_words`.
    """

    summary: Mapping[str, Any] = field(default_factory=dict)
    verdicts: Sequence[Record] = ()
    words: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """The last message of a job that ran. The records of a job that was cut short are partial."""

    reason: EndReason
    records: Sequence[Record]
    outcome: Outcome


@dataclass(frozen=True)
class Refused:
    """The last message of a job that did not run: one sentence that says what to change.

    `is_for_now`: whether the same job may run later.
    """

    sentence: str
    is_for_now: bool = False


class TryLaterError(ValueError):
    """The job cannot run now; the same one may later."""


@dataclass(frozen=True)
class Failed:
    """The last message of a job that hit a fault of ours; the log has the details."""


Message = (
    Waiting
    | MachineBusy
    | Loading
    | Started
    | Told
    | LaneEnded
    | Repeating
    | Judging
    | Ended
    | Refused
    | Failed
)
Report = Callable[[Loading], None]


@dataclass(frozen=True)
class Lane:
    """One run to be made for a job.

    `answer`: what another lane answered, empty if none did yet; `has_details`: for the step view.
    """

    method: str
    repeat: int
    answer: tuple[int, ...]
    has_details: bool
    is_cancelled: Callable[[], bool]


class Engine(Protocol):
    """Loaded models, as the lab drives them."""

    def environment(self, job: Job) -> Mapping[str, Any]:
        """What the figures depend on: machine, versions, models, numerics, settings."""

    def num_prompt_tokens(self, job: Job) -> int:
        """The prompt's length. Raises ValueError where the models cannot take it."""

    def warm_up(self, methods: Sequence[str]) -> None:
        """Run each of the methods for a moment, so that the first lane pays for nothing."""

    def lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
        """A run of one method; its record comes last."""

    def refined(self, pause: Callable[[], None]) -> Engine:
        """The same engine with the machine measured more carefully; `pause` may raise to end it."""

    def conclude(self, job: Job, records: Sequence[Record]) -> Outcome:
        """The summary and verdicts of the job's records, and the words in them."""


def sentence_of(message: str) -> str:
    """An error's message as a sentence, with a capital and a full stop."""
    text = message.strip() or "The job cannot run as it was asked for"
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
