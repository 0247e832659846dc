"""Threads follow the quota and the affinity mask, not the host's cores."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ssd.models import threads
from ssd.models.threads import usable_cores, use_threads


def cores(tmp_path: Path, files: dict[str, str], groups: str = "", affinity: int = 16) -> int:
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    own = tmp_path / "self"
    own.mkdir()
    (own / "cgroup").write_text(groups)
    return usable_cores(tmp_path / "cgroup", lambda: affinity, own)


@pytest.mark.parametrize(
    ("files", "groups", "expected"),
    [
        ({}, "", 16),
        ({"cpu.max": "max 100000"}, "0::/", 16),
        ({"cpu.max": "200000 100000"}, "0::/", 2),
        ({"cpu.max": "250000 100000"}, "0::/", 2),
        ({"cpu.max": "50000 100000"}, "0::/", 1),
        ({"a/b/cpu.max": "300000 100000"}, "0::/a/b", 3),
        ({"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, "0::/a/b", 3),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, "", 4),
        ({"cpu/x/cpu.cfs_quota_us": "100000", "cpu/x/cpu.cfs_period_us": "100000"},
         "4:cpu,cpuacct:/x\n1:name=systemd:/y", 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "", 16),
        ({"cpu.max": "nonsense"}, "0::/", 16),
        ({"cpu.max": "100000 0"}, "0::/", 16),
    ],
)  # fmt: skip
def test_quotas_of_both_versions_and_of_the_groups_above(
    tmp_path: Path, files: dict[str, str], groups: str, expected: int
) -> None:
    assert cores(tmp_path, files, groups) == expected


def test_the_affinity_mask_counts_too(tmp_path: Path) -> None:
    assert cores(tmp_path, {"cpu.max": "800000 100000"}, "0::/", affinity=3) == 3


def test_a_system_without_control_groups(tmp_path: Path) -> None:
    assert usable_cores(tmp_path / "none", lambda: 5, tmp_path / "none") == 5


def test_torch_gets_no_more_than_may_run_and_whatever_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        monkeypatch.setattr(threads, "usable_cores", lambda: 8)
        use_threads(None)
        assert torch.get_num_threads() == 2, "torch's own number where it is smaller"
        monkeypatch.setattr(threads, "usable_cores", lambda: 1)
        use_threads(None)
        assert torch.get_num_threads() == 1
        use_threads(2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
