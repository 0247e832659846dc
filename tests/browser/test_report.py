"""The report as a browser shows it: from disk, without a network, whatever its texts are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from compare.digest import Digests
from compare.records import RunKey, RunRecord
from compare.report import report_html
from tests.hostile_records import HOSTILE_ENVIRONMENT, hostile_digests
from tests.records_by_hand import ENVIRONMENT, edited, guessed, plain

METHODS = ("lookup", "speculative", "speculative:3", "tree", "replay", "hf-generate")
INK = {"light": "rgb(24, 24, 27)", "dark": "rgb(244, 244, 245)"}


def _digests() -> Digests:
    """Twelve prompts of three categories, eight methods."""
    runs: list[RunRecord] = []
    for number in range(12):
        answer = tuple(range(number, number + 40))
        prompt, category = f"prompt-{number}", f"category {number % 3}"
        for at, method in enumerate(("autoregressive", *METHODS)):
            run = plain(answer, RunKey(method, prompt), 1.0 / (1 + 0.2 * at + 0.03 * number))
            steps = tuple(edited(step, entropy=(0.1 * number,)) for step in run.steps)  # type: ignore[arg-type]
            runs.append(edited(run, category=category, steps=steps))
        runs.append(edited(guessed(RunKey("staged", prompt)), category=category))
    return Digests.of(runs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a usual and a hostile report."""
    made = tmp_path_factory.mktemp("reports")
    pages = {
        "usual": report_html({**ENVIRONMENT, "is_exact": False}, _digests()),
        "chinese": report_html({**ENVIRONMENT, "is_exact": False}, _digests(), "zh-CN"),
        "hostile": report_html(HOSTILE_ENVIRONMENT, hostile_digests()),
    }
    for name, page in pages.items():
        (made / f"{name}.html").write_text(page, "utf-8")
    return made


class _Shown:
    """A report on the screen, offline, and what went wrong on it."""

    def __init__(self, browser: Browser, path: Path, width: int, scheme: Any) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        page, faults = self.page, self.faults
        page.on("request", lambda r: faults.append(r.url) if r.url != path.as_uri() else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("console", lambda m: faults.append(m.text))
        page.goto(path.as_uri())
        page.wait_for_selector(".plot .main-svg")


@pytest.fixture
def show(chromium: Browser, folder: Path) -> Iterator[Any]:
    """Shows a report by name; it must end without a fault."""
    shown: list[_Shown] = []

    def open_one(name: str, width: int = 1280, scheme: str = "light") -> Page:
        shown.append(_Shown(chromium, folder / f"{name}.html", width, scheme))
        return shown[-1].page

    yield open_one
    for each in shown:
        each.context.close()
        assert each.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_figure_is_drawn_in_the_colours_of_the_scheme(show: Any, scheme: str) -> None:
    page = show("usual", scheme=scheme)
    drawn = page.locator(".plot .main-svg").evaluate_all("all => all.length")
    assert drawn >= page.locator("figure").count() == 7
    assert page.locator("body").evaluate("b => getComputedStyle(b).color") == INK[scheme]
    fills = page.locator(".plot .xtick text, .plot .legendtext").evaluate_all(
        "all => [...new Set(all.map(each => getComputedStyle(each).fill))]"
    )
    assert fills == [INK[scheme]]


@pytest.mark.parametrize("name", ["usual", "chinese", "hostile"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out_sideways(show: Any, name: str, width: int) -> None:
    page = show(name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_text_is_shown_and_does_nothing(show: Any) -> None:
    page = show("hostile")
    assert "PWNED" in page.title() and page.title() != "PWNED"
    assert page.locator("img, a").count() == 0
    assert page.get_by_text("onerror=alert(1)").count() > 5


def test_on_paper_everything_is_open_and_figures_fit(show: Any) -> None:
    page = show("usual", scheme="dark")
    assert page.locator("details[open]").count() == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("body").evaluate("b => getComputedStyle(b).color") == "rgb(0, 0, 0)"
    page.wait_for_function(
        "[...document.querySelectorAll('.plot .main-svg')].every(s => s.clientWidth <= 980)"
    )
    assert len(page.pdf(prefer_css_page_size=True)) > 10_000
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
