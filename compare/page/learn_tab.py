"""The Learn tab."""

from __future__ import annotations


def learn_tab() -> None:
    """Make the tab's components where they stand."""
