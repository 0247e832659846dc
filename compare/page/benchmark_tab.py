"""The Benchmark tab."""

from __future__ import annotations

from compare.lab import Lab


def benchmark_tab(lab: Lab) -> None:
    """Make the tab's components where they stand, and their events on `lab`."""
