"""Figures of rounds, of the machine and over prompts: the numbers in them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from compare import plots_machine, plots_prompts, plots_rounds
from compare.page import words
from compare.page.charts_tab import drawn
from compare.page.charts_words import AXES as AXES_WORDS
from compare.records import RunKey
from tests.records_by_hand import guessed, plain

AXES = words.dictionary(AXES_WORDS, "en")
NAMES = words.dictionary(words.METHODS, "en")
STAGED = guessed(RunKey("staged:24", "p")).to_json()
PLAIN = plain((1, 2, 3, 4, 5, 6), RunKey("autoregressive", "p")).to_json()
ENVIRONMENT: dict[str, Any] = {
    "pair": {
        "precision": "bfloat16",
        "pass_seconds": {"target": {"1": 0.010, "16": 0.020, "4": 0.010}, "draft": {"1": 0.002}},
    }
}


def test_the_stages_of_a_round_add_up_to_it() -> None:
    figure = plots_rounds.round_times(STAGED, AXES)
    totals = [sum(trace.y[at] for trace in figure.data) for at in range(2)]
    assert totals == pytest.approx([500.0, 500.0])
    assert [trace.name for trace in figure.data] == ["rest", "target", "draft", "N-gram"]
    assert list(figure.data[0].customdata) == [3, 3]


def test_many_rounds_are_binned_and_their_means_kept() -> None:
    steps = plain(range(150), RunKey("autoregressive", "p"), 0.01).to_json()["steps"]
    target = plots_rounds.round_times({**PLAIN, "steps": steps}, AXES).data[1]
    assert len(target.x) == 50 and list(target.x[:3]) == [1, 4, 7]
    assert list(target.y) == pytest.approx([10.0] * 50) and set(target.customdata) == {3}


def test_settled_tokens_are_counted_with_their_mean() -> None:
    base, staged = plots_rounds.settled_counts([PLAIN, STAGED], NAMES, AXES).data
    assert list(base.x) == [1] and list(base.y) == [1.0]
    assert list(staged.x) == [1, 2, 3] and list(staged.y) == [0.0, 0.0, 1.0]
    assert staged.name == "Staged 24 (mean 3.00)"


def test_origins_of_guesses_and_of_what_stands() -> None:
    figure = plots_rounds.origins([PLAIN, STAGED], NAMES, AXES)
    rows = list(figure.data[0].y)
    assert rows == ["Staged 24: guessed", "Staged 24: written", "Autoregressive: written"]
    counts = {trace.name: list(trace.x) for trace in figure.data}
    assert counts == {"N-gram": [1, 1, 0], "Draft": [5, 3, 0], "Target": [0, 2, 6]}


def test_pass_times_are_sorted_and_chosen_widths_marked_on_the_curve() -> None:
    target, draft, chosen = plots_machine.pass_times(ENVIRONMENT, [PLAIN, STAGED], NAMES, AXES).data
    assert list(target.x) == [1, 4, 16] and list(target.y) == pytest.approx([10, 10, 20])
    assert list(draft.x) == [1]
    assert list(chosen.x) == [3, 5] and list(chosen.customdata) == [1, 1]
    assert list(chosen.y) == pytest.approx([10.0, 10 + 10 / 12], rel=1e-4)


def test_between_measured_widths_lies_the_line() -> None:
    curve = [(1, 1.0), (2, 3.0)]
    assert [plots_machine.at(curve, width) for width in (1, 2, 4)] == [1.0, 3.0, 6.0]
    assert plots_machine.at([(2, 3.0)], 1) == 3.0


def test_the_roofline_counts_two_operations_a_weight() -> None:
    memory, arithmetic, points = plots_machine.roofline(ENVIRONMENT, [PLAIN], AXES).data
    # 100 bytes a pass are 50 weights of two bytes: 100 operations a token, 1 a byte.
    assert list(points.x) == [1.0, 4.0, 16.0]
    assert list(points.y) == pytest.approx([1e-5, 4e-5, 8e-5], abs=1e-4)
    assert memory.y[1] == arithmetic.y[0] == arithmetic.y[1]


def test_no_roofline_without_the_baseline_or_for_an_unknown_precision() -> None:
    assert not plots_machine.roofline(ENVIRONMENT, [STAGED], AXES).data
    odd = {"pair": {**ENVIRONMENT["pair"], "precision": "int3"}}
    assert not plots_machine.roofline(odd, [PLAIN], AXES).data
    assert not plots_machine.roofline({}, [PLAIN], AXES).data


def row(name: str, speedup: float, entropy: float | None) -> dict[str, Any]:
    return {"prompt_id": name, "speedup": speedup, "entropy": entropy}


def test_speedups_by_prompt_and_by_entropy_in_bits() -> None:
    rows = [row("<b>a", 0.5, None), row("b", 2.0, math.log(2))]
    summary = {"per_prompt": {"autoregressive": [row("a", 1.0, None)], "staged": rows}}
    (line,) = plots_prompts.sorted_speedups(summary, NAMES, AXES).data
    assert list(line.y) == [0.5, 2.0] and list(line.text) == ["&lt;b&gt;a", "b"]
    (points,) = plots_prompts.speedup_by_entropy(summary, NAMES, AXES).data
    assert list(points.x) == [1.0] and list(points.y) == [2.0]


def test_nothing_is_drawn_where_nothing_is_known() -> None:
    unknown = {"per_prompt": {"staged": [row("a", 2.0, None)]}}
    assert not plots_prompts.speedup_by_entropy(unknown, NAMES, AXES).data[0].x
    assert drawn(plots_prompts.speedup_by_entropy(unknown, NAMES, AXES)) is None
    assert not plots_prompts.sorted_speedups({}, NAMES, AXES).data
    assert drawn(plots_rounds.origins([], NAMES, AXES)) is None


def test_figures_are_small_and_have_no_background() -> None:
    for figure in (
        plots_rounds.round_times(STAGED, AXES),
        plots_rounds.settled_counts([PLAIN, STAGED], NAMES, AXES),
        plots_machine.roofline(ENVIRONMENT, [PLAIN], AXES),
    ):
        assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)" and len(figure.to_json()) < 6000
