"""Figures of a draft: agreement on recorded answers, costs and times that were really measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from ssd.ngram import KatzTable
from ssd.train.calibrate import document_rows
from ssd.train.corpus import Corpus
from ssd.train.measure import (
    agreement,
    chat_documents,
    is_looping,
    pass_costs,
    proposal_microseconds,
    read_answers,
)
from tests.tiny import tiny_llama, with_draft
from tests.training import target


def greedy(prompt: list[int], length: int) -> list[int]:
    """The tiny target's own answer."""
    ids = list(prompt)
    for _ in range(length):
        ids.append(int(document_rows(target(), ids)[-1].argmax()))
    return ids


def record(path: Path, *entries: dict[str, object]) -> Path:
    """A record file of these entries."""
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def run(method: str, prompt_id: str, prompt: list[int], tokens: list[int]) -> dict[str, object]:
    """One entry."""
    return {
        "kind": "run", "method": method, "prompt_id": prompt_id, "prompt_ids": prompt,
        "token_ids": tokens, "error": None,
    }  # fmt: skip


def test_answers_are_those_of_autoregressive(tmp_path: Path) -> None:
    """Once a prompt, failed runs and other methods left out."""
    path = record(
        tmp_path / "run.jsonl",
        {"kind": "environment"},
        run("staged", "a", [1, 2], [9]),
        run("autoregressive", "a", [1, 2], [3, 4]),
        run("autoregressive", "a", [1, 2], [3, 4]),
        {**run("autoregressive", "b", [5], []), "error": "failed"},
    )
    assert read_answers(path) == [([1, 2, 3, 4], 2)]
    with pytest.raises(ValueError, match="no such file"):
        read_answers(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="got none: record some"):
        read_answers(record(path, {"kind": "environment"}))
    path.write_text("hello\n")
    with pytest.raises(ValueError, match=r"line 1 of .* an entry of a record"):
        read_answers(path)


def test_agreement_counts_first_guesses() -> None:
    """The target guesses its own answers; a shaken copy only some of them."""
    answers = [(greedy([seed, 7], 20), 2) for seed in (3, 11, 25)]
    own = agreement(target(), answers)
    assert own.top1 == own.top4 == 1.0 and own.ids == 60 and own.documents == 3
    shaken = agreement(with_draft(tiny_llama(3), 0.6).model(), answers)
    assert 0 < shaken.top1 < 1 and shaken.top1 < shaken.top4
    moved = [(ids[:2] + ids[3:], 2) for ids, _ in answers]
    assert agreement(target(), moved).top1 < 0.8, "the wrong places would show"


def test_looping_answers_are_told() -> None:
    """Fewer than half of the 4-grams distinct."""
    assert is_looping([1, 2, 3] * 10)
    assert not is_looping(list(range(30))) and not is_looping([1, 2])


class Codec:
    """Ids below 50 are letters, 60 begins a chat."""

    has_chat_template = True

    def prompt_ids(self, text: str) -> tuple[int, ...]:
        """A chat."""
        return (60, 1)

    def decode(self, ids: list[int]) -> str:
        """Code where id 7 occurs."""
        return "def f" if 7 in ids else "words"


def test_chat_is_told_from_code_and_raw_text() -> None:
    """By the template's first id and the words of programs."""
    text = Corpus.of([([60, 1, 2], 2), ([60, 7, 2], 2), ([5, 1, 2], 1)], 61)
    found = chat_documents(text, Codec())  # type: ignore[arg-type]
    assert found == {"general chat": [([60, 1, 2], 2)], "chat about code": [([60, 7, 2], 2)]}


def test_costs_are_ratios_of_measured_passes() -> None:
    """By a clock that ticks once a reading, every pass takes one tick."""
    found = pass_costs(target(), target(), ticks())
    assert found["ratio_at_1"] == found["ratio_at_8"] == 1.0


def test_proposals_are_timed_one_by_one() -> None:
    """A tick each, a million microseconds."""
    table = KatzTable(
        np.array([KatzTable.key([1])], dtype=np.uint64),
        np.array([[2]], dtype=np.uint16),
        np.array([[0.5]], dtype=np.float16),
    )
    assert proposal_microseconds(table, [([1, 1, 2, 1], 2)], ticks()) == 1e6


def ticks() -> Callable[[], float]:
    """A clock that moves by a second a reading."""
    numbers = count()
    return lambda: float(next(numbers))
