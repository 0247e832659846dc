"""Text that a draft writes, so that the N-gram learns what the draft would say (as the paper)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import LlamaModel


@dataclass(frozen=True)
class WriteSettings:
    """How text is written: at which temperature, how many ids in all and per document."""

    temperature: float = 1.5
    num_tokens: int = 1_000_000
    length: int = 192
    num_rows: int = 192
    seed: int = 0


Report = Callable[[int, int], None]


@torch.no_grad()
def write_text(
    body: LlamaModel,
    head: tuple[Tensor, Tensor],
    starts: Sequence[Sequence[int]],
    settings: WriteSettings,
    report: Report,
) -> list[list[int]]:
    """Documents drawn from a draft after `starts`, which are of one length and left out.

    `head`: its rows, `[V', E]`, and the ids that they speak of, `[V']`.
    """
    rows, head_ids = head
    generator = torch.Generator().manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    written: list[list[int]] = []
    while len(written) * settings.length < settings.num_tokens:
        chosen = rng.integers(len(starts), size=settings.num_rows)
        ids, cache = torch.tensor([list(starts[i]) for i in chosen]), None
        columns: list[Tensor] = []
        for _ in range(settings.length):
            with torch.autocast("cpu", torch.bfloat16):
                out = body(input_ids=ids, past_key_values=cache, use_cache=True)
                logits = F.linear(out.last_hidden_state[:, -1], rows)
            cache = out.past_key_values
            law = torch.softmax(logits.float() / settings.temperature, dim=-1)
            ids = head_ids[torch.multinomial(law, 1, generator=generator)]
            columns.append(ids)
        written += torch.cat(columns, dim=1).tolist()
        report(len(written) * settings.length, settings.num_tokens)
    return written
