"""A HumanEval run beside the paper's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from compare.digest import Digests
from compare.markup import joined
from compare.metrics import summary
from compare.records import RunKey, RunRecord
from compare.report import report_html
from compare.report_paper import paper_section
from compare.report_words import LANGUAGES
from compare.settings import Settings
from tests.records_by_hand import ENVIRONMENT, plain

ANSWER = tuple(range(1, 41))


def _environment(suite: str, settings: Settings) -> dict[str, Any]:
    suite_data = {**ENVIRONMENT["suite"], "name": suite}
    return {**ENVIRONMENT, "suite": suite_data, "settings": settings.to_json()}


def _runs() -> Iterator[RunRecord]:
    paces = {"autoregressive": 1.0, "speculative:2": 0.5, "speculative:5": 0.4, "staged": 0.25}
    for method, pace in paces.items():
        yield replace(plain(ANSWER, RunKey(method, "a"), pace), bytes_read=int(4000 * pace))


def _section(environment: dict[str, Any], language: str = "en") -> str:
    digests = Digests.of(_runs())
    return joined(paper_section(summary(environment, digests), digests, language))


@pytest.mark.parametrize(
    ("settings", "papers"),
    [
        (Settings(), "1.00 0.31 0.23 150.0 350.0 475.0 1.00 2.33 3.17"),
        (Settings(temperature=1.0, top_k=50), "1.00 0.48 0.35 150.0 219.0 298.0 1.00 1.46 1.99"),
    ],
)
def test_our_figures_stand_over_the_papers(settings: Settings, papers: str) -> None:
    section = _section(_environment("humaneval", settings))
    cells = re.findall("<td>([^<]*)</td>", section)
    assert cells[:9] == ["1.00", "0.40", "0.25", "1.0", "2.5", "4.0", "1.00", "2.50", "4.00"]
    assert cells[9:] == papers.split()
    assert "speculative:5" in section and "speculative:2" not in section


def test_a_run_that_is_not_the_papers_has_no_such_section() -> None:
    assert _section(_environment("quick", Settings())) == ""
    assert _section(_environment("humaneval", Settings(temperature=0.7))) == ""
    assert _section({**ENVIRONMENT, "suite": {"name": "humaneval"}, "settings": {"x": 1}}) == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_report_has_it(language: Any) -> None:
    environment = _environment("humaneval", Settings())
    page = report_html(environment, Digests.of(_runs()), language)
    assert "475.0" in page and "arXiv 2308.04623" in page
