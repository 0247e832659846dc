"""The page in a browser, on an engine without models: streaming, Stop, hostile text, widths."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visitor

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "${1+1}",
    "{{x}}",
    "`back` \\u0041 C:\\new",
    "</script><script>alert(2)</script>",
    "<b>&lt;",
    "日本語 🏁 שלום",
)


def run(page: Page, prompt: str, tokens: int = 16) -> None:
    page.fill("#ssd-prompt textarea", prompt)
    page.fill("#ssd-new-tokens input[type=number]", str(tokens))
    page.press("#ssd-new-tokens input[type=number]", "Tab")
    page.click("#ssd-run")


def lane_text(page: Page, method: str) -> str:
    spans = page.locator(f".ssd-lane[data-method={method}] .ssd-token")
    return "".join(spans.all_text_contents())


def test_a_run_fills_lanes_verdict_scoreboard_and_charts(visitor: Visitor) -> None:
    page = visitor.open()
    run(page, "write")
    visitor.finish()
    verdict = page.locator(".ssd-verdict")
    expect(verdict).to_contain_text("Identical")
    expect(verdict).to_contain_text("16 of 16 tokens; 16 of 16 logit rows equal to the last bit")
    assert page.locator(".ssd-board thead th").all_text_contents() == [
        "Autoregressive",
        "Speculative",
        "Staged",
    ]
    texts = {lane_text(page, name) for name in ("autoregressive", "speculative", "staged")}
    assert len(texts) == 1
    page.click("#ssd-tab-charts-button")
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=30_000)


def test_tokens_carry_their_origin_and_open_a_card(visitor: Visitor) -> None:
    page = visitor.open()
    run(page, "write")
    visitor.finish()
    lane = page.locator(".ssd-lane[data-method=staged]")
    for origin in ("ngram", "draft", "target"):
        assert lane.locator(f".ssd-{origin}").count() > 0
    lane.locator(".ssd-text").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    card = page.locator(".ssd-card")
    expect(card).to_be_visible()
    for words in ("Token", "Id", "Round", "Depth", "N-gram"):
        expect(card).to_contain_text(words)
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    # What the target thought is told of one lane, and is shown of all that say the same.
    for method in ("autoregressive", "speculative", "staged"):
        page.locator(f".ssd-lane[data-method={method}] .ssd-token").first.hover()
        for words in ("Target's probability", "Target's rank"):
            expect(card).to_contain_text(words)


def test_stop_keeps_partial_results_and_the_next_run_starts_clean(visitor: Visitor) -> None:
    page = visitor.open()
    run(page, "slow", tokens=500)
    page.wait_for_selector('.ssd-status[data-kind="writing"]')
    page.click("#ssd-stop")
    page.wait_for_selector('.ssd-status[data-kind="stopped"]', timeout=10_000)
    assert 0 < page.locator(".ssd-token").count() < 500
    expect(page.locator(".ssd-verdict")).not_to_contain_text("Identical")
    expect(page.locator("#ssd-run")).to_be_enabled()
    run(page, "write", tokens=8)
    visitor.finish()
    expect(page.locator(".ssd-verdict")).to_contain_text("8 of 8 tokens")
    for lane in page.locator(".ssd-lane").all():
        assert lane.locator(".ssd-token").count() == 8


def test_stop_at_once_after_run_counts(visitor: Visitor) -> None:
    page = visitor.open()
    for _ in range(8):
        run(page, "slow", tokens=500)
        page.click("#ssd-stop")
        page.wait_for_selector('.ssd-status[data-kind^="stopped"]', timeout=10_000)
        expect(page.locator("#ssd-run")).to_be_enabled()
    run(page, "write", tokens=8)
    visitor.finish()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(visitor: Visitor, text: str) -> None:
    page = visitor.open()
    run(page, f"say|{text}|\n", tokens=6)
    visitor.finish()
    for method in ("autoregressive", "speculative", "staged"):
        assert lane_text(page, method) == (text + "\n") * 3
    assert page.locator(".ssd-race img, .ssd-race script, .ssd-race b").count() == 0
    page.locator(".ssd-lane[data-method=staged] .ssd-token").first.hover()
    expect(page.locator(".ssd-card")).to_be_visible()
    assert page.locator(".ssd-card img, .ssd-card script").count() == 0


def test_a_refusal_is_one_sentence_and_leaves_the_results(visitor: Visitor) -> None:
    page = visitor.open()
    run(page, "write")
    visitor.finish()
    before = lane_text(page, "staged")
    run(page, "  ")
    expect(page.locator(".ssd-status")).to_contain_text("The prompt is empty")
    assert lane_text(page, "staged") == before
    expect(page.locator(".ssd-verdict")).to_contain_text("Identical")
    expect(page.locator("#ssd-run")).to_be_enabled()


def test_a_number_out_of_its_range_is_refused_by_name(visitor: Visitor) -> None:
    page = visitor.open()
    page.click("#ssd-advanced button")
    for control, value, words in (
        ("nodes", "999", "Nodes must be auto or 0 to 127, got 999."),
        ("chain", "-3", "The chain must be a whole number of 0 or more, got -3."),
        ("top-p", "1.5", "Top-p must lie above 0 and at most at 1, got 1.5."),
        ("repeats", "2.5", "Repeats must be a whole number of 0 or more, got 2.5."),
    ):
        field = page.locator(f"#ssd-{control} input")
        before = field.input_value()
        field.fill(value)
        page.click("#ssd-run")
        expect(page.locator(".ssd-status")).to_have_text(words)
        field.fill(before)
    run(page, "write")
    visitor.finish()


def test_a_fault_shows_no_details(visitor: Visitor) -> None:
    page = visitor.open()
    run(page, "fail")
    expect(page.locator(".ssd-status")).to_contain_text("failed on the server")
    assert "secret" not in page.content()


def test_the_race_replays_on_one_clock(visitor: Visitor) -> None:
    page = visitor.open()
    run(page, "write", tokens=32)
    visitor.finish()
    slider = page.locator(".ssd-replay input")
    slider.focus()
    page.keyboard.press("Home")
    assert page.locator(".ssd-token:not(.ssd-unseen)").filter(visible=True).count() == 3  # legend
    page.keyboard.press("ArrowRight")
    seen = page.locator(".ssd-lane .ssd-token:not(.ssd-unseen)").count()
    assert 0 < seen < 96
    page.keyboard.press("End")
    assert page.locator(".ssd-lane .ssd-token:not(.ssd-unseen)").count() == 96


def test_a_replay_keeps_the_last_token_in_sight(visitor: Visitor) -> None:
    page = visitor.open()
    run(page, "write", tokens=256)
    visitor.finish()
    page.locator(".ssd-replay input").focus()
    page.keyboard.press("Home")
    text = page.locator(".ssd-lane[data-method=autoregressive] .ssd-text")
    assert text.evaluate("box => box.scrollHeight > 2 * box.clientHeight && box.scrollTop") == 0
    for share in (400, 1000):
        page.locator(".ssd-replay input").fill(str(share))
        assert text.evaluate(
            """box => {
              const seen = [...box.querySelectorAll(".ssd-token:not(.ssd-unseen)")];
              const [last, frame] = [seen.pop(), box].map((each) => each.getBoundingClientRect());
              return seen.length > 50 && last.top >= frame.top && last.bottom <= frame.bottom + 2;
            }"""
        )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", ["phone", "tiny"])
def test_a_narrow_screen_has_no_sideways_scroll(
    request: pytest.FixtureRequest, size: str, theme: str
) -> None:
    visitor: Visitor = request.getfixturevalue(size)
    page = visitor.open(f"?__theme={theme}")
    run(page, "say|averyveryverylongwordwithoutanyspaceinitatall|\n", tokens=24)
    visitor.finish()
    for tab in ("race", "step", "charts", "benchmark", "learn"):
        page.click(f"#ssd-tab-{tab}-button")
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, tab


def test_two_visitors_see_only_their_own_text(visitor: Visitor, phone: Visitor) -> None:
    first, second = visitor.open(), phone.open()
    run(first, "slow|alpha", tokens=6)
    run(second, "slow|beta", tokens=6)
    visitor.finish()
    phone.finish()
    assert lane_text(first, "staged") == "alpha" * 6
    assert lane_text(second, "staged") == "beta" * 6


FRAMES = """() => new Promise((done) => {
  const before = requestAnimationFrame(() => {});
  setTimeout(() => done(requestAnimationFrame(() => {}) - before - 1), 1000);
})"""


CANCELLED = """
  const cancel = window.cancelAnimationFrame;
  window.framesCancelled = 0;
  window.cancelAnimationFrame = (handle) => {
    window.framesCancelled += 1;
    cancel.call(window, handle);
  };
"""


def test_nothing_moves_on_a_page_at_rest_nor_while_a_run_is_timed(visitor: Visitor) -> None:
    """The animation loop that Gradio leaves behind would take a tenth of a core from the engine."""
    visitor.page.add_init_script(CANCELLED)
    page = visitor.open()
    # Asked by the clock: by itself Playwright asks every frame, which is a movement too.
    page.wait_for_function("window.framesCancelled > 0", timeout=60_000, polling=500)
    assert page.evaluate("window.framesCancelled") == 2, (
        "only our own frame was cancelled: Gradio's loop is gone, and so may be web/still.js"
    )
    assert page.evaluate(FRAMES) < 5
    run(page, "slow", tokens=500)
    page.wait_for_selector('.ssd-status[data-kind="writing"]')
    page.wait_for_timeout(2000)
    assert page.evaluate(FRAMES) < 5
    page.click("#ssd-stop")
    page.wait_for_selector('.ssd-status[data-kind="stopped"]', timeout=10_000)


def test_the_replay_after_a_short_run_is_not_taken_for_a_leftover(
    chromium: Browser, fake_url: str
) -> None:
    context = chromium.new_context(locale="en-US", reduced_motion="no-preference")
    visitor = Visitor(context.new_page(), fake_url)
    page = visitor.open()
    for _ in range(2):  # the second time, the replay is the only thing that moves
        run(page, "write", tokens=4)
        visitor.finish()
        page.wait_for_timeout(500)
        page.locator(".ssd-replay input").fill("0")
        page.get_by_role("button", name="Play", exact=True).click()
        page.locator(".ssd-replay select").select_option("0.25")
        expect(page.locator(".ssd-replay input")).to_have_value("1000", timeout=30_000)
    assert visitor.faults == []
    context.close()


def test_chinese_throughout(chromium: Browser, fake_url: str) -> None:
    context = chromium.new_context(locale="zh-CN", reduced_motion="reduce")
    visitor = Visitor(context.new_page(), fake_url)
    page = visitor.open()
    expect(page.locator("#ssd-run")).to_have_text("运行")
    run(page, "write")
    visitor.finish()
    expect(page.locator(".ssd-verdict")).to_contain_text("完全一致")
    expect(page.locator(".ssd-board")).to_contain_text("加速比")
    page.click("#ssd-tab-step-button")
    expect(page.locator(".ssd-told")).to_contain_text("目标模型")
    page.click("#ssd-tab-race-button")
    run(page, "  ")
    expect(page.locator(".ssd-status")).to_contain_text("提示词为空：请写下要模型回答的内容。")
    assert visitor.faults == []
    context.close()
