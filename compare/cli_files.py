"""The commands `diff` and `report`: record files told in other ways."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path

from compare import diff as diffs
from compare.console import check_out, say
from compare.digest import Digests
from compare.record_file import RecordReader
from ssd.commands import EXIT_OK


def diff(args: argparse.Namespace) -> int:
    """`compare diff`: the exit code. Raises ValueError for a file it cannot read."""
    first, second = (_side(path) for path in (args.first, args.second))
    data = diffs.diff(first, second)
    text = json.dumps(data, indent=2, ensure_ascii=False) if args.json else diffs.diff_text(data)
    print(text)
    return EXIT_OK


def _side(path: Path) -> diffs.Side:
    reader = RecordReader(path, say)
    return diffs.Side(str(path), RecordReader(path).environment(), Digests.of(reader.lines()))


def report(args: argparse.Namespace) -> int:
    """`compare report`: the exit code. Raises ValueError for what it refuses."""
    page, rows = args.out, args.out.with_suffix(".csv")
    if page == rows:
        raise ValueError(f"the report {page} is HTML: name a file that ends in .html")
    for path in (page, rows):
        if not check_out(path, may_exist=True):
            raise ValueError(f"the output {path} exists already: name another file, or remove it")
    from compare.report import report_html  # here, for plotly takes a while to import
    from compare.report_csv import csv_text

    side = _side(args.file)
    texts = {
        page: report_html(side.environment, side.digests, args.language),
        rows: csv_text(side.environment, side.digests),
    }
    _write(texts)
    say(f"written: {page} and {rows}")
    return EXIT_OK


def _write(texts: dict[Path, str]) -> None:
    """Write all of the new files, or none. Raises ValueError where the disk does not take them."""
    made: list[Path] = []
    try:
        for path, text in texts.items():
            with path.open("x", encoding="utf-8", newline="") as file:
                made.append(path)
                file.write(text)
    except OSError as error:
        for path in made:
            with suppress(OSError):
                path.unlink()
        raise ValueError(f"the output {path} cannot be written: {error.strerror}") from error
