"""The Step tab: one round at a time, its tree and how it came about."""

from __future__ import annotations

from compare.page.view import step_view


def step_tab() -> None:
    """Make the tab's one component where it stands; it follows the shown run in the browser."""
    step_view()
