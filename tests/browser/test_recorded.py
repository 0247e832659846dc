"""First paint: a recorded race, with no model, no queue and no network."""

from __future__ import annotations

from playwright.sync_api import Browser, Route, expect

from compare.page.recordings import recordings
from tests.browser.conftest import Visitor


def test_the_recorded_race_needs_nothing_but_the_page(visitor: Visitor) -> None:
    def only_reading(route: Route) -> None:
        """Nothing can be asked of the server: no event, no queue, no model."""
        if route.request.method == "GET" and "/queue/" not in route.request.url:
            route.continue_()
        else:
            route.abort()

    visitor.page.route("**/*", only_reading)
    page = visitor.open()
    expect(page.locator(".ssd-status")).to_contain_text("Recorded run")
    environment = recordings()[0].environment
    expect(page.locator(".ssd-status")).to_contain_text(str(environment["created"])[:10])
    expect(page.locator(".ssd-status")).to_contain_text(environment["pair"]["hardware"])
    expect(page.locator(".ssd-status")).to_contain_text(environment["versions"]["torch"])
    expect(page.locator(".ssd-verdict")).to_have_attribute("data-verdict", "identical")
    for run in recordings()[0].records:
        spans = page.locator(f".ssd-lane[data-method={run['method']}] .ssd-token")
        assert "".join(spans.all_text_contents()) == run["text"]
    visitor.faults.clear()  # the browser reports what was cut off here


def test_it_plays_by_itself_and_can_be_paused(chromium: Browser, fake_url: str) -> None:
    context = chromium.new_context(locale="en-US")
    visitor = Visitor(context.new_page(), fake_url)
    page = visitor.open()
    expect(page.locator(".ssd-replay button")).to_have_attribute("aria-label", "Pause")
    page.click(".ssd-replay button")
    expect(page.locator(".ssd-replay button")).to_have_attribute("aria-label", "Play")
    hidden = page.locator(".ssd-lane .ssd-unseen").count()
    assert hidden > 0
    page.wait_for_timeout(400)
    assert page.locator(".ssd-lane .ssd-unseen").count() == hidden
    assert visitor.faults == []
    context.close()


def test_another_recorded_run_can_be_chosen(visitor: Visitor) -> None:
    page = visitor.open()
    page.click(".ssd-shelf-choice:has-text('loses')")
    expect(page.locator(".ssd-lane-name").nth(1)).to_have_text("Speculative · chain of 5")
    loses = next(shown for shown in recordings() if shown.name == "chip_loses")
    ratio = loses.summary["methods"]["speculative:5"]["speedup"]["median"]
    expect(page.locator("[data-row=speedup] td").nth(1)).to_have_text(f"{ratio:.2f}×")


def test_a_run_takes_the_place_of_the_recorded_one(visitor: Visitor) -> None:
    page = visitor.open()
    page.fill("#ssd-prompt textarea", "write")
    page.click("#ssd-run")
    visitor.finish()
    expect(page.locator(".ssd-status")).to_contain_text("Finished")
    expect(page.locator(".ssd-shelf-choice[aria-pressed=true]")).to_have_count(0)
