"""A record file as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from compare.certificate import VERDICTS
from compare.digest import Digests
from compare.figures import figures
from compare.markup import Markup, data_block, element, escaped, joined
from compare.metrics import summary
from compare.report_paper import paper_section
from compare.report_tables import (
    Difference,
    Heads,
    definitions,
    differences,
    differences_table,
    environment_pairs,
    methods_table,
    prompts_tables,
)
from compare.report_words import Language, columns, dictionary
from compare.table import cautions, choice_words, looping_words

_WEB = Path(__file__).parent / "report_web"
_FULL_WIDTH = ("speedup_title", "stages_title", "origins_title")

Json = Mapping[str, Any]
Words = Mapping[str, str]


def report_html(environment: Json, digests: Digests, language: Language = "en") -> str:
    """The report of a record file: it opens from disk and asks no network for anything.

    `environment`: the file's first line. Raises ValueError for a language it has not.
    """
    words, heads = dictionary(language), columns(language)
    data = summary(environment, digests)
    found = list(differences(environment, digests, words))
    drawn = figures(data, digests, words)
    body = joined(
        [
            *_opening(data, found, words),
            *_results(data, heads, words),
            *paper_section(data, digests, language),
            *_drawn(list(drawn), words),
            *_breakdown(data, heads, words),
            element("h2", words["verdict_list"]),
            *differences_table(found, words, heads),
            *_origin_of_it(environment, heads, words),
        ]
    )
    named = {f"plot-{key}": json.loads(each.to_json()) for key, each in drawn.items()}
    title = words["title"].format(suite=_suite(environment).get("name"))
    return _page(title, body, data_block("figures", named), language)


def _opening(data: Json, found: list[Difference], words: Words) -> Iterator[Markup]:
    environment = data["environment"]
    suite, methods = _suite(environment), data["methods"]
    yield element("h1", words["title"].format(suite=suite.get("name")))
    yield element("p", _where(environment), class_="soft")
    yield element(
        "p",
        words["made"].format(
            runs=sum(each["runs"] for each in methods.values()),
            methods=len(methods),
            prompts=max((each["prompts"] for each in methods.values()), default=0),
            created=environment.get("created", words["unknown"]),
        ),
        class_="soft",
    )
    yield _verdict(data, words)
    failures = sum(each["error"] for each in methods.values())
    if failures:
        yield element("p", words["failures"].format(count=failures), class_="verdict bad")
    for sentence in cautions(data, words):
        yield element("p", sentence, class_="verdict near")
    for sentence in choice_words(data, words):
        yield element("p", sentence, class_="soft")


def _verdict(data: Json, words: Words) -> Markup:
    """The sentence that sums up the verdicts on our methods."""
    judged = [each for each in data["methods"].values() if each["verdicts"] is not None]
    count = {name: sum(each["verdicts"][name] for each in judged) for name in VERDICTS}
    runs = sum(count.values())
    if not runs:
        return element("p", words["not_judged"], class_="verdict")
    if count["BUG"]:
        text, kind = words["bugs"].format(count=count["BUG"], runs=runs), "bad"
    elif count["NEAR-TIE"]:
        text, kind = words["near_ties"].format(count=count["NEAR-TIE"], runs=runs), "near"
    else:
        equal, rows = (sum(each["logit_rows_equal"][at] for each in judged) for at in (0, 1))
        text = words["all_identical"].format(runs=runs, equal=equal, rows=rows)
        kind = "good"
    return element("p", text, class_=f"verdict {kind}")


def _results(data: Json, heads: Heads, words: Words) -> Iterator[Markup]:
    yield element("h2", words["results"])
    yield methods_table(data["methods"], heads, words)
    yield element("p", words["engine_clock"], class_="soft")
    if data["without_looping"] is not None:
        yield element("h3", looping_words(data, words))
        yield methods_table(data["without_looping"], heads, words)


def _drawn(keys: list[str], words: Words) -> Iterator[Markup]:
    """Places for the figures, their titles above."""
    if keys:
        yield element("h2", words["figures"])
        yield element(
            "div",
            *(
                element(
                    "figure",
                    element("figcaption", words[key]),
                    element("div", id=f"plot-{key}", class_="plot"),
                    class_="full" if key in _FULL_WIDTH else "",
                )
                for key in keys
            ),
            class_="grid",
        )


def _breakdown(data: Json, heads: Heads, words: Words) -> Iterator[Markup]:
    if len(data["by_category"]) > 1:
        yield element("h2", words["categories"])
        for category, methods in data["by_category"].items():
            yield element("h3", category)
            yield methods_table(methods, heads, words)
    tables = list(prompts_tables(data, heads, words))
    if tables:
        yield element("h2", words["prompts"])
        yield from tables


def _origin_of_it(environment: Json, heads: Heads, words: Words) -> Iterator[Markup]:
    """How the numbers were made, by what command, and the environment."""
    told = environment.get("command")
    command = f"python -m compare {shlex.join(map(str, told))}" if told else words["unknown"]
    yield element("h2", words["how"])
    yield definitions(
        [
            (words["command"], element("code", command)),
            (words["commit"], element("code", str(environment.get("commit") or words["unknown"]))),
            *heads.values(),
        ]
    )
    yield element("h2", words["environment"])
    hidden = {"kind", "schema", "command", "commit"}
    rest = {name: value for name, value in environment.items() if name not in hidden}
    yield definitions(environment_pairs(rest))


def _suite(environment: Json) -> Json:
    suite: Json = environment.get("suite", {})
    return suite


def _where(environment: Json) -> str:
    pair, settings = environment.get("pair", {}), environment.get("settings", {})
    names = ("pair", "hardware", "device", "precision", "numerics")
    told = [str(pair[name]) for name in names if name in pair]
    told += [f"{name} {settings[name]}" for name in ("temperature", "seed") if name in settings]
    return " · ".join(told)


def _page(title: str, body: Markup, figures_block: Markup, language: Language) -> str:
    """The whole file. Its policy lets its own two scripts run and nothing be fetched."""
    scripts = (_plotly(), (_WEB / "report.js").read_text("utf-8"))
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = [
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        element("style", Markup((_WEB / "report.css").read_text("utf-8"))),
    ]
    ran = [element("script", Markup(script)) for script in scripts]
    page = joined([element("head", *head), element("body", body, figures_block, *ran)])
    return f'<!DOCTYPE html>\n<html lang="{escaped(language)}">{page}</html>\n'


@cache
def _plotly() -> str:
    """plotly.js as it stands in an HTML file, which knows one kind of line break."""
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    assert "</script" not in script
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
