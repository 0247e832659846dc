"""How often the target in each precision chooses as its published weights do, on held-out text.

A fact of the weights and of the rounding, not of a machine: it is measured once and shipped, and
`--precision auto` takes no precision that agrees less often than the embedded file's own 4 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from ssd.exact import Numerics
from ssd.models.checkpoint import Checkpoint
from ssd.models.families import fingerprint, transformer
from ssd.models.load import target_in
from ssd.models.transformer import Transformer
from ssd.train.calibrate import Document, document_rows

_CPU = torch.device("cpu")


def agreements(
    checkpoint: Checkpoint,
    precisions: Sequence[str],
    documents: Sequence[Document],
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, dict[str, float]]:
    """What `ssd.models.precision` reads, by the fingerprint of the published weights.

    For each precision the share of places before ids of answers at which it has the first choice of
    the weights in float32, and under `ids` how many places there are.
    """
    published = transformer(checkpoint.config, checkpoint.tensors, torch.float32, _CPU)
    wanted = torch.cat(list(_choices(published, documents)))
    found: dict[str, float] = {"ids": len(wanted)}
    for precision in precisions:
        model = target_in(checkpoint, precision, _CPU)
        choices = torch.cat(list(_choices(model, documents)))
        found[precision] = round(float((choices == wanted).double().mean()), 4)
        report(f"{precision}: {found[precision]:.2%} of {len(wanted)} first choices")
    return {fingerprint(published.weights): found}


def _choices(model: Transformer, documents: Sequence[Document]) -> Iterator[torch.Tensor]:
    exact = model.with_numerics(Numerics("exact"))
    for ids, num_prompt in documents:
        yield document_rows(exact, ids)[num_prompt - 1 : -1].argmax(dim=1)
