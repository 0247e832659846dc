"""How long a visitor waits for the first word, by the page's own clock: cold, and warm.

Printed, not asserted: the machine is shared. What is asserted is that the status reports its steps.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ssd.models.download import Progress
from ssd.models.fetch import default_cache, embedded_target
from tests.browser.conftest import serve, visit

# From the click on Run: when a running lane has its first token, and each change of the status.
# Only a live lane is marked as running, so the recorded run shown before is not taken for it.
WATCH = """() => {
  const seen = { start: null, first: null, words: [] };
  window.waited = seen;
  const run = document.querySelector("#ssd-run");
  run.addEventListener("click", () => { seen.start = performance.now(); }, { capture: true });
  const since = () => (performance.now() - seen.start) / 1000;
  const look = () => {
    if (seen.start === null || seen.first !== null) return;
    const words = document.querySelector(".ssd-status").textContent;
    const last = seen.words[seen.words.length - 1];
    if (!last || last[1] !== words) seen.words.push([since(), words]);
    if (document.querySelector(".ssd-running .ssd-token")) seen.first = since();
  };
  setInterval(look, 50);
}"""


def first_answer(page: Page) -> dict[str, Any]:
    """What the visitor saw from the click on Run to the first token."""
    page.evaluate(WATCH)
    page.fill("#ssd-prompt textarea", "Name three colours.")
    page.click("#ssd-run")
    page.wait_for_function("() => window.waited.first !== null", timeout=300_000)
    waited: dict[str, Any] = page.evaluate("() => window.waited")
    return waited


@pytest.mark.model
def test_the_first_answer_of_a_machine_and_of_a_later_start(
    chromium: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model is there; nothing is known of the machine at the first start, all at the second."""

    def ignore(progress: Progress) -> None:
        pass

    model = embedded_target(default_cache(), ignore)
    cache = tmp_path / "cache" / "ssd-lab"
    cache.mkdir(parents=True)
    (cache / model.name).symlink_to(model)
    environ = {**os.environ, "XDG_CACHE_HOME": str(cache.parent)}
    for name in ("cold", "warm"):
        for url in serve(["app.py"], tmp_path, environ):
            for visitor in visit(chromium, url, 1280):
                waited = first_answer(visitor.open())
        steps = [*waited["words"], [waited["first"], "the first token"]]
        silent = max(later[0] - earlier[0] for earlier, later in pairwise(steps))
        with capsys.disabled():
            print(f"\nfirst token {name}: {waited['first']:.1f} s, longest silence {silent:.1f} s")
            for at, words in steps:
                print(f"  {at:6.1f} s  {words}")
        assert (cache / "measured").is_dir()
        assert len(waited["words"]) > 1, "the status reports what is going on"
