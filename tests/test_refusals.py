"""Refusals in both languages: what the library really says is known to the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from compare.conduct import Bench
from compare.engine import PairEngine
from compare.job import Job
from compare.page.callbacks import Fields
from compare.page.reading import MAX_RECORD_BYTES, reader_of
from compare.page.refusals import in_languages
from ssd.models.load import Options
from ssd.models.packed import in_integers
from tests.tiny import tiny
from tests.tiny_pair import tiny_pair

_FIELDS: dict[str, Any] = {
    "prompt": "x", "pair": "p", "max_new_tokens": 8, "temperature": 0, "top_k": 0, "top_p": 1,
    "seed": 0, "methods": ["staged"], "precision": "auto", "numerics": "exact", "nodes": 0,
    "chain": 0, "repetition_penalty": 1, "repeats": 1, "has_ngram": True,
}  # fmt: skip


def is_known(sentences: Mapping[str, str]) -> bool:
    """Whether the Chinese is more than the English sentence with an excuse."""
    return "英文说明" not in sentences["zh-CN"]


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ValueError, match=r"\S") as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "english", "chinese"),
    [
        ({"temperature": None}, "The temperature is empty: give a number.", "温度为空"),
        ({"repeats": 1.5}, "Repeats must be a whole number", "重复次数必须是不小于 0 的整数"),
        ({"seed": 1 << 64}, "The seed must be a whole number from 0", "随机种子必须是 0 到"),
        ({"temperature": -1}, "Temperature must be a number of 0 or more", "温度必须是不小于 0"),
        ({"temperature": float("nan")}, "Temperature must be a number", "收到的是 nan"),
        ({"top_p": 0}, "Top-p must lie above 0", "top-p必须大于 0 且不大于 1"),
        ({"repetition_penalty": 0}, "Repetition penalty must be a number above 0", "重复惩罚"),
    ],
)
def test_a_control_out_of_its_range(changes: Any, english: str, chinese: str) -> None:
    found = in_languages(refusal(Fields(**{**_FIELDS, **changes}).job))
    assert found["en"].startswith(english) and chinese in found["zh-CN"]
    assert is_known(found)


def test_a_prompt_without_room_in_the_context(tmp_path: Path) -> None:
    pair = tiny_pair(tmp_path)
    engine = PairEngine(pair, Options(), Bench(pair))
    room = pair.target.context_length
    for prompt, tokens in (("a" * (2 * room), 1), ("a", 2 * room)):
        job = Job(prompt, ("staged",), max_new_tokens=tokens)
        found = in_languages(refusal(lambda job=job: engine.num_prompt_tokens(job)))
        assert is_known(found) and f"上下文长度 {room}" in found["zh-CN"]


def test_a_file_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        file.truncate(MAX_RECORD_BYTES + 1)
    found = in_languages(refusal(lambda: reader_of(path)))
    assert found["zh-CN"] == "文件 large.jsonl 有 64 MB，记录文件最大 64 MB。"


def test_integers_that_do_not_fit() -> None:
    found = in_languages(refusal(lambda: in_integers(tiny("gpt2", 1).model(torch.float32), 4)))
    assert found["zh-CN"].startswith("int4 需要 CPU")


def test_another_sentence_stays_english_with_its_braces() -> None:
    found = in_languages("no {such} thing: try <b>another</b>.")
    assert found["en"] == "No {such} thing: try <b>another</b>."
    assert found["zh-CN"] == "请求被拒绝（英文说明）：No {such} thing: try <b>another</b>。"
    assert not is_known(found)
    assert is_known(in_languages("the suite {x}, line 3: {reason}"))
