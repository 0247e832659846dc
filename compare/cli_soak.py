"""The command `soak`: many tokens compared, or many runs of the lab with an eye on memory."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Any

from compare import suites
from compare.console import alone, check_out, check_varied, load, say, settings_from
from compare.environment import environment
from compare.job import Job, Limits, Setup
from compare.lab import Lab
from compare.methods import Bench
from compare.naming import DEFAULT_METHODS
from compare.record_file import Line, RecordWriter
from compare.settings import Settings
from compare.soak import Soak, SoakState, soak_prompts
from compare.soak_runs import ALLOWED_GROWTH, RunsState, soak_jobs, soak_runs, told_memory
from ssd import commands
from ssd.commands import EXIT_BUG, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK

_TOKENS = 10_000
_NOT_OF_A_JOB = ("chain", "stop", "system", "raw")
_SAMPLING = ("temperature", "top_k", "top_p", "repetition_penalty")


def soak(args: argparse.Namespace) -> int:
    """`compare soak`: the exit code. Raises ValueError for what it refuses."""
    for name, number in (("tokens", args.tokens), ("runs", args.runs)):
        if number is not None and number < 1:
            raise ValueError(f"--{name} must be 1 or more, got {number}")
    commands.check(args)
    settings = settings_from(args)
    check_varied(args, _SAMPLING, "soak varies the sampling itself")
    if args.runs is not None:
        check_varied(args, _NOT_OF_A_JOB, "a run of the lab has no such setting")
    if args.out is not None:
        check_out(args.out, may_exist=False)
    suite = suites.load_suite("quick", lambda progress: None)
    with alone():
        if args.runs is not None:
            return _soak_runs(args, settings, suite)
        return _soak_tokens(args, settings, suite)


def _soak_tokens(args: argparse.Namespace, settings: Settings, suite: suites.Suite) -> int:
    from compare.adjudicate import Adjudicator

    options = commands.options_from(args)
    pair = load(options)
    work = Soak(
        Bench(pair),
        Adjudicator.of(pair),
        pair.codec,
        settings,
        _header(args, settings, suite, pair),
    )
    append = _appender(args, work.environment)
    num_tokens = args.tokens or _TOKENS
    return _soaked(work.run(soak_prompts(suite.prompts), num_tokens, append), num_tokens)


def _header(
    args: argparse.Namespace, settings: Settings, suite: suites.Suite, pair: Any
) -> dict[str, Any]:
    told: dict[str, Any] = {name: {} for name in DEFAULT_METHODS}
    header = environment(pair, commands.options_from(args), settings, suite, told)
    return {**header, "suite": {**header["suite"], "name": "soak"}}


def _appender(args: argparse.Namespace, header: dict[str, Any]) -> Callable[[Line], None]:
    if args.out is None:
        return lambda line: None
    return RecordWriter.create(args.out, header).append


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
    return _code(state.bugs, state.failures) if code is None else code


def _soak_runs(args: argparse.Namespace, settings: Settings, suite: suites.Suite) -> int:
    from compare.engine import PairEngine

    options = commands.options_from(args)
    pair = load(options)
    append = _appender(args, _header(args, settings, suite, pair))
    lab = Lab(
        lambda setup, report: PairEngine(pair, options, Bench(pair)),
        DEFAULT_METHODS,
        Limits(
            max_new_tokens=settings.max_new_tokens,
            pairs=(options.pair,),
            time_budget_s=math.inf,
        ),
    )
    base = Job(
        prompt="",
        methods=DEFAULT_METHODS,
        max_new_tokens=settings.max_new_tokens,
        nodes=settings.nodes,
        setup=Setup(pair=options.pair),
    )
    jobs = soak_jobs(base, settings.seed, soak_prompts(suite.prompts))
    return _all_run(soak_runs(lab, jobs, args.runs, append), args.runs)


def _all_run(states: Iterator[RunsState], num_runs: int) -> int:
    """The exit code of a soak of runs, after words on its way and its end."""
    state = RunsState()
    try:
        for state in states:
            say(f"{state.runs} of {num_runs} runs, {told_memory(state.resident)}")
            for sentence in state.words:
                print(sentence)
    except KeyboardInterrupt:
        print(f"{state.runs} runs until it was stopped")
        return EXIT_INTERRUPTED
    print(f"{state.runs} runs: {state.bugs} bugs, {state.failures} failures")
    code = _code(state.bugs, state.failures)
    if state.growth is None:
        print("memory: not told, for it takes eight runs and a system that says so in /proc")
        return code
    print(f"memory: the last half's most is {state.growth / 2**20:+.0f} MB on the second quarter's")
    if state.growth > ALLOWED_GROWTH and code == EXIT_OK:
        print(f"failed: memory grew by more than {ALLOWED_GROWTH >> 20} MB")
        return EXIT_FAILED
    return code


def _code(num_bugs: int, num_failures: int) -> int:
    if num_bugs:
        return EXIT_BUG
    return EXIT_FAILED if num_failures else EXIT_OK
