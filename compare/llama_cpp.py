"""llama.cpp as a baseline, through the package llama-cpp-python: the pair's own GGUF, as it is.

Its weights are the file's quantised ones and its activations 8-bit, so its ids are its own. What is
timed is its evaluation of a token and its choice of the next one, together: its interface does not
tell them apart, and all of it counts as the target's.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from compare.baseline_record import Round, Rounds, baseline_record
from compare.naming import LLAMA_MISSING, LLAMA_PACKAGE
from ssd.stop import StopCheck

if TYPE_CHECKING:
    from compare.methods import Task
    from compare.records import RunRecord
    from ssd.models.load import LoadedPair
    from ssd.request import Request

_SEEDS = 2**32 - 1  # the largest 32-bit seed asks llama.cpp for a random one


def _package() -> Any:
    try:
        return importlib.import_module(LLAMA_PACKAGE)
    except ModuleNotFoundError as error:
        raise ValueError(LLAMA_MISSING) from error


class LlamaCpp:
    """The method `llama-cpp`. Loads on first use.

    `package`: gives the module `llama_cpp`; raises ValueError where there is none.
    """

    def __init__(self, pair: LoadedPair, package: Callable[[], Any] = _package) -> None:
        self._pair, self._package = pair, package

    @property
    def settings(self) -> dict[str, Any]:
        """What llama.cpp was told, for the record."""
        return {
            "library": "llama-cpp-python",
            "version": self._package().__version__,
            "file": self._gguf.name,
            **self._told,
        }

    def run(self, task: Task) -> RunRecord:
        """The record of one run. Raises ValueError where the prompt fills the context."""
        task.request.check_room(self._pair.target.context_length)
        model, prompt = self._model, list(task.request.prompt)
        model.reset()
        model.set_seed(task.request.seed % _SEEDS)
        start = time.perf_counter()
        if len(prompt) > 1:
            model.eval(prompt[:-1])
        prefill = time.perf_counter() - start
        decode = Rounds(prefill, list(self._rounds(task)))
        return baseline_record(task, self._pair, decode, self._read)

    def _rounds(self, task: Task) -> Iterator[Round]:
        request, check = task.request, StopCheck(task.request.stop)
        room = self._pair.target.context_length - len(request.prompt)
        # It finds the prompt but for its last token evaluated, and goes on from there.
        tokens = self._model.generate(list(request.prompt), reset=True, **_sampling(request))
        start, before = time.perf_counter(), 0.0
        for number, token in enumerate(tokens, start=1):
            now = time.perf_counter() - start
            yield Round((int(token),), now, now - before)
            before = now
            _, reason = check.cut((int(token),))
            if reason is not None or number >= room or task.is_cancelled():
                return

    @cached_property
    def _gguf(self) -> Path:
        found = sorted(self._pair.folder.glob("*.gguf"))
        if not found:
            raise ValueError(
                f"llama-cpp needs the model as a GGUF, and there is none in {self._pair.folder}: "
                "leave llama-cpp out, or put one there"
            )
        return found[0]

    @property
    def _told(self) -> dict[str, Any]:
        threads = torch.get_num_threads()
        return {
            "n_ctx": self._pair.target.context_length,
            "n_threads": threads,
            "n_threads_batch": threads,
            "flash_attn": True,  # the faster of both on two CPU cores
            "n_gpu_layers": 0 if self._pair.device.type == "cpu" else -1,
        }

    @cached_property
    def _model(self) -> Any:
        told = self._told
        return self._package().Llama(
            str(self._gguf), last_n_tokens_size=told["n_ctx"], verbose=False, **told
        )

    def _read(self, num_slots: int, draft_passes: int) -> int:
        """The whole file, and a cache in 16 bits."""
        architecture = self._pair.target.architecture
        slot = 2 * 2 * architecture.num_layers * architecture.num_kv_heads * architecture.head_size
        return self._gguf.stat().st_size + num_slots * slot


def _sampling(request: Request) -> dict[str, Any]:
    """llama.cpp's words for our settings; it takes top-k and top-p before the temperature."""
    sampling = request.sampling
    return {
        "temp": 0.0 if sampling.is_greedy else sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": 0.0,
        "typical_p": 1.0,
        "repeat_penalty": sampling.repetition_penalty,
    }
