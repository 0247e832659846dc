"""transformers, as far as the lab uses it: loaded models, and a clock for its `generate`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from compare.baseline_record import Round

if TYPE_CHECKING:
    from ssd.models.load import LoadedPair


def load_model(folder: Path, dtype: torch.dtype, attention: str) -> Any:
    """The causal model in `folder`, on the CPU, ready to infer."""
    return (
        _library()
        .AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation=attention)
        .eval()
    )


def load_draft(pair: LoadedPair, attention: str) -> Any:
    """The pair's draft as transformers' causal model, on the CPU, ready to infer.

    A draft of the lab gets the whole of the target's head, for transformers wants a score for every
    id.
    """
    folder: Path = pair.draft_folder
    if (folder / "config.json").is_file():
        return load_model(folder, pair.library_dtype, attention)
    from ssd.models.assets import read_draft_state
    from ssd.models.checkpoint import read_checkpoint

    numbers, state = read_draft_state(folder)
    state.pop("head_ids")
    tensors = read_checkpoint(pair.folder).tensors
    state["embed_tokens.weight"] = tensors["model.embed_tokens.weight"]
    head = tensors.get("lm_head.weight")
    config = _library().LlamaConfig.from_pretrained(pair.folder)
    config.num_hidden_layers, config.tie_word_embeddings = len(numbers), head is None
    config._attn_implementation = attention
    model = _library().LlamaForCausalLM(config)
    model.model.load_state_dict({name: tensor.float() for name, tensor in state.items()})
    if head is None:
        model.tie_weights()
    else:
        model.lm_head.load_state_dict({"weight": head.float()})
    return model.to(pair.library_dtype).eval()


def _library() -> Any:
    import transformers

    library: Any = transformers
    library.utils.logging.set_verbosity_error()
    library.utils.logging.disable_progress_bar()
    return library


@dataclass
class RoundClock:
    """transformers' streamer: when each round's tokens came, and what its forwards took.

    `wait` returns when the device has done what it was given. `is_first_prefill`: everything up to
    the end of the target's first forward is prefill.
    """

    wait: Callable[[], None]
    is_first_prefill: bool
    prefill: float = 0.0
    rounds: list[Round] = field(default_factory=list)
    _began: float | None = None  # the decode
    _woke: float | None = None  # the first forward of either model
    _forward_began: float = 0.0
    _target: float = 0.0
    _draft: float = 0.0
    _draft_passes: int = 0
    _has_prompt: bool = False

    def forward_begins(self, *_: object) -> None:
        """The target is called."""
        self._begin()
        if self._began is None and not self.is_first_prefill:
            self._began = self._forward_began

    def forward_ends(self, *_: object) -> None:
        """The target is done."""
        now = self._end()
        if self._began is None:
            assert self._woke is not None
            self._began, self.prefill = now, now - self._woke
        else:
            self._target += now - self._forward_began

    def draft_begins(self, *_: object) -> None:
        """The draft is called."""
        self._begin()

    def draft_ends(self, *_: object) -> None:
        """The draft is done; before the decode begins, that is prefill."""
        now = self._end()
        if self._began is not None:
            self._draft += now - self._forward_began
            self._draft_passes += 1

    def put(self, value: torch.Tensor) -> None:
        """A round's tokens; the first call brings the prompt."""
        if not self._has_prompt:
            self._has_prompt = True
            return
        assert self._began is not None
        now = time.perf_counter() - self._began
        tokens = tuple(value.flatten().tolist())
        self.rounds.append(Round(tokens, now, self._target, self._draft, self._draft_passes))
        self._target, self._draft, self._draft_passes = 0.0, 0.0, 0

    def end(self) -> None:
        """The last call."""

    def _begin(self) -> None:
        self.wait()
        self._forward_began = time.perf_counter()
        if self._woke is None:
            self._woke = self._forward_began

    def _end(self) -> float:
        self.wait()
        return time.perf_counter()


@contextmanager
def watched(target: Any, draft: Any, clock: RoundClock) -> Iterator[None]:
    """Nothing; inside, `clock` hears of the forwards of the target and of the draft, if any."""
    hooks = [
        target.register_forward_pre_hook(clock.forward_begins),
        target.register_forward_hook(clock.forward_ends),
    ]
    if draft is not None:
        hooks += [
            draft.register_forward_pre_hook(clock.draft_begins),
            draft.register_forward_hook(clock.draft_ends),
        ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
