"""Many tokens over varied prompts and settings: do the lanes ever differ?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from compare.digest import Digests
from compare.methods import Task
from compare.naming import DEFAULT_METHODS, REFERENCE
from compare.record_file import Line
from compare.records import RunKey, RunRecord
from compare.run import Judging, Workbench, rotated, verdict_on
from compare.settings import Settings
from compare.suites import Prompt
from compare.verdict_record import VerdictRecord
from ssd.noise import SEED_LIMIT

if TYPE_CHECKING:
    from ssd.request import Request
    from ssd.text import TextCodec

SAMPLINGS = {
    "greedy": {"temperature": 0.0},
    "full vocabulary": {"temperature": 1.0},
    "top-k 50": {"temperature": 1.0, "top_k": 50},
    "top-p 0.9": {"temperature": 1.0, "top_p": 0.9},
    "repetition penalty 1.2": {"temperature": 1.0, "repetition_penalty": 1.2},
}
_ASKS = (
    "Write a Python function about {}.",
    "Explain {} in simple words.",
    "Tell a short story about {}.",
    "List ten facts about {}.",
    "Write a polite email about {}.",
    "Translate into Spanish: I have read a long article about {}.",
    "Write a dialogue between two friends about {}.",
    "Make a table of three columns about {}.",
)
_TOPICS = (
    "prime numbers",
    "the weather",
    "a lost dog",
    "bread",
    "the moon",
    "trains",
    "a stack of cards",
    "bees",
    "music lessons",
    "the number seven",
    "rivers in Asia",
    "an old clock",
    "sorting words",
)


def soak_prompts(quick: Sequence[Prompt]) -> Iterator[Prompt]:
    """The quick suite's prompts, then asks and topics in all pairs, again and again."""
    pairs = itertools.product(_TOPICS, _ASKS)
    made = [
        Prompt(f"{ask.split()[0].lower()}-{topic}", "soak", ask.format(topic), number % 8 == 7)
        for number, (topic, ask) in enumerate(pairs)
    ]
    return itertools.cycle([*quick, *made])


@dataclass(frozen=True)
class Variation:
    """One prompt of a soak, named by its number and sampling, with settings of its own."""

    prompt: Prompt
    settings: Settings


def variations(prompts: Iterator[Prompt], settings: Settings) -> Iterator[Variation]:
    """`prompts`, each with the next sampling and seed."""
    samplings = itertools.cycle(SAMPLINGS.items())
    for number, (prompt, (name, sampling)) in enumerate(zip(prompts, samplings, strict=False)):
        seed = (settings.seed + number) % SEED_LIMIT
        yield Variation(
            replace(prompt, id=f"{number}: {prompt.id}, {name}"),
            replace(settings, **sampling, seed=seed),  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class SoakState:
    """How much was compared: the reference's tokens, and how many ids differed in other lanes."""

    tokens: int = 0
    runs: int = 0
    differing: int = 0
    bugs: int = 0
    failures: int = 0
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Soak:
    """Compares the three lanes until enough tokens have been."""

    bench: Workbench
    judge: Judging
    codec: TextCodec
    settings: Settings
    environment: dict[str, Any]

    def run(
        self, prompts: Iterator[Prompt], num_tokens: int, append: Callable[[Line], None]
    ) -> Iterator[SoakState]:
        """The state after each prompt, until `num_tokens` of the reference were compared."""
        state = SoakState()
        for each in variations(prompts, self.settings):
            state = self._compare(state, each.prompt, each.settings, append)
            yield state
            if state.tokens >= num_tokens:
                return

    def _compare(
        self, state: SoakState, prompt: Prompt, settings: Settings, append: Callable[[Line], None]
    ) -> SoakState:
        request = settings.request(settings.prompt_ids(prompt, self.codec), self.codec)
        records = {}
        for method in rotated(DEFAULT_METHODS, state.runs):
            task = _task(RunKey(method, prompt.id), prompt, settings, request)
            record = replace(self.bench.run(task), settings=settings.to_json())
            records[record.key] = record
        lines: list[Line] = [*records.values(), *self._verdicts(records, request)]
        for line in lines:
            append(line)
        bugs = [v for v in lines if isinstance(v, VerdictRecord) and v.verdict == "BUG"]
        failed = [r for r in records.values() if r.error is not None]
        reference = records[RunKey(REFERENCE, prompt.id)]
        return SoakState(
            tokens=state.tokens + len(reference.token_ids),
            runs=state.runs + 1,
            differing=state.differing
            + sum(_num_differing(reference, r) for r in records.values() if r.error is None),
            bugs=state.bugs + len(bugs),
            failures=state.failures + len(failed),
            words=(
                *(f"BUG: {v.key.method} on {prompt.id}: {v.reason}" for v in bugs),
                *(f"failed: {r.key.method} on {prompt.id}: {r.error}" for r in failed),
            ),
        )

    def _verdicts(
        self, records: dict[RunKey, RunRecord], request: Request
    ) -> Iterator[VerdictRecord]:
        digests = Digests.of(records.values())
        for key in records:
            verdict = verdict_on(
                self.environment,
                digests,
                key,
                lambda reference, run: self.judge.judge(reference, run, request),
                records.__getitem__,
            )
            if verdict is not None:
                yield verdict


def _task(key: RunKey, prompt: Prompt, settings: Settings, request: Request) -> Task:
    from ssd.lanes import Guessing

    guessing = Guessing(settings.nodes, settings.chain)
    return Task(key, prompt.category, request, guessing)


def _num_differing(reference: RunRecord, run: RunRecord) -> int:
    """How many ids differ, place by place, those that only one answer has included."""
    first, second = reference.token_ids, run.token_ids
    pairs = zip(first, second, strict=False)
    return sum(a != b for a, b in pairs) + abs(len(first) - len(second))
