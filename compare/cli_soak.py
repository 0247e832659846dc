"""The command `soak`: many tokens compared, or many runs of the lab with an eye on memory."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from compare import suites
from compare.console import alone, check_out, check_varied, load, say, settings_from
from compare.environment import environment
from compare.job import Job, Limits, Setup
from compare.lab import Lab
from compare.methods import Bench
from compare.naming import DEFAULT_METHODS
from compare.record_file import RecordWriter
from compare.settings import Settings
from compare.soak import Soak, SoakState, soak_prompts
from compare.soak_runs import ALLOWED_GROWTH, RunsState, soak_jobs, soak_runs, told_memory
from ssd import commands
from ssd.commands import EXIT_BUG, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK

if TYPE_CHECKING:
    from ssd.models.load import LoadedPair, Options

State = TypeVar("State", SoakState, RunsState)

_TOKENS = 10_000
_NOT_OF_A_JOB = ("chain", "stop", "system", "raw")
_SAMPLING = ("temperature", "top_k", "top_p", "repetition_penalty")


def soak(args: argparse.Namespace) -> int:
    """`compare soak`: the exit code. Raises ValueError for what it refuses."""
    for name, number in (("tokens", args.tokens), ("runs", args.runs)):
        if number is not None and number < 1:
            raise ValueError(f"--{name} must be 1 or more, got {number}")
    commands.check(args)
    commands.guessing_from(args)  # which refuses sizes out of their range
    settings = settings_from(args)
    check_varied(args, _SAMPLING, "soak varies the sampling itself")
    if args.runs is not None:
        check_varied(args, _NOT_OF_A_JOB, "a run of the lab has no such setting")
    if args.out is not None:
        check_out(args.out, may_exist=False)
    options, suite = commands.options_from(args), suites.load_suite("quick", lambda progress: None)
    with alone():
        pair = load(options)
        told: dict[str, Any] = {name: {} for name in DEFAULT_METHODS}
        header = environment(pair, options, settings, suite, told)
        header["suite"] = {**header["suite"], "name": "soak"}
        writer = None if args.out is None else RecordWriter.create(args.out, header)
        append = (lambda line: None) if writer is None else writer.append
        prompts = soak_prompts(suite.prompts)
        if args.runs is not None:
            lab, base = _lab(pair, options, settings)
            jobs = soak_jobs(base, settings, prompts)
            return _all_run(soak_runs(lab, jobs, args.runs, append), args.runs)
        from compare.adjudicate import Adjudicator

        work = Soak(Bench(pair), Adjudicator.of(pair), pair.codec, settings, header)
        num_tokens = args.tokens or _TOKENS
        return _soaked(work.run(prompts, num_tokens, append), num_tokens)


def _lab(pair: LoadedPair, options: Options, settings: Settings) -> tuple[Lab, Job]:
    """A lab on the loaded pair, and the job that its runs vary."""
    from compare.engine import PairEngine

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
    return lab, base


def _soaked(states: Iterator[SoakState], num_tokens: int) -> int:
    """The exit code of a soak, after words on its way and its end."""
    state, is_stopped = _last(
        states,
        SoakState(),
        lambda now: f"{now.tokens} of {num_tokens} tokens, {now.differing} differing ids",
    )
    end = "compared until it was stopped" if is_stopped else "compared"
    print(f"{state.tokens} tokens of {state.runs} prompts {end}: {state.differing} differing ids")
    return EXIT_INTERRUPTED if is_stopped else _code(state)


def _all_run(states: Iterator[RunsState], num_runs: int) -> int:
    """The exit code of a soak of runs, after words on its way and its end."""
    state, is_stopped = _last(
        states,
        RunsState(),
        lambda now: f"{now.runs} of {num_runs} runs, {told_memory(now.resident)}",
    )
    if is_stopped:
        print(f"{state.runs} runs until it was stopped")
        return EXIT_INTERRUPTED
    print(f"{state.runs} runs: {state.bugs} bugs, {state.failures} failures")
    if state.growth is None:
        print("memory: not told, for it takes eight runs and a system that says so in /proc")
        return _code(state)
    print(f"memory: the last half's most is {state.growth / 2**20:+.0f} MB on the second quarter's")
    if state.growth > ALLOWED_GROWTH and _code(state) == EXIT_OK:
        print(f"failed: memory grew by more than {ALLOWED_GROWTH >> 20} MB")
        return EXIT_FAILED
    return _code(state)


def _last(
    states: Iterator[State], first: State, told: Callable[[State], str]
) -> tuple[State, bool]:
    """The last of `states`, each told on the way, and whether Ctrl-C ended them."""
    state = first
    try:
        for state in states:
            say(told(state))
            for sentence in state.words:
                print(sentence)
    except KeyboardInterrupt:
        return state, True
    return state, False


def _code(state: SoakState | RunsState) -> int:
    if state.bugs:
        return EXIT_BUG
    return EXIT_FAILED if state.failures else EXIT_OK
