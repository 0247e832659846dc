"""`python -m compare run | summary | verify | fidelity | diff | report | bench | ablate | soak`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from compare import cli, cli_bench, cli_checks, cli_files, cli_soak
from compare.naming import DEFAULT_METHODS
from ssd.commands import Parser, add_shared_options, run_command, whole


def main(arguments: list[str] | None = None) -> int:
    """The exit code (DESIGN 8): 0, 2 refused, 3 a BUG, 4 a method failed, 130 Ctrl-C."""
    args = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = args.run
    return run_command(lambda: command(args))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="compare", description="Compare decoders of one model.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)

    run = commands.add_parser("run", help="run methods on a suite and record it")
    run.add_argument("--out", type=Path, required=True, metavar="RUN.jsonl")
    run.add_argument("--methods", default=",".join(DEFAULT_METHODS), metavar="a,b,c")
    run.add_argument(
        "--suite", default="quick", help="quick, humaneval, humaneval-raw or FILE.jsonl"
    )
    run.add_argument("--limit", type=whole, metavar="N", help="only the first N prompts")
    run.add_argument("--repeats", type=whole, default=1, metavar="R")
    run.add_argument("--resume", action="store_true", help="go on with an existing output")
    run.add_argument("--details", action="store_true", help="record each round's candidates too")
    add_shared_options(run)
    run.set_defaults(run=cli.run)

    summary = commands.add_parser("summary", help="the metrics of a record file")
    summary.add_argument("file", type=Path, metavar="RUN.jsonl")
    summary.add_argument("--json", action="store_true")
    summary.add_argument("--by", choices=("category", "prompt"), help="instead of the main table")
    summary.set_defaults(run=cli.summary)

    verify = commands.add_parser("verify", help="derive the verdicts of a record file again")
    verify.add_argument("file", type=Path, metavar="RUN.jsonl")
    verify.add_argument("--replay", action="store_true", help="decode every run again")
    verify.add_argument("--model-dir", type=Path, metavar="DIR")
    verify.set_defaults(run=cli_checks.verify)

    fidelity = commands.add_parser(
        "fidelity", help="how near the precision of a record file stays to the published weights"
    )
    fidelity.add_argument("file", type=Path, metavar="RUN.jsonl")
    fidelity.add_argument("--model-dir", type=Path, metavar="DIR")
    fidelity.add_argument("--json", action="store_true")
    fidelity.set_defaults(run=cli_checks.fidelity)

    diff = commands.add_parser("diff", help="two record files side by side")
    diff.add_argument("first", type=Path, metavar="A.jsonl")
    diff.add_argument("second", type=Path, metavar="B.jsonl")
    diff.add_argument("--json", action="store_true")
    diff.set_defaults(run=cli_files.diff)

    report = commands.add_parser("report", help="a record file as one HTML page, CSV beside it")
    report.add_argument("file", type=Path, metavar="RUN.jsonl")
    report.add_argument("--out", type=Path, required=True, metavar="report.html")
    report.add_argument("--language", choices=("en", "zh-CN"), default="en")
    report.set_defaults(run=cli_files.report)

    soak = commands.add_parser("soak", help="many tokens or runs over varied prompts and settings")
    how_many = soak.add_mutually_exclusive_group()
    how_many.add_argument("--tokens", type=whole, metavar="N", help="default 10000")
    how_many.add_argument("--runs", type=whole, metavar="N", help="runs of the lab; memory too")
    soak.add_argument("--out", type=Path, metavar="RUN.jsonl")
    add_shared_options(soak)
    soak.set_defaults(run=cli_soak.soak)
    _add_benches(commands)
    return parser


def _add_benches(commands: argparse._SubParsersAction[Parser]) -> None:
    bench = commands.add_parser("bench", help="ratios of one interleaved run, greedy and sampled")
    bench.add_argument("--paper", action="store_true", help="the paper's tables, with this pair")
    bench.add_argument("--suite", help="default: quick, with --paper humaneval")
    bench.add_argument("--chains", metavar="1,2,3", help="chain lengths to try, default 1 to 8")
    bench.add_argument("--also", default="", metavar="a,b", help="more methods in the same run")
    bench.add_argument("--out", type=Path, default=Path("bench.jsonl"), metavar="RUN.jsonl")
    bench.set_defaults(run=cli_bench.bench)

    ablate = commands.add_parser("ablate", help="tree size x depth x second stage x temperature")
    ablate.add_argument("--suite", default="quick")
    ablate.add_argument("--sizes", metavar="4,12,auto", help="nodes a round, default 4,12,24")
    ablate.add_argument("--depths", metavar="3,10,auto", help="default 3,10")
    ablate.add_argument("--sources", metavar="none,katz,match,both", help="default: all of them")
    ablate.add_argument("--temperatures", default="0,1", metavar="0,1")
    ablate.add_argument("--out", type=Path, default=Path("ablate.jsonl"), metavar="RUN.jsonl")
    ablate.set_defaults(run=cli_bench.ablate)

    for command in (bench, ablate):
        command.add_argument("--limit", type=whole, metavar="N", help="only the first N prompts")
        command.add_argument("--repeats", type=whole, default=1, metavar="R")
        command.add_argument("--resume", action="store_true", help="go on with existing outputs")
        add_shared_options(command)


if __name__ == "__main__":
    sys.exit(main())
