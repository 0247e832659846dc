"""What a round's logits say besides the tokens: entropies, and candidates for the step view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from compare.record_details import Candidate, Candidates, InnerPass, Path, StepDetails
from ssd import noise

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from ssd.draft import DraftPass
    from ssd.request import Request
    from ssd.tree import TokenTree

_SHOWN = 8


def row_entropy(scores: NDArray[np.float32]) -> float | None:
    """The entropy in nats of the softmax of `scores`, `[V]`; None where that is not a number."""
    return _entropy(_law(scores))


def _law(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """The softmax in float64; a NaN all over where the scores have no finite maximum."""
    peak = float(scores.max())
    if not np.isfinite(peak):
        return np.full(len(scores), np.nan)
    law = np.exp(scores.astype(np.float64) - peak)
    law /= law.sum()
    return law


def _entropy(law: NDArray[np.float64]) -> float | None:
    held = law[law > 0]
    return max(0.0, float(-(held * np.log(held)).sum())) if len(held) else None


def step_details(
    tree: TokenTree,
    logits: Tensor,
    passes: Sequence[DraftPass],
    context: Sequence[int],
    request: Request,
) -> StepDetails:
    """The details of a round. `logits`: `[N, V]`, the target's; `passes`: the draft's."""
    target, entropies = [], []
    for node in range(len(tree)):
        history = [*context, *tree.path_tokens(node)]
        scores = request.sampling.scores(logits[node], history)
        law = _law(scores)
        target.append(_candidates(scores, law, len(history), request))
        entropies.append(_entropy(law))
    drafted = _drafted(passes, context, request, logits.shape[1])
    return StepDetails(
        target=tuple(target),
        entropy=tuple(entropies),
        draft=tuple(drafted.get(tree.path_tokens(node)) for node in range(len(tree))),
        inner=tuple(_inner(each) for each in passes),
    )


def _drafted(
    passes: Sequence[DraftPass], context: Sequence[int], request: Request, vocab_size: int
) -> dict[Path, Candidates]:
    """The draft's candidates after each path that it read."""
    found = {}
    for read in passes:
        rows = read.logits.float().cpu().numpy()
        if not request.sampling.is_greedy:
            rows = rows / np.float32(request.sampling.temperature)
        for path, row in zip(read.paths, rows, strict=True):
            scores = row
            if read.head_ids is not None:
                scores = np.full(vocab_size, -np.inf, dtype=np.float32)
                scores[read.head_ids] = row
            position = len(context) + len(path)
            found[path] = _candidates(scores, _law(scores), position, request)
    return found


def _candidates(
    scores: NDArray[np.float32], law: NDArray[np.float64], position: int, request: Request
) -> Candidates:
    """The likeliest ids, and the chosen one in the last place where it is not among them."""
    if np.isnan(law[0]):
        return ()
    num_shown = min(_SHOWN, len(law))
    likely = np.flatnonzero((law >= np.partition(law, -num_shown)[-num_shown]) & (law > 0))
    ids = likely[np.argsort(-law[likely], kind="stable")][:num_shown].tolist()
    if request.sampling.is_greedy:
        return tuple(Candidate(token, float(law[token])) for token in ids)
    chosen = request.sampling.choice(scores, position, request.seed)
    if chosen not in ids:
        ids[_SHOWN - 1 :] = [chosen]
    terms = noise.gumbel(request.seed, position, np.array(ids, dtype=np.int64)).tolist()
    return tuple(Candidate(t, float(law[t]), g) for t, g in zip(ids, terms, strict=True))


def _inner(read: DraftPass) -> InnerPass:
    wanted = tuple(path for path in read.paths if path in read.wanted)
    return InnerPass(wanted, tuple(path for path in read.paths if path not in read.wanted))
