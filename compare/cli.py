"""The commands `run` and `summary`: what they check, print and return."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from compare import suites
from compare.conduct import Done, Part, conduct, conduct_all, exit_code
from compare.console import check_counts, check_out, say, settings_from
from compare.digest import Digests
from compare.metrics import summary as metrics
from compare.naming import check_methods
from compare.record_file import RecordReader
from compare.table import table, tables_by
from ssd import commands
from ssd.commands import EXIT_OK

if TYPE_CHECKING:
    from compare.methods import Bench
    from compare.record_file import RecordWriter
    from compare.run import Plan


def run(args: argparse.Namespace) -> int:
    """`compare run`: the exit code. Raises ValueError for what it refuses."""
    check_counts(args)
    methods = check_methods([name for name in args.methods.split(",") if name])
    commands.check(args)
    check_out(args.out, may_exist=args.resume)
    report = commands.progress_line()
    suite = suites.limited(suites.load_suite(args.suite, report), args.limit)
    options, settings = commands.options_from(args), settings_from(args)
    part = Part(args.out, suite, methods, settings, args.repeats, args.details)
    return _told(conduct_all([part], options, may_resume=args.resume)[0])


def execute(plan: Plan, bench: Bench, writer: RecordWriter, path: Path) -> int:
    """The exit code of a plan, run with `bench` into `writer`'s file at `path`."""
    return _told(conduct(plan, bench, writer, path))


def _told(done: Done) -> int:
    print(table(metrics(done.environment, done.digests)))
    return exit_code(done)


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
