"""Prompts for a target to answer: varied requests, and Python functions that need a body.

Every prompt is a function of the seed and its number. None comes from a suite meant for measuring.
"""

from __future__ import annotations

import ast
import json
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

_SHORTEST_DOC, _LONGEST_DOC = 20, 900
_MAX_CHARACTERS = 1200

# Every topic with every request: some thousands of general prompts before details are chosen.
TOPICS = (
    "photosynthesis", "black holes", "the water cycle", "vaccines", "earthquakes", "electric cars",
    "bees", "coral reefs", "the moon", "volcanoes", "antibiotics", "recycling", "solar power",
    "the French Revolution", "the Roman Empire", "the printing press", "the Silk Road",
    "ancient Egypt", "the Industrial Revolution", "the space race", "democracy", "inflation",
    "supply and demand", "taxes", "credit cards", "saving money", "renting a flat", "insurance",
    "a healthy breakfast", "sleeping well", "running a marathon", "yoga", "back pain", "stress",
    "learning a language", "public speaking", "time management", "job interviews", "teamwork",
    "remote work", "writing a novel", "poetry", "jazz", "the violin", "painting with watercolours",
    "photography", "chess", "football", "swimming", "cycling to work", "camping", "gardening",
    "house plants", "baking bread", "making soup", "coffee", "tea", "chocolate", "cheese",
    "travelling by train", "visiting Japan", "a weekend in Paris", "hiking in the Alps", "the sea",
    "dogs", "cats", "horses", "birds in winter", "dinosaurs", "whales", "spiders", "forests",
    "climate change", "machine learning", "databases", "computer networks", "passwords", "robots",
    "the internet", "mobile phones", "video games", "3D printing", "statistics", "prime numbers",
    "probability", "geometry", "fractions", "gravity", "light and colour", "sound", "magnets",
    "atoms", "the periodic table", "DNA", "the human heart", "the brain", "teeth", "memory",
    "friendship", "raising children", "growing old", "moving house", "weddings", "birthdays",
)  # fmt: skip
REQUESTS = (
    "Explain {topic} to a child of ten.",
    "Explain {topic} in three short paragraphs.",
    "What are the most important facts about {topic}? Answer as a numbered list of {n} points.",
    "Write a short story in which {topic} plays a part.",
    "Write a poem of {n} lines about {topic}.",
    "Give {n} tips on {topic}.",
    "What are the advantages and disadvantages of {topic}?",
    "Write an email to a colleague about {topic}. Keep it {style}.",
    "Write a dialogue between a teacher and a student about {topic}.",
    "Compare {topic} with {other}.",
    "I know nothing about {topic}. Where should I start?",
    "Ask me {n} quiz questions about {topic}, with the answers at the end.",
    "Write a {style} blog post about {topic}.",
    "Summarise what is known about {topic} in {n} sentences.",
    "Make a table in Markdown about {topic} with {n} rows and three columns.",
    "Give {n} examples that show why {topic} matters.",
    "What would happen if there were no {topic}?",
    "Write a product description for something that has to do with {topic}.",
    "Write a speech of one minute about {topic}. It should be {style}.",
    "Correct common mistakes that people make about {topic}.",
    "Give step-by-step instructions for a first lesson on {topic}.",
    "Which words should I know to talk about {topic}? Give a short definition of each.",
    "Write a JSON object that describes {topic} with {n} fields.",
    "Write a letter to the editor about {topic}.",
    "Why do people care about {topic}? Discuss.",
    "Describe {topic} without using the letter z, in a {style} tone.",
    "Suggest a title and an outline for a talk on {topic}.",
    "Pretend that you are an expert on {topic} and answer: what is the hardest part?",
    "How has {topic} changed in the last hundred years?",
    "Write a review of a book about {topic}.",
)
STYLES = ("friendly", "formal", "funny", "short", "enthusiastic", "calm", "critical", "simple")
PROGRAMS = (
    "reverses a string", "counts the vowels of a text", "finds the largest of three numbers",
    "checks whether a year is a leap year", "prints the first {n} Fibonacci numbers",
    "sorts a list of words by length", "removes duplicates from a list", "reads a CSV file",
    "counts how often each word occurs in a file", "converts Celsius to Fahrenheit",
    "computes the mean and the median of a list", "generates a random password of {n} characters",
    "solves a quadratic equation", "transposes a matrix", "merges two dictionaries",
    "finds all prime numbers below {m}", "checks whether brackets are balanced",
    "implements a stack", "implements a queue with two stacks", "implements binary search",
    "plays a game of guessing a number below {m}", "sums the digits of a number",
    "parses a date and prints the weekday", "computes the greatest common divisor",
    "draws a triangle of stars with {n} rows", "flattens a nested list",
    "splits a list into chunks of {n}", "finds the longest common prefix of some words",
    "rotates a list by {n} places", "validates an email address", "simulates a bank account",
    "stores notes in a JSON file", "computes compound interest over {n} years",
    "counts down from {m}", "translates text into Morse code", "implements Caesar's cipher",
    "finds the shortest path in a grid", "evaluates an expression in postfix notation",
    "groups words that are anagrams", "converts a number to Roman numerals",
)  # fmt: skip
LANGUAGES = ("Python", "Python", "Python", "JavaScript", "Java", "C", "Go", "SQL", "Bash", "Rust")
ABOUT_FUNCTIONS = (
    "Complete this Python function:\n\n{code}",
    "Write the body of this function.\n\n```python\n{code}```",
    "Explain what a function with this signature and docstring does:\n\n{code}",
    "Write unit tests for this function:\n\n{code}",
    "Write a Python function {name}. {doc}",
    "Show an example of how to use this function:\n\n{code}",
)
ABOUT_PASSAGES = (
    "Summarise the following text in {n} sentences:\n\n{doc}",
    "Rewrite the following text so that a beginner understands it:\n\n{doc}",
    "Turn the following text into a list of bullet points:\n\n{doc}",
    "Repeat the following text exactly:\n\n{doc}",
    "Translate the following text into {language}:\n\n{doc}",
    "Fix the grammar of the following text, change nothing else:\n\n{doc}",
)
TONGUES = ("French", "German", "Spanish", "Italian")


@dataclass(frozen=True)
class Prompt:
    """What is asked; `is_raw`: without the chat template, a text to go on with."""

    text: str
    is_raw: bool = False


class Generator:
    """The built-in prompts: general requests, small programs, Python's own functions, passages."""

    def __init__(self, seed: int, library: Path | None = None) -> None:
        """`library`: where Python sources lie; None for the standard library of this Python."""
        self._seed = seed
        self._library = library or Path(sysconfig.get_paths()["stdlib"])

    def prompt(self, number: int) -> Prompt:
        """Prompt `number`."""
        rng = np.random.default_rng([self._seed, number])
        kind = rng.random()
        if kind < 0.45:
            return Prompt(_filled(rng, _pick(rng, REQUESTS)))
        if kind < 0.6:
            words = _filled(rng, _pick(rng, PROGRAMS))
            return Prompt(f"Write a program in {_pick(rng, LANGUAGES)} that {words}.")
        function = self._functions[int(rng.integers(len(self._functions)))]
        if kind < 0.7:
            template = _pick(rng, ABOUT_PASSAGES)
            return Prompt(_filled(rng, template, doc=function.doc))
        if kind < 0.85:
            template = _pick(rng, ABOUT_FUNCTIONS)
            return Prompt(_filled(rng, template, **function.fields))
        return Prompt(function.code, is_raw=True)

    @cached_property
    def _functions(self) -> list[_Function]:
        found = [f for path in sorted(self._library.glob("*.py")) for f in _functions(path)]
        if not found:
            raise ValueError(
                f"expected Python sources with documented functions in {self._library}, got none: "
                "give prompts of your own with --prompts"
            )
        return found


def read_prompts(path: Path) -> list[Prompt]:
    """The prompts of a file of JSON lines with `text` and, optionally, `raw`.

    Raises ValueError where a line is something else.
    """
    if not path.is_file():
        raise ValueError(f"--prompts must be a file of JSON lines, got {path}: no such file")
    prompts = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            value: Any = json.loads(line)
            text, is_raw = value["text"], value.get("raw", False)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(
                f'line {number} of {path} must be JSON like {{"text": "..."}}, got {line[:60]!r}'
            ) from None
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"text in line {number} of {path} must be some text, got {text!r}")
        prompts.append(Prompt(text, bool(is_raw)))
    if not prompts:
        raise ValueError(f"expected prompts in {path}, got none")
    return prompts


@dataclass(frozen=True)
class _Function:
    name: str
    signature: str
    doc: str

    @property
    def code(self) -> str:
        """The beginning of the function, its docstring the last line."""
        doc = self.doc.replace("\n", "\n    ").replace('"""', "'''")
        return f'def {self.signature}:\n    """{doc}\n    """\n'

    @property
    def fields(self) -> dict[str, str]:
        """What a template may speak of."""
        return {"name": self.name, "code": self.code, "doc": self.doc}


def _functions(path: Path) -> list[_Function]:
    """The documented functions of a source file. It is read, never run."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, OSError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            doc = ast.get_docstring(node) or ""
            if _SHORTEST_DOC <= len(doc) <= _LONGEST_DOC:
                arguments = ast.unparse(node.args)
                found.append(_Function(node.name, f"{node.name}({arguments})", doc))
    return found


def _pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]


def _filled(rng: np.random.Generator, template: str, **fields: str) -> str:
    choices = {
        "topic": _pick(rng, TOPICS),
        "other": _pick(rng, TOPICS),
        "style": _pick(rng, STYLES),
        "language": _pick(rng, TONGUES),
        "n": str(int(rng.integers(3, 11))),
        "m": str(int(rng.integers(2, 21)) * 10),
    }
    text = template
    for name, value in {**choices, **fields}.items():
        text = text.replace("{" + name + "}", value)
    return text[:_MAX_CHARACTERS]
