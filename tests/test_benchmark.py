"""The Benchmark tab's callbacks: what they hand out, and what they refuse in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from compare.job import Limits
from compare.lab import Lab
from compare.page.benchmark import MAX_SUITE_BYTES, Benchmarks, Ended, Form
from tests.fake_engine import METHODS, FakeEngine, opener
from tests.test_refusals import is_known

REQUEST: Any = SimpleNamespace(session_hash="me", headers={"accept-language": "en"})
FORM: dict[str, Any] = {
    "suite": "quick",
    "file": None,
    "methods": METHODS,
    "repeats": 1,
    "limit": 2,
    "max_new_tokens": 8,
    "temperature": 0,
    "top_k": 0,
    "seed": 0,
    "numerics": "exact",
}


def benchmarks() -> Benchmarks:
    return Benchmarks(Lab(opener(FakeEngine()), METHODS, Limits()))


def run(**changes: Any) -> tuple[str, Ended | None]:
    """The last outputs of Run."""
    *_, last = benchmarks().run(REQUEST, *{**FORM, **changes}.values())
    return last


def finished(ended: Ended | None) -> Iterator[tuple[Any, ...]]:
    """The outputs after a run; its files are there for as long as the caller waits."""
    yield from benchmarks().finish(ended, REQUEST)


def test_the_form_is_in_the_order_of_its_fields() -> None:
    assert list(FORM) == list(Form.__dataclass_fields__)


def test_a_run_ends_with_a_summary_figures_and_files(tmp_path: Path) -> None:
    last, ended = run()
    told = json.loads(last)
    for nothing, go, stop, figure, entropy, *files in finished(ended):  # noqa: B007
        paths = [Path(each["value"]) for each in files]
        held = {path.suffix: path.read_text("utf-8") for path in paths}
    assert told["state"] == "finished" and told["summary"]["methods"]["staged"]["runs"] == 2
    assert nothing is None and go["interactive"] and not stop["interactive"]
    assert figure.data and entropy is None
    assert held[".jsonl"].startswith('{"kind":"environment"')
    assert len(held[".csv"].splitlines()) == 1 + 2 * len(METHODS)
    assert "<html" in held[".html"]
    assert not any(path.exists() for path in paths)


def test_a_fault_is_told_and_leaves_the_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*args: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("compare.record_file.RecordWriter.append", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    last, ended = run()
    assert json.loads(last)["state"] == "failed" and ended is None
    assert not list(tmp_path.iterdir())
    ((_, go, *_, entropy),) = finished(None)
    assert go["interactive"] and entropy == gr.skip()


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"methods": []}, "at least one"),
        ({"methods": ["beam"]}, "beam"),
        ({"repeats": 99}, "Repeats"),
        ({"max_new_tokens": 10_000}, "512"),
        ({"temperature": None}, "temperature"),
        ({"temperature": -1}, "emperature"),
        ({"limit": -1}, "number of prompts"),
        ({"suite": "file"}, "No file"),
        ({"suite": "nosuch"}, "nosuch"),
    ],
)
def test_a_refusal_is_one_sentence_and_leaves_the_results(changes: Any, word: str) -> None:
    last, ended = run(**changes)
    told = json.loads(last)
    english = told["sentence"]["en"]
    assert told["state"] == "sentence" and word in english, told
    assert english[0].isupper() and english.endswith(".")
    assert is_known(told["sentence"])
    assert "summary" not in told and ended is None
    ((_, *_, figure, entropy, records, table, report),) = finished(ended)
    assert all(each == gr.skip() for each in (figure, entropy, records, table, report))


def test_a_suite_file_is_checked(tmp_path: Path) -> None:
    good, bad, large = (tmp_path / f"{name}.jsonl" for name in ("good", "bad", "large"))
    good.write_text('{"id": "<img src=x>", "text": "hello", "category": "${1}"}\n')
    bad.write_text('{"id": "a"}\n')
    large.write_bytes(b" " * (MAX_SUITE_BYTES + 1))
    last, _ = run(suite="file", file=str(good))
    assert json.loads(last)["state"] == "finished" and "<" not in last
    last, _ = run(suite="file", file=str(bad))
    assert "line 1: the text is missing" in json.loads(last)["sentence"]["en"]
    assert is_known(json.loads(last)["sentence"])
    last, _ = run(suite="file", file=str(large))
    sentence = json.loads(last)["sentence"]
    assert "large.jsonl has 2.0 MB" in sentence["en"] and str(tmp_path) not in last
    assert is_known(sentence)


def test_records_are_loaded_and_faults_named(tmp_path: Path) -> None:
    saved = tmp_path / "earlier.jsonl"
    for made in finished(run()[1]):
        saved.write_bytes(Path(made[5]["value"]).read_bytes())
    (loaded,) = benchmarks().load(str(saved), REQUEST)
    told = json.loads(loaded[0])
    assert told["state"] == "loaded" and told["name"] == "earlier.jsonl"
    assert told["summary"]["methods"]["staged"]["runs"] == 2
    for text in ("", "[1]\n", '{"kind": "environment", "schema": 9}\n', saved.read_text() + "{\n"):
        saved.write_text(text)
        (refused,) = benchmarks().load(str(saved), REQUEST)
        sentence = json.loads(refused[0])["sentence"]
        assert "arlier.jsonl" in sentence["en"] and str(tmp_path) not in refused[0]
        assert is_known(sentence)


def test_a_stop_while_the_suite_is_prepared_counts_and_one_from_before_does_not() -> None:
    tab = benchmarks()

    def state() -> str:
        *_, (told, _) = tab.run(REQUEST, *FORM.values())
        return str(json.loads(told)["state"])

    tab.begin(REQUEST)
    tab.stop(REQUEST)
    assert state() == "stopped"
    tab.stop(REQUEST)  # too late
    tab.begin(REQUEST)
    assert state() == "finished"
