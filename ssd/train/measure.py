"""What a draft and an N-gram are worth: agreement, cost of a pass, time of a proposal."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ssd.cost import measure, one_pass
from ssd.exact import Numerics
from ssd.model import LanguageModel
from ssd.models.transformer import Transformer
from ssd.ngram import KatzTable, NGram
from ssd.request import Request
from ssd.text import TextCodec
from ssd.train.calibrate import Document, document_rows
from ssd.train.corpus import Corpus
from ssd.train.entries import each_entry

_LOOPING = 0.5  # share of distinct 4-grams below which an answer goes round in circles
_GRAM = 4
_FEW_ROWS = 4
_CODE = ("def ", "import ", "```", "#include", "function ", "public class", "SELECT ")


@dataclass(frozen=True)
class Agreement:
    """How often the draft's first guess was the target's greedy choice, and over how many ids.

    `top4`: how often one of its first four was. `steady`: without answers that loop.
    """

    top1: float
    top4: float
    steady_top1: float
    ids: int
    documents: int


def read_answers(path: Path) -> list[Document]:
    """The greedy answers of the target in a record file, as (ids, how many are the prompt).

    Of the method `autoregressive`, each prompt's first repeat. Raises ValueError where there are
    none.
    """
    if not path.is_file():
        raise ValueError(f"--answers must be a record file, got {path}: no such file")
    found: dict[str, Document] = {}

    def take(entry: Mapping[str, Any]) -> None:
        if entry["kind"] == "environment":
            _check_greedy(path, entry)
        if entry["kind"] != "run" or entry["method"] != "autoregressive" or entry.get("error"):
            return
        prompt = entry["prompt_ids"]
        found.setdefault(entry["prompt_id"], ([*prompt, *entry["token_ids"]], len(prompt)))

    each_entry(path, take)
    if not found:
        raise ValueError(f"expected runs of autoregressive in {path}, got none: record some")
    return list(found.values())


def _check_greedy(path: Path, environment: Mapping[str, Any]) -> None:
    temperature = environment.get("settings", {}).get("temperature", 0)
    if temperature:
        raise ValueError(
            f"expected greedy answers in {path}, got ones of temperature {temperature}"
        )


def is_looping(answer: Sequence[int]) -> bool:
    """Whether fewer than half of the answer's runs of four ids are distinct."""
    grams = [tuple(answer[at : at + _GRAM]) for at in range(len(answer) - _GRAM + 1)]
    return bool(grams) and len(set(grams)) < _LOOPING * len(grams)


def is_code(text: str) -> bool:
    """Whether a document holds program text, by words that hardly occur elsewhere."""
    return any(word in text for word in _CODE)


def agreement(draft: Transformer, answers: Sequence[Document]) -> Agreement:
    """The draft teacher-forced on greedy `answers` of the target, a few rows a pass as in decoding.

    What its rows say may depend on how many share a pass.
    """
    narrow = draft.with_numerics(Numerics(draft.numerics.kind, (_FEW_ROWS,)))
    hits: list[tuple[bool, int, int, int]] = []
    for ids, num_prompt in answers:
        rows = document_rows(narrow, ids)[num_prompt - 1 : -1]
        guessed = draft.ids_of(rows.float().topk(min(4, rows.shape[1])).indices)
        right = guessed.numpy() == np.asarray(ids[num_prompt:])[:, None]
        count = len(ids) - num_prompt
        is_steady = not is_looping(ids[num_prompt:])
        hits.append((is_steady, int(right[:, 0].sum()), int(right.any(1).sum()), count))
    return Agreement(
        top1=_share([(first, count) for _, first, _, count in hits]),
        top4=_share([(four, count) for _, _, four, count in hits]),
        steady_top1=_share([(first, count) for steady, first, _, count in hits if steady]),
        ids=sum(count for *_, count in hits),
        documents=len(hits),
    )


def _share(hits: Sequence[tuple[int, int]]) -> float:
    return round(sum(hit for hit, _ in hits) / max(1, sum(count for _, count in hits)), 4)


def pass_costs(
    target: LanguageModel, draft: LanguageModel, clock: Callable[[], float]
) -> dict[str, float]:
    """The draft's pass at widths 1 and 8 over the target's at width 1, measured in turn."""
    at_target = measure(target, clock, (1, 8)).seconds
    at_draft = measure(draft, clock, (1, 8), before=one_pass(target)).seconds
    return {
        "target_ms": round(1e3 * at_target[0], 3),
        "draft_ms": round(1e3 * at_draft[0], 3),
        "ratio_at_1": round(at_draft[0] / at_target[0], 4),
        "ratio_at_8": round(at_draft[1] / at_target[0], 4),
    }


def chat_documents(corpus: Corpus, codec: TextCodec) -> dict[str, list[Document]]:
    """The documents of `corpus` that answer a chat prompt, with program text and without."""
    ends = codec.prompt_ids("x")
    found: dict[str, list[Document]] = {"general chat": [], "chat about code": []}
    for ids, num_prompt in corpus.documents():
        if codec.has_chat_template and ids[0] == ends[0]:
            name = "chat about code" if is_code(codec.decode(ids)) else "general chat"
            found[name].append((ids, num_prompt))
    return found


def proposal_microseconds(
    table: KatzTable | None, answers: Sequence[Document], clock: Callable[[], float]
) -> float:
    """The median time in which the N-gram takes in an id and says what may follow, microseconds."""
    times = []
    for ids, num_prompt in answers:
        ngram, request = NGram(table), Request(tuple(ids[:num_prompt]))
        ngram.read(ids[:num_prompt])
        for end in range(num_prompt, len(ids)):
            context = ids[:end]
            start = clock()
            ngram.turn_to(context, request)
            ngram.guesses(())
            times.append(clock() - start)
    return round(1e6 * statistics.median(times), 2)
