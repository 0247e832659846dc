"""The steps of training, as the command line runs them: what they read, print and return."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor

from ssd.commands import EXIT_OK, progress_line
from ssd.models.assets import read_draft, read_katz, update_card, write_katz
from ssd.models.checkpoint import read_checkpoint
from ssd.models.families import fingerprint
from ssd.models.packed import packed
from ssd.models.precision import AGREEMENT
from ssd.models.transformer import Transformer
from ssd.text import TextCodec
from ssd.train import calibrate as calibration
from ssd.train import candidates as drafts
from ssd.train import card as cards
from ssd.train import export as exports
from ssd.train import head as heads
from ssd.train import measure as figures
from ssd.train import ngram as ngrams
from ssd.train import quantise as rounding
from ssd.train import teach as lessons
from ssd.train.agreement import agreements
from ssd.train.answers import AnswerSettings, Cycle, Prompts, Writer, write_answers
from ssd.train.body import Material
from ssd.train.corpus import Corpus
from ssd.train.distill import Settings, Trainer
from ssd.train.ngram_calibration import Named, left_to_the_draft, ngram_tables
from ssd.train.prompts import Generator, read_prompts
from ssd.train.second_stage import second_stage
from ssd.train.target import target_folder, target_model

_TEMPERATURES = (0.0, 0.7, 1.0)
# On prompts unlike the corpus, none of them of a suite, a chain's first guess was accepted three
# quarters as often as held-out text of the corpus says.
_NEW_TEXT = 0.75


def corpus(args: argparse.Namespace) -> int:
    """write text with the target: the answers to many prompts"""
    if args.out.suffix != ".npz":
        raise ValueError(f"--out must end in .npz, got {args.out}")
    prompts: Prompts = Generator(args.seed)
    if args.prompts is not None:
        prompts = Cycle(tuple(read_prompts(args.prompts)))
    folder = target_folder(args.target, progress_line())
    settings = AnswerSettings(
        num_documents=args.documents,
        num_ids=args.answer_ids,
        num_rows=args.rows,
        seed=args.seed,
    )
    model = target_model(folder)
    writer = Writer(packed(model), TextCodec.load(folder), prompts, settings)
    facts = {
        "target": folder.name,
        "weights": fingerprint(model.weights),
        "prompts": "built in" if args.prompts is None else args.prompts.name,
    }
    found = write_answers(writer, args.out, facts, _say)
    print(f"{args.out}: {len(found.length)} documents, {found.num_answer_ids} ids of answers")
    return EXIT_OK


def teach(args: argparse.Namespace) -> int:
    """keep the target's law at every place of a corpus, as lessons for a draft"""
    found = Corpus.load(args.corpus)
    settings = lessons.TeachSettings(num_kept=args.kept, num_documents=args.documents)
    lessons.teach(target_folder(args.target, progress_line()), found, args.out, settings, _say)
    print(f"{args.out}: lessons on {lessons.Teaching(args.out).num_taught} documents")
    return EXIT_OK


def draft(args: argparse.Namespace) -> int:
    """distil a draft from text that the target wrote"""
    found = Corpus.load(args.corpus)
    if args.minutes is not None and not (math.isfinite(args.minutes) and args.minutes > 0):
        raise ValueError(f"--minutes must be a number above 0, got {args.minutes}")
    for name, value in (("--lr", args.lr), ("--decay", args.decay)):
        if not 0 < value <= 1:
            raise ValueError(f"{name} must lie above 0 and at most at 1, got {value}")
    if args.start is not None and args.layers is not None:
        raise ValueError("--layers and --start cannot be given together: the start has its layers")
    material = Material(
        target=target_folder(args.target, progress_line()),
        corpus=found,
        teaching=None if args.teaching is None else lessons.Teaching(args.teaching),
        start=args.start,
    )
    settings = Settings(
        layers=args.layers or _first_and_last(material.target),
        num_ids=args.ids,
        num_tokens=args.tokens,
        minutes=args.minutes,
        batch_tokens=args.batch,
        lr=args.lr,
        decay_share=args.decay,
        seed=args.seed,
    )
    Trainer(material, settings, args.out).run(_say)
    return EXIT_OK


def _first_and_last(target: Path) -> tuple[int, ...]:
    """The two first and the two last layers of a target."""
    count = int(read_checkpoint(target).config.get("num_hidden_layers", 0))
    return tuple(sorted({0, 1, count - 2, count - 1} & set(range(count))))


def ngram(args: argparse.Namespace) -> int:
    """build the Katz table from text that the draft writes"""
    if not (math.isfinite(args.temperature) and args.temperature > 0):
        raise ValueError(f"--temperature must be a number above 0, got {args.temperature}")
    corpus = Corpus.load(args.corpus)
    training, held_out = corpus.split()
    small = packed(_models(args)[1])
    if args.compare:
        recipes = ngrams.recipes(args.tokens, args.seed)
        found = ngrams.comparison(small, (training, held_out), recipes, _say)
        print(ngrams.as_text(found))
        update_card(args.out, {"recipes": [{"recipe": r.name, **asdict(w)} for r, w in found]})
        return EXIT_OK
    recipe = ngrams.Recipe(args.temperature, args.with_corpus, args.tokens, args.seed)
    table = ngrams.table(small, training, recipe, _say)
    write_katz(args.out, table)
    facts = {
        **asdict(recipe),
        "corpus": corpus.digest,
        "contexts": len(table.keys),
    }
    update_card(args.out, {"ngram": facts})
    print(f"{args.out}: {len(table.keys)} contexts")
    return EXIT_OK


def calibrate(args: argparse.Namespace) -> int:
    """measure how far to trust the draft and the N-gram, on text held out from training"""
    documents = list(Corpus.load(args.corpus).split()[1].documents())
    target, small = _models(args)
    few = documents[:: max(1, len(documents) // args.documents)]
    places = calibration.Places.of(target, small, few)
    hits = calibration.noisy_hits(places)
    noisy = float(hits.mean())
    named = Named.of(few, read_katz(args.out))
    sampled = [each for each in _TEMPERATURES if each > 0]
    made = replace(
        calibration.calibration(places, _TEMPERATURES), ngram=ngram_tables(places, named, sampled)
    )
    helped = left_to_the_draft(places, named, made, hits)
    found = {
        "agreement": round(places.agreement, 3),
        "noisy_agreement": round(noisy, 3),
        "hope": round(_NEW_TEXT * places.agreement, 3),
        "noisy_hope": round(_NEW_TEXT * noisy, 3),
        "helped_hope": round(_NEW_TEXT * helped.greedy, 3),
        "helped_noisy_hope": round(_NEW_TEXT * helped.noisy, 3),
        **made.as_json(),
    }
    update_card(args.out, found)
    match_hits = [round(hit, 3) for hit in calibration.match_hits(documents)]
    print(json.dumps({**found, "match_hits": match_hits}))
    return EXIT_OK


def quantise(args: argparse.Namespace) -> int:
    """round a draft's weights to 4 bits by what it reads, so that its guesses stay"""
    documents = list(Corpus.load(args.corpus).split()[0].documents())
    few = documents[:: max(1, len(documents) // args.documents)]
    target, head = _target_and_head(args)
    rounding.quantise(args.out, target, head, few, _say)
    return EXIT_OK


def measure(args: argparse.Namespace) -> int:
    """measure the draft through the engine: agreement, cost of a pass, time of the N-gram"""
    from ssd.models.load import Options, load_pair

    answers = figures.read_answers(args.answers)
    held_out = None if args.corpus is None else Corpus.load(args.corpus).split()[1]
    pair = load_pair(Options(draft=args.out, model_dir=args.model_dir), progress_line())
    found = {args.name: asdict(figures.agreement(pair.draft, answers))}
    if held_out is not None:
        documents = figures.chat_documents(held_out, pair.codec)
        for name, some in documents.items():
            few = some[:: max(1, len(some) // args.documents)]
            places = calibration.Places.of(pair.target, pair.draft, few)
            found[f"held-out {name}"] = {
                "top1": round(places.agreement, 4),
                "ids": len(places.position),
                "documents": len(few),
            }
    found["pass"] = figures.pass_costs(pair.target, pair.draft, pair.clock)
    found["ngram"] = {"proposal_us": figures.proposal_microseconds(pair.katz, answers, pair.clock)}
    head = read_checkpoint(pair.folder).tensors.get("lm_head.weight")
    small = packed(read_draft(args.out, pair.target, head)[0])
    exact = small.with_numerics(pair.target.numerics)
    found["second stage"] = second_stage(exact, pair.katz, answers)
    found["on"] = {"hardware": pair.description["hardware"], "threads": torch.get_num_threads()}
    print(json.dumps(found, indent=1))
    if args.write:
        update_card(args.out, {"figures": found})
    return EXIT_OK


def agreement(args: argparse.Namespace) -> int:
    """measure how often each precision of the target chooses as the published weights do"""
    checkpoint = read_checkpoint(target_folder(args.target, progress_line()))
    held_out = list(Corpus.load(args.corpus).split()[1].documents())
    few = held_out[:: max(1, len(held_out) // args.documents)]
    path = args.out / AGREEMENT
    known = json.loads(path.read_text()) if path.is_file() else {}
    found = agreements(checkpoint, ("bf16", "int8", "int4"), few, _say)
    path.write_text(json.dumps(known | found, indent=1) + "\n")
    return EXIT_OK


def head(args: argparse.Namespace) -> int:
    """write a draft with a smaller head into a folder of its own"""
    share = heads.cut_head(args.draft, Corpus.load(args.corpus), args.ids, args.out)
    print(f"{args.out}: {args.ids} ids, {share:.2%} of the held-out answers")
    return EXIT_OK


def export(args: argparse.Namespace) -> int:
    """write the draft as a folder that transformers loads"""
    exports.export(args.draft, target_folder(args.target, progress_line()), args.out)
    print(args.out)
    return EXIT_OK


def candidates(args: argparse.Namespace) -> int:
    """keep a table of drafts by tokens per second, from their records, in the card"""
    rows = []
    for given in args.records:
        name, _, path = given.partition("=")
        if not name or not path:
            raise ValueError(f"expected records as NAME=RUN.jsonl, got {given!r}")
        rows += drafts.rows(name, Path(path))
    update_card(
        args.out, {"candidates": {"how": args.how, "columns": list(drafts.COLUMNS), "rows": rows}}
    )
    print(json.dumps(rows, indent=1))
    return EXIT_OK


def card(args: argparse.Namespace) -> int:
    """write the draft's card as a page"""
    print(cards.write_page(args.out))
    return EXIT_OK


def _models(args: argparse.Namespace) -> tuple[Transformer, Transformer]:
    """The target, and the draft in the folder of the options."""
    target, head = _target_and_head(args)
    return target, read_draft(args.out, target, head)[0]


def _target_and_head(args: argparse.Namespace) -> tuple[Transformer, Tensor | None]:
    """The target, and its head where that is not the embedding."""
    folder = target_folder(args.target, progress_line())
    return target_model(folder), read_checkpoint(folder).tensors.get("lm_head.weight")


def _say(line: str) -> None:
    print(line, flush=True)
