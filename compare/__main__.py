"""`python -m compare run | summary | verify | soak`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from compare import cli, cli_checks
from compare.naming import DEFAULT_METHODS
from ssd.commands import Parser, add_shared_options, run_command


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
    run.add_argument("--limit", type=_whole, metavar="N", help="only the first N prompts")
    run.add_argument("--repeats", type=_whole, default=1, metavar="R")
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

    soak = commands.add_parser("soak", help="compare many tokens over varied prompts and settings")
    soak.add_argument("--tokens", type=_whole, default=10_000, metavar="N")
    soak.add_argument("--out", type=Path, metavar="RUN.jsonl")
    add_shared_options(soak)
    soak.set_defaults(run=cli_checks.soak)
    return parser


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None


if __name__ == "__main__":
    sys.exit(main())
