"""A pair of tiny random models, as `load_pair` would give it, and a codec of letters for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch

from ssd.calibration import UNCALIBRATED
from ssd.cost import Hope, PassCosts, Pricing
from ssd.models.load import LoadedPair
from tests.test_ngram import KATZ
from tests.tiny import Tiny, exact, tiny, with_draft

VOCABULARY = 61
_COSTS = PassCosts((1, 64), (1.0, 2.0))
_HOPE = Hope(0.5, 0.5)
_DRAFT_COSTS = PassCosts((1, 64), (0.1, 0.2))


class Letters:
    """A letter for each id."""

    def push(self, ids: Sequence[int]) -> str:
        """`A` for 0, `B` for 1 and so on."""
        return "".join(chr(65 + token) for token in ids)

    def flush(self) -> str:
        """Nothing is held back."""
        return ""


class LetterCodec:
    """Bytes, brought into the vocabulary, for ids; no end of text."""

    stop_ids = frozenset[int]()

    def prompt_ids(
        self, text: str, *, raw: bool = False, system: str | None = None
    ) -> tuple[int, ...]:
        """An id for each byte."""
        return tuple(byte % VOCABULARY for byte in text.encode())

    def stream(self) -> Letters:
        """A decoder of one text."""
        return Letters()


def tiny_pair(folder: Path, *, is_exact: bool = True, checkpoint: Tiny | None = None) -> LoadedPair:
    """The pair; its target lies in `folder` as transformers would load it."""
    torch.set_num_threads(1)
    checkpoint = checkpoint or tiny("llama", 11)
    checkpoint.hugging_face().save_pretrained(folder)
    return LoadedPair(
        name="tiny", folder=folder, codec=cast(Any, LetterCodec()),
        target=exact(checkpoint.model(torch.bfloat16)),
        draft=exact(with_draft(checkpoint, 0.2).model(torch.bfloat16)),
        katz=KATZ, pricing=Pricing(_COSTS, _DRAFT_COSTS, _HOPE, _HOPE),
        calibration=UNCALIBRATED,
        clock=time.perf_counter, is_exact=is_exact,
        description={
            "pair": "tiny", "device": "cpu", "hardware": "here", "threads": 1,
            "precision": "bfloat16", "numerics": "exact" if is_exact else "fast",
            "probe": {"key": "tiny", "is_invariant": is_exact},
            "weights": {"target": "0", "draft": "1"},
        },
        library_dtype=torch.bfloat16,
    )  # fmt: skip
