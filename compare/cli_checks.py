"""The commands `verify` and `soak`: is what the lab says true?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from compare import suites
from compare import verify as checks
from compare.console import alone, check_out, check_varied, load, say, settings_from
from compare.environment import environment, options_from_json
from compare.methods import Bench
from compare.naming import DEFAULT_METHODS
from compare.record_file import RecordReader, RecordWriter
from compare.records import RunKey
from compare.soak import Soak, SoakState, soak_prompts
from ssd import commands
from ssd.commands import EXIT_BUG, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK


def verify(args: argparse.Namespace) -> int:
    """`compare verify`: the exit code. Raises ValueError for a file it cannot read."""
    reader = RecordReader(args.file, say)
    header = reader.environment()
    digests, findings = checks.read_again(reader, header)
    claims, bugs = checks.claims(digests), list(findings.bugs)
    if args.replay or claims:
        bugs += _verify_with_model(args, header, claims)
    for method, counts in findings.verdicts.items():
        print(f"{method}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    for sentence in (*bugs, *findings.failures):
        print(sentence)
    if bugs:
        return EXIT_BUG
    return EXIT_FAILED if findings.failures else EXIT_OK


def _verify_with_model(
    args: argparse.Namespace, header: dict[str, Any], claims: list[RunKey]
) -> Iterator[str]:
    from compare.adjudicate import Adjudicator

    model_dir = args.model_dir or header["options"]["model_dir"]
    options = options_from_json({**header["options"], "model_dir": model_dir})
    reader = RecordReader(args.file)
    with alone():
        pair = load(options)
        here, there = pair.description, header["pair"]
        if here["weights"]["target"] != there["weights"]["target"]:
            raise ValueError(
                f"{args.file} was made with another target model: give its folder with --model-dir"
            )
        tools = checks.Tools(
            Bench(pair),
            Adjudicator.of(pair),
            has_same_bits=here["probe"]["key"] == there["probe"]["key"],
        )
        yield from checks.judged_again(reader, claims, header, tools)
        if args.replay:
            for key, difference in checks.decoded_again(reader, header, tools):
                say(f"decoded again: {key.method} on {key.prompt_id}, repeat {key.repeat}")
                if difference is not None:
                    yield difference


def soak(args: argparse.Namespace) -> int:
    """`compare soak`: the exit code. Raises ValueError for what it refuses."""
    if args.tokens < 1:
        raise ValueError(f"--tokens must be 1 or more, got {args.tokens}")
    commands.check(args)
    settings = settings_from(args)
    sampling = ("temperature", "top_k", "top_p", "repetition_penalty")
    check_varied(args, sampling, "soak varies the sampling itself")
    if args.out is not None:
        check_out(args.out, may_exist=False)
    options, suite = commands.options_from(args), suites.load_suite("quick", lambda progress: None)
    with alone():
        from compare.adjudicate import Adjudicator

        pair = load(options)
        told: dict[str, Any] = {name: {} for name in DEFAULT_METHODS}
        header = environment(pair, options, settings, suite, told)
        header["suite"] = {**header["suite"], "name": "soak"}
        writer = None if args.out is None else RecordWriter.create(args.out, header)
        work = Soak(Bench(pair), Adjudicator.of(pair), pair.codec, settings, header)
        append = (lambda line: None) if writer is None else writer.append
        return _soaked(work.run(soak_prompts(suite.prompts), args.tokens, append), args.tokens)


def _soaked(states: Iterator[SoakState], num_tokens: int) -> int:
    """The exit code of a soak, after words on its way and its end."""
    state, code = SoakState(), None
    try:
        for state in states:
            say(f"{state.tokens} of {num_tokens} tokens, {state.differing} differing ids")
            for sentence in state.words:
                print(sentence)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    end = "compared" if code is None else "compared until it was stopped"
    print(f"{state.tokens} tokens of {state.runs} prompts {end}: {state.differing} differing ids")
    if code is not None:
        return code
    if state.bugs:
        return EXIT_BUG
    return EXIT_FAILED if state.failures else EXIT_OK
