"""Decoders that are not ours, on the same weights, device and dtype: transformers' `generate`.

Its clock is set up in its favour: the prompt but for its last token is prefilled beforehand as ours
is, and decode time runs from the start of the first forward to the last token, so that what
`generate` does before its loop costs it nothing. Its prompt lookup cannot start from a filled
cache; there the whole first pass counts as prefill, and the tokens that it gives cost no time.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from compare.hugging_face import RoundClock, load_model, watched
from compare.recorder import PassBytes, visible_text
from compare.records import RunRecord, Seconds, StepRecord, TreeRecord
from ssd.stop import StopCheck

if TYPE_CHECKING:
    from compare.methods import Task
    from ssd.models.load import LoadedPair
    from ssd.request import Request

LOOKUP_TOKENS = 10


class HuggingFace:
    """`hf-generate`, or `hf-lookup` (transformers' prompt lookup). Loads on first use."""

    def __init__(self, pair: LoadedPair, method: str) -> None:
        self._pair, self._method = pair, method

    @property
    def settings(self) -> dict[str, Any]:
        """What transformers was told, for the record."""
        told: dict[str, Any] = {
            "library": "transformers",
            "attn_implementation": self._model.config._attn_implementation,
            "cache": "DynamicCache",
            "dtype": str(self._pair.dtype).removeprefix("torch."),
            "mode": "torch.inference_mode",
        }
        return told | ({"prompt_lookup_num_tokens": LOOKUP_TOKENS} if self._is_lookup else {})

    def run(self, task: Task) -> RunRecord:
        """The record of one run. Raises ValueError where the prompt fills the context."""
        request = task.request
        request.check_room(self._pair.target.context_length)
        clock = RoundClock(self._wait, is_first_prefill=self._is_lookup)
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a keyword that older versions need
            ids = torch.tensor([request.prompt], device=self._pair.device)
            cache = None if self._is_lookup else self._prefill(ids, clock)
            torch.manual_seed(request.seed)
            with watched(self._model, clock):
                self._model.generate(
                    ids,
                    past_key_values=cache,
                    attention_mask=torch.ones_like(ids),
                    generation_config=self._config(request),
                    stopping_criteria=[_Ended(request, task.is_cancelled)],
                    streamer=clock,
                )
        return self._record(task, clock)

    @property
    def _is_lookup(self) -> bool:
        return self._method == "hf-lookup"

    @cached_property
    def _model(self) -> Any:
        return load_model(self._pair.folder, self._pair.dtype, "sdpa").to(self._pair.device)

    def _wait(self) -> None:
        if self._pair.device.type == "cuda":
            torch.cuda.synchronize(self._pair.device)

    def _prefill(self, ids: torch.Tensor, clock: RoundClock) -> Any:
        """A cache of all of the prompt but its last token."""
        from transformers import DynamicCache

        cache = DynamicCache(config=self._model.config)
        self._wait()
        start = time.perf_counter()
        if ids.shape[1] > 1:
            self._model(ids[:, :-1], past_key_values=cache, use_cache=True, logits_to_keep=1)
        self._wait()
        clock.prefill = time.perf_counter() - start
        return cache

    def _config(self, request: Request) -> Any:
        import transformers

        sampling, stop_ids = request.sampling, sorted(request.stop.ids)
        room = self._pair.target.context_length - len(request.prompt)
        settings: dict[str, Any] = {
            "max_new_tokens": min(request.stop.max_new_tokens, room),
            "repetition_penalty": sampling.repetition_penalty,
            "eos_token_id": stop_ids or None,
            "pad_token_id": stop_ids[0] if stop_ids else 0,
            "do_sample": not sampling.is_greedy,
        }
        if not sampling.is_greedy:
            settings |= {
                "temperature": sampling.temperature,
                "top_k": sampling.top_k,
                "top_p": sampling.top_p,
            }
        if self._is_lookup:
            settings["prompt_lookup_num_tokens"] = LOOKUP_TOKENS
        library: Any = transformers
        return library.GenerationConfig(**settings)

    def _record(self, task: Task, clock: RoundClock) -> RunRecord:
        request = task.request
        steps, reason = _steps(clock, request, self._pair.target.context_length)
        tokens = tuple(token for step in steps for token in step.tokens)
        stages = sum((step.seconds for step in steps), Seconds(prefill=clock.prefill))
        # The cache here is in the model's dtype, whatever our own exact numerics keep.
        read = PassBytes(PassBytes.of(self._pair.target).weights, _slot_bytes(self._model))
        ends = _running_lengths(len(request.prompt), steps)
        return RunRecord(
            key=task.key,
            category=task.category,
            prompt_ids=request.prompt,
            token_ids=tokens,
            text=visible_text(tokens, request, self._pair.codec),
            finish_reason=reason,
            steps=steps,
            seconds=stages,
            bytes_read=sum(read(num_slots) for num_slots in ends),
        )


class _Ended:
    """transformers' stopping criterion for what it does not know: our stop strings and Stop."""

    def __init__(self, request: Request, is_cancelled: Callable[[], bool]) -> None:
        self._check = StopCheck(request.stop)
        self._seen = len(request.prompt)
        self._is_cancelled = is_cancelled

    def __call__(self, input_ids: torch.Tensor, scores: Any, **other: Any) -> torch.Tensor:
        new = input_ids[0, self._seen :].tolist()
        self._seen += len(new)
        _, reason = self._check.cut(new)
        is_done = reason is not None or self._is_cancelled()
        return torch.full((1,), is_done, dtype=torch.bool, device=input_ids.device)


def _steps(
    clock: RoundClock, request: Request, context_length: int
) -> tuple[tuple[StepRecord, ...], str]:
    """The rounds as steps, cut where our own stop rule ends them, and why they end."""
    check, before, root = StopCheck(request.stop), 0.0, request.prompt[-1]
    steps: list[StepRecord] = []
    reason: str | None = None
    for tokens, now, forward in clock.rounds:
        kept, reason = check.cut(tokens)
        steps.append(
            _step(root, tokens[:kept], now, Seconds(0, 0, 0, forward, now - before - forward))
        )
        before, root = now, tokens[kept - 1]
        if reason is not None:
            break
    length = len(request.prompt) + sum(len(step.tokens) for step in steps)
    return tuple(steps), reason or ("context" if length >= context_length else "cancelled")


def _step(root: int, tokens: Sequence[int], now: float, seconds: Seconds) -> StepRecord:
    """A round of a decoder whose guesses we do not see: its accepted ones form a chain."""
    guessed = tuple(tokens[:-1])
    tree = TreeRecord(
        (root, *guessed),
        tuple(range(-1, len(guessed))),
        ("target", *("ngram" for _ in guessed)),
    )
    path = tuple(range(1, len(guessed) + 1))
    origins = (*tree.origins[1:], "target")
    return StepRecord(tuple(tokens), origins, tree, path, 0, now, seconds)


def _running_lengths(num_prompt: int, steps: Sequence[StepRecord]) -> Iterator[int]:
    """For each step, the slots its pass reads."""
    for step in steps:
        yield num_prompt + len(step.tree) - 1
        num_prompt += len(step.tokens)


def _slot_bytes(model: Any) -> int:
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * size * model.dtype.itemsize)
