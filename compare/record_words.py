"""What the ids in records say: a record file has ids only, and a page has no tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from compare.step_record import Json

_TAIL = 48  # ids of the prompt's end, which a view shows before the answer


class Bytewise(Protocol):
    """What knows the bytes of an id; `ssd.text.TextCodec` outside tests."""

    def token_bytes(self, token: int) -> bytes:
        """The bytes that the token adds to a text."""

    def token_text(self, token: int) -> str:
        """The token for display."""


def words_of(records: Iterable[Json], codec: Bytewise) -> Mapping[int, str]:
    """For each id that a view of `records` may show, its bytes in hex.

    A token that adds nothing to a text, such as the end of a turn, has `=` and its name.
    """
    return {token: _word(token, codec) for token in ids_in(records)}


def ids_in(records: Iterable[Json]) -> list[int]:
    """The ids that a view of `records` may show, ascending."""
    return sorted({token for record in records for token in _ids(record)})


def _word(token: int, codec: Bytewise) -> str:
    return codec.token_bytes(token).hex() or f"={codec.token_text(token)}"


def _ids(record: Json) -> Iterator[int]:
    yield from record["prompt_ids"][-_TAIL:]
    yield from record["token_ids"]
    for step in record["steps"]:
        yield from step["tree"]["tokens"]
        details = step.get("details") or {}
        for row in (*details.get("target", ()), *details.get("draft", ())):
            yield from (candidate[0] for candidate in row or ())
        for inner in details.get("inner", ()):
            yield from _path_ids(inner["wanted"])
            yield from _path_ids(inner["ahead"])


def _path_ids(paths: Sequence[Sequence[int]]) -> Iterator[int]:
    for path in paths:
        yield from path
