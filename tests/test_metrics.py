"""The metrics of records made by hand, against answers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from compare.breakdown import distinct_share
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


def _wilson(accepted: int, tried: int) -> dict[str, Any]:
    """Wilson's 95 % interval as in the textbooks, worked out on its own."""
    z, p = 1.959964, accepted / tried
    root = z * (p * (1 - p) / tried + (z / (2 * tried)) ** 2) ** 0.5
    ends = [(p + z * z / (2 * tried) + sign * root) / (1 + z * z / tried) for sign in (-1, 1)]
    return {"low": pytest.approx(ends[0], abs=1e-9), "high": pytest.approx(ends[1], abs=1e-9)}


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
            {"depth": 1, "tried": 3, "accepted": 2, **_wilson(2, 3)},
            {"depth": 2, "tried": 2, "accepted": 2, **_wilson(2, 2)},
            {"depth": 3, "tried": 1, "accepted": 0, **_wilson(0, 1)},
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
        {"depth": 1, "tried": 2, "accepted": 1, **_wilson(1, 2)},
        {"depth": 2, "tried": 1, "accepted": 1, **_wilson(1, 1)},
    ]


def _answer(key: RunKey, tokens: tuple[int, ...], pace: float, category: str) -> RunRecord:
    return edited(plain(tokens, key, pace), category=category)


def _broad() -> list[Line]:
    """Three prompts: two of code, the second of which loops; lookup is 2, 4 and 8 times as fast."""
    lines: list[Line] = []
    circle, straight = (1, 2, 3) * 12, tuple(range(36))
    for prompt, tokens, pace, category in (
        ("a", straight, 0.5, "code"),
        ("b", circle, 0.25, "code"),
        ("c", straight, 0.125, "chat"),
    ):
        lines.append(_answer(RunKey("autoregressive", prompt), tokens, 1.0, category))
        lines.append(_answer(RunKey("lookup", prompt), tokens, pace, category))
    return lines


def test_categories_have_tables_of_their_own() -> None:
    data = _summary(*_broad())
    code, chat = data["by_category"]["code"], data["by_category"]["chat"]
    assert list(data["by_category"]) == ["code", "chat"]
    assert list(code) == list(chat) == ["autoregressive", "lookup"]
    assert code["lookup"]["speedup"]["median"] == 3.0 and chat["lookup"]["speedup"]["median"] == 8.0
    assert list(code["lookup"]) == KEYS.split()
    assert (
        code["lookup"]["tokens"] + chat["lookup"]["tokens"] == data["methods"]["lookup"]["tokens"]
    )
    assert code["lookup"]["verdicts"]["IDENTICAL"] == 2


def test_every_table_has_the_methods_in_the_same_order() -> None:
    """Methods take turns, so that a category may begin with any of them."""
    first, *rest = _broad()
    data = _summary(first, rest[0], *reversed(rest[1:]))
    order = ["autoregressive", "lookup"]
    tables = [data["methods"], *data["by_category"].values(), data["without_looping"]]
    assert [list(each) for each in tables] == [order] * 4


def test_prompts_are_sorted_by_speedup_and_say_what_they_are() -> None:
    lines = _broad()
    reference = lines[4]
    assert isinstance(reference, RunRecord)
    first = edited(reference.steps[0], entropy=(0.5,))  # type: ignore[arg-type]
    second = edited(reference.steps[1], entropy=(1.0,))  # type: ignore[arg-type]
    third = edited(reference.steps[2], entropy=(None,))  # type: ignore[arg-type]
    lines[4] = edited(reference, steps=(first, second, third, *reference.steps[3:]))
    rows = _summary(*lines)["per_prompt"]["lookup"]
    assert [row["speedup"] for row in rows] == [2.0, 4.0, 8.0]
    assert [row["prompt_id"] for row in rows] == ["a", "b", "c"]
    assert [row["entropy"] for row in rows] == [None, None, 0.75]
    # Of the 33 4-grams of the circle 3 are distinct.
    assert [row["distinct_4_grams"] for row in rows] == [1.0, 3 / 33, 1.0]
    assert [row["category"] for row in rows] == ["code", "code", "chat"]
    assert {row["tokens"] for row in rows} == {36}


def test_the_table_comes_again_without_looping_answers() -> None:
    data = _summary(*_broad())
    assert data["looping"] == ["b"]
    assert data["methods"]["lookup"]["speedup"]["median"] == 4.0
    assert data["without_looping"]["lookup"]["speedup"]["median"] == 5.0
    assert data["without_looping"]["lookup"]["prompts"] == 2
    none = _summary(*_broad()[:2])
    assert none["looping"] == [] and none["without_looping"] is None
    all_of_them = _summary(*_broad()[2:4])
    assert all_of_them["looping"] == ["b"] and all_of_them["without_looping"] is None


def test_half_of_the_4_grams_distinct_is_not_looping() -> None:
    # 1 2 3 4 5 6 7 8, then again up to 3: 8 distinct of 8; to be a loop takes more.
    share = distinct_share((1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5))
    assert share == 8 / 10
    assert distinct_share((1, 1, 1, 1, 1)) == 1 / 2
    assert distinct_share((1, 2, 3)) == 1.0 == distinct_share(())
    run = plain((1, 1, 1, 1, 1), RunKey("autoregressive", "p"))
    assert _summary(run)["looping"] == []


@pytest.mark.parametrize(
    ("paces", "spread", "is_noisy"),
    [
        ((1.0, 1.0, 1.0), 0.0, False),
        ((1.0, 1.1), 0.1 / 2**0.5 / 1.05, False),
        ((1.0, 2.0), 1 / 2**0.5 / 1.5, True),
        ((1.0,), None, False),
    ],
)
def test_repeats_far_apart_are_noise(
    paces: tuple[float, ...], spread: float | None, is_noisy: bool
) -> None:
    lines = [_reference("a", repeat, pace) for repeat, pace in enumerate(paces)]
    noise = _summary(*lines)["noise"]
    assert noise["spread"]["autoregressive"] == (spread and pytest.approx(spread))
    assert noise["is_noisy"] == is_noisy


def test_noise_is_averaged_over_prompts_by_its_square() -> None:
    lines = [_reference(name, n, p) for name in "ab" for n, p in enumerate((1.0, 1.0))]
    lines += [_reference("c", n, p) for n, p in enumerate((1.0, 2.0))]
    expected = ((1 / 2**0.5 / 1.5) ** 2 / 3) ** 0.5
    noise = _summary(*lines)["noise"]
    assert noise["spread"]["autoregressive"] == pytest.approx(expected) and noise["is_noisy"]


def test_every_method_s_tokens_are_tokens_a_step_times_passes_and_stages_add_up() -> None:
    data = _summary(_reference(), _staged(), *_broad())
    for found in data["methods"].values():
        assert found["tokens_per_step"] * found["target_passes"] == pytest.approx(found["tokens"])
        stages = sum(found["seconds"][name] for name in ("ngram", "draft", "target", "other"))
        assert stages == pytest.approx(found["tokens"] / found["tokens_per_second"])
