"""llama.cpp as a baseline, with a module in its place that speaks its interface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from compare.llama_cpp import LlamaCpp
from compare.methods import Task
from compare.records import RunKey, RunRecord
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop

PROMPT = (5, 6, 7, 5)
CONTEXT = 32


class Stream:
    """A letter for each id."""

    def push(self, ids: list[int]) -> str:
        """`a` for 0, `b` for 1 and so on."""
        return "".join(chr(97 + token) for token in ids)

    def flush(self) -> str:
        """Nothing is held back."""
        return ""


class FakeLlama:
    """Says one more than the last id, modulo 24, and notes what it was told."""

    def __init__(self, path: str, **told: Any) -> None:
        self.path, self.told = path, told
        self.known: list[int] = []
        self.evaluated: list[int] = []
        self.seeds: list[int] = []
        self.sampling: dict[str, Any] = {}

    def reset(self) -> None:
        """Forget."""
        self.known = []

    def set_seed(self, seed: int) -> None:
        """llama.cpp's seeds have 32 bits."""
        assert 0 <= seed < 2**32 - 1
        self.seeds.append(seed)

    def eval(self, tokens: list[int]) -> None:
        """Take in tokens."""
        self.evaluated.append(len(tokens))
        self.known += tokens

    def generate(self, tokens: list[int], *, reset: bool, **sampling: Any) -> Iterator[int]:
        """As the package does it: what is known of the beginning is not evaluated again."""
        assert reset and self.known == tokens[: len(self.known)]
        self.sampling = sampling
        left = tokens[len(self.known) :]
        while True:
            self.eval(left)
            left = [(self.known[-1] + 1) % 24]
            yield left[0]


class FakePackage:
    """The module."""

    __version__ = "0.0.1"

    def __init__(self) -> None:
        self.made: list[FakeLlama] = []

    def Llama(self, path: str, **told: Any) -> FakeLlama:
        """A model."""
        self.made.append(FakeLlama(path, **told))
        return self.made[-1]


@pytest.fixture
def pair(tmp_path: Path) -> Any:
    """What the baseline needs of a pair."""
    (tmp_path / "model.Q4_1.gguf").write_bytes(b"x" * 1000)
    shape = SimpleNamespace(num_layers=2, num_kv_heads=2, head_size=8)
    return SimpleNamespace(
        folder=tmp_path,
        device=torch.device("cpu"),
        target=SimpleNamespace(context_length=CONTEXT, architecture=shape),
        codec=SimpleNamespace(stream=Stream),
    )


def _run(pair: Any, package: FakePackage, **changes: Any) -> RunRecord:
    cancelled = changes.pop("is_cancelled", lambda: False)
    request = replace(Request(PROMPT, Sampling(), 0, Stop(10, frozenset(), (), Stream)), **changes)
    task = Task(RunKey("llama-cpp", "p"), "toy", request, None, is_cancelled=cancelled)  # type: ignore[arg-type]
    return LlamaCpp(pair, lambda: package).run(task)


def test_a_run_takes_a_pass_a_token_and_its_prompt_is_not_in_the_decode(pair: Any) -> None:
    package = FakePackage()
    record = _run(pair, package)
    (model,) = package.made
    assert record.token_ids == tuple(range(6, 16)) and record.finish_reason == "length"
    assert model.evaluated == [3] + [1] * 10
    assert [len(step.tokens) for step in record.steps] == [1] * 10
    assert record.seconds is not None and record.seconds.prefill > 0
    assert record.seconds.decode == pytest.approx(record.steps[-1].time)
    assert all(step.seconds.decode == step.seconds.target > 0 for step in record.steps)
    slots = sum(range(len(PROMPT), len(PROMPT) + 10))
    assert record.bytes_read == 10 * 1000 + slots * 2 * 2 * 2 * 2 * 8
    assert record.text == Stream().push(list(record.token_ids)) and record.logit_hashes == ()


def test_it_gets_as_many_threads_as_torch_and_our_settings(pair: Any) -> None:
    package = FakePackage()
    sampling = Sampling(0.7, top_k=50, top_p=0.9, repetition_penalty=1.1)
    _run(pair, package, sampling=sampling, seed=2**64 - 1)
    (model,) = package.made
    threads = torch.get_num_threads()
    assert (model.told["n_threads"], model.told["n_threads_batch"]) == (threads, threads)
    assert model.path.endswith("model.Q4_1.gguf") and model.told["n_ctx"] == CONTEXT
    assert model.told["flash_attn"] is True and model.told["n_gpu_layers"] == 0
    assert model.sampling == {
        "temp": 0.7, "top_k": 50, "top_p": 0.9, "min_p": 0.0, "typical_p": 1.0,
        "repeat_penalty": 1.1,
    }  # fmt: skip
    _run(pair, package)
    assert package.made[-1].sampling["temp"] == 0.0
    told = LlamaCpp(pair, lambda: package).settings
    assert told["file"] == "model.Q4_1.gguf" and told["version"] == "0.0.1"


def test_a_second_run_starts_anew(pair: Any) -> None:
    package = FakePackage()
    baseline = LlamaCpp(pair, lambda: package)
    request = Request(PROMPT, Sampling(), 0, Stop(10, frozenset(), (), Stream))
    task = Task(RunKey("llama-cpp", "p"), "toy", request, None)  # type: ignore[arg-type]
    first, again = (baseline.run(task) for _ in range(2))
    assert first.token_ids == again.token_ids and len(package.made) == 1
    assert package.made[0].evaluated == ([3] + [1] * 10) * 2


def test_it_stops_where_our_own_rule_stops(pair: Any) -> None:
    package = FakePackage()
    by_id = _run(pair, package, stop=Stop(10, frozenset({8}), (), Stream))
    assert (by_id.token_ids, by_id.finish_reason) == ((6, 7, 8), "stop")
    by_text = _run(pair, package, stop=Stop(10, frozenset(), ("j",), Stream))
    assert (by_text.token_ids, by_text.finish_reason) == ((6, 7, 8, 9), "stop")
    full = _run(pair, package, stop=Stop(1000, frozenset(), (), Stream))
    assert (len(full.token_ids), full.finish_reason) == (CONTEXT - len(PROMPT), "context")
    cancelled = _run(pair, package, is_cancelled=lambda: True)
    assert (len(cancelled.token_ids), cancelled.finish_reason) == (1, "cancelled")
    assert _run(pair, package, prompt=(5,)).token_ids == tuple(range(6, 16))
    with pytest.raises(ValueError, match="context"):
        _run(pair, package, prompt=(5,) * CONTEXT)


def test_a_pair_without_a_gguf_is_refused(pair: Any) -> None:
    (pair.folder / "model.Q4_1.gguf").unlink()
    with pytest.raises(ValueError, match=r"needs the model as a GGUF, and there is none in"):
        _ = LlamaCpp(pair, FakePackage).settings
