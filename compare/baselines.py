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
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from compare.baseline_record import Rounds, baseline_record
from compare.hugging_face import RoundClock, load_draft, load_model, watched
from compare.recorder import PassBytes
from ssd.stop import StopCheck

if TYPE_CHECKING:
    from compare.methods import Task
    from compare.records import RunRecord
    from ssd.models.load import LoadedPair
    from ssd.request import Request

LOOKUP_TOKENS = 10
# The fastest of 2, 3, 4, 6 and 20 tokens, constant or by its heuristic, at thresholds 0, 0.4, 0.6.
ASSISTED: dict[str, Any] = {
    "num_assistant_tokens": 4,
    "num_assistant_tokens_schedule": "constant",
    "assistant_confidence_threshold": 0.6,
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
            "dtype": str(self._pair.library_dtype).removeprefix("torch."),
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
        guesser = "draft" if self._method == "hf-assisted" else "ngram"
        decode = Rounds(clock.prefill, clock.rounds, guesser)
        return baseline_record(task, self._pair, decode, self._read)

    @property
    def _is_helped(self) -> bool:
        return self._method != "hf-generate"

    @cached_property
    def _model(self) -> Any:
        return load_model(self._pair.folder, self._pair.library_dtype, _ATTENTION).to(
            self._pair.device
        )

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

    def _read(self, num_slots: int, draft_passes: int) -> int:
        """What a round reads. The caches here are in the model's dtype, unlike our exact ones."""
        target = PassBytes(PassBytes.of(self._pair.target).weights, _slot_bytes(self._model))
        if draft_passes == 0:
            return target(num_slots)
        draft = PassBytes(_weight_bytes(self._draft), _slot_bytes(self._draft))
        return target(num_slots) + draft_passes * draft(num_slots)


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


def _slot_bytes(model: Any) -> int:
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * size * model.dtype.itemsize)


def _weight_bytes(model: Any) -> int:
    """Of a pass: every weight once, the tied embedding as the head."""
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())
