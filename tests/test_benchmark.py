"""The Benchmark tab's callbacks: what they hand out, and what they refuse in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from compare.job import Limits
from compare.lab import Lab
from compare.page.benchmark import MAX_SUITE_BYTES, Benchmarks, Form
from tests.fake_engine import METHODS, FakeEngine, opener

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


def run(**changes: Any) -> list[tuple[Any, ...]]:
    return list(benchmarks().run(REQUEST, *{**FORM, **changes}.values()))


def test_the_form_is_in_the_order_of_its_fields() -> None:
    assert list(FORM) == list(Form.__dataclass_fields__)


def test_a_run_ends_with_a_summary_figures_and_files(tmp_path: Path) -> None:
    held: dict[str, str] = {}
    last: tuple[Any, ...] = ()
    told: dict[str, Any] = {}
    for last in benchmarks().run(REQUEST, *FORM.values()):
        told = json.loads(last[0])
        if told["state"] == "finished":  # the files are there for as long as it waits
            paths = [Path(each["value"]) for each in last[5:]]
            held = {path.suffix: path.read_text("utf-8") for path in paths}
    _, go, stop, figure, entropy, *_ = last
    assert told["state"] == "finished" and told["summary"]["methods"]["staged"]["runs"] == 2
    assert go["interactive"] and not stop["interactive"]
    assert figure.data and entropy is None
    assert held[".jsonl"].startswith('{"kind":"environment"')
    assert len(held[".csv"].splitlines()) == 1 + 2 * len(METHODS)
    assert "<html" in held[".html"]


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
    *_, last = run(**changes)
    told = json.loads(last[0])
    assert told["state"] == "sentence" and word in told["sentence"], told
    assert told["sentence"][0].isupper() and told["sentence"].endswith(".")
    assert "summary" not in told and all(each == gr.skip() for each in last[3:])


def test_a_suite_file_is_checked(tmp_path: Path) -> None:
    good, bad, large = (tmp_path / f"{name}.jsonl" for name in ("good", "bad", "large"))
    good.write_text('{"id": "<img src=x>", "text": "hello", "category": "${1}"}\n')
    bad.write_text('{"id": "a"}\n')
    large.write_bytes(b" " * (MAX_SUITE_BYTES + 1))
    *_, last = run(suite="file", file=str(good))
    assert json.loads(last[0])["state"] == "finished" and "<" not in last[0]
    *_, last = run(suite="file", file=str(bad))
    assert "line 1: the text is missing" in json.loads(last[0])["sentence"]
    *_, last = run(suite="file", file=str(large))
    sentence = json.loads(last[0])["sentence"]
    assert "large.jsonl has 2.0 MB" in sentence and str(tmp_path) not in sentence


def test_records_are_loaded_and_faults_named(tmp_path: Path) -> None:
    saved = tmp_path / "earlier.jsonl"
    for told in benchmarks().run(REQUEST, *FORM.values()):
        if json.loads(told[0])["state"] == "finished":
            saved.write_bytes(Path(told[5]["value"]).read_bytes())
    (loaded,) = benchmarks().load(str(saved), REQUEST)
    told = json.loads(loaded[0])
    assert told["state"] == "loaded" and told["name"] == "earlier.jsonl"
    assert told["summary"]["methods"]["staged"]["runs"] == 2
    for text in ("", "[1]\n", '{"kind": "environment", "schema": 9}\n', saved.read_text() + "{\n"):
        saved.write_text(text)
        (refused,) = benchmarks().load(str(saved), REQUEST)
        sentence = json.loads(refused[0])["sentence"]
        assert "arlier.jsonl" in sentence and str(tmp_path) not in sentence
