"""The embedded pair end to end. Without the model these tests fail; none is skipped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ssd.events import Result, collect
from ssd.exact import hash_rows
from ssd.lanes import Guessing, Watch, events
from ssd.models.load import LoadedPair, Options, load_pair
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from ssd.train.__main__ import main as train
from ssd.tree import TokenTree
from ssd.verify import Verdict

pytestmark = pytest.mark.model

PROMPTS = (
    "Write a Python function that returns the n-th Fibonacci number.",
    "List five fruits and a use for each.",
    "Repeat after me: the quick brown fox jumps over the lazy dog. The quick brown fox",
)
METHODS = ("speculative", "staged", "tree", "lookup")
# Fixed sizes: prices depend on what else the machine does.
GUESSING = Guessing(nodes=16, chain=4)


@cache
def pair(precision: str, numerics: str = "exact") -> LoadedPair:
    """The embedded pair; loaded once for all tests."""
    return load_pair(Options(precision=precision, numerics=numerics), is_brief=True)


def request(loaded: LoadedPair, text: str, sampling: Sampling, num_tokens: int) -> Request:
    stop = Stop(num_tokens, loaded.codec.stop_ids)
    return Request(loaded.codec.prompt_ids(text), sampling, 7, stop)


def witnessed(
    loaded: LoadedPair, method: str, asked: Request
) -> tuple[tuple[int, ...], tuple[str, ...], Result]:
    """Ids, the hash of the row that chose each, and the run."""
    hashes: list[str] = []

    def witness(tree: TokenTree, verdict: Verdict, logits: Tensor) -> None:
        hashes.extend(hash_rows(logits[list(verdict.nodes)]))

    run = collect(events(loaded, method, asked, GUESSING, Watch(witness)))
    return run.tokens, tuple(hashes[: len(run.tokens)]), run


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0, top_k=50)], ids=["greedy", "T=1"])
@pytest.mark.parametrize("text", PROMPTS)
def test_bf16_exact_agrees_to_the_last_bit(text: str, sampling: Sampling) -> None:
    loaded = pair("bf16")
    assert loaded.is_exact, loaded.description["probe"]
    asked = request(loaded, text, sampling, 40)
    ids, hashes, plain = witnessed(loaded, "autoregressive", asked)
    assert len(ids) == len(hashes) > 10 and plain.target_passes == len(ids)
    passes = {}
    for method in METHODS:
        found, found_hashes, run = witnessed(loaded, method, asked)
        assert found == ids, method
        assert found_hashes == hashes, method
        assert run.target_passes <= plain.target_passes
        passes[method] = run.target_passes
    assert min(passes.values()) < plain.target_passes, "no guess was ever right"
    replayed = collect(events(loaded, "replay", asked, GUESSING, answer=ids))
    assert replayed.tokens == ids and replayed.target_passes <= -(-len(ids) // 17) + 1


def test_fp32_says_what_transformers_generate_says() -> None:
    from transformers import AutoModelForCausalLM

    loaded = pair("fp32")
    reference = AutoModelForCausalLM.from_pretrained(loaded.folder, dtype=torch.float32).eval()
    for text in PROMPTS:
        asked = request(loaded, text, Sampling(), 48)
        with torch.inference_mode():
            expected: Sequence[int] = reference.generate(
                torch.tensor([asked.prompt]), do_sample=False, max_new_tokens=48
            )[0, len(asked.prompt) :].tolist()
        run = collect(events(loaded, "autoregressive", asked))
        assert list(run.tokens) == expected
        if text == PROMPTS[0]:
            staged = collect(events(loaded, "staged", asked, GUESSING))
            assert list(staged.tokens) == expected


def test_fast_numerics_in_bf16_shows_differing_rows() -> None:
    """The negative control: rows that chose the same ids from the same context, other bits."""
    loaded = pair("bf16", "fast")
    asked = request(loaded, PROMPTS[0], Sampling(), 40)
    ids, hashes, _ = witnessed(loaded, "autoregressive", asked)
    found, found_hashes, _ = witnessed(loaded, "staged", asked)
    same = next((i for i, (a, b) in enumerate(zip(ids, found, strict=False)) if a != b), len(ids))
    assert same > 0
    equal = sum(a == b for a, b in zip(hashes[:same], found_hashes[:same], strict=True))
    assert equal < same


def test_the_shipped_draft_is_measured_and_the_second_stage_saves_its_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, on answers of a record; every tree the same with the N-gram and without."""
    loaded = pair("bf16")
    entries = []
    for text in PROMPTS:
        asked = request(loaded, text, Sampling(), 24)
        answer = collect(events(loaded, "staged", asked)).tokens
        ids = {"prompt_id": text, "prompt_ids": asked.prompt, "token_ids": answer}
        entries.append({"kind": "run", "method": "autoregressive", **ids, "error": None})
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    assert train(["measure", "--answers", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["HumanEval"]["ids"] > 40 and 0 < found["pass"]["ratio_at_1"] < 1
    stage = found["second stage"]
    assert stage["equal trees"] == stage["rounds"] > 10
    assert stage["both"]["draft_passes"] < 0.9 * stage["none"]["draft_passes"]
