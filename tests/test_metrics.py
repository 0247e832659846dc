"""The metrics of records made by hand, against answers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from compare.digest import Digests
from compare.metrics import summary
from compare.record_file import Line
from compare.records import RunKey, RunRecord
from tests.records_by_hand import ENVIRONMENT, edited, failed, guessed, plain

ANSWER = (1, 2, 3, 4, 5, 6)
KEYS = (
    "prompts runs tokens tokens_per_second speedup end_to_end_speedup time_to_first_token "
    "target_passes draft_passes tokens_per_step nodes_per_step acceptance_rate acceptance_by_depth "
    "origins seconds bytes_per_token verdicts agrees logit_rows_equal error"
)


def _summary(*lines: Line, **environment: Any) -> dict[str, Any]:
    return summary({**ENVIRONMENT, **environment}, Digests.of(lines))


def _reference(prompt: str = "p", repeat: int = 0, pace: float = 1.0) -> RunRecord:
    return plain(ANSWER, RunKey("autoregressive", prompt, repeat), pace)


def _staged(prompt: str = "p", repeat: int = 0) -> RunRecord:
    return guessed(RunKey("staged", prompt, repeat))


def test_a_staged_run_gives_the_known_numbers() -> None:
    data = _summary(_reference(), _staged())
    staged = data["methods"]["staged"]
    assert staged == {
        "prompts": 1,
        "runs": 1,
        "tokens": 6,
        "tokens_per_second": 6.0,
        "speedup": {"median": 6.0, "low": 6.0, "high": 6.0, "min": None},
        "end_to_end_speedup": {"median": 7 / 3, "low": 7 / 3, "high": 7 / 3, "min": None},
        "time_to_first_token": 2.5,
        "target_passes": 2,
        "draft_passes": 3,
        "tokens_per_step": 3.0,
        "nodes_per_step": 4.0,
        # Depth 1: nodes 1, 2 and 4 had an accepted parent, 1 and 4 were accepted; depth 2: 2 and 5,
        # both accepted; depth 3: 9, below the accepted 2, refused.
        "acceptance_rate": 4 / 6,
        "acceptance_by_depth": [
            {"depth": 1, "tried": 3, "accepted": 2},
            {"depth": 2, "tried": 2, "accepted": 2},
            {"depth": 3, "tried": 1, "accepted": 0},
        ],
        "origins": {"ngram": 1, "draft": 3, "target": 2},
        "seconds": {
            "prefill": 2.0,
            "ngram": 0.125,
            "draft": 0.375,
            "target": 0.375,
            "other": 0.125,
        },
        "bytes_per_token": 200 / 6,
        "verdicts": {"IDENTICAL": 1, "NEAR-TIE": 0, "BUG": 0},
        "agrees": None,
        "logit_rows_equal": [6, 6],
        "error": 0,
    }
    assert data["schema"] == 1 and data["reference"] == "autoregressive"


def test_the_reference_has_the_same_keys_and_nulls_where_nothing_was_guessed() -> None:
    reference = _summary(_reference(), _staged())["methods"]["autoregressive"]
    assert list(reference) == KEYS.split()
    assert reference["acceptance_rate"] is None and reference["acceptance_by_depth"] is None
    assert reference["speedup"] == {"median": 1.0, "low": 1.0, "high": 1.0, "min": None}
    assert reference["origins"] == {"ngram": 0, "draft": 0, "target": 6}
    assert reference["verdicts"]["IDENTICAL"] == 1
    assert reference["tokens_per_step"] * reference["target_passes"] == reference["tokens"]


def test_a_speedup_is_paired_by_repeat_then_the_median_of_medians() -> None:
    lines = [
        *(_reference("a", repeat, pace) for repeat, pace in enumerate((1.0, 2.0, 4.0))),
        *(_staged("a", repeat) for repeat in range(3)),
        _reference("b", 0, 3.0),
        _staged("b"),
    ]
    speedup = _summary(*lines)["methods"]["staged"]["speedup"]
    assert speedup["median"] == (12 + 18) / 2  # prompt a: 6, 12, 24; prompt b: 18
    assert (speedup["low"], speedup["high"]) == (12, 18)


def test_the_least_speedup_is_that_of_answers_of_32_tokens() -> None:
    long = tuple(range(32))
    lines = [
        plain(long, RunKey("autoregressive", "long")),
        plain(long, RunKey("lookup", "long"), 0.5),
        plain(long[:31], RunKey("autoregressive", "short")),
        plain(long[:31], RunKey("lookup", "short"), 2.0),
    ]
    assert _summary(*lines)["methods"]["lookup"]["speedup"]["min"] == 2.0


def test_a_failed_run_counts_as_an_error_and_nowhere_else() -> None:
    lines = [_reference(), _staged(), failed(RunKey("staged", "q")), failed(RunKey("tree", "p"))]
    methods = _summary(*lines)["methods"]
    assert (methods["staged"]["runs"], methods["staged"]["error"]) == (1, 1)
    assert methods["staged"]["tokens"] == 6
    tree = methods["tree"]
    assert list(tree) == KEYS.split()
    assert tree["error"] == 1 and tree["speedup"] is None and tree["tokens_per_second"] is None
    assert tree["seconds"] == dict.fromkeys(("prefill", "ngram", "draft", "target", "other"), 0.0)


def test_without_the_reference_speedups_and_verdicts_are_null() -> None:
    data = _summary(_staged())
    staged = data["methods"]["staged"]
    assert data["reference"] is None
    assert [staged[k] for k in ("speedup", "end_to_end_speedup", "verdicts", "agrees")] == [
        None
    ] * 4
    assert staged["logit_rows_equal"] is None and staged["tokens"] == 6


def test_baselines_agree_and_have_no_verdict() -> None:
    other = plain((1, 2, 4), RunKey("hf-generate", "q"), 1.0)
    lines = [
        _reference(),
        edited(plain(ANSWER, RunKey("hf-generate", "p")), logit_hashes=()),
        _reference("q"),
        edited(other, logit_hashes=()),
    ]
    baseline = _summary(*lines)["methods"]["hf-generate"]
    assert baseline["verdicts"] is None and baseline["agrees"] == 1
    assert baseline["logit_rows_equal"] is None
    # An answer of half the length at the same pace is as fast, not twice as fast.
    assert baseline["speedup"]["median"] == pytest.approx(1.0)


@pytest.mark.parametrize(("temperature", "has_verdicts"), [(0.0, True), (1.0, False)])
def test_rejection_has_a_verdict_only_where_it_is_greedy(
    temperature: float, has_verdicts: bool
) -> None:
    run = guessed(RunKey("speculative-rejection", "p"))
    data = _summary(_reference(), run, settings={"temperature": temperature})
    found = data["methods"]["speculative-rejection"]
    assert (found["verdicts"] is not None) == has_verdicts
    assert (found["agrees"] is None) == has_verdicts


def test_below_the_last_token_of_a_cut_step_nothing_was_tried() -> None:
    run = _staged()
    first = run.steps[0]
    cut = edited(first, tokens=(1, 2), origins=("ngram", "draft"))  # type: ignore[arg-type]
    data = _summary(_reference(), edited(run, steps=(cut,), token_ids=(1, 2)))
    depths = data["methods"]["staged"]["acceptance_by_depth"]
    assert depths == [
        {"depth": 1, "tried": 2, "accepted": 1},
        {"depth": 2, "tried": 1, "accepted": 1},
    ]
