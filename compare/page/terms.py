"""Links from the labels of the page into the glossary."""

from __future__ import annotations

from compare.page import words
from compare.page.lessons import glossary
from compare.page.view import component

CONTROL_TERMS = {
    "ssd-tab-race": {
        "ssd-pair": "target",
        "ssd-new-tokens": "token",
        "ssd-temperature": "temperature",
        "ssd-top-k": "top_k",
        "ssd-top-p": "top_p",
        "ssd-seed": "seed",
    },
    "ssd-advanced": {
        "ssd-lanes": "lane",
        "ssd-precision": "precision",
        "ssd-numerics": "exact",
        "ssd-nodes": "guesses",
        "ssd-chain": "speculative",
        "ssd-penalty": "penalty",
        "ssd-repeats": "interval",
        "ssd-use-ngram": "ngram",
    },
    "ssd-tab-benchmark": {
        "ssd-bench-methods": "lane",
        "ssd-bench-new-tokens": "token",
        "ssd-bench-repeats": "interval",
        "ssd-bench-temperature": "temperature",
        "ssd-bench-top-k": "top_k",
        "ssd-bench-seed": "seed",
        "ssd-bench-numerics": "exact",
    },
}
"""The glossary's term for a control, by the id of what holds it and by its own."""

_WORDS = {"what": ("What is “{term}”?", "什么是“{term}”？")}


def terms() -> None:
    """Make the component that puts the links there; it shows nothing itself."""
    names = {
        language: {key: entry["name"] for key, entry in glossary(language).items()}
        for language in words.LANGUAGES
    }
    constants = {"CONTROL_TERMS": CONTROL_TERMS, "NAMES": names}
    component("terms", ("terms.js",), _WORDS, constants)
