"""A draft with a smaller head: cheaper passes, and a few more ids that it never proposes."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from ssd.models.assets import KATZ, read_card, read_draft_state, write_draft
from ssd.train.corpus import Corpus


def cut_head(draft: Path, corpus: Corpus, num_ids: int, out: Path) -> float:
    """Write the draft in `draft` into the new folder `out` with a head of `num_ids` ids.

    Of its ids those stay that are most frequent in the training part of `corpus`. Returns the share
    of the held-out answers' ids that the new head speaks of. Raises ValueError where `out` exists
    or the head is not larger.
    """
    if out.exists():
        raise ValueError(f"--out must be a new folder, got {out}, which is there: choose another")
    card, (_, state) = read_card(draft), read_draft_state(draft)
    head_ids = state.pop("head_ids").long()
    if not 0 < num_ids < len(head_ids):
        raise ValueError(f"--ids must lie below the head's {len(head_ids)}, got {num_ids}")
    training, held_out = corpus.split()
    frequency = torch.bincount(
        torch.from_numpy(training.tokens.astype("int64")), minlength=card["vocab_size"]
    )
    order = torch.argsort(frequency[head_ids], descending=True, stable=True)
    kept = head_ids[order[:num_ids]].sort().values
    tensors = {"head_ids": kept.to(torch.int32), **state}
    write_draft(out, tensors, {**card, "head": {"ids": num_ids, "of": len(head_ids)}})
    if (draft / KATZ).is_file():
        shutil.copyfile(draft / KATZ, out / KATZ)
    known, hits, total = set(kept.tolist()), 0, 0
    for ids, num_prompt in held_out.documents():
        hits += sum(token in known for token in ids[num_prompt:])
        total += len(ids) - num_prompt
    return hits / total
