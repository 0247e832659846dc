"""Carrying plans out: each into a record file, with words on the way and an exit code."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compare.console import alone, check_out, load, say
from compare.digest import Digests
from compare.environment import environment, options_from_json, options_json
from compare.methods import Bench
from compare.record_file import RecordReader, RecordWriter
from compare.run import WARM_UP, Moment, Output, Plan, Runner, problems
from compare.settings import Settings
from compare.suites import Suite
from compare.verify import find
from ssd.commands import EXIT_BUG, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK

if TYPE_CHECKING:
    from ssd.models.load import Options

_MUST_MATCH = ("options", "settings", "methods")
_PAIR_MUST_MATCH = (
    "pair", "device", "hardware", "threads", "precision", "numerics", "weights", "calibration",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """What goes into one record file; the rest of a plan is known once the models are loaded.

    `optional`: methods that are left out, with a word, where they cannot run here.
    """

    path: Path
    suite: Suite
    methods: tuple[str, ...]
    settings: Settings
    repeats: int = 1
    has_details: bool = False
    optional: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """What came of a part. `is_stopped`: Ctrl-C ended it, and what came before it is there."""

    environment: dict[str, Any]
    digests: Digests
    is_stopped: bool = False


def exit_code(*done: Done) -> int:
    """The exit code of one or more parts, after a sentence on each problem on stderr."""
    if any(each.is_stopped for each in done):
        return EXIT_INTERRUPTED
    found = [problems(each.environment, each.digests) for each in done]
    for bugs, failures in found:
        for sentence in (*bugs, *failures):
            say(sentence)
    if any(bugs for bugs, _ in found):
        return EXIT_BUG
    return EXIT_FAILED if any(failures for _, failures in found) else EXIT_OK


def conduct_all(parts: Sequence[Part], options: Options, *, may_resume: bool) -> list[Done]:
    """What came of the parts, one after the other on one loaded pair, alone on the machine.

    Nothing is loaded or written where one of the outputs cannot be had. Raises ValueError.
    """
    news = [check_out(part.path, may_exist=may_resume) for part in parts]
    olds = [None if is_new else _held(part.path) for part, is_new in zip(parts, news, strict=True)]
    done: list[Done] = []
    with alone():
        bench = Bench(load(options))
        plans = [_plan(part, bench, options) for part in parts]
        for part, old, plan in zip(parts, olds, plans, strict=True):
            plan.settings.prompt_ids(WARM_UP, bench.pair.codec)  # refused before a file is made
            if old is not None:
                _check_same(part.path, old, plan.environment)
        for part, old, plan in zip(parts, olds, plans, strict=True):
            writer = _opened(part.path, old, plan)
            done.append(conduct(plan, bench, writer, part.path))
            if done[-1].is_stopped:
                break
    return done


def conduct(plan: Plan, bench: Bench, writer: RecordWriter, path: Path) -> Done:
    """What came of a plan, run with `bench` into `writer`'s file at `path`, which is closed."""
    from compare.adjudicate import Adjudicator

    reader = RecordReader(path)
    output = Output(writer.append, partial(find, reader))
    runner = Runner(plan, bench, Adjudicator.of(bench.pair), bench.pair.codec, output)
    is_stopped = False
    try:
        for line in reader.lines():
            runner.digests.add(line)
        say("warming up")
        runner.warm_up()
        for moment in runner.run():
            say(_progress(moment))
    except KeyboardInterrupt:
        say("stopped; what is there:")
        is_stopped = True
    finally:
        writer.close()
    return Done(plan.environment, runner.digests, is_stopped)


def _plan(part: Part, bench: Bench, options: Options) -> Plan:
    told: dict[str, Any] = {}
    for name in part.methods:
        try:
            told[name] = bench.settings_of(name)
        except ValueError as lack:
            if name not in part.optional:
                raise
            say(f"{name} is left out: {lack}")
    header = environment(bench.pair, options, part.settings, part.suite, told)
    return Plan(part.suite, tuple(told), part.settings, part.repeats, header, part.has_details)


def _opened(path: Path, old: dict[str, Any] | None, plan: Plan) -> RecordWriter:
    if old is None:
        return RecordWriter.create(path, plan.environment)
    return RecordWriter.resume(path, RecordReader(path).whole_bytes())


def _held(path: Path) -> dict[str, Any]:
    """The environment of a file to go on with, every line of which is found good."""
    reader = RecordReader(path, say)
    for _ in reader.lines():
        continue
    found = RecordReader(path).environment()
    if lacking := [name for name in (*_MUST_MATCH, "pair", "suite") if name not in found]:
        raise ValueError(
            f"{path} does not say its {', '.join(lacking)}, so it cannot be gone on with: "
            "name another file"
        )
    return found


def _check_same(path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raises ValueError where a file to go on with was made in another way."""
    # Through the options' own class: an older version wrote fewer of them.
    old = {**old, "options": options_json(options_from_json(old["options"]))}
    differing = [name for name in _MUST_MATCH if old.get(name) != json.loads(json.dumps(new[name]))]
    differing += [n for n in _PAIR_MUST_MATCH if old["pair"].get(n) != new["pair"].get(n)]
    if _kernels(old) != _kernels(new):
        differing.append("kernels (torch, or the processor)")
    if (old["suite"]["name"], old["suite"]["sha256"]) != (
        new["suite"]["name"],
        new["suite"]["sha256"],
    ):
        differing.append("suite")
    if differing:
        raise ValueError(
            f"{path} was made with other {', '.join(differing)}: resume with the same, "
            "or name another file"
        )


def _kernels(environment: dict[str, Any]) -> object:
    """What the bits of the logits depend on besides the model."""
    return (environment["pair"].get("probe") or {}).get("key")


def _progress(moment: Moment) -> str:
    if moment.done == moment.total:
        return f"[{moment.total}/{moment.total}] done"
    key = moment.key
    left = "" if moment.left_s is None else f", {_clock(moment.left_s)} left"
    repeat = f", repeat {key.repeat}" if key.repeat else ""
    return f"[{moment.done}/{moment.total}] {key.method} on {key.prompt_id}{repeat}{left}"


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S" if seconds >= 3600 else "%M:%S", time.gmtime(seconds))
