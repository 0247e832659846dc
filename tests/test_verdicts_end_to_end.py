"""From a planted fault to the exit code: a run of a faulty engine is a BUG, and exits with 3.

The faults are models, caches and rules put in from outside, as in `test_planted_bugs`; here the
whole harness runs them, and a sound engine beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from compare import cli
from compare.__main__ import main
from compare.environment import environment
from compare.methods import Bench, Task, recorded
from compare.naming import REFERENCE
from compare.record_file import RecordReader, RecordWriter
from compare.recorder import PassBytes, Recorder
from compare.records import RunRecord
from compare.run import Plan
from compare.settings import Settings
from compare.suites import Prompt, Suite
from compare.verdict_record import VerdictRecord
from ssd.cache import KVCache
from ssd.decode import Lane, Rule, decode
from ssd.exact import Numerics
from ssd.meter import Meter
from ssd.model import CachedModel, LanguageModel, Pass
from ssd.models.load import LoadedPair, Options
from ssd.models.transformer import Transformer
from ssd.rules.keyed import keyed
from tests.proposers import right_among_wrong
from tests.test_planted_bugs import (
    Wrapped,
    best_of_rows,
    noise_by_node,
    noise_of_the_round,
    parent_only,
    penalty_without_path,
    position_off_by_one,
    sibling_leak,
    stale_slots,
    stale_values,
)
from tests.tiny import WIDTHS, tiny
from tests.tiny_pair import VOCABULARY, tiny_pair

PROMPTS = Suite("toy", tuple(Prompt(str(n), "toy", f"{n} is {n}") for n in range(4)), "0")
METHODS = (REFERENCE, "staged")
GREEDY = Settings(max_new_tokens=20)
SAMPLED = Settings(max_new_tokens=20, temperature=1.5)


@dataclass(frozen=True)
class Faulty:
    """A workbench whose `staged` decodes with another target, and by another rule."""

    pair: LoadedPair
    target: LanguageModel
    rule: Rule = keyed

    def run(self, task: Task) -> RunRecord:
        """The record of the task."""
        if task.key.method == REFERENCE:
            return Bench(self.pair).run(task)
        meter, request = Meter(), task.request
        recorder = Recorder(request, PassBytes.of(self.target), PassBytes.of(self.pair.draft))
        memo = CachedModel(self.target, "target", meter)
        lane = Lane(memo, meter, self.rule, recorder.witness)
        *_, plain = recorded(self.pair, replace(task, key=replace(task.key, method=REFERENCE)))
        answer = cast(RunRecord, plain).token_ids
        proposer = right_among_wrong(answer, 1, VOCABULARY, 15)
        for event in decode(lane, proposer, request):
            recorder.add(event)
        return recorder.record(task.key, task.category, self.pair.codec)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> LoadedPair:
    return tiny_pair(tmp_path_factory.mktemp("target"))


def _run(bench: Faulty, path: Path, settings: Settings = GREEDY) -> int:
    header = environment(bench.pair, Options(), settings, PROMPTS, {name: {} for name in METHODS})
    plan = Plan(PROMPTS, METHODS, settings, 1, header)
    return cli.execute(plan, cast(Any, bench), RecordWriter.create(path, header), path)


def _verdicts(path: Path) -> list[VerdictRecord]:
    return [line for line in RecordReader(path).lines() if isinstance(line, VerdictRecord)]


@pytest.mark.parametrize("settings", [GREEDY, SAMPLED, replace(SAMPLED, repetition_penalty=1.8)])
def test_a_sound_engine_is_identical(pair: LoadedPair, tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "run.jsonl"
    assert _run(Faulty(pair, Wrapped(pair.target)), path, settings) == 0
    assert _verdicts(path) == [] and main(["verify", str(path)]) == 0


@pytest.mark.parametrize("fault", [position_off_by_one, sibling_leak, parent_only])
def test_a_faulty_pass_is_a_bug(
    pair: LoadedPair, tmp_path: Path, fault: Callable[[Pass], Pass]
) -> None:
    _expect_bug(Faulty(pair, Wrapped(pair.target, fault)), tmp_path / "run.jsonl")


@pytest.mark.parametrize("fault", [stale_slots, stale_values])
def test_a_faulty_cache_is_a_bug(
    pair: LoadedPair, tmp_path: Path, fault: Callable[[KVCache], None]
) -> None:
    _expect_bug(Faulty(pair, Wrapped(pair.target, cache=fault)), tmp_path / "run.jsonl")


@pytest.mark.parametrize(
    ("rule", "settings"),
    [
        (noise_by_node, SAMPLED),
        (noise_of_the_round, SAMPLED),
        (best_of_rows, replace(SAMPLED, temperature=4.0)),
        (penalty_without_path, replace(SAMPLED, temperature=0.5, repetition_penalty=1.8)),
    ],
)
def test_a_faulty_rule_is_a_bug(
    pair: LoadedPair, tmp_path: Path, rule: Rule, settings: Settings
) -> None:
    _expect_bug(Faulty(pair, pair.target, rule), tmp_path / "run.jsonl", settings)


def _expect_bug(bench: Faulty, path: Path, settings: Settings = GREEDY) -> None:
    assert _run(bench, path, settings) == 3
    found = _verdicts(path)
    assert found and {verdict.verdict for verdict in found} == {"BUG"}
    assert {verdict.key.method for verdict in found} == {"staged"}
    assert main(["verify", str(path)]) == 3


class Leaky:
    """A model whose rows in a tree see a little of a sibling: too little to change an arg-max."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.vocab_size, self.context_length = model.vocab_size, model.context_length
        self.max_width, self.weight_bytes = model.max_width, model.weight_bytes

    def new_cache(self) -> KVCache:
        """The model's."""
        return self._model.new_cache()

    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """The model's; the least likely id of each row is told how likely a sibling finds it."""
        logits = self._model.forward(rows, cache, num_logits)
        if len(logits) > 1:
            logits = logits.clone()
            least = logits.argmin(dim=-1)
            for row in range(1, len(logits)):
                leaked = logits[row, least[row]] + 0.01 * logits[row - 1, least[row]]
                logits[row, least[row]] = torch.minimum(leaked, logits[row, least[row]] * 1.01)
        return logits


def test_a_leak_that_flips_no_id_is_a_bug_all_the_same(pair: LoadedPair, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert _run(Faulty(pair, Leaky(pair.target)), path) == 3
    runs = [line for line in RecordReader(path).lines() if isinstance(line, RunRecord)]
    answers = {(run.key.prompt_id, run.token_ids) for run in runs}
    assert len(answers) == len(PROMPTS.prompts), "an id was flipped"
    assert all("in an exact configuration" in verdict.reason for verdict in _verdicts(path))
    inexact = Faulty(replace(pair, is_exact=False), Leaky(pair.target))
    assert _run(inexact, tmp_path / "inexact.jsonl") == 0


class Rounding:
    """A model whose passes over a tree round otherwise than passes over one token."""

    def __init__(self, model: Transformer, size: float) -> None:
        self._model, self._size, self.weights = model, size, model.weights
        self.vocab_size, self.context_length = model.vocab_size, model.context_length
        self.max_width, self.weight_bytes = model.max_width, model.weight_bytes

    def new_cache(self) -> KVCache:
        """The model's."""
        return self._model.new_cache()

    def reserve(self, num_slots: int) -> None:
        """Nothing to get ready."""

    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """The model's, with an error of up to `size` that depends on the place in the pass."""
        logits = self._model.forward(rows, cache, num_logits).float()
        if len(rows.tokens) == 1:
            return logits
        places = torch.arange(logits.numel(), dtype=torch.float32).reshape(logits.shape)
        return logits + self._size * torch.sin(places * 12.9898)


def _twin_ids(folder: Path) -> LoadedPair:
    """A pair whose ids 2n and 2n + 1 have nearly the same row in the head: near-ties everywhere.

    In float32 and fast numerics.
    """
    checkpoint = tiny("llama", 11, tie_word_embeddings=False)
    head = checkpoint.tensors["lm_head.weight"]
    head[1::2] = head[: len(head) - 1 : 2] * (1 + 1e-5)
    pair = tiny_pair(folder, is_exact=False, checkpoint=checkpoint)
    target = checkpoint.model(torch.float32).with_numerics(Numerics("fast", WIDTHS))
    return replace(pair, target=target)


def test_a_near_tie_is_told_from_a_bug_with_its_gap_and_the_measured_error(tmp_path: Path) -> None:
    pair = _twin_ids(tmp_path / "target")
    pair = replace(pair, target=cast(Any, Rounding(pair.target, 1e-3)))
    path = tmp_path / "run.jsonl"
    assert _run(Faulty(pair, pair.target), path) == 0
    found = _verdicts(path)
    assert found and {verdict.verdict for verdict in found} == {"NEAR-TIE"}
    for verdict in found:
        assert verdict.tokens is not None and verdict.gap is not None and verdict.error is not None
        assert verdict.tokens[0] // 2 == verdict.tokens[1] // 2, "not twins"
        assert 0 <= verdict.gap <= verdict.error


def test_a_fault_among_near_ties_stays_a_bug(tmp_path: Path) -> None:
    """Not exact, and yet: what lies beyond the measured error is no near-tie."""
    pair = _twin_ids(tmp_path / "target")
    _expect_bug(Faulty(pair, Wrapped(pair.target, sibling_leak)), tmp_path / "run.jsonl")
