"""The Katz table: discounts by hand, laws that sum to one, the table's look-up."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from ssd.ngram import KatzTable
from ssd.train.katz import Counts, Law, discounts, katz_table


def test_discounts_are_katz_own_by_hand() -> None:
    """n_1..n_6 = 100, 40, 20, 12, 8, 5: d_r from the formula, worked out with fractions."""
    counts = np.repeat([1, 2, 3, 4, 5, 6, 9], [100, 40, 20, 12, 8, 5, 7]).astype(np.int64)
    tail = 6 * 5 / 100
    expected = [1.0]
    for r, (n, following) in enumerate(((100, 40), (40, 20), (20, 12), (12, 8), (8, 5)), start=1):
        expected.append(((r + 1) * following / (r * n) - tail) / (1 - tail))
    assert expected[1] == pytest.approx((0.8 - 0.3) / 0.7)
    assert discounts(counts) == pytest.approx(expected)


def test_without_counts_of_counts_nothing_is_discounted() -> None:
    """Too little text for Good and Turing: counts are trusted."""
    assert discounts(np.array([7, 9, 12])).tolist() == [1.0] * 6
    assert discounts(np.zeros(0, dtype=np.int64)).tolist() == [1.0] * 6


def test_counts_do_not_reach_over_documents() -> None:
    """The last id of a text is not followed by the first of the next one."""
    bigrams = Counts.of([[1, 2, 3], [4, 5]], 2)
    pairs = zip(bigrams.contexts.tolist(), bigrams.last.tolist(), strict=True)
    assert set(pairs) == {(KatzTable.key([a]), b) for a, b in ((1, 2), (2, 3), (4, 5))}


def test_discounted_chances_leave_what_was_taken() -> None:
    """Per context P* sums to one less what the discounts freed, never to more."""
    rng = np.random.default_rng(0)
    text = rng.zipf(1.3, 5000) % 40
    bigrams = Counts.of([text.tolist()], 2)
    chances = bigrams.discounted()
    for context in np.unique(bigrams.contexts):
        here = bigrams.contexts == context
        assert 0 < chances[here].sum() <= 1 + 1e-12


LOWER = Law({1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1}, 0.0, None)


def test_backing_off_gives_a_law() -> None:
    """Seen ids keep P*, the others share what is left, and all of it sums to one."""
    law = Law.of({1: 0.5, 2: 0.2}, LOWER)
    assert law.chance(1) == 0.5 and law.chance(2) == 0.2
    assert law.chance(3) == pytest.approx(0.3 * 0.2 / 0.3)
    assert sum(law.chance(token) for token in range(1, 5)) == pytest.approx(1.0)
    assert law.chance(9) == 0.0


def test_the_shorter_context_knows_all_its_ids() -> None:
    """alpha counts every id that the longer context saw, however rare after the shorter one."""
    text = [[5, 1, 7, 5, 1, 8, *(token for other in range(20, 60) for token in (1, other))]]
    pairs = Law.of(dict.fromkeys((7, 8, *range(20, 60)), 1 / 42), None)
    law = Law.of({7: 0.3, 8: 0.3}, pairs)
    assert law.alpha == pytest.approx(0.4 / (1 - 2 / 42))
    table = katz_table(text)
    assert set(dict(table.guesses([5, 1]))) >= {7, 8}


def test_nothing_freed_means_nothing_backed_off() -> None:
    """A context whose every count is trusted guesses only what it saw."""
    law = Law.of({1: 0.6, 2: 0.4}, Law({3: 1.0}, 0.0, None))
    assert law.best(5) == [(1, 0.6), (2, 0.4), (3, 0.0)]


def test_the_best_are_those_of_the_whole_law() -> None:
    """Three orders deep, the lazy merge gives what sorting every chance gives."""
    rng = np.random.default_rng(1)
    one = rng.dirichlet(np.ones(30))
    singles = Law(dict(enumerate(one.tolist())), 0.0, None)
    pairs = Law.of({3: 0.2, 17: 0.3, 25: 0.1}, singles)
    law = Law.of({17: 0.1, 4: 0.25}, pairs)
    ranked = sorted(((law.chance(t), -t) for t in range(30)), reverse=True)
    assert law.best(30) == [(-token, pytest.approx(chance)) for chance, token in ranked]
    assert sum(chance for chance, _ in ranked) == pytest.approx(1.0)


def test_table_knows_pairs_then_single_ids() -> None:
    """A pair seen twice is looked up; an unknown pair falls back on its last id."""
    table = katz_table([[1, 2, 3, 1, 2, 3, 1, 2, 4], [9, 2, 3]])
    after_pair = dict(table.guesses([1, 2]))
    assert max(after_pair, key=lambda token: after_pair[token]) == 3
    assert set(after_pair) >= {3, 4}
    after_single = dict(table.guesses([77, 2]))
    assert after_single == dict(table.guesses([2]))
    assert after_single[3] == pytest.approx(3 / 4, abs=1e-3)
    assert table.guesses([77, 78]) == []
    assert table.guesses([]) == []


def test_keys_tell_all_contexts_apart() -> None:
    """No context of up to three ids has the key of another."""
    ids = (0, 1, 2, 255, 49151)
    contexts = [context for length in range(4) for context in product(ids, repeat=length)]
    assert len({KatzTable.key(context) for context in contexts}) == len(contexts)
    assert max(map(KatzTable.key, contexts)) < 1 << 63


def test_the_longest_known_end_speaks() -> None:
    """Each order by itself: three ids where they were seen twice, else two, else one."""
    table = katz_table(
        [[1, 2, 3, 4], [1, 2, 3, 4], [9, 2, 3, 5], [9, 2, 3, 5], [7, 3, 6], [8, 3, 6]]
    )
    assert table.guesses([0, 1, 2, 3])[0][0] == 4
    assert table.guesses([9, 2, 3])[0][0] == 5
    assert {token for token, _ in table.guesses([0, 2, 3])[:2]} == {4, 5}
    assert {token for token, _ in table.guesses([0, 0, 3])[:3]} == {4, 5, 6}
    short = katz_table([[1, 2, 3, 4], [1, 2, 3, 4]], longest=2)
    assert KatzTable.key([1, 2, 3]) not in short.keys and KatzTable.key([2, 3]) in short.keys


def test_a_table_gives_the_chances_of_counting_by_hand() -> None:
    """Random text of eight ids against sums over dictionaries, every context of up to three."""
    rng = np.random.default_rng(2)
    documents = [(rng.zipf(1.5, 60) % 8).tolist() for _ in range(30)]
    table = katz_table(documents, num_guesses=8)
    for length in (1, 2, 3):
        for context in product(range(8), repeat=length):
            found = dict(table.guesses(context))
            wanted = by_hand(documents, context)
            assert found == pytest.approx(wanted, abs=2e-3), context


def by_hand(documents: list[list[int]], context: tuple[int, ...]) -> dict[int, float]:
    """P(. | the longest end of `context` seen twice), by Katz's formulas, from plain counts."""
    if not context:
        flat = Counter(token for document in documents for token in document)
        return {token: count / flat.total() for token, count in flat.items()}
    grams = Counter(
        tuple(document[at : at + len(context) + 1])
        for document in documents
        for at in range(len(document) - len(context))
    )
    here = {gram[-1]: count for gram, count in grams.items() if gram[:-1] == context}
    total = sum(here.values())
    lower = by_hand(documents, context[1:])
    if total < 2:
        return lower if len(context) > 1 else {}
    factor = discounts(np.array(list(grams.values())))
    seen = {t: (factor[c] if c <= 5 else 1.0) * c / total for t, c in here.items()}
    freed = 1.0 - sum(seen.values())
    unseen = 1.0 - sum(lower.get(token, 0.0) for token in seen)
    rest = {t: freed / unseen * p for t, p in lower.items() if t not in seen and unseen > 1e-9}
    return {token: chance for token, chance in (seen | rest).items() if chance > 1e-6}
