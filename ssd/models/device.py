"""Which device and dtype to compute with."""

from __future__ import annotations

import statistics
import time

import torch
from torch.nn import functional as F

_DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32, "fp16": torch.float16}


def choose_device(name: str) -> torch.device:
    """The device called `name`; `auto` is CUDA where there is one. Raises ValueError."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device must be auto, cpu or cuda[:N], got {name!r}") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be auto, cpu or cuda[:N], got {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"device {name} needs a CUDA GPU, got {torch.cuda.device_count()} of them: use cpu"
        )
    return device


def choose_dtype(precision: str, device: torch.device) -> torch.dtype:
    """The dtype of `precision`; `auto` is bf16 where that is fast, else fp32."""
    if precision != "auto":
        return _DTYPES[precision]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if is_bf16_fast() else torch.float32


def is_bf16_fast() -> bool:
    """Whether this processor multiplies bf16 faster than float32: half the bytes, if native."""
    return _seconds(torch.bfloat16) < _seconds(torch.float32)


def _seconds(dtype: torch.dtype) -> float:
    weight, x = torch.ones(2048, 2048, dtype=dtype), torch.ones(8, 2048, dtype=dtype)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        F.linear(x, weight)
        times.append(time.perf_counter() - start)
    return statistics.median(times)
