"""Agreement and perplexity of a precision, against numbers worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from compare.fidelity import Fidelity, of_answer, of_records
from compare.near_tie import Rows
from compare.records import RunKey, RunRecord
from tests.command_line import exit_code
from tests.records_by_hand import failed, guessed, plain

HALF, QUARTER = math.log(0.5), math.log(0.25)
LAW = np.array([[HALF, QUARTER, QUARTER]])
OTHER = np.array([[QUARTER, HALF, QUARTER]]) + 7.0  # logits need not be normalised


def test_agreement_and_perplexity_of_an_answer() -> None:
    rows = np.concatenate((LAW, LAW, LAW))
    reference = np.concatenate((LAW, OTHER, OTHER))
    found = of_answer((0, 1, 2), rows, reference).to_json()
    assert found["tokens"] == 3 and found["agreement"] == pytest.approx(1 / 3)
    assert found["perplexity"] == pytest.approx((2 * 4 * 4) ** (1 / 3))
    assert found["reference_perplexity"] == pytest.approx((2 * 2 * 4) ** (1 / 3))


def test_a_model_is_true_to_itself() -> None:
    rows = np.random.default_rng(1).normal(size=(40, 9)) * 30
    found = of_answer(tuple(range(9)) * 4 + (0,) * 4, rows, rows).to_json()
    assert found["agreement"] == 1.0
    assert found["perplexity"] == found["reference_perplexity"] > 1


def test_one_answer_a_prompt_and_the_rows_before_its_tokens() -> None:
    """The reference sees prompt and answer; what failed is left out."""
    records = [
        failed(RunKey("tree", "q")),
        plain((1, 2, 0), RunKey("autoregressive", "p")),
        guessed(RunKey("staged", "p")),
    ]
    asked: list[list[int]] = []

    def reference(ids: Sequence[int]) -> Rows:
        asked.append(list(ids))
        return np.eye(len(ids), 3) * 5

    def rows_of(record: RunRecord) -> Rows:
        start = len(record.prompt_ids) - 1
        return np.eye(len(record.prompt_ids) + 3, 3)[start : start + 3] * 5

    (found,) = of_records(records, rows_of, reference)
    assert asked == [[*records[1].prompt_ids, 1, 2, 0]]
    assert found.tokens == found.agreeing == 3


def test_nothing_to_compare_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="got none"):
        Fidelity().to_json()


@pytest.mark.model
def test_int4_and_bf16_stay_near(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for precision in ("int4", "bf16"):
        out = str(tmp_path / f"{precision}.jsonl")
        command = ("run", "--out", out, "--limit", "2", "--max-new-tokens", "24")
        assert exit_code(*command, "--precision", precision, "--methods", "autoregressive") == 0
        capsys.readouterr()
        assert exit_code("fidelity", out, "--json") == 0
        found[precision] = json.loads(capsys.readouterr().out)
    assert found["int4"]["tokens"] > 20
    assert all(0.9 < each["agreement"] <= 1 for each in found.values())
    for each in found.values():
        assert each["perplexity"] == pytest.approx(each["reference_perplexity"], rel=0.3)
