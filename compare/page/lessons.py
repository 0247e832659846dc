"""The lessons and the glossary: text files of a simple form, read into what the browser draws.

A lesson is `lessons/N-NAME.LANGUAGE.txt`. Its first line is `# ` and the title; then come blocks
with an empty line between them:

    a paragraph         words, in which `[[term]]` and `[[term|words]]` lead to the glossary,
                        `**strong**`, `*weak*` and "`code`" are set off, and `{fact}` is a number
                        of the recorded runs (a paragraph with a fact that is not known is left out)
    ## words            a heading
    - words             items, a line each
    > words             the lesson in short
    formula: words      a formula
    figure: NAME        a figure of `web/figures*.js`
    question: words     a question, then a line for each choice: `- words :: reply`, and `* ` before
                        the one that is right
    reveal:             what follows, to the next question, is shown once this one is answered
    try: words | k=v    a button that sets controls of the page and goes to a tab
    look: words         what to look for after that
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from compare.page.words import Language

_FOLDER = Path(__file__).parent / "lessons"
_FACT = re.compile(r"\{(\w+)\}")
_KINDS = ("formula", "figure", "look")

Facts = Mapping[str, str]
Block = dict[str, Any]


def lessons(language: Language, facts: Facts) -> list[dict[str, Any]]:
    """The lessons in their order: `name`, `title`, and `blocks`, each with a `kind`."""
    paths = sorted(_FOLDER.glob(f"[0-9]-*.{language}.txt"))
    return [_lesson(path, facts) for path in paths]


@cache
def glossary(language: Language) -> dict[str, dict[str, str]]:
    """For each term its `name` and `text`, in the file's order."""
    lines = (_FOLDER / f"glossary.{language}.txt").read_text("utf-8").splitlines()
    rows = (line.split(" | ") for line in lines if line)
    return {key: {"name": name, "text": text} for key, name, text in rows}


def _lesson(path: Path, facts: Facts) -> dict[str, Any]:
    title, *texts = path.read_text("utf-8").strip().split("\n\n")
    name = path.name.split(".")[0].split("-")[1]
    filled = (text for text in (_filled(text, facts) for text in texts) if text is not None)
    blocks = [block for text in filled for block in _blocks(text)]
    return {"name": name, "title": title.removeprefix("# "), "blocks": blocks}


def _filled(text: str, facts: Facts) -> str | None:
    """The text with its facts, None where one of them is not known."""
    if any(name not in facts for name in _FACT.findall(text)):
        return None
    return _FACT.sub(lambda found: facts[found[1]], text).replace(" %", "\u00a0%")


def _blocks(text: str) -> Iterator[Block]:
    """The blocks of a text without empty lines."""
    head = text.partition(":")[0]
    if head == "question":
        yield _question(text)
    elif head == "reveal":
        yield {"kind": "reveal"}
    elif head == "try" or head in _KINDS:
        for line in text.splitlines():
            kind, _, words = line.partition(": ")
            yield _try(words) if kind == "try" else {"kind": kind, "text": words}
    elif text.startswith("- "):
        yield {"kind": "items", "items": [line.removeprefix("- ") for line in text.splitlines()]}
    elif text.startswith("> "):
        yield {"kind": "short", "text": text.removeprefix("> ")}
    elif text.startswith("## "):
        yield {"kind": "heading", "text": text.removeprefix("## ")}
    else:
        yield {"kind": "text", "text": text}


def _question(text: str) -> Block:
    asked, *lines = text.removeprefix("question: ").splitlines()
    choices = []
    for line in lines:
        words, _, reply = line[2:].partition(" :: ")
        choices.append({"text": words, "reply": reply, "is_right": line.startswith("* ")})
    return {"kind": "question", "text": asked, "choices": choices}


def _try(words: str) -> Block:
    label, _, settings = words.partition(" | ")
    pairs = (pair.partition("=")[::2] for pair in settings.split())
    return {"kind": "try", "text": label, "settings": dict(pairs)}
