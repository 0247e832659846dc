"""Links, exports and imports: what leaves the page and what comes back."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from compare.digest import Digests
from compare.metrics import summary
from compare.page.terms import CONTROL_TERMS
from compare.record_file import RecordReader, RecordWriter
from compare.records import RunKey
from compare.verdict_record import VerdictRecord
from tests.browser.conftest import Visitor
from tests.browser.test_page import HOSTILE, run
from tests.records_by_hand import ENVIRONMENT, plain


def finished(visitor: Visitor, prompt: str = "write", tokens: int = 16) -> Page:
    page = visitor.open()
    run(page, prompt, tokens)
    visitor.finish()
    return page


def exported(page: Page, kind: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.click(f".ssd-export-{kind}")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_the_exported_record_is_a_record_file_and_the_scoreboard(
    visitor: Visitor, tmp_path: Path
) -> None:
    page = finished(visitor)
    path = exported(page, "record", tmp_path)
    reader = RecordReader(path)
    methods = summary(reader.environment(), Digests.of(reader.lines()))["methods"]
    rows = {
        "tokens_per_second": lambda m: f"{m['tokens_per_second']:.1f}",
        "speedup": lambda m: f"{m['speedup']['median']:.2f}×",
        "target_passes": lambda m: str(m["target_passes"]),
        "draft_passes": lambda m: str(m["draft_passes"]),
        "tokens_per_step": lambda m: f"{m['tokens_per_step']:.2f}",
    }
    for row, write in rows.items():
        cells = page.locator(f"[data-row={row}] td").all_text_contents()
        assert cells == [write(method) for method in methods.values()], row
    with exported(page, "scores", tmp_path).open(encoding="utf-8", newline="") as file:
        scores = {line["method"]: line for line in csv.DictReader(file)}
    for name, method in methods.items():
        assert float(scores[name]["tokens_per_second"]) == method["tokens_per_second"]
        assert float(scores[name]["speedup"]) == method["speedup"]["median"]


def test_nothing_is_exported_while_a_run_is_made(visitor: Visitor) -> None:
    page = finished(visitor)
    expect(page.locator(".ssd-export-record")).to_be_enabled()
    run(page, "slow|a", tokens=60)
    page.wait_for_selector(".ssd-running")
    expect(page.locator(".ssd-export-record")).to_be_disabled()
    page.click("#ssd-stop")
    expect(page.locator(".ssd-export-record")).to_be_enabled()


def test_a_spreadsheet_runs_nothing_of_the_rounds(visitor: Visitor, tmp_path: Path) -> None:
    page = finished(visitor, 'say|=1+1|"quoted, text"|@x')
    with exported(page, "rounds", tmp_path).open(encoding="utf-8", newline="") as file:
        texts = [line["text"] for line in csv.DictReader(file)]
    assert not any(text.startswith(("=", "@")) for text in texts)
    assert any('"quoted, text"' in text for text in texts)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_replay_opens_from_disk_without_a_network(
    visitor: Visitor, chromium: Browser, tmp_path: Path, text: str
) -> None:
    path = exported(finished(visitor, f"say|{text}|\n", 6), "replay", tmp_path)
    context = chromium.new_context(locale="en-US", reduced_motion="reduce")
    replay = context.new_page()
    faults: list[str] = []
    replay.on("request", lambda request: faults.append(request.url))
    replay.on("pageerror", lambda error: faults.append(str(error)))
    replay.on("dialog", lambda dialog: faults.append(dialog.message))
    replay.on("console", lambda m: faults.append(m.text) if m.type == "error" else None)
    replay.goto(path.as_uri())
    expect(replay.locator(".ssd-verdict")).to_contain_text("6 of 6 tokens")
    spans = replay.locator(".ssd-lane[data-method=staged] .ssd-token")
    assert "".join(spans.all_text_contents()) == (text + "\n") * 3
    expect(replay.locator(".ssd-node").first).to_be_visible()
    expect(replay.locator("#prompt")).to_contain_text("say|")
    assert faults == [path.as_uri()]
    context.close()


def imported(page: Page, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.click("#ssd-import")
    chooser.value.set_files(path)


def test_an_exported_record_comes_back(visitor: Visitor, tmp_path: Path) -> None:
    page = finished(visitor)
    path = exported(page, "record", tmp_path)
    before = page.locator(".ssd-board").inner_text()
    text = page.locator(".ssd-lane[data-method=staged] .ssd-text").inner_text()
    page.click(".ssd-shelf-choice >> nth=1")
    expect(page.locator(".ssd-status")).to_contain_text("Recorded run")
    assert page.locator(".ssd-board").inner_text() != before
    imported(page, path)
    expect(page.locator(".ssd-status")).to_contain_text("Imported record")
    assert page.locator(".ssd-board").inner_text() == before
    assert page.locator(".ssd-lane[data-method=staged] .ssd-text").inner_text() == text
    again = exported(page, "record", tmp_path)
    assert [json.loads(line) for line in again.open()] == [json.loads(line) for line in path.open()]


def test_a_record_that_is_none_is_refused_by_a_sentence(visitor: Visitor, tmp_path: Path) -> None:
    page = finished(visitor)
    before = page.locator(".ssd-board").inner_text()
    bad = tmp_path / "<img src=x onerror=alert(3)>.jsonl"
    bad.write_text('{"kind": "environment", "schema": 99}\n', "utf-8")
    imported(page, bad)
    expect(page.locator(".ssd-status")).to_contain_text("schema 99")
    assert "/tmp" not in page.locator(".ssd-status").inner_text()
    assert page.locator(".ssd-board").inner_text() == before
    assert page.locator(".ssd-status img").count() == 0


def test_a_refused_import_is_told_on_the_race_tab(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open()
    page.click("#ssd-tab-learn-button")
    (bad := tmp_path / "bad.jsonl").write_text("[1]\n", "utf-8")
    imported(page, bad)
    expect(page.locator(".ssd-status").first).to_be_visible()
    expect(page.locator(".ssd-status").first).to_contain_text("bad.jsonl")


@pytest.mark.parametrize(
    ("is_exact", "verdict", "words"),
    [
        (False, "NEAR-TIE", ("Near tie", "the gap there is 0.00100", "numerical noise 0.0100")),
        (True, "BUG", ("Bug", "both are near")),
    ],
)
def test_a_parting_shows_where_it_is_and_why(
    visitor: Visitor, tmp_path: Path, is_exact: bool, verdict: str, words: tuple[str, ...]
) -> None:
    path, key = tmp_path / "run.jsonl", RunKey("lookup", "p")
    writer = RecordWriter.create(path, {**ENVIRONMENT, "is_exact": is_exact})
    writer.append(plain((1, 2, 3, 4, 5, 6), RunKey("autoregressive", "p")))
    writer.append(plain((1, 2, 9, 4, 5, 6), key))
    gap, error = (0.001, 0.01) if verdict == "NEAR-TIE" else (None, None)
    writer.append(VerdictRecord(key, verdict, "both are near", 2, (3, 9), gap, error))
    writer.close()
    page = visitor.open()
    imported(page, path)
    strip = page.locator(".ssd-verdict")
    expect(strip).to_have_attribute("data-verdict", "bug" if is_exact else "tie")
    for said in (*words, "parts at token 3", "5 of 6 tokens"):
        expect(strip).to_contain_text(said)


def test_hostile_text_of_a_record_is_text(visitor: Visitor, tmp_path: Path) -> None:
    page = finished(visitor)
    path = exported(page, "record", tmp_path)
    evil = "<img src=x onerror=alert(4)>"
    lines = [json.loads(line) for line in path.open()]
    lines[0]["pair"]["hardware"] = lines[0]["commit"] = lines[0]["created"] = evil
    for line in lines[1:]:
        line["prompt_id"] = line["category"] = line["text"] = evil
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    imported(page, path)
    expect(page.locator(".ssd-status")).to_contain_text(evil)
    page.click("#ssd-tab-step-button")
    expect(page.locator(".ssd-told")).to_contain_text("Guessed")
    assert page.locator(".ssd-view img, .ssd-view script").count() == 0


def test_a_link_sets_the_page_up(visitor: Visitor) -> None:
    prompt = "write <b>${1}</b> {{x}}"
    page = visitor.open(
        f"?__theme=light#prompt={quote(prompt)}&tokens=7&temperature=0.5&seed=3"
        "&methods=autoregressive,staged&tab=step&hide=pair,top_k"
    )
    expect(page.locator("#ssd-prompt textarea")).to_have_value(prompt)
    expect(page.locator(".ssd-step .ssd-clock")).to_be_visible()
    page.click("#ssd-tab-race-button")
    expect(page.locator("#ssd-temperature input[type=number]")).to_have_value("0.5")
    expect(page.locator("#ssd-seed input")).to_have_value("3")
    expect(page.locator("#ssd-pair")).to_be_hidden()
    page.click("#ssd-run")
    visitor.finish()
    names = page.locator(".ssd-lane-name").all_text_contents()
    assert names == ["Autoregressive", "Staged"]
    expect(page.locator(".ssd-verdict")).to_contain_text("7 of 7 tokens")
    again = page.input_value("#ssd-link-text")
    assert "tokens=7" in again and "hide=pair%2Ctop_k" in again and "tab=" not in again


def test_a_link_that_asks_too_much_is_told_and_the_rest_applies(visitor: Visitor) -> None:
    page = visitor.open("?__theme=light#temperature=99&numerics=slow&tokens=9&methods=beam")
    expect(page.locator("#ssd-new-tokens input[type=number]")).to_have_value("9")
    note = page.locator(".ssd-link .ssd-note", has_text="cannot be")
    for name in ("temperature", "numerics", "methods"):
        expect(note).to_contain_text(name)


def test_the_link_follows_the_controls(visitor: Visitor) -> None:
    page = visitor.open()
    page.fill("#ssd-prompt textarea", "another prompt")
    expect(page.locator("#ssd-link-text")).to_have_value(f"{visitor.url}#prompt=another+prompt")
    page.click("#ssd-tab-learn-button")
    expect(page.locator("#ssd-link-text")).to_have_value(
        f"{visitor.url}#prompt=another+prompt&tab=learn"
    )


def test_every_label_has_one_link_into_the_glossary(visitor: Visitor) -> None:
    page = visitor.open()
    page.get_by_text("Advanced", exact=True).click()
    page.click("#ssd-tab-benchmark-button")
    for controls in CONTROL_TERMS.values():
        for control in controls:
            expect(page.locator(f"#{control} a")).to_have_text(["?"])
    for head in page.locator(".ssd-board tbody th").all():
        expect(head.locator("a")).to_have_count(1)


def test_a_label_leads_to_the_glossary(visitor: Visitor) -> None:
    page = visitor.open()
    page.click("[data-row=acceptance_rate] .ssd-term-link")
    expect(page.locator("#ssd-term-acceptance_rate")).to_be_visible()
