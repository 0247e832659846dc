"""Many runs of the lab as the page starts them: is every one identical, and does memory stay?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compare.digest import Digests
from compare.job import Ended, Job, Message
from compare.lab import Lab
from compare.record_file import Line
from compare.records import RunRecord
from compare.run import problems
from compare.settings import Settings
from compare.soak import variations
from compare.suites import Prompt
from compare.verdict_record import VerdictRecord
from ssd.sampling import Sampling

ALLOWED_GROWTH = 64 << 20
"""Bytes by which memory may differ between two halves of a soak and still be said to stay."""


@dataclass(frozen=True)
class RunsState:
    """After some jobs: how many, what was wrong, and resident bytes after each of them.

    `words`: sentences on what was wrong in the last job.
    """

    runs: int = 0
    bugs: int = 0
    failures: int = 0
    resident: tuple[int, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def growth(self) -> int | None:
        """Bytes by which the most memory of the last half exceeds that of the second quarter.

        The first quarter warms up. None where there are fewer than eight jobs, or memory is not to
        be read.
        """
        count = len(self.resident)
        if count < 8 or not all(self.resident):
            return None
        return max(self.resident[count // 2 :]) - max(self.resident[count // 4 : count // 2])


def soak_jobs(base: Job, settings: Settings, prompts: Iterator[Prompt]) -> Iterator[Job]:
    """Jobs without end over `prompts`, each with the next sampling and seed."""
    for each in variations(prompts, settings):
        varied = each.settings
        yield replace(
            base,
            prompt=each.prompt.text,
            is_raw=each.prompt.is_raw,
            prompt_id=each.prompt.id,
            category="soak",
            sampling=Sampling(
                varied.temperature, varied.top_k, varied.top_p, varied.repetition_penalty
            ),
            seed=varied.seed,
        )


def soak_runs(
    lab: Lab, jobs: Iterator[Job], num_runs: int, append: Callable[[Line], None]
) -> Iterator[RunsState]:
    """The state after each of `num_runs` jobs. `append` gets their records and verdicts."""
    state = RunsState()
    for job in itertools.islice(jobs, num_runs):
        *_, last = (message for batch in lab.run(job) for message in batch)
        bugs, failures = _found(job, last, append)
        state = RunsState(
            runs=state.runs + 1,
            bugs=state.bugs + len(bugs),
            failures=state.failures + len(failures),
            resident=(*state.resident, resident_bytes()),
            words=(*bugs, *failures),
        )
        yield state


def _found(
    job: Job, last: Message, append: Callable[[Line], None]
) -> tuple[Sequence[str], Sequence[str]]:
    """Sentences on the bugs and the failures of a job, by its last message."""
    if not isinstance(last, Ended) or last.reason != "finished":
        why = last.reason if isinstance(last, Ended) else last
        return (), (f"failed: the job {job.prompt_id} did not finish: {why}",)
    environment = last.outcome.summary["environment"]
    runs = [RunRecord.from_json(record) for record in last.records]
    lines: list[Line] = [replace(run, settings=environment["settings"]) for run in runs]
    lines += [VerdictRecord.from_json(verdict) for verdict in last.outcome.verdicts]
    for line in lines:
        append(line)
    return problems(environment, Digests.of(lines))


def resident_bytes() -> int:
    """The memory that this process holds, 0 where the system does not say so in /proc."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    import resource  # not on Windows, which has no /proc either

    return int(pages) * resource.getpagesize()


def told_memory(resident: Sequence[int]) -> str:
    """Memory now, in words."""
    return f"{resident[-1] >> 20} MB" if resident and resident[-1] else "memory unknown"
