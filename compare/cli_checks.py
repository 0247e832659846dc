"""The commands `verify` and `fidelity`: is what a record file says true?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compare import verify as checks
from compare.console import alone, load, say
from compare.environment import options_from_json
from compare.fidelity import Fidelity, of_records
from compare.methods import Bench
from compare.record_file import RecordReader
from compare.records import RunKey
from ssd.commands import EXIT_BUG, EXIT_FAILED, EXIT_OK
from ssd.models.download import ModelUnavailable

if TYPE_CHECKING:
    from ssd.models.load import LoadedPair


def verify(args: argparse.Namespace) -> int:
    """`compare verify`: the exit code. Raises ValueError for a file it cannot read."""
    reader = RecordReader(args.file, say)
    header = reader.environment()
    digests, findings = checks.read_again(reader, header)
    claims, has_bugs = checks.claims(digests), bool(findings.bugs)
    for method, counts in findings.verdicts.items():
        print(f"{method}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    for sentence in (*findings.bugs, *findings.failures):
        print(sentence)
    if args.replay or claims:
        try:
            for sentence in _verify_with_model(args, header, claims):
                has_bugs = True
                print(sentence)
        except (ValueError, ModelUnavailable) as refusal:  # what was found without it stands
            if not has_bugs:
                raise
            say(f"not decoded again: {refusal}")
    if has_bugs:
        return EXIT_BUG
    return EXIT_FAILED if findings.failures else EXIT_OK


def _verify_with_model(
    args: argparse.Namespace, header: dict[str, Any], claims: list[RunKey]
) -> Iterator[str]:
    from compare.adjudicate import Adjudicator

    reader = RecordReader(args.file)
    with alone():
        pair = _same_pair(args, header)
        tools = checks.Tools(
            Bench(pair),
            Adjudicator.of(pair),
            has_same_bits=pair.description["probe"]["key"] == header["pair"]["probe"]["key"],
        )
        yield from checks.judged_again(reader, claims, header, tools)
        if args.replay:
            for key, difference in checks.decoded_again(reader, header, tools):
                say(f"decoded again: {key.method} on {key.prompt_id}, repeat {key.repeat}")
                if difference is not None:
                    yield difference


def _same_pair(args: argparse.Namespace, header: dict[str, Any]) -> LoadedPair:
    """The pair that the file's runs had. Raises ValueError where its target is another here.

    Its draft too, where the folder is there: it may guess otherwise, and decides no text.
    """
    try:
        options = options_from_json(header["options"])
        made_with = header["pair"]["weights"]["target"], header["pair"]["probe"]["key"]
        _ = header["settings"], header["is_exact"]
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{args.file} does not say with which model it was made ({error}), so nothing can be "
            "decoded again"
        ) from error
    if args.model_dir is not None:
        options = replace(options, model_dir=args.model_dir)
    if options.draft is not None and not options.draft.is_dir():
        options = replace(options, draft=None)
    pair = load(options)
    if pair.description["weights"]["target"] != made_with[0]:
        raise ValueError(
            f"{args.file} was made with another target model: give its folder with --model-dir"
        )
    return pair


def fidelity(args: argparse.Namespace) -> int:
    """`compare fidelity`: the exit code. Raises ValueError for a file it cannot read."""
    import torch

    from compare.adjudicate import Float64, replayed_rows

    reader, total = RecordReader(args.file, say), Fidelity()
    header = reader.environment()
    ours = checks.our_runs(reader, header)
    with alone():
        pair = _same_pair(args, header)
        reference = Float64(pair, torch.float32)
        for found in of_records(ours, lambda run: replayed_rows(pair.target, run), reference):
            total += found
            say(f"{total.tokens} tokens, {total.agreeing} with the same choice")
    figures = total.to_json()
    if args.json:
        print(json.dumps(figures))
    else:
        print(
            f"{header['pair']['precision']} against the published weights in float64, on "
            f"{figures['tokens']} tokens of the answers: the same choice on "
            f"{figures['agreement']:.2%}, perplexity {figures['perplexity']:.3f} against "
            f"{figures['reference_perplexity']:.3f}"
        )
    return EXIT_OK
