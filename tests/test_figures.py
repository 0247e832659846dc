"""Figures of a whole record file: the numbers in them, and that labels are text."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from compare.digest import Digests
from compare.figures import by_entropy, figures, looks, origins, ranked, settled, speedups, stages
from compare.metrics import summary
from compare.records import RunKey, RunRecord
from compare.report_words import dictionary
from tests.hostile_records import HOSTILE_ENVIRONMENT, hostile_digests
from tests.records_by_hand import ENVIRONMENT, edited, guessed, plain

WORDS = dictionary("en")
ANSWER = (1, 2, 3, 4, 5, 6)


def _reference(prompt: str, pace: float, entropy: float) -> RunRecord:
    run = plain(ANSWER, RunKey("autoregressive", prompt), pace)
    steps = tuple(edited(step, entropy=(entropy,)) for step in run.steps)  # type: ignore[arg-type]
    return edited(run, steps=steps)


DIGESTS = Digests.of(
    [
        _reference("a", 1.0, 0.5),
        guessed(RunKey("staged", "a")),
        _reference("b", 0.5, 1.5),
        guessed(RunKey("staged", "b")),
    ]
)
SUMMARY = summary(ENVIRONMENT, DIGESTS)


def test_speedups_show_median_interval_and_each_prompt() -> None:
    dots, interval = speedups(SUMMARY, WORDS).data
    assert sorted(dots.x) == [3.0, 6.0]
    assert list(interval.x) == [4.5]
    assert (interval.error_x.arrayminus[0], interval.error_x.array[0]) == (1.5, 1.5)
    assert interval.text[0] == "4.50× [3.00, 6.00]"


def test_an_interval_that_covers_one_says_so() -> None:
    runs = [plain(ANSWER, RunKey("autoregressive", p)) for p in "ab"]
    runs += [plain(ANSWER, RunKey("lookup", p), pace) for p, pace in (("a", 0.5), ("b", 2.0))]
    figure = speedups(summary(ENVIRONMENT, Digests.of(runs)), WORDS)
    assert WORDS["covers_one"] in figure.data[-1].text[0]


def test_prompts_are_ranked_from_the_slowest_and_set_against_the_entropy() -> None:
    (line,) = ranked(SUMMARY, WORDS).data
    assert list(line.y) == [3.0, 6.0] and list(line.text) == ["b", "a"]
    assert list(line.x) == [1, 2]
    (dots,) = by_entropy(SUMMARY, WORDS).data
    bits = [1.5 / math.log(2), 0.5 / math.log(2)]
    assert list(dots.x) == pytest.approx(bits, abs=1e-3) and list(dots.y) == [3.0, 6.0]


def test_without_entropies_there_is_no_such_figure() -> None:
    runs = [plain(ANSWER, RunKey("autoregressive", "a")), guessed(RunKey("staged", "a"))]
    digests = Digests.of(runs)
    found = figures(summary(ENVIRONMENT, digests), digests, WORDS)
    assert "entropy_title" not in found and "ranked_title" in found


def test_tokens_settled_are_shares_of_passes_and_the_reference_is_left_out() -> None:
    (bars,) = settled(SUMMARY, DIGESTS, WORDS).data
    assert list(bars.x) == [1, 2, 3] and list(bars.y) == [0, 0, 1]
    assert bars.name == "staged 3.00"


def test_stages_and_origins_add_up() -> None:
    def total(found: Any, at: int) -> float:
        return math.fsum(trace.x[at] for trace in found.data)

    time, origin = stages(SUMMARY, WORDS), origins(SUMMARY, WORDS)
    assert list(time.data[0].y) == ["autoregressive", "staged"]
    assert total(time, 0) == pytest.approx(750.0)  # 6 s and 3 s for 6 tokens each
    assert total(time, 1) == pytest.approx(1000 / 6, rel=1e-4)
    assert total(origin, 0) == total(origin, 1) == pytest.approx(1.0)
    draft = next(trace for trace in origin.data if trace.name == "draft")
    assert draft.x[1] == 0.5


def test_every_method_looks_different() -> None:
    methods = ["autoregressive", "staged", "staged:24", "speculative:2", "hf-generate", "replay"]
    found = looks(methods)
    assert list(found) == methods
    assert len({look.colour for look in found.values()}) == len(methods)
    assert found == looks(methods)
    runs = [plain(ANSWER, RunKey(method, "p")) for method in methods]
    made = ranked(summary(ENVIRONMENT, Digests.of(runs)), WORDS).data
    assert [trace.name for trace in made] == methods[1:]
    assert [trace.line.color for trace in made] == [found[m].colour for m in methods[1:]]


def test_no_label_is_markup_and_figures_have_no_background() -> None:
    digests = hostile_digests()
    found = figures(summary(HOSTILE_ENVIRONMENT, digests), digests, WORDS)
    assert set(found) >= {"speedup_title", "ranked_title", "entropy_title", "stages_title"}
    for figure in found.values():
        text = json.dumps(json.loads(figure.to_json()), ensure_ascii=False)
        assert "<img" not in text and "<a " not in text and "<script" not in text
        assert "\u202e" not in text
        assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"


def test_without_a_reference_only_what_needs_none_is_drawn() -> None:
    digests = Digests.of([guessed(RunKey("staged", "a"))])
    found = figures(summary(ENVIRONMENT, digests), digests, WORDS)
    assert set(found) == {"settled_title", "acceptance_title", "stages_title", "origins_title"}
