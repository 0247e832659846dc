"""What the metrics need of a record, without its steps: a large file is read as a stream."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from compare.record_file import Line
from compare.records import RunKey, RunRecord
from compare.step_record import ORIGINS, Json, Seconds, StepRecord
from compare.verdict_record import VerdictRecord


@dataclass(frozen=True)
class Digest:
    """One run, its steps summed up.

    `tried`, `accepted`: nodes by depth whose parent was accepted, and those of them that were.
    `settled`: passes by how many tokens stood. `entropy`: the target's in nats, the mean over the
    tokens where it is known. `settings`: where they differ from the environment's.
    """

    key: RunKey
    category: str
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logit_hashes: tuple[str, ...]
    finish_reason: str | None
    error: str | None
    seconds: Seconds
    first_token: float
    target_passes: int
    draft_passes: int
    nodes: int
    tried: Counter[int]
    accepted: Counter[int]
    origins: Counter[str]
    settled: Counter[int]
    bytes_read: int | None
    entropy: float | None
    settings: Json | None

    @classmethod
    def of(cls, record: RunRecord) -> Digest:
        """The digest of `record`."""
        tried, accepted, origins = Counter[int](), Counter[int](), Counter[str]()
        for step in record.steps:
            _count(step, tried, accepted)
            origins.update(step.origins)
        seconds = record.seconds or Seconds()
        return cls(
            key=record.key,
            category=record.category,
            prompt_ids=record.prompt_ids,
            token_ids=record.token_ids,
            logit_hashes=record.logit_hashes,
            finish_reason=record.finish_reason,
            error=record.error,
            seconds=seconds,
            first_token=seconds.prefill + (record.steps[0].time if record.steps else 0.0),
            target_passes=len(record.steps),
            draft_passes=sum(step.draft_passes for step in record.steps),
            nodes=sum(len(step.tree) for step in record.steps),
            tried=tried,
            accepted=accepted,
            origins=Counter({name: origins[name] for name in ORIGINS}),
            settled=Counter(len(step.tokens) for step in record.steps),
            bytes_read=record.bytes_read,
            entropy=_mean_entropy(record.steps),
            settings=record.settings,
        )


def _mean_entropy(steps: Sequence[StepRecord]) -> float | None:
    values = [value for step in steps for value in step.entropy or () if value is not None]
    return statistics.fmean(values) if values else None


def _count(step: StepRecord, tried: Counter[int], accepted: Counter[int]) -> None:
    """Count a step's nodes. Below the last token of a cut step nothing was tried."""
    depths = step.tree.depths
    visited = {0, *step.path} if step.is_whole else {0, *step.path[:-1]}
    tried.update(depths[node] for node, parent in enumerate(step.tree.parents) if parent in visited)
    accepted.update(depths[node] for node in step.path)


@dataclass
class Digests:
    """All runs of a file, by method, and the verdicts that were recorded."""

    runs: dict[RunKey, Digest] = field(default_factory=dict)
    verdicts: dict[RunKey, VerdictRecord] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Digests:
        """Those of the lines of a record file."""
        digests = cls()
        for line in lines:
            digests.add(line)
        return digests

    def add(self, line: Line) -> None:
        """Take in one more line."""
        if isinstance(line, RunRecord):
            self.runs[line.key] = Digest.of(line)
        else:
            self.verdicts[line.key] = line

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that have runs, in the order they first came."""
        return tuple(dict.fromkeys(key.method for key in self.runs))

    def only(self, prompts: Set[str]) -> Digests:
        """Those of some prompts."""
        return Digests(
            {key: run for key, run in self.runs.items() if key.prompt_id in prompts},
            {key: each for key, each in self.verdicts.items() if key.prompt_id in prompts},
        )

    def of_method(self, method: str) -> list[Digest]:
        """All runs of `method`."""
        return [run for key, run in self.runs.items() if key.method == method]

    def reference_of(self, run: Digest, reference: str) -> Digest | None:
        """The reference's run to compare `run` with, if it succeeded."""
        found = self.runs.get(reference_key(run.key, reference))
        return found if found is not None and found.error is None else None


def reference_key(key: RunKey, reference: str) -> RunKey:
    """The run that a run is compared with: the same repeat's; the reference's own, its first."""
    return RunKey(reference, key.prompt_id, 0 if key.method == reference else key.repeat)
