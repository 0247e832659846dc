"""The commands `run` and `summary`: what they check, print and return."""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

from compare import suites
from compare.console import alone, check_out, load, say, settings_from
from compare.digest import Digests
from compare.environment import environment
from compare.methods import Bench
from compare.metrics import summary as metrics
from compare.naming import check_methods
from compare.record_file import RecordReader, RecordWriter
from compare.run import Moment, Output, Plan, Runner, problems
from compare.table import table, tables_by
from compare.verify import find
from ssd import commands
from ssd.commands import EXIT_BUG, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK

_MUST_MATCH = ("options", "settings", "methods")
_PAIR_MUST_MATCH = ("pair", "device", "hardware", "threads", "precision", "numerics", "weights")


def run(args: argparse.Namespace) -> int:
    """`compare run`: the exit code. Raises ValueError for what it refuses."""
    for name in ("limit", "repeats"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise ValueError(f"--{name} must be 1 or more, got {value}")
    methods = check_methods([name for name in args.methods.split(",") if name])
    commands.check(args)
    is_new = check_out(args.out, may_exist=args.resume)
    report = commands.progress_line()
    suite = suites.limited(suites.load_suite(args.suite, report), args.limit)
    options, settings = commands.options_from(args), settings_from(args)
    old = None if is_new else _held(args.out)
    with alone():
        pair = load(options)
        bench = Bench(pair)
        told = {name: bench.settings_of(name) for name in methods}
        header = environment(pair, options, settings, suite, told)
        if old is not None:
            _check_same(args.out, old, header)
            writer = RecordWriter.resume(args.out, RecordReader(args.out).whole_bytes())
        else:
            writer = RecordWriter.create(args.out, header)
        plan = Plan(suite, methods, settings, args.repeats, header, args.details)
        return execute(plan, bench, writer, args.out)


def _held(path: Path) -> dict[str, Any]:
    """The environment of a file to go on with, every line of which is found good."""
    reader = RecordReader(path, say)
    for _ in reader.lines():
        continue
    return RecordReader(path).environment()


def execute(plan: Plan, bench: Bench, writer: RecordWriter, path: Path) -> int:
    """The exit code of a plan, run with `bench` into `writer`'s file at `path`."""
    from compare.adjudicate import Adjudicator

    reader = RecordReader(path)
    output = Output(writer.append, partial(find, reader))
    runner = Runner(plan, bench, Adjudicator.of(bench.pair), bench.pair.codec, output)
    code = None
    try:
        for line in reader.lines():
            runner.digests.add(line)
        say("warming up")
        runner.warm_up()
        for moment in runner.run():
            say(_progress(moment))
    except KeyboardInterrupt:
        say("stopped; what is there:")
        code = EXIT_INTERRUPTED
    finally:
        writer.close()
    print(table(metrics(plan.environment, runner.digests)))
    return _outcome(plan.environment, runner.digests) if code is None else code


def summary(args: argparse.Namespace) -> int:
    """`compare summary`: the exit code. Raises ValueError for a file it cannot read."""
    reader = RecordReader(args.file, say)
    header = reader.environment()
    data = metrics(header, Digests.of(RecordReader(args.file, say).lines()))
    if args.json:
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        print(table(data) if args.by is None else tables_by(data, args.by))
    return EXIT_OK


def _check_same(path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raises ValueError where a file to go on with was made in another way."""
    differing = [name for name in _MUST_MATCH if old.get(name) != json.loads(json.dumps(new[name]))]
    differing += [n for n in _PAIR_MUST_MATCH if old["pair"].get(n) != new["pair"].get(n)]
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


def _outcome(header: dict[str, Any], digests: Digests) -> int:
    """The exit code, after a sentence on each problem."""
    bugs, failures = problems(header, digests)
    for sentence in (*bugs, *failures):
        say(sentence)
    if bugs:
        return EXIT_BUG
    return EXIT_FAILED if failures else EXIT_OK


def _progress(moment: Moment) -> str:
    if moment.done == moment.total:
        return f"[{moment.total}/{moment.total}] done"
    key = moment.key
    left = "" if moment.left_s is None else f", {_clock(moment.left_s)} left"
    repeat = f", repeat {key.repeat}" if key.repeat else ""
    return f"[{moment.done}/{moment.total}] {key.method} on {key.prompt_id}{repeat}{left}"


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S" if seconds >= 3600 else "%M:%S", time.gmtime(seconds))
