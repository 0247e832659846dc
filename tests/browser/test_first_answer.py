"""How long a visitor waits for the first word, by the page's own clock: cold, and warm.

Printed, not asserted: the machine is shared. What is asserted is that no step is silent for long.
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

# From the click on Run: when the first token of a lane stands there, and each change of the status.
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
    if (document.querySelector(".ssd-lane .ssd-token") && seen.cleared) seen.first = since();
    if (!document.querySelector(".ssd-lane .ssd-token")) seen.cleared = true;
  };
  setInterval(look, 100);
}"""


def first_answer(page: Page) -> dict[str, Any]:
    """What the visitor saw from the click on Run to the first token."""
    page.evaluate(WATCH)
    page.fill("#ssd-prompt textarea", "Name three colours.")
    page.click("#ssd-run")
    page.wait_for_function("() => window.waited.first !== null", timeout=240_000)
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
                visitor.finish(240)
        times = [at for at, _ in waited["words"]] + [waited["first"]]
        silent = max(later - earlier for earlier, later in pairwise(times))
        with capsys.disabled():
            print(f"\nfirst token {name}: {waited['first']:.1f} s, longest silence {silent:.1f} s")
        assert (cache / "measured").is_dir()
        assert len(waited["words"]) > 1, "the status tells what is going on"
