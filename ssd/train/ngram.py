"""The Katz table of a draft: its recipe, and recipes against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ssd.models.transformer import Transformer
from ssd.ngram import LONGEST_CONTEXT, KatzTable
from ssd.train.calibrate import document_rows
from ssd.train.corpus import Corpus
from ssd.train.katz import katz_table
from ssd.train.write import Task, WriteSettings, write

_START = 40  # ids of a document that the draft goes on from
_LENGTH = 192  # ids that it writes
_NUM_ROWS = 96
_DOCUMENTS = 30
_LEAST = 1e-4

Report = Callable[[str], None]


@dataclass(frozen=True)
class Recipe:
    """What a table counts: text that the draft writes at `temperature`, `num_tokens` ids of it,
    and, where `with_corpus`, what the target wrote too."""

    temperature: float = 1.5
    with_corpus: bool = False
    num_tokens: int = 250_000
    seed: int = 0

    @property
    def name(self) -> str:
        """The recipe in words."""
        return f"T = {self.temperature:g}{', and the corpus' if self.with_corpus else ''}"


def recipes(num_tokens: int, seed: int) -> tuple[Recipe, ...]:
    """The paper's recipe (T = 1.5), a cooler one, and each with the target's text."""
    return tuple(
        Recipe(temperature, with_corpus, num_tokens, seed)
        for with_corpus in (False, True)
        for temperature in (1.5, 1.0)
    )


def table(draft: Transformer, training: Corpus, recipe: Recipe, report: Report) -> KatzTable:
    """The table of a recipe."""
    return _table(_written(draft, training, recipe, report), training, recipe)


def _table(written: Sequence[Sequence[int]], training: Corpus, recipe: Recipe) -> KatzTable:
    documents = list(written)
    if recipe.with_corpus:
        documents += [ids[num_prompt:] for ids, num_prompt in training.documents()]
    return katz_table(documents)


def _written(
    draft: Transformer, training: Corpus, recipe: Recipe, report: Report
) -> list[tuple[int, ...]]:
    """What the draft writes after beginnings of the training text, those left out."""
    starts = [ids[:_START] for ids, _ in training.documents() if len(ids) >= _START]
    count = -(-recipe.num_tokens // _LENGTH)
    chosen = np.random.default_rng(recipe.seed).integers(len(starts), size=count)
    tasks = [Task(n, tuple(starts[i]), recipe.temperature) for n, i in enumerate(chosen)]
    settings = WriteSettings(
        num_ids=_LENGTH, length=_START + _LENGTH, top_k=None, num_rows=_NUM_ROWS, seed=recipe.seed
    )
    found: dict[int, tuple[int, ...]] = {}
    for written in write(draft, tasks, settings):
        found[written.number] = written.ids[written.num_prompt :]
        if len(found) % _NUM_ROWS == 0:
            report(f"{recipe.name}: {len(found) * _LENGTH} of {recipe.num_tokens} ids")
    return [found[number] for number in sorted(found)]


@dataclass(frozen=True)
class Worth:
    """A table on held-out answers: how often its first guess, and one of its four, is the draft's
    greedy choice (`draft1`, `draft4`) and the target's id (`target1`, `target4`); the mean log
    chance that it gives to the draft's choice, in nats; how many contexts it has."""

    draft1: float
    draft4: float
    target1: float
    target4: float
    log_chance: float
    contexts: int


def worth(
    found: KatzTable, documents: Sequence[tuple[list[int], int]], choices: Sequence[Sequence[int]]
) -> Worth:
    """The worth of a table on `documents`, where the draft would choose `choices` after each id."""
    hits, total, nats = np.zeros(4), 0, 0.0
    for (ids, num_prompt), chosen in zip(documents, choices, strict=True):
        for position in range(num_prompt, len(ids)):
            guesses = found.guesses(ids[max(0, position - LONGEST_CONTEXT) : position])
            tokens, choice = [token for token, _ in guesses], chosen[position - num_prompt]
            for at, wanted in ((0, choice), (2, ids[position])):
                hits[at] += tokens[:1] == [wanted]
                hits[at + 1] += wanted in tokens
            nats += float(np.log(max(dict(guesses).get(choice, 0.0), _LEAST)))
            total += 1
    draft1, draft4, target1, target4 = (round(float(share), 4) for share in hits / total)
    return Worth(draft1, draft4, target1, target4, round(nats / total, 3), len(found.keys))


def comparison(
    draft: Transformer, split: tuple[Corpus, Corpus], options: Sequence[Recipe], report: Report
) -> list[tuple[Recipe, Worth]]:
    """The worth of each recipe on held-out answers. `split`: training and held out."""
    training, held_out = split
    documents = list(held_out.documents())
    documents = documents[:: max(1, len(documents) // _DOCUMENTS)]
    choices = [_choices(draft, ids, num_prompt) for ids, num_prompt in documents]
    written: dict[float, list[tuple[int, ...]]] = {}
    found = []
    for recipe in options:
        if recipe.temperature not in written:
            written[recipe.temperature] = _written(draft, training, recipe, report)
        counted = _table(written[recipe.temperature], training, recipe)
        found.append((recipe, worth(counted, documents, choices)))
    return found


def as_text(found: Sequence[tuple[Recipe, Worth]]) -> str:
    """A comparison in lines."""
    head = ("recipe", "draft 1st", "1 of 4", "target 1st", "1 of 4", "nats", "contexts")
    lines = [f"{head[0]:26}" + "".join(f"{word:>11}" for word in head[1:])]
    for recipe, w in found:
        shares = "".join(f"{share:11.1%}" for share in (w.draft1, w.draft4, w.target1, w.target4))
        lines.append(f"{recipe.name:26}{shares}{w.log_chance:11.2f}{w.contexts:11d}")
    return "\n".join(lines)


def _choices(draft: Transformer, ids: list[int], num_prompt: int) -> list[int]:
    columns = document_rows(draft, ids)[num_prompt - 1 : -1].argmax(1)
    chosen: list[int] = draft.ids_of(columns).tolist()
    return chosen
