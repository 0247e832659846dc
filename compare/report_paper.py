"""The part of a report that sets a HumanEval run beside the paper's Tables 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from compare.bench import Search, label_of
from compare.digest import Digests
from compare.markup import Markup, element
from compare.naming import REFERENCE
from compare.paper import PAPER, Row, our_row
from compare.settings import Settings

_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "Beside the paper",
        "note": (
            "Tables 1 and 2 of Spector and Ré (arXiv 2308.04623), sampling “{sampling}”: GPT-2 "
            "Large, a draft of 40 M parameters and a trigram on an RTX 4090. Here the speculative "
            "column is {best}, the fastest of its chain lengths in this run. Compare the ratios: "
            "models and machines differ."
        ),
        "bandwidth": "Memory read per token, relative",
        "speed": "Tokens per second",
        "ratio": "Speed, relative",
        "ours": "this run",
        "paper": "the paper",
        "baseline": "baseline",
    },
    "zh-CN": {
        "title": "与论文对照",
        "note": (
            "Spector 与 Ré（arXiv 2308.04623）的表 1 和表 2，采样方式“{sampling}”：GPT-2 Large、"
            "4000 万参数的草稿模型和三元组，RTX 4090。此处的 speculative 列是 {best}，"
            "即本次运行中最快的链长。模型和机器不同，请比较比值。"
        ),
        "bandwidth": "每个词元读取的内存（相对值）",
        "speed": "每秒词元数",
        "ratio": "速度（相对值）",
        "ours": "本次运行",
        "paper": "论文",
        "baseline": "基线",
    },
}


def paper_section(summary: Mapping[str, Any], digests: Digests, language: str) -> Iterator[Markup]:
    """The section, for a HumanEval run in one of the paper's two samplings; else nothing."""
    environment, best = summary["environment"], Search.of(digests).best
    label = _label(environment)
    is_whole = {REFERENCE, "staged"} <= summary["methods"].keys()
    if label is None or best is None or not is_whole:
        return
    words, paper = _WORDS[language], PAPER[label]
    note = words["note"].format(sampling=paper.name, best=best)
    yield element("h2", words["title"])
    yield element("p", note, class_="soft")
    ours = our_row(label, summary["methods"], best)
    yield element("div", _table(ours, paper, words), class_="wide")


def _label(environment: Mapping[str, Any]) -> str | None:
    if not str(environment.get("suite", {}).get("name")).startswith("humaneval"):
        return None
    try:
        return label_of(Settings.from_json(environment["settings"]))
    except (KeyError, ValueError):  # of another version, or made by hand
        return None


def _table(ours: Row, paper: Row, words: Mapping[str, str]) -> Markup:
    groups = [words[name] for name in ("bandwidth", "speed", "ratio")]
    columns = (words["baseline"], "speculative", "staged")
    top = element("tr", element("th", ""), *(element("th", g, colspan="3") for g in groups))
    heads = element("tr", element("th", ""), *(element("th", c) for _ in groups for c in columns))
    rows = (
        element("tr", element("th", words[name], scope="row", class_="text"), *_cells(row))
        for name, row in (("ours", ours), ("paper", paper))
    )
    return element("table", element("thead", top, heads), element("tbody", *rows))


def _cells(row: Row) -> Iterator[Markup]:
    for values, form in (
        (row.bandwidth, ".2f"),
        (row.tokens_per_second, ".1f"),
        (row.speedups, ".2f"),
    ):
        for value in values:
            yield element("td", "-" if value is None else format(value, form))
