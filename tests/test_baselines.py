"""transformers as a baseline: its own ids, our accounting. On a tiny random Llama."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from compare.adjudicate import Float64
from compare.baselines import HuggingFace
from compare.hugging_face import load_draft
from compare.methods import Task
from compare.naming import HUGGING_FACE
from compare.records import RunKey, RunRecord
from ssd.lanes import Guessing
from ssd.models.assets import write_draft
from ssd.models.load import Options, load_pair
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop

PROMPT = (5, 6, 7, 5, 6, 7, 5, 6)
CONTEXT = 64


class Stream:
    """A letter for each id."""

    def push(self, ids: Sequence[int]) -> str:
        """`a` for 0, `b` for 1 and so on."""
        return "".join(chr(97 + token) for token in ids)

    def flush(self) -> str:
        """Nothing is held back."""
        return ""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a baseline needs of a pair, around a tiny model of 24 ids."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=24,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        initializer_range=0.5,
        eos_token_id=None,
        bos_token_id=None,
    )
    folder: Path = tmp_path_factory.mktemp("tiny")
    target = LlamaForCausalLM(config)
    target.save_pretrained(folder)
    # The target, a little off: a draft that is right now and then.
    draft_folder: Path = tmp_path_factory.mktemp("tiny-draft")
    with torch.no_grad():
        for weight in target.parameters():
            weight += 0.03 * torch.randn_like(weight)
    target.save_pretrained(draft_folder)
    cache = SimpleNamespace(slot_bytes=1)
    target = SimpleNamespace(context_length=CONTEXT, weight_bytes=1000, new_cache=lambda: cache)
    return SimpleNamespace(
        folder=folder,
        draft_folder=draft_folder,
        dtype=torch.float32,
        library_dtype=torch.float32,
        device=torch.device("cpu"),
        target=target,
        codec=SimpleNamespace(stream=Stream),
    )


def _request(**changes: Any) -> Request:
    return replace(Request(PROMPT, Sampling(), 0, Stop(20, frozenset(), (), Stream)), **changes)


def _run(pair: Any, method: str, request: Request, **changes: Any) -> RunRecord:
    task = Task(RunKey(method, "p"), "toy", request, None, **changes)  # type: ignore[arg-type]
    return HuggingFace(pair, method).run(task)


def _greedy(pair: Any, num_tokens: int) -> tuple[int, ...]:
    """The ids of transformers' own loop-free arg-max, one whole forward a token."""
    model: Any = AutoModelForCausalLM.from_pretrained(pair.folder)
    ids = list(PROMPT)
    with torch.inference_mode():
        for _ in range(num_tokens):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return tuple(ids[len(PROMPT) :])


@pytest.mark.parametrize("method", HUGGING_FACE)
def test_greedy_ids_are_those_of_the_model(pair: Any, method: str) -> None:
    record = _run(pair, method, _request())
    assert record.token_ids == _greedy(pair, 20)
    assert record.finish_reason == "length" and record.error is None
    assert record.text == Stream().push(record.token_ids)
    assert record.logit_hashes == ()


def test_generate_takes_a_pass_a_token_and_its_seconds_add_up(pair: Any) -> None:
    record = _run(pair, "hf-generate", _request())
    assert [len(step.tokens) for step in record.steps] == [1] * 20
    assert record.seconds is not None and record.seconds.prefill > 0
    assert record.seconds.decode == pytest.approx(record.steps[-1].time)
    assert all(0 < step.seconds.target <= step.seconds.decode for step in record.steps)
    # 20 passes; slots of 2 layers, keys and values, 2 heads of 8 float32.
    slots = sum(range(len(PROMPT), len(PROMPT) + 20))
    assert record.bytes_read == 20 * 1000 + slots * 2 * 2 * 2 * 8 * 4


def test_assisted_passes_are_fewer_and_the_drafts_are_counted(pair: Any) -> None:
    record = _run(pair, "hf-assisted", _request())
    assert record.seconds is not None and record.seconds.prefill > 0
    assert len(record.steps) < 20 == len(record.token_ids)
    for step in record.steps[1:]:
        assert 0 < step.draft_passes <= 4 and 0 < step.seconds.draft < step.seconds.decode
        assert step.origins == ("draft",) * (len(step.tokens) - 1) + ("target",)
    assert record.seconds.decode == pytest.approx(record.steps[-1].time)
    passes = sum(step.draft_passes for step in record.steps)
    weights = sum(w.numel() * 4 for w in load_draft(pair, "sdpa").parameters())
    read = record.bytes_read
    assert read is not None and read > len(record.steps) * 1000 + passes * weights
    told = HuggingFace(pair, "hf-assisted").settings
    assert told["num_assistant_tokens"] == 4 and told["assistant_confidence_threshold"] == 0.6


@pytest.mark.parametrize("is_tied", [True, False])
def test_a_draft_of_the_lab_gets_the_whole_head_of_the_target(
    pair: Any, tmp_path: Path, is_tied: bool
) -> None:
    """With all of the target's layers it is the target."""
    folder, draft_folder = tmp_path / "target", tmp_path / "draft"
    config = LlamaConfig.from_pretrained(pair.folder, tie_word_embeddings=is_tied)
    target = LlamaForCausalLM(config)
    target.save_pretrained(folder)
    body = {n: t for n, t in target.model.state_dict().items() if not n.startswith("embed")}
    card = {"num_layers": 2, "context_length": CONTEXT, "width": 32, "vocab_size": 24}
    draft_folder.mkdir()
    write_draft(draft_folder, {**body, "head_ids": torch.tensor([3, 5, 7])}, card)
    named = {**vars(pair), "folder": folder, "draft_folder": draft_folder}
    draft = load_draft(SimpleNamespace(**named), "sdpa")
    with torch.inference_mode():
        ids = torch.tensor([PROMPT])
        assert torch.allclose(draft(ids).logits, target(ids).logits, atol=1e-5)


def test_sampling_is_a_function_of_the_seed(pair: Any) -> None:
    sampling = Sampling(temperature=1.0, top_k=20, top_p=0.95, repetition_penalty=1.1)
    first, again, other = (
        _run(pair, "hf-generate", _request(sampling=sampling, seed=seed)).token_ids
        for seed in (2**64 - 1, 2**64 - 1, 1)
    )
    assert first == again != other


@pytest.mark.parametrize("method", HUGGING_FACE)
def test_it_stops_where_our_own_rule_stops(pair: Any, method: str) -> None:
    answer = _greedy(pair, 20)
    token = answer[4]
    end = answer.index(token) + 1
    by_id = _run(pair, method, _request(stop=Stop(20, frozenset({token}), (), Stream)))
    assert (by_id.token_ids, by_id.finish_reason) == (answer[:end], "stop")
    by_text = _run(pair, method, _request(stop=Stop(20, frozenset(), (chr(97 + token),), Stream)))
    assert (by_text.token_ids, by_text.finish_reason) == (answer[:end], "stop")
    assert by_text.text == Stream().push(answer[: end - 1])


def test_it_ends_at_the_context_and_at_a_cancel(pair: Any) -> None:
    full = _run(pair, "hf-generate", _request(stop=Stop(1000, frozenset(), (), Stream)))
    assert (len(full.token_ids), full.finish_reason) == (CONTEXT - len(PROMPT), "context")
    cancelled = _run(pair, "hf-generate", _request(), is_cancelled=lambda: True)
    assert (len(cancelled.token_ids), cancelled.finish_reason) == (1, "cancelled")


def test_a_prompt_of_one_token_and_one_that_is_too_long(pair: Any) -> None:
    assert len(_run(pair, "hf-generate", _request(prompt=(3,))).token_ids) == 20
    with pytest.raises(ValueError, match="context"):
        _run(pair, "hf-generate", _request(prompt=(3,) * CONTEXT))


def test_the_reference_is_the_model_in_float64(pair: Any) -> None:
    rows = Float64(pair)(PROMPT)
    model: Any = AutoModelForCausalLM.from_pretrained(pair.folder)
    with torch.inference_mode():
        logits = model(torch.tensor([PROMPT])).logits[0].double().numpy()
    assert rows.dtype.name == "float64" and rows.shape == (len(PROMPT), 24)
    assert 0 < abs(rows - logits).max() < 1e-4


@pytest.mark.model
def test_the_shipped_draft_helps_transformers_and_changes_nothing() -> None:
    """In float32, where transformers' ids are ours."""
    loaded = load_pair(Options(precision="fp32"), is_brief=True)
    stop = Stop(24, loaded.codec.stop_ids, (), loaded.codec.stream)
    prompt = loaded.codec.prompt_ids("Write a Python function that returns the n-th prime.")
    request = Request(prompt, Sampling(), 0, stop)
    plain, assisted = (
        HuggingFace(loaded, method).run(Task(RunKey(method, "p"), "code", request, Guessing()))
        for method in ("hf-generate", "hf-assisted")
    )
    assert assisted.token_ids == plain.token_ids and len(plain.token_ids) > 10
    assert len(assisted.steps) < len(plain.steps), "no guess was ever right"
