"""A lent GPU: one decorated call a job, Stop from outside, a used-up quota as one sentence."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

from compare import zero_gpu
from compare.job import Ended, Job, Limits, Message, Refused, Told
from compare.lab import Lab, Work
from compare.page.refusals import in_languages
from tests.fake_engine import METHODS, FakeEngine, opener
from tests.test_lab import JOB, LONG, all_of, until
from tests.test_refusals import is_known


class Quota(Exception):
    """What `spaces` raises, a `gr.Error` with a title."""

    title = "ZeroGPU quota exceeded"


def lender(calls: list[int], fault: Exception | None = None) -> Any:
    """A stand-in of the package: what crosses to and from the lent process is pickled."""

    def gpu(duration: Callable[[Job, int], int]) -> Callable[[Work], Work]:
        def decorate(work: Work) -> Work:
            def call(job: Job, shift: int) -> Generator[Message, None, None]:
                calls.append(duration(job, shift))
                if fault is not None:
                    raise fault
                for message in work(*pickle.loads(pickle.dumps((job, shift)))):
                    yield pickle.loads(pickle.dumps(message))

            return call

        return decorate

    return SimpleNamespace(GPU=gpu)


def lab_with(spaces: Any, engine: FakeEngine) -> Lab:
    return Lab(
        opener(engine), METHODS, Limits(), borrow=lambda work: zero_gpu.borrowed(spaces, work)
    )


def test_all_lanes_are_one_call() -> None:
    calls: list[int] = []
    end = all_of(lab_with(lender(calls), FakeEngine()).run(JOB))[-1]
    assert isinstance(end, Ended) and end.reason == "finished"
    assert [record["method"] for record in end.records] == list(METHODS)
    assert len(calls) == 1 and 0 < calls[0] <= 120


def test_stop_ends_the_call_from_outside_and_the_next_job_runs() -> None:
    calls: list[int] = []
    lab = lab_with(lender(calls), FakeEngine(round_s=0.01))
    batches = lab.run(LONG, visitor="a")
    until(batches, Told)
    lab.stop("a")
    end = all_of(batches)[-1]
    assert isinstance(end, Ended) and end.reason == "stopped"
    assert isinstance(all_of(lab.run(JOB))[-1], Ended)


def test_a_used_up_quota_is_a_refusal() -> None:
    last = all_of(lab_with(lender([], Quota()), FakeEngine()).run(JOB))[-1]
    assert isinstance(last, Refused) and "quota" in last.sentence and "recorded" in last.sentence
    assert is_known(in_languages(last.sentence))
    assert last.is_for_now, "or a suite would count every prompt as failed"


def test_without_the_package_nothing_is_borrowed() -> None:
    assert zero_gpu.borrower() is None
