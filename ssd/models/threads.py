"""How many threads a process may really use: its share of the machine, not the machine's cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch

_ROOT = Path("/sys/fs/cgroup")


def use_threads(wanted: int | None) -> None:
    """Set torch's threads to `wanted`, or, where that is None, to no more than may run at once.

    Torch counts the cores of the host. In a container with a quota of fewer, its threads would be
    stopped in turn, each time while the others wait for them.
    """
    if wanted is not None:
        torch.set_num_threads(wanted)
    elif (usable := usable_cores()) < torch.get_num_threads():
        torch.set_num_threads(usable)


def usable_cores(
    root: Path = _ROOT, affinity: Callable[[], int] | None = None, own: Path = Path("/proc/self")
) -> int:
    """Whole cores that this process may use, at least 1.

    The least of its affinity mask and the quotas of its control groups: `cpu.max` of version 2
    (docs.kernel.org/admin-guide/cgroup-v2.html), `cpu.cfs_quota_us` of version 1, those of the
    groups above it too.
    """
    cores = [_affinity() if affinity is None else affinity()]
    cores += [int(quota) for folder in _groups(root, own) if (quota := _quota(folder)) is not None]
    return max(1, min(cores))


def _affinity() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no such call
        return os.cpu_count() or 1


def _groups(root: Path, own: Path) -> list[Path]:
    """The folders of the process's control groups, and of those above them."""
    try:
        lines = (own / "cgroup").read_text().splitlines()
    except OSError:
        lines = []
    found = {root, root / "cpu"}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        base = root if not controllers else root / "cpu"
        if not controllers or "cpu" in controllers.split(","):
            parts = path.strip("/").split("/") if path.strip("/") else []
            found |= {base.joinpath(*parts[:count]) for count in range(len(parts) + 1)}
    return sorted(found)


def _quota(folder: Path) -> float | None:
    """The cores that a control group may use, None where it sets no limit."""
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        return None if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None
