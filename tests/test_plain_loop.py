"""Speed-ups over the plain loop, and the chosen precision: what a summary and its words say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from compare.plain_loop import plain_loop, precision_choice
from compare.table import cautions, choice_words

SPEEDUPS = {
    ("autoregressive", "autoregressive"): {"a": 1.0, "b": 1.0},
    ("staged", "autoregressive"): {"a": 2.0, "b": 3.0},
    ("native", "autoregressive"): {"a": 1.5, "b": 1.7},
    ("autoregressive", "native"): {"a": 0.67, "b": 0.59},
    ("staged", "native"): {"a": 1.3, "b": 1.9},
    ("native", "native"): {"a": 1.0, "b": 1.0},
}


def speedups(method: str, over: str) -> Mapping[str, float]:
    return SPEEDUPS.get((method, over), {})


def measured(ratio: object) -> dict[str, Any]:
    return {"pair": {"exact_over_plain": ratio}}


def test_where_the_plain_loop_was_run_speed_ups_are_paired_with_it() -> None:
    found = plain_loop(measured(1.0), ("autoregressive", "staged", "native"), speedups)
    assert found is not None and found["is_run"] and found["ratio"] == pytest.approx(1.6)
    assert found["speedup"] == pytest.approx({"autoregressive": 0.63, "staged": 1.6, "native": 1.0})


def test_where_it_was_not_run_both_loops_were_measured_at_load() -> None:
    found = plain_loop(measured(1.25), ("autoregressive", "staged"), speedups)
    assert found is not None and not found["is_run"]
    assert found["speedup"] == pytest.approx({"autoregressive": 0.8, "staged": 2.0})


@pytest.mark.parametrize("ratio", [1.02, 0.98, None, "2", -3, float("nan"), float("inf"), [], True])
def test_three_percent_and_nonsense_are_not_worth_a_word(ratio: object) -> None:
    assert plain_loop(measured(ratio), ("autoregressive", "staged"), speedups) is None


def test_the_sentence_comes_before_the_table_and_quotes_the_plain_loop_first() -> None:
    summary: dict[str, Any] = {
        "noise": {"is_noisy": False},
        "plain_loop": plain_loop(measured(1.25), ("autoregressive", "staged"), speedups),
    }
    (sentence,) = cautions(summary)
    assert "1.25 times" in sentence and "staged 2.00x" in sentence and "native" in sentence
    assert cautions({**summary, "plain_loop": None}) == []


CHOICE = {"precision": "int4", "seconds": {"int4": 1.5, "fp32": 2}, "agreement": {"int4": 0.993}}


def test_the_choice_of_a_precision_and_why() -> None:
    found = precision_choice({"pair": {"choice": CHOICE}})
    assert found == {"precision": "int4", "seconds": {"int4": 1.5, "fp32": 2.0}, "agreement": 0.993}
    (sentence,) = choice_words({"choice": found})
    assert "int4 1.50 s, fp32 2.00 s" in sentence and "99.3%" in sentence
    unknown = precision_choice({"pair": {"choice": {**CHOICE, "agreement": {}}}})
    assert "published" not in choice_words({"choice": unknown})[0]
    assert choice_words({"choice": None}) == []


@pytest.mark.parametrize(
    "choice",
    [None, "int4", [], {}, {"seconds": []}, {**CHOICE, "seconds": {"int4": "x"}},
     {**CHOICE, "precision": "fp8"}, {**CHOICE, "precision": ["a"]}],
)  # fmt: skip
def test_a_record_that_says_nonsense_of_it_counts_as_saying_nothing(choice: object) -> None:
    assert precision_choice({"pair": {"choice": choice}}) is None
