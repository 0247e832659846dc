"""The slots of keys and values."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from ssd.cache import KVCache

CPU = torch.device("cpu")


def write(cache: KVCache, layer: int, first: int, keys: Tensor, values: Tensor) -> None:
    """Store rows in the slots of `layer` from `first`."""
    cache.windows(first, len(keys)).layers()[layer].write(keys, values)


def read(cache: KVCache, layer: int, num_slots: int) -> tuple[Tensor, Tensor]:
    """The first slots of `layer`."""
    window = cache.windows(0, num_slots).layers()[layer]
    return window.keys().clone(), window.values().clone()


@torch.inference_mode()
def test_slots_start_zeroed_and_growth_keeps_what_is_stored() -> None:
    cache = KVCache((2, 3, 4), torch.float64, torch.float64, CPU)
    cache.reserve(5)
    assert cache.num_slots >= 5
    write(cache, 1, 2, torch.ones(1, 3, 4), torch.ones(1, 3, 4) * 2)
    cache.reserve(1000)
    assert cache.num_slots >= 1000
    keys, values = read(cache, 1, 1000)
    assert keys.shape == (3, 1000, 4)
    assert torch.equal(keys[:, 2], torch.ones(3, 4).double())
    assert torch.equal(values[:, 2], torch.full((3, 4), 2.0).double())
    assert not keys[:, 3:].any() and not read(cache, 0, 1000)[0].any()


def test_bytes_of_a_slot() -> None:
    assert KVCache((2, 3, 4), torch.float64, torch.float64, CPU).slot_bytes == 2 * 2 * 3 * 4 * 8
    assert KVCache((2, 3, 4), torch.bfloat16, torch.float64, CPU).slot_bytes == 2 * 2 * 3 * 4 * 2


@torch.inference_mode()
@pytest.mark.parametrize("stored", [torch.bfloat16, torch.float32, torch.float64])
def test_what_is_stored_is_read_as_it_was_in_another_dtype(stored: torch.dtype) -> None:
    """Through growth, layer by layer, rounded once; slots never written are zeros."""
    generator = torch.Generator().manual_seed(0)
    cache = KVCache((2, 3, 4), stored, torch.float64, CPU)
    rows = torch.randn(2, 300, 3, 4, generator=generator)
    for first in range(0, 300, 20):
        cache.reserve(first + 20)
        for layer in range(2):
            part = rows[layer, first : first + 20]
            write(cache, layer, first, part, -part)
        for layer in range(2):
            keys, values = read(cache, layer, first + 20)
            assert keys.dtype == values.dtype == torch.float64
            expected = rows[layer, : first + 20].transpose(0, 1).to(stored).double()
            assert torch.equal(keys, expected) and torch.equal(values, -expected)
    assert not read(cache, 1, cache.num_slots)[0][:, 300:].any()


@torch.inference_mode()
def test_random_writes_and_moves_equal_a_list() -> None:
    """Moves whose sources and destinations overlap included."""
    rng = random.Random(0)
    for _ in range(50):
        cache, twin = KVCache((2, 1, 1), torch.float64, torch.float64, CPU), [0.0] * 40
        cache.reserve(40)
        for step in range(30):
            if rng.random() < 0.5:
                first, count = rng.randrange(30), rng.randint(1, 10)
                new = [float(step * 100 + i) for i in range(count)]
                rows = torch.tensor(new).view(-1, 1, 1)
                for layer in range(2):
                    write(cache, layer, first, rows * (layer + 1), -rows)
                twin[first : first + count] = new
            else:
                sources = rng.sample(range(40), rng.randint(0, 10))
                first = rng.randrange(30)
                cache.move(sources, first)
                twin[first : first + len(sources)] = [twin[source] for source in sources]
            expected = torch.tensor(twin).double()
            for layer in range(2):
                keys, values = read(cache, layer, 40)
                assert torch.equal(keys[0, :, 0], expected * (layer + 1))
                assert torch.equal(values[0, :, 0], -expected)


@torch.inference_mode()
def test_what_is_converted_can_be_halved_between_two_heads_and_two_threads() -> None:
    """Also of one slot; the empty head and the slots behind the pass are not read."""
    cache = KVCache((2, 3, 64), torch.bfloat16, torch.float64, CPU)
    cache.reserve(1)
    window = cache.windows(0, 1).layers()[1]
    assert window.scratch is not None
    assert window.scratch.whole.shape[0] == 4 and window.scratch.whole.numel() > 1 << 15
    assert window.keys().shape == window.values().shape == (3, 1, 64)
