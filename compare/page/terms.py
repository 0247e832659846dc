"""Links from the labels of the page into the glossary."""

from __future__ import annotations

from compare.page import words
from compare.page.lessons import glossary
from compare.page.race_words import RACE
from compare.page.view import component

CONTROL_TERMS = {
    "ssd-pair": "target",
    "ssd-new-tokens": "token",
    "ssd-temperature": "temperature",
    "ssd-top-k": "top_k",
    "ssd-top-p": "top_p",
    "ssd-seed": "seed",
    "ssd-lanes": "lane",
    "ssd-precision": "precision",
    "ssd-numerics": "exact",
    "ssd-nodes": "guesses",
    "ssd-chain": "speculative",
    "ssd-penalty": "penalty",
    "ssd-repeats": "interval",
    "ssd-bench-methods": "lane",
    "ssd-bench-new-tokens": "token",
    "ssd-bench-repeats": "interval",
    "ssd-bench-temperature": "temperature",
    "ssd-bench-top-k": "top_k",
    "ssd-bench-seed": "seed",
    "ssd-bench-numerics": "exact",
}
"""The glossary's term for a control, by its element's id."""

ROW_TERMS = {
    "row_tokens_per_second": "tokens_per_second",
    "row_speedup": "speedup",
    "row_end_to_end_speedup": "end_to_end",
    "row_time_to_first_token": "first_token",
    "row_total": "end_to_end",
    "row_target_passes": "target_passes",
    "row_draft_passes": "draft_passes",
    "row_tokens_per_step": "tokens_per_pass",
    "row_acceptance_rate": "acceptance_rate",
    "row_bytes_per_token": "bytes_per_token",
    "row_stages": "pass",
}
"""The term for a row of the scoreboard, by the key of its words."""

_WORDS = {"what": ("What is “{term}”?", "什么是“{term}”？")}


def terms() -> None:
    """Make the component that puts the links there; it shows nothing itself."""
    names = {
        language: {key: entry["name"] for key, entry in glossary(language).items()}
        for language in words.LANGUAGES
    }
    rows = {key: RACE[key] for key in ROW_TERMS}
    constants = {
        "CONTROL_TERMS": CONTROL_TERMS,
        "ROW_TERMS": ROW_TERMS,
        "NAMES": names,
    }
    component("terms", ("go.js", "terms.js"), {**_WORDS, **rows}, constants)
