"""A corpus of answers: all documents, once each, however often the run was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ssd.train import answers
from ssd.train.answers import AnswerSettings, Cycle, Writer, write_answers
from ssd.train.corpus import Corpus
from ssd.train.prompts import Prompt
from tests.tiny import tiny_llama

FACTS = {"target": "tiny"}


class Codec:
    """Characters as ids."""

    stop_ids = frozenset({7})

    def prompt_ids(self, text: str, *, raw: bool = False) -> tuple[int, ...]:
        """One id a character, in chat after a mark."""
        ids = tuple(ord(character) % 60 for character in text)
        return ids if raw else (60, *ids)


def writer(num_documents: int = 12) -> Writer:
    """A tiny target with three prompts, of which one leaves no room."""
    prompts = Cycle((Prompt("abc"), Prompt("x" * 50), Prompt("raw", is_raw=True)))
    settings = AnswerSettings(
        num_documents=num_documents, num_ids=9, length=30, num_rows=4, top_k=20
    )
    return Writer(tiny_llama(3).model(), Codec(), prompts, settings)  # type: ignore[arg-type]


def test_all_documents_with_a_card(tmp_path: Path) -> None:
    """Prompts without room are left out; greedy and warm answers; what was done is written down."""
    out = tmp_path / "text.npz"
    found = write_answers(writer(), out, FACTS, lambda line: None)
    documents = list(found.documents())
    assert len(documents) == 8 and list(Corpus.load(out).documents()) == documents
    for number, (ids, num_prompt) in enumerate(documents):
        prompt = (60, *(ord(c) % 60 for c in "abc")) if number % 2 == 0 else (54, 37, 59)
        assert tuple(ids[:num_prompt]) == prompt
        assert 1 <= len(ids) - num_prompt <= 9
    temperatures = {writer().task(number).temperature for number in range(12)}
    assert 0.0 in temperatures and len(temperatures) > 1
    card = json.loads(out.with_suffix(".json").read_text())
    assert card["target"] == "tiny" and card["settings"]["num_documents"] == 12
    assert card["corpus"] == found.digest and card["documents"] == 8
    assert not out.with_suffix(".parts").exists()


class Killed(Exception):
    """What ends a run."""


def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents that are stored are not written again; the corpus is that of one run."""
    monkeypatch.setattr(answers, "_SHARD", 3)
    whole = write_answers(writer(), tmp_path / "whole.npz", FACTS, lambda line: None)
    out, killed, asked = tmp_path / "text.npz", _Killed(writer(), after=5), []
    with pytest.raises(Killed):
        write_answers(killed, out, FACTS, lambda line: None)  # type: ignore[arg-type]
    assert not out.exists()
    again = _Counting(writer(), asked)
    found = write_answers(again, out, FACTS, lambda line: None)  # type: ignore[arg-type]
    assert found.digest == whole.digest
    assert len(asked[0]) == 9, "twelve less the three of the shard that was stored"


def test_other_settings_are_refused(tmp_path: Path) -> None:
    """A finished corpus is read again under its own settings only."""
    out = tmp_path / "text.npz"
    found = write_answers(writer(), out, FACTS, lambda line: None)
    assert write_answers(writer(), out, FACTS, lambda line: None).digest == found.digest
    with pytest.raises(ValueError, match="other settings"):
        write_answers(writer(9), out, FACTS, lambda line: None)
    with pytest.raises(ValueError, match="other settings"):
        write_answers(writer(), out, {"target": "another"}, lambda line: None)


class _Counting:
    """A writer that notes what it was asked for."""

    def __init__(self, inner: Writer, asked: list[list[int]]) -> None:
        self.settings, self.model, self._inner, self._asked = (
            inner.settings,
            inner.model,
            inner,
            asked,
        )

    def documents(self, numbers: list[int]) -> Iterator[object]:
        """The documents."""
        self._asked.append(numbers)
        return self._inner.documents(numbers)


class _Killed(_Counting):
    """A writer that is killed after some documents."""

    def __init__(self, inner: Writer, after: int) -> None:
        super().__init__(inner, [])
        self._after = after

    def documents(self, numbers: list[int]) -> Iterator[object]:
        """Some documents."""
        for count, written in enumerate(super().documents(numbers)):
            if count == self._after:
                raise Killed
            yield written
