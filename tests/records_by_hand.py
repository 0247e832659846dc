"""Small records with answers that can be worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from compare.records import RunKey, RunRecord
from compare.step_record import Seconds, StepRecord, TreeRecord

ENVIRONMENT: dict[str, Any] = {
    "is_exact": True,
    "pair": {"pair": "toy"},
    "settings": {"temperature": 0.0},
    "suite": {"name": "toy", "sha256": "0", "prompts": 1},
}
PROMPT = (7, 8, 9)


def hashes(tokens: Sequence[int]) -> tuple[str, ...]:
    """A hash for each token, a function of its place and id."""
    return tuple(f"{at * 1000 + token:016x}" for at, token in enumerate(tokens))


def plain(tokens: Sequence[int], key: RunKey, seconds_a_token: float = 1.0) -> RunRecord:
    """An autoregressive run: a token a pass, all its time in the target; one second of prefill."""
    roots = (PROMPT[-1], *tokens[:-1])
    steps = tuple(
        StepRecord(
            tokens=(token,),
            origins=("target",),
            tree=TreeRecord((root,), (-1,), ("target",)),
            path=(),
            draft_passes=0,
            time=(at + 1) * seconds_a_token,
            seconds=Seconds(target=seconds_a_token),
        )
        for at, (root, token) in enumerate(zip(roots, tokens, strict=True))
    )
    return _run(key, steps, tokens, Seconds(prefill=1.0, target=seconds_a_token * len(tokens)))


def guessed(key: RunKey) -> RunRecord:
    """A staged run of the answer 1 2 3 4 5 6 in two passes of half a second each.

    First pass: below the root 9 the siblings 1 (N-gram) and 2 (draft); below 1 stands 2 (draft),
    below that 9 (draft). Accepted: 1, 2; the target adds 3. Second pass: root 3 with the chain
    4, 5, both accepted, and the target's 6.
    """
    first = StepRecord(
        tokens=(1, 2, 3),
        origins=("ngram", "draft", "target"),
        tree=TreeRecord(
            (9, 1, 2, 2, 9), (-1, 0, 0, 1, 3), ("target", "ngram", "draft", "draft", "draft")
        ),
        path=(1, 3),
        draft_passes=2,
        time=0.5,
        seconds=Seconds(ngram=0.125, draft=0.125, target=0.125, other=0.125),
    )
    second = StepRecord(
        tokens=(4, 5, 6),
        origins=("draft", "draft", "target"),
        tree=TreeRecord((3, 4, 5), (-1, 0, 1), ("target", "draft", "draft")),
        path=(1, 2),
        draft_passes=1,
        time=1.0,
        seconds=Seconds(draft=0.25, target=0.25),
    )
    seconds = Seconds(prefill=2.0, ngram=0.125, draft=0.375, target=0.375, other=0.125)
    return _run(key, (first, second), (1, 2, 3, 4, 5, 6), seconds)


def failed(key: RunKey) -> RunRecord:
    """A run that failed."""
    return RunRecord(key, "toy", PROMPT, error="it broke")


def asked(record: RunRecord, prompt: tuple[int, ...]) -> RunRecord:
    """The record as the answer to another prompt."""
    if not record.steps:
        return replace(record, prompt_ids=prompt)
    first, *rest = record.steps
    tree = replace(first.tree, tokens=(prompt[-1], *first.tree.tokens[1:]))
    return replace(record, prompt_ids=prompt, steps=(replace(first, tree=tree), *rest))


def edited(record: RunRecord, **changes: Any) -> RunRecord:
    """The record with fields set by hand."""
    return replace(record, **changes)


def _run(
    key: RunKey, steps: tuple[StepRecord, ...], tokens: Sequence[int], seconds: Seconds
) -> RunRecord:
    return RunRecord(
        key=key,
        category="toy",
        prompt_ids=PROMPT,
        token_ids=tuple(tokens),
        logit_hashes=hashes(tokens),
        text="x" * len(tokens),
        finish_reason="length",
        steps=steps,
        seconds=seconds,
        bytes_read=100 * len(steps),
    )
