"""transformers, as far as the lab uses it: a loaded model, and a clock for its `generate`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch


def load_model(folder: Path, dtype: torch.dtype, attention: str) -> Any:
    """The causal model in `folder`, on the CPU, ready to infer."""
    import transformers

    library: Any = transformers
    library.utils.logging.set_verbosity_error()
    library.utils.logging.disable_progress_bar()
    return library.AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, attn_implementation=attention
    ).eval()


@dataclass
class RoundClock:
    """transformers' streamer: when each round's tokens came, and what its forward took.

    `wait` returns when the device has done what it was given.
    """

    wait: Callable[[], None]
    is_first_prefill: bool
    prefill: float = 0.0
    rounds: list[tuple[tuple[int, ...], float, float]] = field(default_factory=list)
    _began: float | None = None
    _forward_began: float = 0.0
    _forward: float = 0.0
    _has_prompt: bool = False

    def forward_begins(self, *_: object) -> None:
        """The model is called."""
        self.wait()
        self._forward_began = time.perf_counter()
        if self._began is None and not self.is_first_prefill:
            self._began = self._forward_began

    def forward_ends(self, *_: object) -> None:
        """The model is done."""
        self.wait()
        now = time.perf_counter()
        if self._began is None:
            self._began, self.prefill = now, now - self._forward_began
        else:
            self._forward += now - self._forward_began

    def put(self, value: torch.Tensor) -> None:
        """A round's tokens; the first call brings the prompt."""
        if not self._has_prompt:
            self._has_prompt = True
            return
        assert self._began is not None
        now = time.perf_counter() - self._began
        self.rounds.append((tuple(value.flatten().tolist()), now, self._forward))
        self._forward = 0.0

    def end(self) -> None:
        """The last call."""


@contextmanager
def watched(model: Any, clock: RoundClock) -> Iterator[None]:
    """Nothing; inside, `clock` hears of the model's forwards."""
    hooks = (
        model.register_forward_pre_hook(clock.forward_begins),
        model.register_forward_hook(clock.forward_ends),
    )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
