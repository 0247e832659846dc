"""`python -m compare` within the test's own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.__main__ import main


def exit_code(*arguments: str) -> int:
    """The exit code of `compare` with `arguments`."""
    try:
        return main(list(arguments))
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code


def assert_refused(
    arguments: tuple[str, ...], word: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, one line on stderr with `word` in it, and nothing written into `folder`."""
    assert exit_code(*arguments) == 2
    printed = capsys.readouterr()
    assert word in printed.err and printed.err.count("\n") == 1 and printed.out == ""
    assert list(folder.iterdir()) == []
