"""What all tests share."""

from __future__ import annotations

import os

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select tests of a GPU only where there is one."""
    if not torch.cuda.is_available():
        there = [item for item in items if item.get_closest_marker("cuda") is not None]
        config.hook.pytest_deselected(items=there)
        items[:] = [item for item in items if item not in there]


@pytest.fixture(autouse=True)
def few_threads(request: pytest.FixtureRequest) -> None:
    """Tiny models are fastest on one thread; tests of the real model use them all."""
    if request.node.get_closest_marker("model") is None:
        torch.set_num_threads(1)
    else:
        torch.set_num_threads(os.cpu_count() or 1)
