"""`python -m ssd generate`: one decoder answers one prompt."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from ssd import commands
from ssd.commands import EXIT_OK, Parser, run_command

METHODS = "autoregressive, speculative, staged, tree, lookup, replay or speculative-rejection"


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, 2 for a refusal, 4 where the model fails, 130 for Ctrl-C."""
    parser = Parser(prog="ssd", description="Staged speculative decoding.")
    subparsers = parser.add_subparsers(dest="command", required=True)
    generate = subparsers.add_parser("generate", help="answer one prompt", description=__doc__)
    source = generate.add_mutually_exclusive_group(required=True)
    source.add_argument("--prompt", metavar="TEXT")
    source.add_argument("--prompt-file", metavar="FILE", help="- is standard input")
    generate.add_argument("--method", default="staged", metavar="M", help=METHODS)
    generate.add_argument("--json", action="store_true", help="print one JSON object at the end")
    commands.add_shared_options(generate)
    args = parser.parse_args(arguments)
    return run_command(lambda: _generate(args))


def _generate(args: argparse.Namespace) -> int:
    commands.check(args)
    text = _prompt(args)
    from ssd.events import Finish, Prefill, Step, collect
    from ssd.lanes import METHODS, events
    from ssd.models.load import load_pair
    from ssd.stop import VisibleText
    from ssd.text import check_prompt

    check_prompt(text)
    if args.method not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}, got {args.method!r}")
    options, guessing = commands.options_from(args), commands.guessing_from(args)
    pair = load_pair(options, commands.progress_line())
    request = commands.request_from(args, pair, text)
    answer: tuple[int, ...] = ()
    if args.method == "replay":
        answer = collect(events(pair, "autoregressive", request, guessing)).tokens
    visible = VisibleText(pair.codec.stream(), pair.codec.stop_ids, args.stop)
    pieces: list[str] = []
    told = []
    for event in events(pair, args.method, request, guessing, answer=answer):
        told.append(event)
        match event:
            case Prefill():
                continue
            case Step():
                pieces.append(visible.push(event.tokens))
            case Finish():
                pieces.append(visible.flush())
        if not args.json:
            print(pieces[-1], end="", flush=True)
    result = collect(told)
    if not args.json:
        print()
        return EXIT_OK
    seconds = {"prefill": result.prefill_seconds, **asdict(result.seconds)}
    print(
        json.dumps(
            {
                "method": args.method,
                "prompt_ids": list(request.prompt),
                "token_ids": list(result.tokens),
                "text": "".join(pieces),
                "finish_reason": result.finish_reason,
                "target_passes": result.target_passes,
                "draft_passes": result.draft_passes,
                "seconds": seconds,
            }
        )
    )
    return EXIT_OK


def _prompt(args: argparse.Namespace) -> str:
    if args.prompt_file is None:
        return str(args.prompt)
    try:
        if args.prompt_file == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(args.prompt_file).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"--prompt-file must be a readable UTF-8 text file, got {args.prompt_file} ({error})"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
