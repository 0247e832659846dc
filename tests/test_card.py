"""The card's page: every figure of the card, none typed by hand."""

from __future__ import annotations

from pathlib import Path

from ssd.models.assets import ASSETS, read_card, write_draft
from ssd.train.card import page, write_page

RUN = {
    "target": "T", "corpus": "c0ffee", "documents": 3, "answer_ids": 77, "lessons": 0,
    "start": None, "settings": {"lr": 0.125, "minutes": None}, "held_out": {"top1": 0.4321},
}  # fmt: skip
CARD = {
    "num_layers": 4, "width": 576, "context_length": 8192, "vocab_size": 49152, "hope": 0.55,
    "training": {**RUN, "start": {**RUN, "corpus": "beef"}, "answer_ids": 99},
    "ngram": {"temperature": 1.5}, "quantised": {"bits": 4, "documents": 17},
    "recipes": [{"recipe": "T = 2", "draft1": 0.3456}],
    "figures": {"HumanEval": {"steady_top1": 0.6789}},
    "calibration": [{"temperature": 0.0, "edges": [0.5], "chances": [[0.125, 0.875]]}],
    "helped_noisy_hope": 0.2468,
    "ngram_calibration": [{"temperature": 0.7, "edges": [], "laws": [[0.0, 0.1, 0.2, 0.9]]}],
    "candidates": {"how": "Measured so.", "columns": ["tokens_per_second"],
                   "rows": [{"candidate": "old", "tokens_per_second": 61.5}]},
}  # fmt: skip


def test_the_page_has_every_figure() -> None:
    """Of both runs, the first one first, the N-gram, the calibration, the candidates."""
    text = page(CARD)
    for words in (
        "| lr | 0.125 |", "| held out: top1 | 0.4321 |", "| answer_ids | 77 |", "Apache-2.0",
        "| temperature | 1.5 |", "| HumanEval steady top1 | 0.6789 |", "| 0.5 to 1 | 0.875 |",
        "| old | 61.5 |", "Measured so.", "| bits of a weight | 4, rounded by GPTQ on 17 documents",
        "| T = 2 | 0.3456 |", "| 0 to 1 | 0.3 | 0.0 | 0.9 |", "temperature 1 | 0.2468 |",
    ):  # fmt: skip
        assert words in text, words
    assert text.index("beef") < text.index("c0ffee")
    assert "minutes" not in text, "what was not set is not shown"


def test_it_is_written_beside_the_card(tmp_path: Path) -> None:
    """In the draft's folder."""
    write_draft(tmp_path, {}, CARD)
    assert write_page(tmp_path).read_text() == page(read_card(tmp_path))


def test_the_shipped_page_is_that_of_the_shipped_card() -> None:
    """Run `python -m ssd.train card` after changing the card."""
    assert (ASSETS / "README.md").read_text() == page(read_card(ASSETS))
