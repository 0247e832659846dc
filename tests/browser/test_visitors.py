"""Many at once, those who leave, and those who use the keyboard alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from axe_playwright_python.sync_playwright import Axe
from gradio_client import Client
from gradio_client.exceptions import AppError
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Visitor
from tests.browser.test_page import lane_text, run


def test_twenty_in_a_queue_are_all_answered(fake_url: str) -> None:
    client = Client(fake_url, verbose=False, analytics_enabled=False)

    def ask(number: int) -> list[int]:
        answer = client.predict(f"say|{number}|x", max_new_tokens=4, api_name="/compare")
        return [len(record["token_ids"]) for record in answer["runs"]]

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(ask, range(20))) == [[4, 4, 4]] * 20


def test_one_too_many_is_told_that_the_queue_is_full(fake_url: str) -> None:
    client = Client(fake_url, verbose=False, analytics_enabled=False)

    def ask(number: int) -> str:
        try:
            client.predict(
                f"slow|{number}", max_new_tokens=9, methods="staged", api_name="/compare"
            )
        except AppError as refusal:
            return str(refusal)
        return ""

    with ThreadPoolExecutor(26) as pool:
        answers = list(pool.map(ask, range(26)))
    assert sum(not answer for answer in answers) >= 21, answers
    full = [answer for answer in answers if answer]
    assert full and all("queue is full" in answer for answer in full)


def test_stop_before_the_turn_comes_leaves_what_is_shown(visitor: Visitor, phone: Visitor) -> None:
    first, second = visitor.open(), phone.open()
    run(second, "write", tokens=4)
    phone.finish()
    run(first, "slow|a", tokens=60)
    first.wait_for_selector(".ssd-running")
    run(second, "other", tokens=4)
    expect(second.locator(".ssd-status")).to_contain_text("ahead of you")
    second.click("#ssd-stop")
    expect(second.locator(".ssd-status")).to_have_text("Stopped before it began.")
    expect(second.locator(".ssd-verdict")).to_contain_text("Identical")
    expect(second.locator("#ssd-run")).to_be_enabled()
    first.click("#ssd-stop")
    expect(first.locator("#ssd-run")).to_be_enabled()


def test_one_who_waits_is_told_the_place(visitor: Visitor, phone: Visitor) -> None:
    first, second = visitor.open(), phone.open()
    run(first, "slow|a", tokens=60)
    first.wait_for_selector(".ssd-running")
    run(second, "write", tokens=4)
    expect(second.locator(".ssd-status")).to_contain_text("1 ahead of you")
    first.click("#ssd-stop")
    phone.finish()
    assert lane_text(second, "staged") == "def fib(n"


def test_one_who_leaves_frees_the_device(
    chromium: Browser, fake_url: str, visitor: Visitor
) -> None:
    context = chromium.new_context(locale="en-US")
    gone = Visitor(context.new_page(), fake_url)
    run(gone.open(), "slow|forever", tokens=500)
    gone.page.wait_for_selector(".ssd-running")
    context.close()
    page = visitor.open()
    run(page, "write", tokens=4)
    visitor.finish(30)
    assert lane_text(page, "staged") == "def fib(n"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"prompt": ""}, "empty"),
        ({"prompt": "word " * 1200}, "context"),
        ({"prompt": "x", "methods": ""}, "lane"),
        ({"prompt": "x", "methods": "beam"}, "beam"),
        ({"prompt": "x", "temperature": -1}, "Temperature"),
        ({"prompt": "x", "top_p": 0}, "Top-p"),
        ({"prompt": "x", "top_k": 1.5}, "Top_k"),
        ({"prompt": "x", "repetition_penalty": 0}, "Repetition penalty"),
        ({"prompt": "x", "seed": 1 << 64}, "seed"),
        ({"prompt": "x", "seed": 0.5}, "seed"),
        ({"prompt": "x", "max_new_tokens": 0}, "New tokens"),
        ({"prompt": "x", "max_new_tokens": 513}, "512"),
        ({"prompt": 7}, "prompt must be text"),
    ],
)
def test_the_endpoint_refuses_in_one_sentence(
    fake_url: str, bad: dict[str, object], words: str
) -> None:
    client = Client(fake_url, verbose=False, analytics_enabled=False)
    with pytest.raises(AppError, match=words) as refusal:
        client.predict(**bad, api_name="/compare")
    assert "\n" not in str(refusal.value)


def test_the_keyboard_alone_runs_steps_and_exports(visitor: Visitor) -> None:
    page = visitor.open()
    page.locator("#ssd-prompt textarea").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("write")
    page.keyboard.press("Shift+Enter")
    visitor.finish()
    seen: list[str] = []
    page.evaluate("document.querySelector('#ssd-tab-race-button').focus()")
    page.keyboard.press("Tab")
    expect(page.locator("#ssd-tab-step-button")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".ssd-step .ssd-clock")).to_be_visible()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.getAttribute('class') || ''"))
        if "ssd-export-record" in seen[-1]:
            break
    assert any("ssd-node" in name for name in seen), seen
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".jsonl")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["race", "step"])
def test_axe_finds_no_serious_fault(visitor: Visitor, tab: str, theme: str) -> None:
    page = visitor.open(f"?__theme={theme}")
    run(page, "write", tokens=8)
    visitor.finish()
    page.click(f"#ssd-tab-{tab}-button")
    page.wait_for_timeout(500)
    found = Axe().run(page, context=f"#ssd-{tab}", options={"resultTypes": ["violations"]})
    serious = [
        (each["id"], [node["html"][:200] for node in each["nodes"]][:3])
        for each in found.response["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []
