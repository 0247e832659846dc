"""Recipes for a Katz table: what they count, and which is worth more."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssd.models.assets import read_draft
from ssd.models.transformer import Transformer
from ssd.train.body import Material
from ssd.train.corpus import Corpus
from ssd.train.distill import Trainer
from ssd.train.katz import katz_table
from ssd.train.ngram import Recipe, as_text, comparison, recipes, table, worth
from tests.training import SETTINGS, corpus, target, write_target


@pytest.fixture
def draft(tmp_path: Path) -> Transformer:
    """A trained tiny draft."""
    material = Material(write_target(tmp_path / "target"), corpus())
    Trainer(material, SETTINGS, tmp_path / "draft").run(lambda line: None)
    return read_draft(tmp_path / "draft", target())[0]


def test_worth_by_hand() -> None:
    """Four places: the table's first guess is right at two of them, its others at one more."""
    found = katz_table([[1, 2, 3, 1, 2, 3, 1, 2, 4]])
    documents = [([9, 1, 2, 3, 1, 2, 4], 3)]
    choices = [[3, 1, 2, 3]]
    result = worth(found, documents, choices)
    assert result.draft1 == 1.0 and result.draft4 == 1.0
    assert result.target1 == 0.75 and result.target4 == 1.0
    assert result.contexts == len(found.keys)


def test_a_table_of_the_draft_s_text(draft: Transformer) -> None:
    """It guesses what the draft guesses: three above the last id."""
    found = table(draft, _long(), Recipe(1.0, False, 2_000, 0), lambda line: None)
    hits = [dict(found.guesses([id_])).get((id_ + 3) % 40, 0.0) for id_ in range(40)]
    assert sum(hits) / 40 > 0.2, "by luck 1 in 40"


def test_recipes_are_compared_on_held_out_text(draft: Transformer) -> None:
    """One line a recipe, a cooler draft's text is worth more to guess its greedy choices."""
    found = comparison(draft, _long().split(), recipes(20_000, 0), lambda line: None)
    assert [recipe.name for recipe, _ in found][:2] == ["T = 1.5", "T = 1"]
    hot, cool, *with_corpus = (worth for _, worth in found)
    assert cool.draft1 >= hot.draft1 > 0.1
    assert min(worth.draft1 for worth in with_corpus) > 0.8, "the corpus says it all"
    lines = as_text(found).splitlines()
    assert len(lines) == 5 and f"{cool.draft1:.1%}" in lines[2]


def _long() -> Corpus:
    """Documents long enough to begin from."""
    ids = [[(start + 3 * n) % 40 for n in range(60)] for start in range(40)]
    return Corpus.of([(document, 4) for document in ids], 61)
