"""Which device and dtype to compute with."""

from __future__ import annotations

import statistics
import time

import torch
from torch import Tensor

from ssd.models.layers import Linear, Product
from ssd.models.packed import packed_or_plain

_DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32, "fp16": torch.float16}
_SIZE, _ROWS, _ROUNDS = 2048, 8, 9  # of the products that are compared


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
    """Whether this processor multiplies bf16 faster than float32: half the bytes, if native.

    In the products that decode: bf16's are packed, and unpacked they can be as slow as float32's.
    """
    wide = Linear(torch.ones(_SIZE, _SIZE))
    narrow = packed_or_plain(Linear(wide.weight.bfloat16()))
    rows = torch.ones(_ROWS, _SIZE)
    growth = []
    for _ in range(_ROUNDS):  # in turn, so that other work on the machine disturbs both alike
        growth.append(_seconds(narrow, rows.bfloat16()) / _seconds(wide, rows))
    return statistics.median(growth) < 1


def _seconds(product: Product, x: Tensor) -> float:
    start = time.perf_counter()
    product(x)
    return time.perf_counter() - start
