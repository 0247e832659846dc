"""A real browser on a real server. A missing browser is a failure, never a skip."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

ROOT = Path(__file__).parents[2]
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Gradio's first loader lies over the page that it has already built; it takes clicks, and what
# axe says of colours, until it goes.
UNCOVERED = """() => {
  const title = document.querySelector("h1");
  const { left, top, height } = title.getBoundingClientRect();
  return document.elementFromPoint(left + 5, top + height / 2) === title;
}"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or "/usr/bin/chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=SWITCHES)
        yield browser
        browser.close()


@dataclass
class Visitor:
    """A page, and what went wrong on it."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)

    def open(self, query: str = "?__theme=light") -> Page:
        """The page, loaded and listened to."""
        host = self.url.rstrip("/")

        def check(request: Request) -> None:
            if not request.url.startswith((host, "data:", "blob:")):
                self.faults.append(f"request to {request.url}")

        self.page.on("request", check)
        self.page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        self.page.on(
            "console",
            lambda m: self.faults.append(f"console: {m.text}") if m.type == "error" else None,
        )
        self.page.goto(self.url + query)
        self.page.wait_for_selector(".ssd-lane", state="attached", timeout=60_000)
        self.page.wait_for_function(UNCOVERED, timeout=60_000)
        return self.page

    def finish(self, timeout_s: float = 60) -> None:
        """Wait for the end of the run."""
        end = '.ssd-status[data-kind="finished"]'
        self.page.wait_for_selector(end, timeout=1000 * timeout_s)


@pytest.fixture
def visitor(chromium: Browser, fake_url: str) -> Iterator[Visitor]:
    """A visitor of the page whose engine has no models; must leave without a fault."""
    yield from visit(chromium, fake_url, 1280)


@pytest.fixture
def phone(chromium: Browser, fake_url: str) -> Iterator[Visitor]:
    """The same, on a narrow screen."""
    yield from visit(chromium, fake_url, 390)


@pytest.fixture
def tiny(chromium: Browser, fake_url: str) -> Iterator[Visitor]:
    """The same, on the narrowest screen."""
    yield from visit(chromium, fake_url, 320)


@pytest.fixture
def real_visitor(chromium: Browser, real_url: str) -> Iterator[Visitor]:
    """A visitor of the page on the embedded pair."""
    yield from visit(chromium, real_url, 1280)


def visit(browser: Browser, url: str, width: int) -> Iterator[Visitor]:
    """A visitor of `url`; must leave without a fault."""
    context = browser.new_context(
        viewport={"width": width, "height": 850}, locale="en-US", reduced_motion="reduce"
    )
    visitor = Visitor(context.new_page(), url)
    yield visitor
    context.close()
    assert visitor.faults == []


@pytest.fixture(scope="session")
def fake_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = ["-m", "tests.browser.fake_server"]
    yield from serve(command, tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="module")
def real_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page on the embedded pair. It ends with the module's tests: idle, it goes on measuring
    the machine, which slows whatever computes beside it.
    """
    yield from serve(["app.py"], tmp_path_factory.mktemp("real"))


def serve(
    command: list[str], folder: Path, environ: Mapping[str, str] = os.environ
) -> Iterator[str]:
    """The address of a server started by this Python; it ends with the tests."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = {**environ, "GRADIO_SERVER_PORT": str(port), "GRADIO_TEMP_DIR": str(folder)}
    log = folder / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=environ, stdout=out, stderr=out
        )
    url = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(480):
            assert server.poll() is None, log.read_text()
            if _answers(url):
                break
            time.sleep(0.25)
        else:
            raise AssertionError("the server did not answer:\n" + log.read_text())
        yield url

    finally:
        server.terminate()
        server.wait(timeout=20)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
