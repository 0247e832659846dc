"""The page on the embedded pair: `python app.py` as it is."""

from __future__ import annotations

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from playwright.sync_api import expect

from tests.browser.conftest import Visitor

FIRST_RUN_S = 300  # with a cold cache the models are fetched and measured first


def test_a_live_run_ends_identical(real_visitor: Visitor) -> None:
    page = real_visitor.open()
    page.fill("#ssd-new-tokens input[type=number]", "32")
    page.press("#ssd-new-tokens input[type=number]", "Tab")
    page.click("#ssd-run")
    real_visitor.finish(FIRST_RUN_S)
    expect(page.locator(".ssd-verdict")).to_have_attribute("data-verdict", "identical")
    expect(page.locator(".ssd-verdict")).to_contain_text("Identical")
    assert page.locator(".ssd-board thead th").count() == 3
    texts = {
        "".join(lane.locator(".ssd-token").all_text_contents())
        for lane in page.locator(".ssd-lane").all()
    }
    assert len(texts) == 1 and texts.pop().strip()


def test_stop_and_run_again(real_visitor: Visitor) -> None:
    page = real_visitor.open()
    page.fill("#ssd-new-tokens input[type=number]", "512")
    page.press("#ssd-new-tokens input[type=number]", "Tab")
    page.click("#ssd-run")
    page.wait_for_selector('.ssd-status[data-kind="writing"]', timeout=1000 * FIRST_RUN_S)
    page.click("#ssd-stop")
    page.wait_for_selector('.ssd-status[data-kind="stopped"]', timeout=15_000)
    page.fill("#ssd-new-tokens input[type=number]", "8")
    page.press("#ssd-new-tokens input[type=number]", "Tab")
    page.click("#ssd-run")
    real_visitor.finish()
    expect(page.locator(".ssd-verdict")).to_contain_text("Identical")


def test_the_endpoint_answers_and_refuses(real_url: str) -> None:
    client = Client(real_url, verbose=False, analytics_enabled=False)
    answer = client.predict("Count from one to five.", max_new_tokens=12, api_name="/compare")
    assert set(answer) == {"environment", "runs", "summary"}
    ids = [run["token_ids"] for run in answer["runs"]]
    assert [run["method"] for run in answer["runs"]] == ["autoregressive", "speculative", "staged"]
    assert ids[0] == ids[1] == ids[2] and 0 < len(ids[0]) <= 12
    assert answer["summary"]["methods"]["staged"]["verdicts"]["IDENTICAL"] == 1
    for bad, words in (
        ({"prompt": " "}, "empty"),
        ({"prompt": "word " * 20_000}, "context"),
        ({"prompt": "x", "temperature": -1}, "Temperature"),
        ({"prompt": "x", "methods": "beam"}, "beam"),
        ({"prompt": "x", "max_new_tokens": 10_000}, "512"),
    ):
        with pytest.raises(AppError, match=words):
            client.predict(**bad, api_name="/compare")
