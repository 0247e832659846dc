"""What an N-gram's chances are worth under noise: laws, their mean, and what is left to a draft."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ssd import noise
from ssd.calibration import Calibration, NGramTable, wins
from ssd.ngram import KatzTable
from ssd.train.calibrate import EDGES, Document, Places, noisy_hits
from ssd.train.katz import katz_table
from ssd.train.ngram_calibration import Named, left_to_the_draft, ngram_tables
from tests.tiny import tiny_llama, with_draft
from tests.training import corpus, target

TABLE = NGramTable(1.0, (0.5,), ((0.0, 0.1), (0.2, 0.7, 1.0)))


@pytest.mark.parametrize(("chance", "law"), [(0.49, (0.0, 0.1)), (0.5, (0.2, 0.7, 1.0))])
def test_a_law_wins_as_often_as_its_chances_do_on_average(
    chance: float, law: tuple[float, ...]
) -> None:
    """To half a cell of the noise, in which no chance moves by more than 1 / e times its width."""
    for uniform in (1e-16, 1e-6, 0.01, 0.2, 0.5, 0.9, 0.999, 1 - 2.0**-53):
        expected = sum(wins(each, uniform) for each in law) / len(law)
        assert TABLE.given(chance, uniform) == pytest.approx(expected, abs=0.012)


def test_who_is_sure_wins_and_who_has_no_chance_loses() -> None:
    assert wins(1.0, 1e-9) == 1.0
    assert wins(0.0, 1 - 1e-9) == 0.0
    assert wins(0.5, 0.3) == pytest.approx(0.3)


def test_the_nearest_temperature_speaks_and_without_tables_the_ngram_itself() -> None:
    cool = NGramTable(0.5, (), ((1.0,),))
    both = Calibration(ngram=(cool, NGramTable(1.0, (), ((0.0,),))))
    assert both.given_noise(0.6, 0.3, 0.2) == 1.0
    assert both.given_noise(3.0, 0.3, 0.2) == 0.0
    assert Calibration().given_noise(1.0, 0.3, 0.2) == wins(0.3, 0.2)


def test_a_table_has_a_law_for_every_bucket() -> None:
    with pytest.raises(ValueError, match=r"must have 2 laws, got \[1\]"):
        NGramTable(1.0, (0.5,), ((0.5,),))
    with pytest.raises(ValueError, match=r"must have 1 laws, got \[0\]"):
        NGramTable(1.0, (), ((),))


DOCUMENTS = list(corpus(150).documents())


def made(table: KatzTable | None) -> tuple[Places, Named]:
    """A tiny target with a shaken draft, and what an N-gram names on the same text."""
    places = Places.of(target(), with_draft(tiny_llama(3), 0.15).model(torch.float32), DOCUMENTS)
    return places, Named.of(DOCUMENTS, table)


def of_the_text() -> KatzTable:
    """A table that knows the text well, and the target, which did not write it, not at all."""
    return katz_table([ids for ids, _ in DOCUMENTS])


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_chances_under_noise_are_how_often_ids_settle(temperature: float) -> None:
    """Against the target's choices under the same noise, in sum: within 5 standard deviations, 1e-6
    by luck, and a hundredth an id, for quantiles leave out the rarest of a bucket's chances.
    """
    places, named = made(of_the_text())
    calibration = Calibration(ngram=ngram_tables(places, named, (0.7, 1.0)))
    _, choices = places.perturbed(temperature)
    keys = zip(
        places.document[named.places].tolist(),
        places.position[named.places].tolist(),
        named.ids.tolist(),
        strict=True,
    )
    uniforms = [noise.uniform_of(*key) for key in keys]
    pairs = list(zip(named.chances.tolist(), uniforms, strict=True))
    given = np.array([calibration.given_noise(temperature, *pair) for pair in pairs])
    bare = np.array([wins(*pair) for pair in pairs])
    is_right = choices[named.places] == named.ids
    spread = np.sqrt((given * (1 - given)).sum())
    assert abs(given.sum() - is_right.sum()) < 5 * spread + 0.01 * len(given)
    assert bare.sum() > 3 * is_right.sum(), "taken at its word the N-gram is far too sure"


def test_laws_are_the_targets_own_chances() -> None:
    """By hand: softmax over its 50 likeliest ids, quantiles by bucket."""
    places, named = made(of_the_text())
    (table,) = ngram_tables(places, named, (1.0,))
    bucket = int(np.searchsorted(EDGES, named.chances[0], side="right"))
    own = []
    for place, token, chance in zip(named.places, named.ids, named.chances, strict=True):
        if np.searchsorted(EDGES, chance, side="right") == bucket:
            row = np.exp(places.best[place].astype(np.float64))
            own.append(float((row / row.sum())[places.best_ids[place] == token].sum()))
    assert len(own) >= 32
    levels = (np.arange(16) + 0.5) / 16
    assert table.laws[bucket] == pytest.approx(np.quantile(own, levels), abs=1e-4)


def test_a_bucket_of_few_ids_takes_the_ngram_at_its_word() -> None:
    places, named = made(None)
    few = Named(np.arange(3), np.arange(3), np.full(3, 0.55), named.num_places)
    (table,) = ngram_tables(places, few, (1.0,))
    assert table.laws[EDGES.index(0.5) + 1] == (0.55,)


def test_what_is_left_to_the_draft_weighs_its_hits() -> None:
    """All of it where nothing is named; nothing where the N-gram is sure."""
    places, _ = made(None)
    hits = noisy_hits(places)
    nothing = np.zeros(0, dtype=np.int64)
    silent = Named(nothing, nothing, np.zeros(0), len(hits))
    left = left_to_the_draft(places, silent, Calibration(), hits)
    assert (left.greedy, left.noisy) == pytest.approx((places.agreement, hits.mean()))
    where = np.flatnonzero(places.hits)
    sure = Named(where, places.greedy_ids[where], np.ones(len(where)), len(hits))
    assert left_to_the_draft(places, sure, Calibration(), hits).greedy == 0.0


def test_every_place_of_an_answer_is_asked() -> None:
    """Named ids come from the documents' own contexts: a text of period 4 is foreseen."""
    documents: list[Document] = [([1, 2, 3, 4] * 8, 8), ([5] * 6, 3)]
    named = Named.of(documents, None)
    assert named.num_places == 24 + 3
    at = np.flatnonzero(named.places == 20)
    assert named.ids[at][0] == 1 and named.chances[at][0] > 0.5
    assert named.left(named.chances)[20] < 0.5


def test_a_digest_tells_calibrations_apart() -> None:
    """Of the same tables it is the same, also once they have been through a card."""
    whole = Calibration(ngram=(TABLE,))
    assert whole.digest == Calibration.of(whole.as_json()).digest
    assert len({whole.digest, Calibration().digest}) == 2
