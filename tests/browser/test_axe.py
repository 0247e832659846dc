"""axe-core on every tab, in light and dark: no serious or critical fault."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import Visitor

TABS = ("race", "step", "charts", "benchmark", "learn")
GRAVE = {"serious", "critical"}


def faults(page: Page) -> list[str]:
    """What axe finds grave, a line an element."""
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for each in found
        if each["impact"] in GRAVE
        for node in each["nodes"]
    ]


def show(page: Page, tab: str) -> None:
    page.click(f"#ssd-tab-{tab}-button")
    if tab == "charts":
        page.wait_for_selector(".js-plotly-plot .legend", timeout=60_000)
    if tab == "learn":
        while (answers := page.locator(".ssd-show:visible")).count():
            answers.first.click()
        for term in page.locator(".ssd-term").all():
            term.click()
    page.wait_for_timeout(300)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_fault_on_any_tab(visitor: Visitor, theme: str) -> None:
    page = visitor.open(f"?__theme={theme}")
    for tab in TABS:
        show(page, tab)
        assert not (found := faults(page)), f"{tab}, {theme}:\n" + "\n".join(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_fault_in_any_lesson(visitor: Visitor, theme: str) -> None:
    page = visitor.open(f"?__theme={theme}#tab=learn")
    entries = page.locator(".ssd-entry")
    for at in range(entries.count()):
        entries.nth(at).click()
        show(page, "learn")
        assert not (found := faults(page)), f"lesson {at + 1}, {theme}:\n" + "\n".join(found)


def test_axe_sees_a_planted_fault(visitor: Visitor) -> None:
    page = visitor.open()
    page.evaluate(
        """() => {
          const words = document.createElement("p");
          words.textContent = "pale";
          words.style.cssText = "color: #bbb; background: #fff";
          document.querySelector(".ssd-race").append(words);
          document.querySelector(".ssd-race").append(document.createElement("button"));
        }"""
    )
    found = faults(page)
    assert any(each.startswith("color-contrast") for each in found)
    assert any(each.startswith("button-name") for each in found)
