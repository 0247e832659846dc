"""Record files: JSON Lines, the environment first, then runs and verdicts as they come."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compare.record_details import number as finite
from compare.records import SCHEMA, RunKey, RunRecord
from compare.seal import Seals, bare, is_broken, is_sealed, sealed
from compare.step_record import Json
from compare.verdict_record import VerdictRecord

_LINE_LIMIT_BYTES = 1 << 28


Line = RunRecord | VerdictRecord


def header(environment: Mapping[str, Any]) -> dict[str, Any]:
    """The first line of a file."""
    return {"kind": "environment", "schema": SCHEMA, **environment}


def encoded(data: Mapping[str, Any]) -> bytes:
    """A line of a file, its end included."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a character cannot be encoded; the escape that takes its place is JSON's own.
    return text.encode("utf-8", errors="backslashreplace") + b"\n"


class RecordWriter:
    """Appends records to a file, a flushed line each: a killed run keeps what it had."""

    def __init__(self, path: Path, file: io.FileIO) -> None:
        """Goes on at the end of `file`, unbuffered; use `create` or `resume`."""
        self._path, self._file = path, file
        self._end = file.seek(0, os.SEEK_END)

    @classmethod
    def create(cls, path: Path, environment: Json) -> RecordWriter:
        """A writer of a new file whose first line is `environment`.

        Raises ValueError where the file exists or its place does not take it.
        """
        try:
            writer = cls(path, io.FileIO(path, "x+"))
        except FileExistsError as error:
            raise ValueError(
                f"the output {path} exists already: name another file, or go on with --resume"
            ) from error
        except OSError as error:
            raise ValueError(f"the output {path} cannot be written: {error.strerror}") from error
        try:
            writer._write(header(environment))
        except ValueError:
            writer.close()
            path.unlink()
            raise
        return writer

    @classmethod
    def resume(cls, path: Path, whole_bytes: int) -> RecordWriter:
        """A writer that goes on after the first `whole_bytes` of a file; a cut rest goes."""
        try:
            file = io.FileIO(path, "r+")
        except OSError as error:
            raise ValueError(f"the output {path} cannot be written: {error.strerror}") from error
        file.truncate(whole_bytes)
        return cls(path, file)

    def append(self, line: Line) -> None:
        """Write one line. Raises ValueError where the disk does not take it."""
        self._write(line.to_json())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, data: Json) -> None:
        left = memoryview(encoded(sealed(data)))
        size = len(left)
        try:
            while left:
                left = left[self._file.write(left) or 0 :]
            os.fsync(self._file.fileno())
        except BaseException as error:  # Ctrl-C included: no half line may stay
            with suppress(OSError):
                self._file.truncate(self._end)
            if not isinstance(error, OSError):
                raise
            raise ValueError(
                f"the output {self._path} takes no more ({error.strerror}); what it holds is whole"
            ) from error
        self._end += size


@dataclass(frozen=True)
class RecordReader:
    """A record file read as a stream, checked line by line.

    `warn` gets a word where a cut last line is dropped.
    """

    path: Path
    warn: Callable[[str], None] = lambda message: None

    def environment(self) -> dict[str, Any]:
        """The first line but for its seal. Raises ValueError for another schema or kind of file."""
        _, _, data = next(self._lines(), (1, 0, None))
        if data is None or data.get("kind") != "environment":
            raise ValueError(f"{self.path} is not a record file: line 1 is not an environment")
        if data.get("schema") != SCHEMA:
            raise ValueError(
                f"{self.path} has records of schema {data.get('schema')}, "
                f"this version reads schema {SCHEMA}"
            )
        try:
            _check_environment(data)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{self.path}, line 1: {error}") from error
        return bare(data)

    def lines(self) -> Iterator[Line]:
        """The runs and verdicts. Raises ValueError naming the line that is wrong."""
        self.environment()
        seen: set[RunKey] = set()
        for number, _, data in self._lines():
            if number == 1:
                continue
            try:
                line = _line(data)
            except ValueError as error:
                raise ValueError(f"{self.path}, line {number}: {error}") from error
            if isinstance(line, RunRecord):
                if line.key in seen:
                    raise ValueError(f"{self.path}, line {number}: the same run for a second time")
                seen.add(line.key)
            yield line

    def edited(self) -> Iterator[int]:
        """The numbers of the lines that are not as they were written, by their seals.

        Where the first line has a seal, each has to have one.
        """
        must_have = False
        for number, _, data in self._lines():
            must_have |= number == 1 and is_sealed(data)
            if is_broken(data) or (must_have and not is_sealed(data)):
                yield number

    def seals(self) -> Seals:
        """Whether the file's lines are as they were written, as far as seals say."""
        if any(self.edited()):
            return "broken"
        _, _, first = next(self._lines())
        return "whole" if is_sealed(first) else "absent"

    def whole_bytes(self) -> int:
        """The length of the file without a cut last line."""
        return max((end for _, end, _ in self._lines()), default=0)

    def _lines(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Line number, offset of the line's end, and the object in it."""
        try:
            with self.path.open("rb") as file:
                number = 0
                while raw := file.readline(_LINE_LIMIT_BYTES):
                    number += 1
                    if not raw.endswith(b"\n"):
                        self._drop(number, raw)
                        return
                    yield number, file.tell(), self._parse(number, raw)
        except OSError as error:
            raise ValueError(f"{self.path} cannot be read: {error.strerror}") from error

    def _drop(self, number: int, raw: bytes) -> None:
        if len(raw) == _LINE_LIMIT_BYTES:
            raise ValueError(f"{self.path}, line {number}: longer than any record is")
        if number == 1:
            raise ValueError(f"{self.path} is not a record file: line 1 is cut")
        self.warn(f"{self.path}, line {number}: cut, a killed run's last record; dropped")

    def _parse(self, number: int, raw: bytes) -> dict[str, Any]:
        try:
            data = json.loads(raw, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.path}, line {number}: not valid JSON ({error})") from error
        if not isinstance(data, dict):
            raise ValueError(f"{self.path}, line {number}: not a JSON object")
        return data


def _check_environment(data: dict[str, Any]) -> None:
    """Raises ValueError or TypeError where a part that commands read is of another type."""
    for name in ("pair", "options", "settings", "suite", "method_settings", "versions"):
        if not isinstance(data.get(name, {}), dict):
            raise ValueError(f"{name} is not an object")
    if not isinstance(data.get("is_exact", False), bool):
        raise ValueError("is_exact is neither true nor false")
    finite(data.get("settings", {}).get("temperature", 0.0))


def _line(data: dict[str, Any]) -> Line:
    match data.get("kind"):
        case "run":
            return RunRecord.from_json(data)
        case "verdict":
            return VerdictRecord.from_json(data)
        case kind:
            raise ValueError(f"a line of kind {kind!r} was found")


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number that a record may hold")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a number that a record may hold")
    return value
