"""Learn, Charts and Benchmark in a browser, on an engine without models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from compare.page import words
from tests.browser.conftest import Visitor

HOSTILE = "<img src=x onerror=alert(1)> ${1+1} {{x}} </script>"


def test_a_lesson_asks_first_and_drives_the_controls(visitor: Visitor) -> None:
    page = visitor.open("?__theme=light#tab=learn&lesson=loses")
    expect(page.locator(".ssd-lesson h2")).to_have_text("When speculation loses")
    assert page.locator(".ssd-try").count() == 0
    wrong, right = page.locator(".ssd-choice").first, page.locator(".ssd-choice").last
    wrong.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ssd-reply")).to_contain_text("Not quite.")
    assert page.locator(".ssd-try").count() == 0
    right.focus()
    page.keyboard.press("Space")
    expect(page.locator(".ssd-reply")).to_contain_text("Right.")
    page.locator(".ssd-try").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#ssd-tab-race-button")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#ssd-temperature input[type=number]")).to_have_value("1")
    expect(page.locator("#ssd-prompt textarea")).to_have_value(words.PROMPTS["chip_loses"])


def test_every_figure_can_be_moved_and_says_something_else(visitor: Visitor) -> None:
    page = visitor.open("?__theme=light#tab=learn")
    for at in range(6):
        page.locator(".ssd-entry").nth(at).click()
        while (answers := page.locator(".ssd-show:visible")).count():
            answers.first.click()
        for figure in page.locator(".ssd-figure").all():
            before = figure.locator(".ssd-reading").inner_text()
            control = figure.locator("input, select, .ssd-chain button").first
            control.focus()
            page.keyboard.press("Enter" if figure.locator(".ssd-chain").count() else "ArrowDown")
            if (
                figure.locator("input").count()
                and before == figure.locator(".ssd-reading").inner_text()
            ):
                page.keyboard.press("ArrowUp")
                page.keyboard.press("ArrowUp")
            assert figure.locator(".ssd-reading").inner_text() != before


def test_no_guess_changes_the_text_in_the_picture(visitor: Visitor) -> None:
    page = visitor.open("?__theme=light#tab=learn&lesson=text")
    figure = page.locator(".ssd-figure").first
    winners = set()
    for guess in range(5):
        figure.locator("select").select_option(str(guess))
        winners.add(figure.locator(".ssd-winner th").inner_text())
    assert len(winners) == 1


def test_terms_open_in_place_and_lead_to_the_glossary(visitor: Visitor) -> None:
    page = visitor.open("?__theme=light#tab=learn&lesson=memory")
    page.locator(".ssd-term").first.click()
    expect(page.locator(".ssd-meaning")).to_contain_text("The unit in which a model reads")
    page.locator(".ssd-meaning a").click()
    expect(page.locator("#ssd-term-token")).to_be_focused()
    page.click("#ssd-tab-race-button")
    link = page.locator("#ssd-temperature .ssd-what")
    expect(link).to_have_attribute("aria-label", "What is “Temperature”?")
    link.click()
    expect(page.locator("#ssd-term-temperature")).to_be_focused()


def test_charts_are_drawn_and_saved(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open("?__theme=dark#tab=charts")
    expect(page.locator(".js-plotly-plot")).to_have_count(7, timeout=60_000)
    for plot in page.locator(".js-plotly-plot").all():
        box = plot.bounding_box()
        assert box is not None and box["width"] > 300 and box["height"] > 300
    chart = page.locator(".ssd-chart:has(#ssd-chart-rounds)")
    for number, start in ((0, b"<svg"), (1, b"\x89PNG")):
        with page.expect_download() as saved:
            chart.locator(".ssd-small").nth(number).click()
        path = tmp_path / saved.value.suggested_filename
        saved.value.save_as(path)
        assert path.read_bytes().startswith(start)


def run_suite(page: Page, path: Path, prompts: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in prompts))
    page.set_input_files("#ssd-bench-file input[type=file]", path)
    page.get_by_label("My own file, below").check()
    expect(page.locator("#ssd-bench-file")).to_contain_text(path.stem)
    page.click("#ssd-bench-run")


def test_a_suite_of_ones_own_is_run_saved_and_loaded(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open("?__theme=light")
    page.click("#ssd-tab-benchmark-button")
    prompts = [{"id": HOSTILE + str(at), "category": HOSTILE, "text": "x"} for at in range(3)]
    run_suite(page, tmp_path / "mine.jsonl", prompts)
    done = page.locator('.ssd-benchmark .ssd-status[data-kind="finished"]')
    expect(done).to_be_visible(timeout=30_000)
    tables = page.locator(".ssd-tables")
    expect(tables).to_contain_text("3 identical")
    expect(tables).to_contain_text(HOSTILE)
    assert page.locator(".ssd-tables img, .js-plotly-plot img").count() == 0
    with page.expect_download() as saved:
        page.click("#ssd-bench-records")
    saved.value.save_as(tmp_path / "earlier.jsonl")
    page.reload()
    page.wait_for_selector(".ssd-lane", state="attached")
    page.click("#ssd-tab-benchmark-button")
    page.set_input_files("#ssd-bench-load input[type=file]", tmp_path / "earlier.jsonl")
    expect(page.locator(".ssd-benchmark .ssd-status")).to_contain_text("Loaded earlier.jsonl")
    expect(tables).to_contain_text("3 identical")


def test_stop_keeps_whole_prompts(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open("?__theme=light")
    page.click("#ssd-tab-benchmark-button")
    prompts = [{"id": "quick", "text": "x"}, {"id": "long", "text": "slow"}]
    run_suite(page, tmp_path / "slow.jsonl", prompts)
    expect(page.locator(".ssd-benchmark .ssd-status")).to_contain_text("now long", timeout=20_000)
    page.click("#ssd-bench-stop")
    stopped = page.locator('.ssd-benchmark .ssd-status[data-kind="stopped"]')
    expect(stopped).to_be_visible(timeout=10_000)
    expect(page.locator(".ssd-tables")).to_contain_text("1 identical")
    expect(page.locator("#ssd-bench-run")).to_be_enabled()


@pytest.mark.parametrize("tab", ["charts", "benchmark", "learn"])
def test_320_pixels_are_enough(tiny: Visitor, tab: str) -> None:
    page = tiny.open("?__theme=dark")
    page.click(f"#ssd-tab-{tab}-button")
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
