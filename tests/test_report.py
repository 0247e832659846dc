"""The report: one page that needs nothing else, whose every text is text; and its CSV."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from compare import report_words, table
from compare.digest import Digests
from compare.metrics import summary
from compare.record_file import Line, RecordWriter
from compare.records import RunKey
from compare.report import report_html
from compare.report_csv import csv_text
from compare.report_tables import differences
from compare.report_words import LANGUAGES, columns, dictionary
from compare.verdict_record import VerdictRecord
from tests.command_line import exit_code
from tests.hostile_records import HOSTILE, HOSTILE_ENVIRONMENT, hostile_digests, hostile_runs
from tests.records_by_hand import ENVIRONMENT, edited, failed, guessed, hashes, plain

ANSWER = (1, 2, 3, 4, 5, 6)
REFERENCE = plain(ANSWER, RunKey("autoregressive", "p"))
STAGED = guessed(RunKey("staged", "p"))
WORDS = dictionary("en")


class _Seen(HTMLParser):
    """What a browser would make of a page: elements, attributes, text outside scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts[-1] += data
        elif self._open != "style":
            self.text += data


def _page(*lines: Line) -> str:
    return report_html(ENVIRONMENT, Digests.of(lines))


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_text_is_text(language: report_words.Language) -> None:
    page = report_html(HOSTILE_ENVIRONMENT, hostile_digests(), language)
    seen = _Seen(page)
    assert not {"img", "a", "iframe", "link", "object"} & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name == "href"]
    assert len(seen.scripts) == 3 and seen.text.count("onerror=alert(1)") > 10
    assert "\u202e" not in page and "\x00" not in page
    page.encode("utf-8")


def test_only_the_report_s_own_scripts_may_run_and_nothing_be_fetched() -> None:
    seen = _Seen(_page(REFERENCE, STAGED))
    policy = next(value for name, value in seen.attributes if "default-src" in value)
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    data, *ran = seen.scripts
    assert set(json.loads(data)) >= {"plot-speedup_title", "plot-stages_title"}
    for script in ran:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not [value for name, value in seen.attributes if name in ("src", "href")]


def test_plotly_is_in_the_page_once() -> None:
    page = _page(REFERENCE, STAGED)
    assert page.count("plotly.js v") == 1
    assert "\r" not in page


def test_the_page_has_the_tables_figures_and_how_they_were_made() -> None:
    environment = {**ENVIRONMENT, "command": ["run", "--out", "a b.jsonl"], "commit": "c0ffee"}
    text = _Seen(report_html(environment, Digests.of([REFERENCE, STAGED]))).text
    assert "Identical: all 2 runs" in text and "12 of 12 logit rows" in text
    for word in ("6.00x", "[6.00, 6.00]", "66.7%", "1 IDENTICAL", "c0ffee", "toy"):
        assert word in text
    assert "python -m compare run --out 'a b.jsonl'" in text
    assert WORDS["no_difference"] in text


def test_bugs_near_ties_failures_and_baselines_are_listed_with_the_first_difference() -> None:
    parted = edited(STAGED, token_ids=(1, 2, 9, 4, 5, 6), logit_hashes=hashes((1, 2, 9, 4, 5, 6)))
    short = plain(ANSWER[:4], RunKey("hf-generate", "p"))
    broken = failed(RunKey("tree", "p"))
    text = _Seen(_page(REFERENCE, parted, short, broken)).text
    assert "Bug: 1 of 2 runs" in text and "the ids part at token 2" in text
    assert "it broke" in text and WORDS["ended"] in text
    found = list(differences(ENVIRONMENT, Digests.of([REFERENCE, parted, short, broken]), WORDS))
    told = [(each.run.key.method, each.verdict, each.position, each.tokens) for each in found]
    assert told == [
        ("staged", "BUG", 2, (3, 9)),
        ("hf-generate", WORDS["differs"], 4, (5, None)),
        ("tree", WORDS["failed_run"], None, (None, None)),
    ]
    loose = {**ENVIRONMENT, "is_exact": False}
    claim = VerdictRecord(STAGED.key, "NEAR-TIE", "close", 2, (3, 9), 0.1, 0.2)
    page = report_html(loose, Digests.of([REFERENCE, parted, claim]))
    assert "Near-ties: 1 of 2 runs" in _Seen(page).text


def test_a_file_without_runs_or_without_reference_makes_a_page() -> None:
    for lines in ([], [STAGED], [failed(RunKey("staged", "p"))]):
        text = _Seen(report_html(ENVIRONMENT, Digests.of(lines))).text
        assert WORDS["not_judged"] in text


def test_both_languages_have_every_word_and_the_same_places_in_it() -> None:
    for english, chinese in report_words.WORDS.values():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", chinese))
        assert english and chinese
    assert {*table.WORDS} <= {*report_words.WORDS}
    heads = set(columns("zh-CN"))
    rows = summary(ENVIRONMENT, Digests.of([REFERENCE, STAGED]))
    assert heads >= set(table.method_cells("staged", rows["methods"]["staged"]))
    assert heads >= set(table.prompt_cells(rows["per_prompt"]["staged"][0]))
    with pytest.raises(ValueError, match="language"):
        dictionary("de")  # type: ignore[arg-type]


def test_csv_has_a_row_a_run_with_the_known_numbers() -> None:
    digests = Digests.of([REFERENCE, STAGED, failed(RunKey("tree", "p"))])
    rows = list(csv.DictReader(io.StringIO(csv_text(ENVIRONMENT, digests))))
    assert [row["method"] for row in rows] == ["autoregressive", "staged", "tree"]
    staged = rows[1]
    expected = {
        "prompt_id": "p", "repeat": "0", "tokens": "6", "prompt_tokens": "3", "prefill_s": "2.0",
        "decode_s": "1.0", "first_token_s": "2.5", "tokens_per_second": "6.0", "speedup": "6.0",
        "target_passes": "2", "draft_passes": "3", "draft_n": "6", "draft_n_accepted": "4",
        "origin_ngram": "1", "origin_draft": "3", "origin_target": "2", "verdict": "IDENTICAL",
        "logit_rows_equal": "6", "first_difference": "", "error": "", "distinct_4_grams": "1.0",
    }  # fmt: skip
    assert {name: staged[name] for name in expected} == expected
    assert float(staged["end_to_end_speedup"]) == pytest.approx(7 / 3)
    assert rows[2]["error"] == "it broke" and rows[2]["speedup"] == rows[2]["tokens"] == ""


def test_csv_text_is_no_formula_and_comes_back() -> None:
    runs = [edited(run, category="=cmd()") for run in hostile_runs()]
    rows = list(csv.DictReader(io.StringIO(csv_text(HOSTILE_ENVIRONMENT, Digests.of(runs)))))
    assert len(rows) == len(runs)
    assert {row["category"] for row in rows} == {"'=cmd()"}
    assert rows[2]["method"].startswith("<img src=x") and rows[2]["method"].endswith("=1+1")
    assert HOSTILE[:40] in rows[3]["error"]


def _file(folder: Path, *lines: Line) -> Path:
    writer = RecordWriter.create(folder / "run.jsonl", ENVIRONMENT)
    for line in lines:
        writer.append(line)
    writer.close()
    return folder / "run.jsonl"


def test_the_command_writes_both_files_and_never_over_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = _file(tmp_path, REFERENCE, STAGED), tmp_path / "report.html"
    assert exit_code("report", str(source), "--out", str(out)) == 0
    assert out.read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "report.csv").read_text().count("\n") == 3
    before = out.read_bytes()
    capsys.readouterr()
    assert exit_code("report", str(source), "--out", str(out)) == 2
    assert "exists already" in capsys.readouterr().err and out.read_bytes() == before
    out.unlink()
    assert exit_code("report", str(source), "--out", str(out)) == 2
    assert "report.csv" in capsys.readouterr().err and not out.exists()


@pytest.mark.parametrize(
    ("source", "out", "word"),
    [
        ("no.jsonl", "r.html", "cannot be read"),
        ("run.jsonl", "no/r.html", "no folder"),
        ("run.jsonl", ".", "folder"),
        ("run.jsonl", "r.csv", ".html"),
        ("run.jsonl", "r.html --language de", "language"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_one_line(
    source: str, out: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _file(tmp_path, REFERENCE)
    name, *rest = out.split()
    code = exit_code("report", str(tmp_path / source), "--out", str(tmp_path / name), *rest)
    printed = capsys.readouterr()
    assert code == 2 and word in printed.err and printed.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_disk_that_takes_only_one_of_the_files_keeps_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _file(tmp_path, REFERENCE)
    # A name that is too long for the second file, yet not for the first.
    long = tmp_path / ("r" * 252 + ".h")
    assert exit_code("report", str(source), "--out", str(long)) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl"]
