"""How far a draft's scores and the context's matches can be trusted, from held-out text.

Teacher-forced: after every id of a held-out answer, what would the target choose under fresh noise,
and what did the draft's noisy scores and the context's matches say?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ssd import noise
from ssd.model import Pass
from ssd.models.transformer import Transformer
from ssd.ngram import LONGEST_MATCH, ContextMatches

_SHARPNESS = tuple(round(0.3 + 0.1 * step, 1) for step in range(18))


def document_rows(model: Transformer, ids: Sequence[int]) -> Tensor:
    """Logits after every id of a document, `[T, V]`."""
    cache, chunks = model.new_cache(), []
    for start in range(0, len(ids), model.max_width):
        part = torch.tensor(ids[start : start + model.max_width])
        count = len(part)
        mask = torch.ones(count, count, dtype=torch.bool).tril()
        rows = Pass(part, torch.arange(start, start + count), start, start, mask)
        chunks.append(model.forward(rows, cache, count))
    return torch.cat(chunks)


def agreement(target: Transformer, draft: Transformer, documents: Sequence[Document]) -> float:
    """How often the draft's first guess is the target's greedy token, after the answers' ids."""
    hits = total = 0
    for ids, num_prompt in documents:
        wanted = document_rows(target, ids)[num_prompt - 1 : -1].argmax(-1)
        guessed = _ids(draft, document_rows(draft, ids)[num_prompt - 1 : -1].argmax(-1))
        hits += int((wanted == guessed).sum())
        total += len(wanted)
    return hits / total


Document = tuple[Sequence[int], int]


@dataclass(frozen=True)
class NoisyFigures:
    """`agreement`: how often the draft's best perturbed score is the target's noisy choice.

    `log_chance`: the mean log chance of that choice for each sharpness tried.
    """

    agreement: float
    log_chance: dict[float, float]

    @property
    def sharpness(self) -> float:
        """The sharpness under which the target's choices were likeliest."""
        return max(self.log_chance, key=lambda factor: self.log_chance[factor])


def noisy_figures(
    target: Transformer, draft: Transformer, documents: Sequence[Document], num_scores: int = 64
) -> NoisyFigures:
    """The draft against the target's noisy choices at T = 1, top-k 50.

    A choice that the draft's best `num_scores` ids lack counts as a chance of one in a thousand.
    """
    total = dict.fromkeys(_SHARPNESS, 0.0)
    count = hits = 0
    for number, (ids, num_prompt) in enumerate(documents):
        wanted_rows = document_rows(target, ids)[num_prompt - 1 : -1].float()
        guessed = torch.topk(document_rows(draft, ids)[num_prompt - 1 : -1].float(), num_scores)
        for offset, row in enumerate(wanted_rows):
            position = num_prompt + offset
            best = torch.topk(row, 50)
            choice = _choice(best.values, best.indices, number, position)
            columns = _ids(draft, guessed.indices[offset]).numpy()
            perturbed = guessed.values[offset].numpy() + noise.gumbel(number, position, columns)
            where = np.flatnonzero(columns == choice)
            for factor in _SHARPNESS:
                total[factor] += _log_chance(perturbed, where, factor)
            hits += int(columns[int(np.argmax(perturbed))]) == choice
            count += 1
    return NoisyFigures(hits / count, {factor: value / count for factor, value in total.items()})


def _choice(scores: Tensor, ids: Tensor, seed: int, position: int) -> int:
    columns = ids.numpy()
    return int(columns[int(np.argmax(scores.numpy() + noise.gumbel(seed, position, columns)))])


def _log_chance(perturbed: NDArray[np.float32], where: NDArray[np.int64], factor: float) -> float:
    if len(where) == 0:
        return float(np.log(1e-3))
    scaled = (perturbed - perturbed.max()) * factor
    return float(max(scaled[where[0]] - np.log(np.exp(scaled).sum()), np.log(1e-3)))


def _ids(draft: Transformer, columns: Tensor) -> Tensor:
    return columns if draft.head_ids is None else draft.head_ids[columns]


def match_hits(documents: Sequence[Document]) -> list[float]:
    """How often the continuation of the context's longest match was right, by its length."""
    tried, hit = np.zeros(LONGEST_MATCH + 1), np.zeros(LONGEST_MATCH + 1)
    for ids, num_prompt in documents:
        matches = ContextMatches()
        matches.update(ids[:num_prompt])
        for position in range(num_prompt, len(ids)):
            length, token = matches.longest()
            tried[length] += 1
            hit[length] += token == ids[position]
            matches.update(ids[: position + 1])
    share: list[float] = (hit / np.maximum(tried, 1)).tolist()
    return share
