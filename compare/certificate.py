"""The three verdicts on a run: IDENTICAL, NEAR-TIE, BUG (DESIGN 5). Records only, no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from compare.record_file import VerdictRecord
from compare.records import RunKey, RunRecord

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


def inconsistencies(record: RunRecord) -> Iterator[str]:
    """What in a record contradicts the rest of it: a sign that it was edited."""
    if record.error is not None:
        return
    if record.token_ids != tuple(token for step in record.steps for token in step.tokens):
        yield "its tokens are not those of its steps"
    context = record.prompt_ids
    before = 0.0
    for number, step in enumerate(record.steps):
        tree, path = step.tree, step.path
        steps_down = zip((0, *path), path, strict=False)
        if context[-1] != tree.tokens[0] or any(tree.parents[b] != a for a, b in steps_down):
            yield f"the tree of step {number} does not hang on the text before it"
        if tuple(tree.tokens[node] for node in path) != step.tokens[: len(path)]:
            yield f"the path of step {number} is not its tokens"
        guessed = tuple(tree.origins[node] for node in path)
        if step.origins != (*guessed, "target")[: len(step.tokens)]:
            yield f"the origins of step {number} are not those of its path"
        if abs(step.time - before - step.seconds.decode) > 1e-6:
            yield f"the seconds of step {number} do not add up to its time"
        context, before = (*context, *step.tokens)[-1:], step.time
    assert record.seconds is not None
    if abs(record.seconds.decode - before) > 1e-6 * (1 + len(record.steps)):
        yield "its seconds are not the sum of its steps"
