"""`python -m ssd.train`: a draft and an N-gram for a target, in steps that go on after a kill.

corpus, draft and ngram make them; teach gives draft softer lessons; calibrate, measure and card say
what they are worth; head makes its passes cheaper; export hands it to transformers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from ssd.commands import Parser, run_command
from ssd.models.assets import ASSETS
from ssd.train import steps
from ssd.train.answers import AnswerSettings
from ssd.train.distill import Settings
from ssd.train.teach import TeachSettings

Add = Callable[[argparse.ArgumentParser], None]


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, 2 for a refusal, 4 where the model fails, 130 for Ctrl-C."""
    parser = Parser(prog="ssd.train", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True)
    for name, (add, run) in _COMMANDS.items():
        words = (run.__doc__ or "").strip().splitlines()[0]
        command = subparsers.add_parser(name, help=words, description=words)
        add(command)
    args = parser.parse_args(arguments)
    return run_command(lambda: _COMMANDS[args.command][1](args))


def _whole(text: str) -> int:
    try:
        value = int(float(text))
    except (ValueError, OverflowError):
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, got {text!r}")
    return value


def _layers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers like 0,1,28,29, got {text!r}") from None


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 31:
        raise argparse.ArgumentTypeError(f"expected a whole number below 2^31, got {text!r}")
    return int(text)


def _target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--target", metavar="FOLDER|NAME", help="a folder or a name on the Hub; else the embedded"
    )


def _corpus_in(command: argparse.ArgumentParser) -> None:
    _target(command)
    command.add_argument("--corpus", type=Path, required=True, help=".npz of documents")


def _corpus(command: argparse.ArgumentParser) -> None:
    _target(command)
    known = AnswerSettings()
    command.add_argument("--out", type=Path, required=True, metavar="FILE.npz")
    command.add_argument("--documents", type=_whole, default=known.num_documents)
    command.add_argument("--prompts", type=Path, help='JSON lines of {"text": ...}; else built in')
    command.add_argument("--answer-ids", type=_whole, default=known.num_ids, metavar="N")
    command.add_argument("--rows", type=_whole, default=known.num_rows, help="documents at a time")
    command.add_argument("--seed", type=_seed, default=known.seed)


def _teach(command: argparse.ArgumentParser) -> None:
    _corpus_in(command)
    command.add_argument("--out", type=Path, required=True, help="the folder of lessons")
    command.add_argument("--documents", type=_whole, help="the first so many only")
    command.add_argument("--kept", type=_whole, default=TeachSettings.num_kept, metavar="N")


def _draft(command: argparse.ArgumentParser) -> None:
    _corpus_in(command)
    known = Settings()
    command.add_argument("--out", type=Path, required=True, help="the draft's folder")
    command.add_argument("--teaching", type=Path, help="a folder of `teach`")
    command.add_argument("--start", type=Path, help="a draft to go on from")
    command.add_argument("--tokens", type=_whole, default=known.num_tokens, help="ids to learn")
    command.add_argument("--minutes", type=float, help="at most; the learning rate follows")
    command.add_argument("--layers", type=_layers, default=None, metavar="A,B,...")
    command.add_argument("--ids", type=_whole, default=known.num_ids, help="rows of the head")
    command.add_argument("--batch", type=_whole, default=known.batch_tokens, help="ids a step")
    command.add_argument("--lr", type=float, default=known.lr)
    command.add_argument("--decay", type=float, default=known.decay_share, help="share of the run")
    command.add_argument("--seed", type=_seed, default=known.seed)


def _ngram(command: argparse.ArgumentParser) -> None:
    _corpus_in(command)
    command.add_argument("--out", type=Path, default=ASSETS, help="the draft's folder")
    command.add_argument("--tokens", type=_whole, default=250_000, help="ids that it writes")
    command.add_argument(
        "--temperature", type=float, default=1.5, help="at which it writes; the shipped one: 1"
    )
    command.add_argument("--with-corpus", action="store_true", help="count the target's text too")
    command.add_argument(
        "--compare", action="store_true", help="measure recipes against each other, store no table"
    )
    command.add_argument("--seed", type=_seed, default=0)


def _calibrate(command: argparse.ArgumentParser) -> None:
    _corpus_in(command)
    command.add_argument("--out", type=Path, default=ASSETS, help="the draft's folder")
    command.add_argument("--documents", type=_whole, default=60)


def _quantise(command: argparse.ArgumentParser) -> None:
    _corpus_in(command)
    command.add_argument("--out", type=Path, default=ASSETS, help="the draft's folder, rewritten")
    command.add_argument("--documents", type=_whole, default=300)


def _measure(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, default=ASSETS, help="the draft's folder")
    command.add_argument("--model-dir", type=Path, metavar="DIR", help="the target's folder")
    command.add_argument("--answers", type=Path, required=True, help="a record of `compare run`")
    command.add_argument("--name", default="HumanEval", help="what the answers are answers to")
    command.add_argument("--corpus", type=Path, help=".npz: agreement on its held-out chat, too")
    command.add_argument("--documents", type=_whole, default=40)
    command.add_argument("--write", action="store_true", help="keep the figures in the card")


def _agreement(command: argparse.ArgumentParser) -> None:
    _corpus_in(command)
    command.add_argument("--documents", type=_whole, default=30, help="held-out ones")
    command.add_argument("--out", type=Path, default=ASSETS, help="the folder of agreement.json")


def _head(command: argparse.ArgumentParser) -> None:
    command.add_argument("--draft", type=Path, default=ASSETS, help="the draft's folder")
    command.add_argument("--corpus", type=Path, required=True, help=".npz: what is frequent")
    command.add_argument("--ids", type=_whole, required=True, help="how many stay")
    command.add_argument("--out", type=Path, required=True, help="a new folder")


def _export(command: argparse.ArgumentParser) -> None:
    _target(command)
    command.add_argument("--draft", type=Path, default=ASSETS, help="the draft's folder")
    command.add_argument("--out", type=Path, required=True, help="a new folder")


def _candidates(command: argparse.ArgumentParser) -> None:
    command.add_argument("records", nargs="+", metavar="NAME=RUN.jsonl")
    command.add_argument("--how", required=True, help="in words: on what, with which options")
    command.add_argument("--out", type=Path, default=ASSETS, help="the draft's folder")


def _card(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, default=ASSETS, help="the draft's folder")


_COMMANDS: dict[str, tuple[Add, Callable[[argparse.Namespace], int]]] = {
    "corpus": (_corpus, steps.corpus),
    "teach": (_teach, steps.teach),
    "draft": (_draft, steps.draft),
    "ngram": (_ngram, steps.ngram),
    "calibrate": (_calibrate, steps.calibrate),
    "quantise": (_quantise, steps.quantise),
    "measure": (_measure, steps.measure),
    "agreement": (_agreement, steps.agreement),
    "head": (_head, steps.head),
    "export": (_export, steps.export),
    "candidates": (_candidates, steps.candidates),
    "card": (_card, steps.card),
}


if __name__ == "__main__":
    sys.exit(main())
