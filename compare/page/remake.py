"""`python -m compare.page.remake`: the recorded runs, made anew with `compare run`."""

from __future__ import annotations

import json
import os
import sys

from compare import __main__ as compare
from compare.engine import codec_of
from compare.page.recordings import NAMES, WORDS, record_path, suite_path
from compare.record_file import RecordReader
from compare.record_words import words_of
from compare.records import RunRecord
from ssd.commands import Parser

OPTIONS = {
    "usual": ("--max-new-tokens", "80"),
    "loses": (
        "--max-new-tokens",
        "64",
        "--temperature",
        "1",
        "--methods",
        "autoregressive,speculative:5,staged",
    ),
}
"""What each recording is made with, beside its suite and `--details`."""


def main() -> int:
    """The exit code: that of the first run that did not end well, else 0.

    A recording is replaced once its run has ended well.
    """
    Parser(prog="compare.page.remake", description=__doc__).parse_args()
    for name in NAMES:
        path = record_path(name)
        new = path.with_suffix(".new.jsonl")
        new.unlink(missing_ok=True)
        told, suite = os.path.relpath(path), os.path.relpath(suite_path(name))
        options = ["--suite", suite, "--details", *OPTIONS[name]]
        sys.argv[1:] = ["run", "--out", told, *options]  # what the record says it was made by
        code = compare.main(["run", "--out", str(new), *options])
        if code:
            new.unlink(missing_ok=True)
            return code
        new.replace(path)
    WORDS.write_text(json.dumps(_words(), ensure_ascii=True, indent=0) + "\n", "utf-8")
    return 0


def _words() -> dict[int, str]:
    codec = codec_of("smollm2-135m")
    assert codec is not None, "the run that has just been made needs the tokenizer too"
    lines = (line for name in NAMES for line in RecordReader(record_path(name)).lines())
    records = [line.to_json() for line in lines if isinstance(line, RunRecord)]
    return dict(words_of(records, codec))


if __name__ == "__main__":
    sys.exit(main())
