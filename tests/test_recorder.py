"""What a record says of the logits, held against the model asked node by node."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch

from compare.certificate import inconsistencies
from compare.digest import Digests
from compare.metrics import summary
from compare.record_details import Candidates, StepDetails
from compare.recorder import PassBytes, Recorder
from compare.recorder_details import row_entropy
from compare.records import RunKey, RunRecord
from compare.step_record import StepRecord
from ssd import noise
from ssd.decode import autoregressive, decode
from ssd.draft import DraftPass, DraftPolicy, DraftStage
from ssd.grow import Limits
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.ngram import NGram
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from tests.toy import Markov, lane_of

SAMPLINGS = (Sampling(), Sampling(1.0), Sampling(0.7, 6, 0.9, 1.3), Sampling(0, 0, 1, 1.5))
PROMPT = (1, 2, 3, 4, 1, 2, 3, 4, 1, 2)
HEAD = (3, 1, 4, 15, 9, 2, 6, 5, 8, 7, 0, 21)
TARGET = Markov(3, vocab_size=24, max_width=64)
DRAFT = Markov(3, vocab_size=24, max_width=64, wobble=2.0)
REDUCED = Markov(5, vocab_size=len(HEAD), max_width=64)
BYTES = PassBytes(0, 0)


class _Letters:
    """A codec that shows every id as a letter."""

    stop_ids = frozenset[int]()

    def stream(self) -> _Letters:
        return self

    def push(self, ids: Sequence[int]) -> str:
        return "x" * len(ids)

    def flush(self) -> str:
        return ""


def _record(recorder: Recorder) -> RunRecord:
    return recorder.record(RunKey("staged", "p"), "toy", cast(Any, _Letters()))


def _staged(
    request: Request,
    head: Sequence[int] | None = None,
    *,
    has_details: bool = True,
    is_merged: bool = True,
) -> tuple[RunRecord, list[DraftPass]]:
    """A run with the N-gram's help, its record and all passes of its draft."""
    passes: list[DraftPass] = []
    recorder = Recorder(request, BYTES, BYTES, has_details=has_details)

    def note(read: DraftPass) -> None:
        passes.append(read)
        recorder.draft_pass(read)

    meter = Meter()
    memo = CachedModel(cast(Any, DRAFT if head is None else REDUCED), "draft", meter)
    ids = None if head is None else torch.tensor(head)
    policy = DraftPolicy(Limits(9, 4), branching=3, is_merged=is_merged)
    stage = DraftStage(memo, ids, policy, NGram(None), meter, note)
    lane = replace(lane_of(TARGET, witness=recorder.witness), meter=meter)
    for event in decode(lane, stage, request):
        recorder.add(event)
    return _record(recorder), passes


def _law(row: Sequence[float], request: Request, history: Sequence[int]) -> list[float]:
    """The softmax of the processed scores, summed in plain Python."""
    scores = request.sampling.scores(torch.tensor(row), history).tolist()
    weights = [math.exp(score - max(scores)) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def _histories(record: RunRecord, step: StepRecord, before: int) -> list[tuple[int, ...]]:
    """For each node of a step's tree, the ids up to it."""
    histories = [(*record.prompt_ids, *record.token_ids[:before])]
    for token, parent in zip(step.tree.tokens[1:], step.tree.parents[1:], strict=True):
        histories.append((*histories[parent], token))
    return histories


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_token_has_the_entropy_of_the_law_it_was_drawn_from(sampling: Sampling) -> None:
    request = Request(PROMPT, sampling, 7, Stop(23))
    recorder = Recorder(request, BYTES, BYTES)
    for event in autoregressive(lane_of(TARGET, witness=recorder.witness), request):
        recorder.add(event)
    plain, (staged, _), (bare, _) = (
        _record(recorder),
        _staged(request),
        _staged(request, has_details=False),
    )
    expected = []
    for at in range(23):
        history = (*PROMPT, *plain.token_ids[:at])
        law = _law(TARGET.row(history), request, history)
        expected.append(-math.fsum(p * math.log(p) for p in law if p > 0))
    for record in (plain, staged, bare):
        assert record.token_ids == plain.token_ids
        found = [value for step in record.steps for value in cast(Any, step.entropy)]
        assert found == pytest.approx(expected, abs=1e-9)
    assert max(expected) > 0.3
    assert {step.details for step in (*plain.steps, *bare.steps)} == {None}


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("head", [None, HEAD])
def test_candidates_are_the_likeliest_of_each_node_and_hold_the_chosen(
    sampling: Sampling, head: Sequence[int] | None
) -> None:
    request = Request(PROMPT, sampling, 7, Stop(25))
    record, passes = _staged(request, head)
    assert any(len(step.tokens) < len(step.path) + 1 or len(step.path) for step in record.steps)
    drafted = done = 0
    for step in record.steps:
        read = passes[: step.draft_passes]
        del passes[: step.draft_passes]
        details = cast(StepDetails, step.details)
        for node, history in enumerate(_histories(record, step, done)):
            _check_target(details, node, history, request)
            path, base = history[len(PROMPT) + done :], len(PROMPT) + done
            drafted += _check_draft(details.draft[node], path, base, read, request)
        for at, node in enumerate((0, *step.path)[: len(step.tokens)]):
            assert step.tokens[at] in [each.token for each in details.target[node]]
        done += len(step.tokens)
    assert drafted > 20 and passes == []


def _check_target(
    details: StepDetails, node: int, history: tuple[int, ...], request: Request
) -> None:
    found = details.target[node]
    law = _law(TARGET.row(history), request, history)
    likeliest = sorted(range(24), key=lambda token: (-law[token], token))[:8]
    likeliest = [token for token in likeliest if law[token] > 0]
    entropy = -math.fsum(p * math.log(p) for p in law if p > 0)
    assert details.entropy[node] == pytest.approx(entropy, abs=1e-9)
    assert [each.token for each in found][:7] == likeliest[:7] and len(found) == len(likeliest)
    assert [e.probability for e in found] == pytest.approx([law[e.token] for e in found])
    if request.sampling.is_greedy:
        assert found[0].token == max(range(24), key=lambda token: law[token])
        assert {each.noise for each in found} == {None}
        return
    terms = noise.gumbel(request.seed, len(history), np.arange(24)).tolist()
    assert [each.noise for each in found] == [terms[each.token] for each in found]
    perturbed = [math.log(p) + g if p > 0 else -math.inf for p, g in zip(law, terms, strict=True)]
    assert perturbed.index(max(perturbed)) in [each.token for each in found]


def _check_draft(
    found: Candidates | None,
    path: tuple[int, ...],
    base: int,
    read: Sequence[DraftPass],
    request: Request,
) -> int:
    """1 where the draft read the row of `path`; its candidates are then those of that row.

    `base`: the length of the context.
    """
    rows = {p: row for each in read for p, row in zip(each.paths, each.logits, strict=True)}
    assert (found is not None) == (path in rows)
    if found is None:
        return 0
    row = rows[path].double() / (request.sampling.temperature or 1.0)
    law = torch.softmax(row, 0).tolist()
    ids = list(range(24)) if read[0].head_ids is None else read[0].head_ids.tolist()
    by_id = dict(zip(ids, law, strict=True))
    likeliest = sorted(by_id, key=lambda token: (-by_id[token], token))
    assert [each.token for each in found][:7] == likeliest[:7] and len(found) == 8
    assert [e.probability for e in found] == pytest.approx([by_id[e.token] for e in found])
    if not request.sampling.is_greedy:
        shown = np.array([each.token for each in found])
        terms = noise.gumbel(request.seed, base + len(path), shown).tolist()
        assert [each.noise for each in found] == terms
    return 1


def test_inner_passes_tell_what_was_wanted_and_what_the_ngram_foresaw() -> None:
    record, passes = _staged(Request(PROMPT, Sampling(), 0, Stop(25)), is_merged=False)
    num_ahead = 0
    for step in record.steps:
        inner = cast(StepDetails, step.details).inner
        assert len(inner) == step.draft_passes
        for told, read in zip(inner, passes[: len(inner)], strict=True):
            assert set(told.wanted) == read.wanted and not read.wanted & set(told.ahead)
            assert sorted([*told.wanted, *told.ahead]) == sorted(read.paths)
            num_ahead += len(told.ahead)
        del passes[: len(inner)]
        assert not inner or inner[0].wanted[0] == ()
    assert num_ahead > 5


def test_a_run_s_record_accounts_for_all_of_its_tokens_and_time() -> None:
    """On the real clock: stages against the time stamps, tokens a step against passes."""
    record, _ = _staged(Request(PROMPT, Sampling(1.0), 3, Stop(30)))
    seconds = record.seconds
    assert seconds is not None and seconds.decode > 0
    assert seconds.decode == pytest.approx(record.steps[-1].time, rel=0.01)
    assert list(inconsistencies(record, {"settings": {"max_new_tokens": 30}})) == []
    found = summary({"is_exact": True}, Digests.of([record]))["methods"]["staged"]
    assert found["tokens_per_step"] * found["target_passes"] == pytest.approx(30)
    assert found["origins"]["target"] <= found["target_passes"]
    stages = ("ngram", "draft", "target", "other")
    assert sum(found["seconds"][name] for name in stages) == pytest.approx(seconds.decode)
    assert found["tokens_per_second"] == pytest.approx(30 / seconds.decode)


def test_a_row_without_a_finite_maximum_has_no_entropy() -> None:
    row = np.array([1.0, np.nan, 2.0], dtype=np.float32)
    assert row_entropy(row) is None
    assert row_entropy(np.array([1.0, np.inf], dtype=np.float32)) is None
    assert row_entropy(np.array([5.0, -np.inf], dtype=np.float32)) == 0.0
    assert row_entropy(np.zeros(4, dtype=np.float32)) == pytest.approx(math.log(4))


def test_the_json_of_a_run_with_details_comes_back() -> None:
    record, _ = _staged(Request(PROMPT, Sampling(1.0), 3, Stop(12)))
    once = RunRecord.from_json(json.loads(json.dumps(record.to_json(), allow_nan=False)))
    again = RunRecord.from_json(json.loads(json.dumps(once.to_json(), allow_nan=False)))
    assert once == again and once.token_ids == record.token_ids
    details = cast(StepDetails, once.steps[0].details)
    assert details.inner == cast(StepDetails, record.steps[0].details).inner
