"""`python -m ssd.train draft | ngram | calibrate`: a draft and an N-gram for a target."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch

from ssd.commands import EXIT_OK, Parser, progress_line, run_command
from ssd.models.assets import ASSETS, read_draft, read_draft_tensors, update_card, write_katz
from ssd.models.checkpoint import read_checkpoint
from ssd.models.families import transformer
from ssd.models.fetch import default_cache, embedded_target
from ssd.models.transformer import Transformer
from ssd.train import calibrate
from ssd.train.distill import Corpus, Settings, Trainer
from ssd.train.katz import katz_table
from ssd.train.write import WriteSettings, write_text

_START = 40  # ids of a prompt that the draft goes on from
_DOCUMENTS = 24
# On prompts unlike the corpus, none of them of a suite, a chain's first guess was accepted three
# quarters as often as held-out text of the corpus says.
_NEW_TEXT = 0.75


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, 2 for a refusal, 130 for Ctrl-C."""
    parser = Parser(prog="ssd.train", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True)
    for name, words in (
        ("draft", "distil a draft from text that the target wrote"),
        ("ngram", "build the Katz table from text that the draft writes"),
        ("calibrate", "measure agreement and how far to trust the draft's scores"),
    ):
        command = subparsers.add_parser(name, help=words, description=words)
        command.add_argument("--corpus", type=Path, required=True, help=".npz of documents")
        command.add_argument("--target", type=Path, help="a model folder; default: the embedded")
        command.add_argument("--out", type=Path, default=ASSETS, help="the draft's folder")
        command.add_argument("--tokens", type=float, default=Settings.num_tokens)
        command.add_argument("--temperature", type=float, default=WriteSettings.temperature)
        if name == "ngram":
            command.add_argument(
                "--with-corpus", action="store_true", help="count the target's own text too"
            )
    args = parser.parse_args(arguments)
    run = {"draft": _draft, "ngram": _ngram, "calibrate": _calibrate}[args.command]
    return run_command(lambda: run(args))


def _target(args: argparse.Namespace) -> Path:
    if args.target is not None:
        return Path(args.target)
    return embedded_target(default_cache(), progress_line())


def _corpus(args: argparse.Namespace) -> Corpus:
    if not args.corpus.is_file():
        raise ValueError(f"--corpus must be an .npz file of documents, got {args.corpus}")
    return Corpus.load(args.corpus)


def _draft(args: argparse.Namespace) -> int:
    settings = Settings(num_tokens=int(args.tokens))
    Trainer(_target(args), _corpus(args), settings, args.out).run(
        lambda line: print(line, flush=True)
    )
    return EXIT_OK


def _ngram(args: argparse.Namespace) -> int:
    training, _ = _corpus(args).split()
    starts = [ids[:_START] for ids, _ in training.documents() if len(ids) >= _START]
    settings = WriteSettings(temperature=args.temperature, num_tokens=int(args.tokens))
    body, head = read_draft_tensors(args.out, _target(args))
    documents = write_text(
        body, head, starts, settings, lambda done, total: print(f"written {done} of {total} ids")
    )
    if args.with_corpus:
        documents += [ids[num_prompt:] for ids, num_prompt in training.documents()]
    table = katz_table(documents)
    write_katz(args.out, table)
    print(f"{len(table.keys)} contexts")
    return EXIT_OK


def _calibrate(args: argparse.Namespace) -> int:
    target, draft = _models(args)
    _, held_out = _corpus(args).split()
    documents = list(held_out.documents())
    few = documents[:: max(1, len(documents) // _DOCUMENTS)]
    agreement = calibrate.agreement(target, draft, few)
    noisy = calibrate.noisy_figures(target, draft, few)
    hits = calibrate.match_hits(documents)
    figures = {
        "agreement": round(agreement, 3),
        "noisy_agreement": round(noisy.agreement, 3),
        "hope": round(_NEW_TEXT * agreement, 3),
        "noisy_hope": round(_NEW_TEXT * noisy.agreement, 3),
        "sharpness": noisy.sharpness,
    }
    update_card(args.out, figures)
    print(json.dumps({**figures, "match_hits": np.round(hits, 3).tolist()}))
    return EXIT_OK


def _models(args: argparse.Namespace) -> tuple[Transformer, Transformer]:
    checkpoint = read_checkpoint(_target(args))
    device = torch.device("cpu")
    target = transformer(checkpoint.config, checkpoint.tensors, torch.bfloat16, device)
    return target, read_draft(args.out, target)[0]


if __name__ == "__main__":
    sys.exit(main())
