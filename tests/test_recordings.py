"""The recorded runs that ship: true records, identical, with all their words, from anywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compare.certificate import inconsistencies
from compare.page.recordings import NAMES, record_path, recordings, suite_path
from compare.page.words import PROMPTS
from compare.record_file import RecordReader
from compare.record_words import ids_in
from compare.records import RunRecord
from compare.suites import load_suite

LARGEST_BYTES = 1 << 20


def test_every_recorded_run_is_identical_and_has_details() -> None:
    for shown in recordings():
        methods = shown.summary["methods"]
        assert len(methods) == 3 and shown.source == "recorded"
        for method in methods.values():
            assert method["verdicts"] == {"IDENTICAL": 1, "NEAR-TIE": 0, "BUG": 0}
            assert method["logit_rows_equal"][0] == method["logit_rows_equal"][1] > 0
        staged = next(run for run in shown.records if run["method"] == "staged")
        assert all("details" in step for step in staged["steps"])


def test_the_prompts_are_those_of_the_chips() -> None:
    assert recordings()[0].name == "chip_code"
    for shown in recordings():
        assert shown.prompt == PROMPTS[shown.name]
    for name in NAMES:
        assert load_suite(str(suite_path(name)), lambda told: None).prompts


def test_in_one_of_them_the_chain_loses_and_none_guesses_worse_than_it() -> None:
    loses = next(shown for shown in recordings() if shown.name == "chip_loses")
    chain = next(m for name, m in loses.summary["methods"].items() if name.startswith("specul"))
    assert chain["speedup"]["median"] < 1
    assert loses.summary["methods"]["staged"]["speedup"]["median"] > chain["speedup"]["median"]


@pytest.mark.parametrize("name", NAMES)
def test_a_record_file_is_whole_small_and_names_no_place_of_its_machine(name: str) -> None:
    path = record_path(name)
    assert path.stat().st_size < LARGEST_BYTES
    for line in RecordReader(path).lines():
        assert not (isinstance(line, RunRecord) and list(inconsistencies(line)))
    environment = RecordReader(path).environment()
    assert environment["command"][0] == "run" and "--details" in environment["command"]
    assert environment["commit"] and environment["created"] and environment["versions"]["torch"]
    assert str(Path.home()) not in json.dumps(environment)
    assert not any(str(part).startswith("/") for part in environment["command"])


def test_every_id_has_its_word() -> None:
    for shown in recordings():
        assert set(ids_in(shown.records)) == set(shown.words)
        for run in shown.records:
            said = b"".join(
                bytes.fromhex(word)
                for token in run["token_ids"]
                if not (word := shown.words[token]).startswith("=")
            )
            assert said.decode("utf-8", "replace") == run["text"]
