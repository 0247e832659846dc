"""The target's plain loop as everybody computes it, to show what exactness costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from compare.methods import Task, recorded
from compare.naming import REFERENCE
from compare.records import RunRecord
from ssd.exact import Numerics

if TYPE_CHECKING:
    from ssd.models.load import LoadedPair


@dataclass(frozen=True)
class Native:
    """`native`: our autoregressive loop in `fast` numerics. Nothing is padded, and attention
    computes in the model's dtype, so its ids may part from the exact ones at a near-tie."""

    pair: LoadedPair

    @property
    def settings(self) -> dict[str, Any]:
        """How it computes, for the record."""
        return {"numerics": self._fast.target.numerics.kind}

    def run(self, task: Task) -> RunRecord:
        """The record of one run. Raises ValueError where the prompt fills the context."""
        task.request.check_room(self.pair.target.context_length)
        *_, record = recorded(self._fast, replace(task, key=replace(task.key, method=REFERENCE)))
        assert isinstance(record, RunRecord)
        return replace(record, key=task.key, logit_hashes=())

    @cached_property
    def _fast(self) -> LoadedPair:
        target = self.pair.target
        numerics = Numerics("fast", target.numerics.widths)
        return replace(self.pair, target=target.with_numerics(numerics))
