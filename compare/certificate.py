"""The three verdicts on a run: IDENTICAL, NEAR-TIE, BUG (DESIGN 5). Records only, no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from compare.records import RunKey, RunRecord
from compare.step_record import Json, StepRecord
from compare.verdict_record import VerdictRecord

Verdict = Literal["IDENTICAL", "NEAR-TIE", "BUG"]
VERDICTS: tuple[Verdict, ...] = ("IDENTICAL", "NEAR-TIE", "BUG")


class Answer(Protocol):
    """What of a record the certificate reads."""

    @property
    def key(self) -> RunKey: ...
    @property
    def prompt_ids(self) -> tuple[int, ...]: ...
    @property
    def token_ids(self) -> tuple[int, ...]: ...
    @property
    def logit_hashes(self) -> tuple[str, ...]: ...
    @property
    def finish_reason(self) -> str | None: ...
    @property
    def settings(self) -> Json | None: ...


@dataclass(frozen=True)
class Certificate:
    """A verdict, why, and how many of the `num_rows` logit rows are equal to the last bit.

    `parting`: the first token at which the ids differ, None where they do not.
    """

    verdict: Verdict
    reason: str
    rows_equal: int
    num_rows: int
    parting: int | None = None


_NOTHING: Json = {}
NearTie = Callable[[RunKey], VerdictRecord | None]


def certify(
    reference: Answer, run: Answer, *, is_exact: bool, near_tie: NearTie = lambda key: None
) -> Certificate:
    """The verdict on `run` against `reference`.

    `is_exact`: the probe says that equal ids must come with equal bits. `near_tie`: what was judged
    with the model at hand; it counts only in a configuration that is not exact, of this very place.
    """
    parting = first_difference(reference.token_ids, run.token_ids)
    pairs = zip(reference.logit_hashes, run.logit_hashes, strict=False)
    equal, num_rows = sum(a == b for a, b in pairs), len(run.token_ids)

    def judged(verdict: Verdict, reason: str) -> Certificate:
        return Certificate(verdict, reason, equal, num_rows, parting)

    if reference.prompt_ids != run.prompt_ids:
        return judged("BUG", "the prompts differ")
    if reference.settings != run.settings:
        return judged("BUG", "the settings differ")
    for answer in (reference, run):
        if len(answer.logit_hashes) != len(answer.token_ids):
            counts = f"{len(answer.token_ids)} tokens and {len(answer.logit_hashes)} logit hashes"
            return judged("BUG", f"{answer.key.method} has {counts}")
    if parting is None:
        if reference.finish_reason != run.finish_reason:
            ends = f"{reference.finish_reason} and {run.finish_reason}"
            return judged("BUG", f"the ids are equal, yet the runs end with {ends}")
        if is_exact and equal < num_rows:
            at = first_difference(reference.logit_hashes, run.logit_hashes)
            return judged("BUG", f"the logits of token {at} differ in an exact configuration")
        return judged("IDENTICAL", "the ids are equal")
    what = f"the ids part at token {parting}"
    if is_exact:
        return judged("BUG", f"{what} in an exact configuration")
    claim = near_tie(run.key)
    if claim is None or claim.verdict != "NEAR-TIE":
        return judged("BUG", what if claim is None else claim.reason)
    if (claim.position, claim.tokens) != (parting, _tokens_at(reference, run, parting)):
        return judged("BUG", f"{what}, and the recorded near-tie speaks of another place")
    return judged("NEAR-TIE", claim.reason)


def first_difference(first: tuple[object, ...], second: tuple[object, ...]) -> int | None:
    """The index at which two tuples part, the end of the shorter one included; None if equal."""
    if first == second:
        return None
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))


def _tokens_at(reference: Answer, run: Answer, position: int) -> tuple[int, int] | None:
    """Both tokens at `position`; None where one answer has ended."""
    if position >= min(len(reference.token_ids), len(run.token_ids)):
        return None
    return reference.token_ids[position], run.token_ids[position]


def inconsistencies(record: RunRecord, environment: Json = _NOTHING) -> Iterator[str]:
    """What in a record contradicts the rest of it, or the settings: a sign that it was edited."""
    if record.error is not None:
        if record.token_ids or record.steps or record.logit_hashes:
            yield "it has an error, and an answer all the same"
        return
    if record.token_ids != tuple(token for step in record.steps for token in step.tokens):
        yield "its tokens are not those of its steps"
    if record.logit_hashes:
        if len(record.logit_hashes) != len(record.token_ids):
            yield "it has another number of logit hashes than of tokens"
        if not all(map(_HASH.fullmatch, record.logit_hashes)):
            yield "what stands for a logit hash is none"
    yield from _wrong_end(record, environment)
    root, before = record.prompt_ids[-1:], 0.0
    for number, step in enumerate(record.steps):
        for what in _wrong_step(step, root, before):
            yield f"step {number}: {what}"
        root, before = (step.tokens or root)[-1:], step.time
    assert record.seconds is not None
    if abs(record.seconds.decode - before) > _SLACK_S * (1 + len(record.steps)):
        yield "its seconds are not the sum of its steps"


_HASH = re.compile("[0-9a-f]{16}")
_SLACK_S = 1e-6


def _wrong_end(record: RunRecord, environment: Json) -> Iterator[str]:
    """Whether the answer is as long as its end says."""
    settings = record.settings or environment.get("settings", {})
    limit, count = settings.get("max_new_tokens"), len(record.token_ids)
    if isinstance(limit, int):
        if count > limit:
            yield f"it has {count} tokens where {limit} were asked for"
        elif record.finish_reason == "length" and count < limit:
            yield f"it says that its length ended it, after {count} of {limit} tokens"


def _wrong_step(step: StepRecord, root: tuple[int, ...], before: float) -> Iterator[str]:
    """What is wrong with a step after a text that ends with `root` and took `before` seconds."""
    tree, path = step.tree, step.path
    if root != tree.tokens[:1] or any(
        tree.parents[below] != above for above, below in zip((0, *path), path, strict=False)
    ):
        yield "its tree does not hang on the text before it"
    if tuple(tree.tokens[node] for node in path) != step.tokens[: len(path)]:
        yield "its path is not its tokens"
    if not len(path) <= len(step.tokens) <= len(path) + 1 or not step.tokens:
        yield "it has another number of tokens than its path"
    if step.origins != (*(tree.origins[node] for node in path), "target")[: len(step.tokens)]:
        yield "its origins are not those of its path"
    if step.told and any(step.told[name] != step.derived[name] for name in step.told):
        yield "its counters are not those of its tree and path"
    if abs(step.time - before - step.seconds.decode) > _SLACK_S:
        yield "its seconds do not add up to its time"


def contradictions(environment: Json) -> Iterator[str]:
    """What in a file's first line contradicts the rest of it.

    Whether equal ids must come with equal bits follows from the probe, numerics and precision.
    """
    pair, is_exact = environment.get("pair", {}), environment.get("is_exact")
    probe = pair.get("probe")
    if not isinstance(probe, Mapping) or is_exact is None:
        return
    can_be = (
        probe.get("is_invariant") is True
        and pair.get("numerics") == "exact"
        and pair.get("precision") != "float32"
    )
    if is_exact and not can_be:
        yield "it says that it is exact, which its probe, numerics and precision are not"
    if not is_exact and can_be:
        yield "it says that it is not exact, which its probe, numerics and precision are"
