"""Decoders that are not ours, on the same weights, device and dtype: transformers' `generate`.

Its clock is set up in its favour: the prompt but for its last token is prefilled beforehand as ours
is, and decode time runs from the start of the first forward to the last token, so that what
`generate` does before its loop costs it nothing. Its prompt lookup and its assisted generation
cannot start from a filled cache; there everything up to the end of the first pass, the draft's
prefill and first guesses too, counts as prefill, and the tokens that it gives cost no time.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from compare.hugging_face import Round, RoundClock, load_draft, load_model, watched
from compare.recorder import PassBytes, visible_text
from compare.records import RunRecord, Seconds, StepRecord, TreeRecord
from ssd.stop import StopCheck

if TYPE_CHECKING:
    from compare.methods import Task
    from ssd.models.load import LoadedPair
    from ssd.request import Request

LOOKUP_TOKENS = 10
ASSISTED: dict[str, Any] = {
    "num_assistant_tokens": 4,
    "num_assistant_tokens_schedule": "constant",
    "assistant_confidence_threshold": 0.4,
}
_ATTENTION = "sdpa"


class HuggingFace:
    """`hf-generate`, `hf-lookup` (transformers' prompt lookup) or `hf-assisted` (its assisted
    generation, with the pair's draft). Loads on first use."""

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
        if self._method == "hf-lookup":
            told["prompt_lookup_num_tokens"] = LOOKUP_TOKENS
        return told | (ASSISTED if self._method == "hf-assisted" else {})

    def run(self, task: Task) -> RunRecord:
        """The record of one run. Raises ValueError where the prompt fills the context."""
        request = task.request
        request.check_room(self._pair.target.context_length)
        clock = RoundClock(self._wait, is_first_prefill=self._is_helped)
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a keyword that older versions need
            ids = torch.tensor([request.prompt], device=self._pair.device)
            cache = None if self._is_helped else self._prefill(ids, clock)
            draft = self._draft if self._method == "hf-assisted" else None
            torch.manual_seed(request.seed)
            with watched(self._model, draft, clock):
                self._model.generate(
                    ids,
                    past_key_values=cache,
                    assistant_model=draft,
                    attention_mask=torch.ones_like(ids),
                    generation_config=self._config(request),
                    stopping_criteria=[_Ended(request, task.is_cancelled)],
                    streamer=clock,
                )
        return self._record(task, clock)

    @property
    def _is_helped(self) -> bool:
        return self._method != "hf-generate"

    @cached_property
    def _model(self) -> Any:
        return load_model(self._pair.folder, self._pair.dtype, _ATTENTION).to(self._pair.device)

    @cached_property
    def _draft(self) -> Any:
        draft = load_draft(self._pair, _ATTENTION).to(self._pair.device)
        draft.generation_config.update(**ASSISTED)
        return draft

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
        if self._method == "hf-lookup":
            settings["prompt_lookup_num_tokens"] = LOOKUP_TOKENS
        library: Any = transformers
        return library.GenerationConfig(**settings)

    def _record(self, task: Task, clock: RoundClock) -> RunRecord:
        request = task.request
        guesser = "draft" if self._method == "hf-assisted" else "ngram"
        steps, reason = _steps(clock, guesser, request, self._pair.target.context_length)
        tokens = tuple(token for step in steps for token in step.tokens)
        stages = sum((step.seconds for step in steps), Seconds(prefill=clock.prefill))
        return RunRecord(
            key=task.key,
            category=task.category,
            prompt_ids=request.prompt,
            token_ids=tokens,
            text=visible_text(tokens, request, self._pair.codec),
            finish_reason=reason,
            steps=steps,
            seconds=stages,
            bytes_read=self._bytes_read(len(request.prompt), steps),
        )

    def _bytes_read(self, num_prompt: int, steps: Sequence[StepRecord]) -> int:
        """What all passes read. The caches here are in the model's dtype, unlike our exact ones."""
        target = PassBytes(PassBytes.of(self._pair.target).weights, _slot_bytes(self._model))
        total = 0
        for step, num_slots in zip(steps, _running_lengths(num_prompt, steps), strict=True):
            total += target(num_slots)
            if step.draft_passes:
                draft = PassBytes(_weight_bytes(self._draft), _slot_bytes(self._draft))
                total += step.draft_passes * draft(num_slots)
        return total


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
    clock: RoundClock, guesser: str, request: Request, context_length: int
) -> tuple[tuple[StepRecord, ...], str]:
    """The rounds as steps, cut where our own stop rule ends them, and why they end."""
    check, before, root = StopCheck(request.stop), 0.0, request.prompt[-1]
    steps: list[StepRecord] = []
    reason: str | None = None
    for each in clock.rounds:
        kept, reason = check.cut(each.tokens)
        steps.append(_step(root, kept, each, guesser, each.time - before))
        before, root = each.time, each.tokens[kept - 1]
        if reason is not None:
            break
    length = len(request.prompt) + sum(len(step.tokens) for step in steps)
    return tuple(steps), reason or ("context" if length >= context_length else "cancelled")


def _step(root: int, kept: int, each: Round, guesser: str, seconds: float) -> StepRecord:
    """A round of a decoder whose guesses we do not see: its accepted ones form a chain."""
    tokens = each.tokens[:kept]
    guessed = tokens[:-1]
    origins = (*(guesser for _ in guessed), "target")
    tree = TreeRecord((root, *guessed), tuple(range(-1, len(guessed))), ("target", *origins[:-1]))
    other = seconds - each.target - each.draft
    return StepRecord(
        tokens=tokens,
        origins=origins,
        tree=tree,
        path=tuple(range(1, kept)),
        draft_passes=each.draft_passes,
        time=each.time,
        seconds=Seconds(0.0, 0.0, each.draft, each.target, other),
    )


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


def _weight_bytes(model: Any) -> int:
    """Of a pass: every weight once, the tied embedding as the head."""
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())
