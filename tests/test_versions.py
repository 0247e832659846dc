"""The versions that records name."""

from __future__ import annotations

import platform

import torch

from ssd.models.versions import versions


def test_what_is_installed_is_named_and_nothing_else() -> None:
    found = versions(("torch", "no-such-package"))
    assert list(found) == ["python", "torch"]
    assert found["python"] == platform.python_version()
    assert torch.__version__.startswith(found["torch"].split("+")[0])
