"""The card of a draft and its N-gram as a page, from `draft.json`: no figure is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ssd.models.assets import read_card

_PAGE = "README.md"

_HEAD = """# The draft and the N-gram

A small Llama that guesses what the target will say, and a Katz-backoff trigram that guesses what
the draft will say. This page is made from `draft.json` by `python -m ssd.train card`.

* Licence: Apache-2.0. Derived from SmolLM2-135M-Instruct (Apache-2.0, Hugging Face TB), whose
  embedding the draft borrows and whose text it learned from.
* `draft-*.safetensors`: the draft's blocks, its last norm and `head_ids`, the ids that it may
  propose. A weight in 4 bits is two tensors, `.codes`, two in a byte, and `.scales`, a scale and an
  offset for each 32 of a row (`ssd/models/int4.py`); the rest is bfloat16. The embedding is the
  target's and not stored, nor is the head where it is not in 4 bits: rows of the target's head.
* `katz.npz`: `keys`, `tokens`, `probabilities` (see `ssd/ngram.py`).
* `draft.json`: all settings and figures, and the calibration (see `ssd/models/assets.py`).
* Nothing was trained, calibrated or tuned on HumanEval or on the suites of this repository.
"""


def write_page(folder: Path) -> Path:
    """The page, written into `folder` from the card there."""
    path = folder / _PAGE
    path.write_text(page(read_card(folder)), encoding="utf-8")
    return path


def page(card: Mapping[str, Any]) -> str:
    """The page of a card, in Markdown."""
    parts = [_HEAD, _shape(card), _training(card["training"])]
    if "ngram" in card:
        parts.append(_ngram(card["ngram"]))
    if "recipes" in card:
        parts.append(_recipes(card["recipes"]))
    if "figures" in card:
        parts.append(_figures(card["figures"]))
    if "calibration" in card:
        parts.append(_calibration(card["calibration"]))
    if "ngram_calibration" in card:
        parts.append(_ngram_calibration(card["ngram_calibration"]))
    if "candidates" in card:
        parts.append(_runs("Candidates", "candidate", card["candidates"]))
    if "decoding" in card:
        parts.append(_runs("Decoding", "run", card["decoding"]))
    return "\n".join(parts)


def _shape(card: Mapping[str, Any]) -> str:
    rows = [
        ("layers", card["num_layers"]),
        ("width", card["width"]),
        ("context", card["context_length"]),
        ("ids of the target", card["vocab_size"]),
        ("first guess right, greedy, expected on new text", card["hope"]),
        ("the same at temperature 1", card.get("noisy_hope")),
        ("the same where the N-gram leaves room, greedy", card.get("helped_hope")),
        ("and at temperature 1", card.get("helped_noisy_hope")),
    ]
    if "head" in card:
        rows.insert(
            4, ("ids that it may propose", f"{card['head']['ids']} of {card['head']['of']}")
        )
    if "quantised" in card:
        found = card["quantised"]
        words = f"{found['bits']}, rounded by GPTQ on {found['documents']} documents of the corpus"
        rows.insert(-4, ("bits of a weight", words))
    return _section("The draft", _table(("", ""), rows))


def _training(training: Mapping[str, Any]) -> str:
    """One table a run: a draft may have gone on from another."""
    runs: list[Mapping[str, Any]] = []
    run: Mapping[str, Any] | None = training
    while run is not None:
        runs.insert(0, run)
        run = run["start"]
    text = []
    for number, run in enumerate(runs, start=1):
        rows = [(name, run[name]) for name in ("target", "corpus", "documents", "answer_ids")]
        rows.append(("documents with lessons", run["lessons"]))
        rows += [(name, value) for name, value in run["settings"].items() if value is not None]
        rows += [(f"held out: {name}", value) for name, value in run["held_out"].items()]
        text.append(f"Run {number}.\n\n{_table(('', ''), rows)}")
    return _section("Training", "\n".join(text))


def _ngram(ngram: Mapping[str, Any]) -> str:
    return _section("The N-gram", _table(("", ""), list(ngram.items())))


def _recipes(recipes: Sequence[Mapping[str, Any]]) -> str:
    words = (
        "The table's first guess, and one of its four, on held-out answers: how often the draft's "
        "greedy choice, how often the target's id; the mean log chance of the draft's choice. By "
        "`python -m ssd.train ngram --compare`.\n\n"
    )
    names = list(recipes[0])
    rows = [[recipe[name] for name in names] for recipe in recipes]
    return _section("What the N-gram counts", words + _table(names, rows))


def _figures(figures: Mapping[str, Any]) -> str:
    rows = [(name, value) for name, value in _flat("", figures)]
    words = (
        "Measured by `python -m ssd.train measure` through the engine; agreement "
        "is teacher-forced.\n\n"
    )
    return _section("Figures", words + _table(("figure", "value"), rows))


def _flat(prefix: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        found = []
        for name, inner in value.items():
            found += _flat(f"{prefix} {name.replace('_', ' ')}".strip(), inner)
        return found
    return [(prefix, value)]


def _calibration(tables: Sequence[Mapping[str, Any]]) -> str:
    text = []
    for table in tables:
        head = ("share", *(f"rank {rank}" for rank in range(1, len(table["chances"]) + 1)))
        rows = [
            (words, *(row[bucket] for row in table["chances"]))
            for bucket, words in enumerate(_buckets(table["edges"]))
        ]
        text.append(f"Temperature {table['temperature']:g}:\n\n{_table(head, rows)}")
    return _section("How often a guess is right, by its share", "\n".join(text))


def _ngram_calibration(tables: Sequence[Mapping[str, Any]]) -> str:
    text = [
        "An N-gram gives the same chance at places that only look alike to it; under noise it "
        "matters at how many of them the target is sure.\n"
    ]
    head = ("the N-gram says", "the target, on average", "lower quarter", "upper quarter")
    for table in tables:
        rows = [
            (words, *(round(each, 3) for each in _spread(law)))
            for words, law in zip(_buckets(table["edges"]), table["laws"], strict=True)
        ]
        text.append(f"Temperature {table['temperature']:g}:\n\n{_table(head, rows)}")
    return _section("What the N-gram's chances are worth", "\n".join(text))


def _buckets(edges: Sequence[float]) -> list[str]:
    """The buckets between 0, `edges` and 1, in words."""
    return [f"{low:g} to {high:g}" for low, high in pairwise((0.0, *edges, 1.0))]


def _spread(law: Sequence[float]) -> tuple[float, float, float]:
    """The mean of rising quantiles, and the greatest of their lower and the least of their upper
    quarter."""
    quarter = len(law) // 4
    return sum(law) / len(law), law[max(quarter - 1, 0)], law[-max(quarter, 1)]


def _runs(title: str, first: str, runs: Mapping[str, Any]) -> str:
    """What runs of the decoders came to: how they were made, and a row for each."""
    names = (first, *runs["columns"])
    rows = [tuple(row.get(name) for name in names) for row in runs["rows"]]
    head = tuple(name.replace("_", " ") for name in names)
    return _section(title, f"{runs['how']}\n\n{_table(head, rows)}")


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [_line([_cell(value) for value in row]) for row in rows]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    if isinstance(value, float | int | str) or value is None:
        return "-" if value is None else str(value)
    return json.dumps(value)
