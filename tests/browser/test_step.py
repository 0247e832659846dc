"""The Step tab: rounds, the tree, its nodes by mouse and keyboard."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.browser.test_page import run


def opened(visitor: Visitor, prompt: str = "write", tokens: int = 16) -> Page:
    page = visitor.open()
    run(page, prompt, tokens)
    visitor.finish()
    page.click("#ssd-tab-step-button")
    expect(page.locator(".ssd-step .ssd-clock")).to_have_text("Round 1 of 4")
    return page


def test_a_round_is_its_tree_and_a_sentence(visitor: Visitor) -> None:
    page = opened(visitor)
    # The fake engine guesses three right and one wrong; the target adds one of its own.
    assert page.locator(".ssd-node").count() == 6
    for fate, count in (("root", 1), ("accepted", 3), ("rejected", 1), ("own", 1)):
        assert page.locator(f".ssd-node.ssd-fate-{fate}").count() == count
    assert page.locator(".ssd-node polygon").count() == 2  # the N-gram's shape
    assert page.locator(".ssd-node .ssd-ring").count() == 1
    told = page.locator(".ssd-told")
    expect(told).to_contain_text("Guessed: 4 tokens (2 by the draft, in 1 pass; 2 by the N-gram)")
    expect(told).to_contain_text("The target agreed with 3: “def ·fib (”.")
    expect(told).to_contain_text("So one pass of the target gave 4 tokens")
    expect(page.locator(".ssd-inner")).to_contain_text("the root")


def test_rounds_by_keyboard(visitor: Visitor) -> None:
    page = opened(visitor)
    slider = page.locator(".ssd-step input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".ssd-step .ssd-clock")).to_have_text("Round 2 of 4")
    page.keyboard.press("End")
    expect(page.locator(".ssd-step .ssd-clock")).to_have_text("Round 4 of 4")
    assert page.locator(".ssd-round-next").is_disabled()
    page.keyboard.press("Home")
    expect(page.locator(".ssd-step .ssd-clock")).to_have_text("Round 1 of 4")


def test_a_node_says_why_by_mouse_and_by_keyboard(visitor: Visitor) -> None:
    page = opened(visitor)
    panel = page.locator(".ssd-node-panel")
    page.locator(".ssd-node.ssd-fate-rejected").click()
    expect(panel).to_contain_text("Rejected: after")
    expect(panel).to_contain_text("the target's own choice is “def”")
    expect(panel.locator(".ssd-candidates").first).to_contain_text("75%")
    page.keyboard.press("ArrowLeft")  # to its parent, the root
    expect(panel).to_contain_text("the root of the tree")
    page.keyboard.press("ArrowRight")
    expect(panel).to_contain_text("Accepted: after")
    expect(page.locator(".ssd-node:focus")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("End")
    expect(panel).to_contain_text("guessed by nobody")


def test_the_layout_does_not_depend_on_what_is_selected(visitor: Visitor) -> None:
    page = opened(visitor)
    places = (
        "() => [...document.querySelectorAll('.ssd-node')].map(n => n.getAttribute('transform'))"
    )
    before = page.evaluate(places)
    page.locator(".ssd-node.ssd-fate-rejected").click()
    assert page.evaluate(places) == before
    page.click(".ssd-round-next")
    page.click(".ssd-round-back")
    assert page.evaluate(places) == before


def test_hostile_tokens_are_text_in_the_tree(visitor: Visitor) -> None:
    page = opened(visitor, "say|<img src=x onerror=alert(1)>|</script>|${1}|{{x}}")
    assert page.locator(".ssd-step img, .ssd-step script").count() == 0
    expect(page.locator(".ssd-context")).to_be_visible()
    page.click(".ssd-round-next")
    expect(page.locator(".ssd-context")).to_contain_text("<img src=x onerror=alert(1)>")
