"""One device, one job at a time: the lab on an engine without models."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from compare.job import (
    Ended,
    Failed,
    Job,
    Judging,
    Lane,
    LaneEnded,
    Limits,
    Loading,
    MachineBusy,
    Message,
    Outcome,
    Record,
    Refused,
    Repeating,
    Setup,
    Started,
    Told,
    Waiting,
)
from compare.lab import Lab
from compare.lock import machine_lock
from compare.page.refusals import in_languages
from ssd.events import Step
from tests.fake_engine import METHODS, FakeEngine, opener
from tests.test_refusals import is_known

DEFAULTS = Limits()
PAIRS = ("smollm2-135m", "gpt2-large")
JOB = Job("write something", METHODS, max_new_tokens=8)
LONG = Job("write something", METHODS, max_new_tokens=500)


def lab_of(engine: FakeEngine, limits: Limits = DEFAULTS, load_s: float = 0.0) -> Lab:
    return Lab(opener(engine, load_s), METHODS, limits)


def all_of(batches: Iterator[tuple[Message, ...]]) -> list[Message]:
    return [message for batch in batches for message in batch]


def until(batches: Iterator[tuple[Message, ...]], kind: type) -> list[Message]:
    """The messages up to the batch with the first of `kind`."""
    seen: list[Message] = []
    for batch in batches:
        seen += batch
        if any(isinstance(message, kind) for message in batch):
            return seen
    raise AssertionError(f"no {kind.__name__} came")


def tokens_of(messages: list[Message], method: str) -> int:
    return sum(
        len(message.event.tokens)
        for message in messages
        if isinstance(message, Told) and message.method == method
        if isinstance(message.event, Step)
    )


def test_a_job_tells_its_whole_story_in_order() -> None:
    messages = all_of(lab_of(FakeEngine()).run(JOB))
    assert isinstance(messages[0], Loading)
    assert isinstance(messages[1], Started)
    assert [m.method for m in messages if isinstance(m, LaneEnded)] == list(METHODS)
    assert [tokens_of(messages, method) for method in METHODS] == [8, 8, 8]
    assert isinstance(messages[-2], Judging)
    end = messages[-1]
    assert isinstance(end, Ended) and end.reason == "finished"
    assert [record["method"] for record in end.records] == list(METHODS)
    assert set(end.outcome.summary["methods"]) == set(METHODS)


def test_the_models_are_loaded_once_for_each_setup() -> None:
    opened: list[Setup] = []
    engine = FakeEngine()

    def count(setup: Setup, report: object) -> FakeEngine:
        opened.append(setup)
        return engine

    lab = Lab(count, METHODS, Limits())
    fast = Job("write", METHODS, max_new_tokens=2, setup=Setup(numerics="fast"))
    for job in (JOB, JOB, fast, JOB, fast):
        all_of(lab.run(job))
    assert opened == [JOB.setup, fast.setup]


def test_the_lanes_are_rotated_and_the_records_are_not() -> None:
    lab = lab_of(FakeEngine())
    orders = []
    for _ in range(3):
        messages = all_of(lab.run(JOB))
        orders.append(next(m.methods for m in messages if isinstance(m, Started)))
        end = messages[-1]
        assert isinstance(end, Ended)
        assert [record["method"] for record in end.records] == list(METHODS)
    assert orders == [METHODS, (*METHODS[1:], METHODS[0]), (*METHODS[2:], *METHODS[:2])]


@pytest.mark.parametrize(
    ("job", "word"),
    [
        (Job("", METHODS), "empty"),
        (Job(" \n\t", METHODS), "empty"),
        (Job("x" * 200_000, METHODS), "200000 characters"),
        (Job("x", ()), "lane"),
        (Job("x", ("staged", "beam")), "'beam'"),
        (Job("x", ("staged", "staged")), "more than once"),
        (Job("x", METHODS, max_new_tokens=0), "from 1 to 512"),
        (Job("x", METHODS, max_new_tokens=513), "from 1 to 512"),
        (Job("word " * 2000, METHODS), "context"),
        (Job("word " * 600, METHODS), "600 tokens"),
        (Job("x", METHODS, repeats=6), "from 1 to 5"),
        (Job("x", METHODS, nodes=128), "must be auto or 0 to 127, got 128"),
        (Job("x", METHODS, setup=Setup("gpt2-large")), "pair must be one of"),
        (Job("x", ("staged:12:99999999999",)), "0 to 127"),
    ],
)
def test_a_bad_job_is_refused_in_one_sentence(job: Job, word: str) -> None:
    last = all_of(lab_of(FakeEngine(), Limits(max_prompt_tokens=500)).run(job))[-1]
    assert isinstance(last, Refused)
    assert word in last.sentence and last.sentence.endswith(".")
    assert last.sentence[0].isupper() and "\n" not in last.sentence
    assert is_known(in_languages(last.sentence))


def test_a_fault_is_told_without_its_details_and_the_next_job_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = lab_of(FakeEngine())
    assert all_of(lab.run(Job("fail", METHODS)))[-1] == Failed()
    assert "secret details" in caplog.text
    assert isinstance(all_of(lab.run(JOB))[-1], Ended)


def test_stop_ends_the_job_and_keeps_what_there_is() -> None:
    lab = lab_of(FakeEngine(round_s=0.02))
    batches = lab.run(LONG, visitor="a")
    seen = until(batches, Told)
    lab.stop("b")  # somebody else
    lab.stop("a")
    seen += all_of(batches)
    end = seen[-1]
    assert isinstance(end, Ended) and end.reason == "stopped"
    assert 0 < tokens_of(seen, METHODS[0]) < 500
    assert [record["method"] for record in end.records] == [METHODS[0]]
    next_end = all_of(lab.run(JOB, visitor="a"))[-1]
    assert isinstance(next_end, Ended) and next_end.reason == "finished"


def test_a_stop_that_comes_before_its_job_counts_and_one_from_before_does_not() -> None:
    lab = lab_of(FakeEngine(round_s=0.02))
    lab.expect("a")
    lab.stop("a")
    assert all_of(lab.run(LONG, visitor="a")) == [Ended("stopped", (), Outcome())]
    lab.stop("a")  # too late
    lab.expect("a")
    end = all_of(lab.run(JOB, visitor="a"))[-1]
    assert isinstance(end, Ended) and end.reason == "finished"


def test_stop_does_not_wait_for_a_load() -> None:
    lab = lab_of(FakeEngine(), load_s=2.0)
    batches = lab.run(JOB, visitor="a")
    until(batches, Loading)
    lab.stop("a")
    start = time.monotonic()
    assert isinstance(all_of(batches)[-1], Ended)
    assert time.monotonic() - start < 1.5  # less than the load, which goes on
    assert isinstance(all_of(lab.run(JOB))[-1], Ended)


def test_the_time_budget_cuts_a_job() -> None:
    lab = lab_of(FakeEngine(round_s=0.02), Limits(time_budget_s=0.2))
    end = all_of(lab.run(LONG))[-1]
    assert isinstance(end, Ended) and end.reason == "budget"


def test_jobs_never_overlap_and_the_others_hear_their_place() -> None:
    engine = FakeEngine(round_s=0.002)
    lab = lab_of(engine)
    heard: dict[int, list[Message]] = {}

    def visit(number: int) -> None:
        heard[number] = all_of(lab.run(JOB, visitor=str(number)))

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert engine.overlaps == 0
    assert all(isinstance(messages[-1], Ended) for messages in heard.values())
    assert any(isinstance(m, Waiting) for messages in heard.values() for m in messages)


def test_an_abandoned_job_frees_the_device() -> None:
    engine = FakeEngine(round_s=0.01)
    lab = lab_of(engine)
    batches = lab.run(LONG)
    until(batches, Told)
    batches.close()  # type: ignore[attr-defined]
    end = all_of(lab.run(JOB))[-1]
    assert isinstance(end, Ended) and end.reason == "finished"
    assert engine.overlaps == 0


def test_a_full_queue_refuses_and_a_stopped_wait_leaves_it() -> None:
    lab = lab_of(FakeEngine(round_s=0.02), Limits(max_queue=1))
    first, second = lab.run(LONG, visitor="1"), lab.run(LONG, visitor="2")
    until(first, Started)
    until(second, Waiting)
    (refused,) = all_of(lab.run(JOB, visitor="3"))
    assert isinstance(refused, Refused) and "queue is full" in refused.sentence
    lab.stop("2")
    end = all_of(second)[-1]
    assert isinstance(end, Ended) and end.reason == "stopped" and not end.records
    lab.stop("1")
    all_of(first)
    assert isinstance(all_of(lab.run(JOB, visitor="3"))[-1], Ended)


def test_a_slow_reader_holds_the_engine_back_and_loses_nothing() -> None:
    lab = lab_of(FakeEngine())
    batches = lab.run(LONG)
    messages = until(batches, Started)
    time.sleep(0.3)
    messages += all_of(batches)
    assert tokens_of(messages, METHODS[-1]) == 500


def test_batches_are_at_most_about_ten_a_second() -> None:
    start = time.monotonic()
    count = sum(1 for _ in lab_of(FakeEngine(round_s=0.003)).run(LONG))
    assert count <= 10 * (time.monotonic() - start) + 2


def test_repeats_are_told_once_rotated_and_recorded_each() -> None:
    job = Job("write", METHODS, max_new_tokens=4, repeats=3)
    messages = all_of(lab_of(FakeEngine()).run(job))
    assert [tokens_of(messages, method) for method in METHODS] == [4, 4, 4]
    assert [m.number for m in messages if isinstance(m, Repeating)] == [2, 3]
    end = messages[-1]
    assert isinstance(end, Ended)
    found = [(record["repeat"], record["method"]) for record in end.records]
    assert found == [(repeat, method) for repeat in (0, 1, 2) for method in METHODS]


def test_one_lane_of_the_first_repeat_has_details() -> None:
    job = Job("write", METHODS, max_new_tokens=4, repeats=2)
    end = all_of(lab_of(FakeEngine()).run(job))[-1]
    assert isinstance(end, Ended)
    with_details = [r for r in end.records if any("details" in step for step in r["steps"])]
    assert [(r["method"], r["repeat"]) for r in with_details] == [("staged", 0)]


def test_the_replay_lane_is_told_what_another_answered() -> None:
    engine, answers = FakeEngine(), []

    class Curious(FakeEngine):
        def lane(self, lane: Lane, job: Job) -> Iterator[Told | LaneEnded | Record]:
            answers.append((lane.method, len(lane.answer)))
            return engine.lane(lane, job)

    all_of(lab_of(Curious()).run(JOB))
    assert answers == [("autoregressive", 0), ("speculative", 8), ("staged", 8)]


def test_a_timed_run_elsewhere_and_a_job_never_overlap(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    def alone(on_wait: Callable[[], None]) -> AbstractContextManager[None]:
        return machine_lock(on_wait, path)

    lab = Lab(opener(FakeEngine()), METHODS, DEFAULTS, alone)
    with machine_lock(lambda: None, path):
        batches = lab.run(JOB, visitor="a")
        messages = until(batches, MachineBusy)
        time.sleep(0.3)
        assert not any(isinstance(m, Started) for m in messages)
    assert isinstance(all_of(batches)[-1], Ended)
    with machine_lock(lambda: pytest.fail("the lab still has the lock"), path):
        pass


def test_limits_come_from_the_environment() -> None:
    limits = Limits.from_environment({"SSD_MAX_NEW_TOKENS": "32", "SSD_TIME_BUDGET": "60"}, PAIRS)
    assert (limits.max_new_tokens, limits.time_budget_s, limits.max_queue) == (32, 60.0, 20)
    for text in ("", "0", "-1", "1.5", "many"):
        with pytest.raises(ValueError, match="SSD_MAX_QUEUE must be a whole number"):
            Limits.from_environment({"SSD_MAX_QUEUE": text}, PAIRS)


def test_the_pairs_on_offer_come_from_the_environment() -> None:
    assert Limits.from_environment({}, PAIRS).pairs == ("smollm2-135m",)
    assert Limits.from_environment({"SSD_PAIRS": ",".join(PAIRS)}, PAIRS).pairs == PAIRS
    with pytest.raises(ValueError, match="SSD_PAIRS must name some of"):
        Limits.from_environment({"SSD_PAIRS": "llama"}, PAIRS)


def wait_until(is_so: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    assert is_so()


def test_an_engine_is_loaded_ahead_once_and_the_visitor_sees_how_far_it_is() -> None:
    opened: list[Setup] = []
    goes_on, engine = threading.Event(), FakeEngine()

    def open_engine(setup: Setup, report: Callable[[Loading], None]) -> FakeEngine:
        opened.append(setup)
        report(Loading("weights", 1, 2))
        assert goes_on.wait(5)
        return engine

    lab = Lab(open_engine, METHODS, Limits())
    lab.prepare(JOB.setup)
    lab.prepare(JOB.setup)
    wait_until(lambda: bool(opened))
    batches = lab.run(JOB)
    assert any(isinstance(message, Loading) for message in until(batches, Loading))
    goes_on.set()
    messages = all_of(batches)
    assert isinstance(messages[-1], Ended) and opened == [JOB.setup]


def test_what_goes_wrong_ahead_of_a_job_is_that_job_s_to_say() -> None:
    def refuse(setup: Setup, report: object) -> FakeEngine:
        raise ValueError("no model here: copy one")

    lab = Lab(refuse, METHODS, Limits())
    lab.prepare(JOB.setup)
    (refusal,) = all_of(lab.run(JOB))
    assert refusal == Refused("No model here: copy one.")


def test_nothing_is_loaded_ahead_while_another_program_measures(tmp_path: Path) -> None:
    opened: list[Setup] = []

    def open_engine(setup: Setup, report: object) -> FakeEngine:
        opened.append(setup)
        return FakeEngine()

    def alone(on_wait: Callable[[], None]) -> AbstractContextManager[None]:
        return machine_lock(on_wait, tmp_path / "lock")

    lab = Lab(open_engine, METHODS, Limits(), alone)
    with machine_lock(lambda: None, tmp_path / "lock"):
        lab.prepare(JOB.setup)
        time.sleep(0.1)
    assert isinstance(all_of(lab.run(JOB))[-1], Ended) and opened == [JOB.setup]


def test_an_idle_device_is_measured_more_carefully(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once an engine, and not while a job waits: that ends it, and it begins again later."""
    monkeypatch.setattr("compare.lab._IDLE_S", 0.05)
    engine = FakeEngine(refining=20)
    lab = lab_of(engine)
    all_of(lab.run(JOB))
    time.sleep(0.1)
    began = time.monotonic()
    all_of(lab.run(JOB))
    assert engine.refined_times == 0 and time.monotonic() - began < 5
    wait_until(lambda: engine.refined_times == 1)
    time.sleep(0.2)
    assert engine.refined_times == 1 and not engine.overlaps
