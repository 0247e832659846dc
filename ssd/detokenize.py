"""From ids to text: what each id says, and a stream that says it as soon as it is whole."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from tokenizers import Tokenizer

_SPACE = "▁"  # SentencePiece's mark of a space


class Vocabulary:
    """The ids of a tokenizer as bytes, for the decoders in which an id's bytes are its own.

    That is byte-level BPE, and SentencePiece with byte fallback; `is_bytewise` is false for others.
    Special tokens add nothing to the text, nor do ids past the end (padding of the logits).
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        self.special_ids = frozenset(token for token, entry in added.items() if entry.special)
        self._names: dict[int, str | None] = {}
        self._bytes: dict[int, bytes] = {}
        steps = _steps(tokenizer)
        kinds = [step["type"] for step in steps]
        self._is_byte_level = kinds == ["ByteLevel"]
        self._replacements = [
            (step["pattern"].get("String", ""), step["content"])
            for step in steps
            if step["type"] == "Replace"
        ]
        strips = [step for step in steps if step["type"] == "Strip"]
        self._is_sentencepiece = (
            "ByteFallback" in kinds
            and set(kinds) <= {"Replace", "ByteFallback", "Fuse", "Strip"}
            and all(pattern for pattern, _ in self._replacements)
            and all((s["content"], s["start"], s["stop"]) == (" ", 1, 0) for s in strips)
        )
        self.strips_first_space = self._is_sentencepiece and bool(strips)

    @property
    def is_bytewise(self) -> bool:
        """Whether the text is the bytes of its ids, one after another."""
        return self._is_byte_level or self._is_sentencepiece

    def name(self, token: int) -> str | None:
        """The token as the tokenizer spells it, or None for an id that it does not have."""
        if token not in self._names:
            known = 0 <= token < 1 << 32
            self._names[token] = self.tokenizer.id_to_token(token) if known else None
        return self._names[token]

    def bytes_of(self, token: int) -> bytes:
        """The bytes that `token` adds to the text."""
        if token not in self._bytes:
            self._bytes[token] = self._to_bytes(token)
        return self._bytes[token]

    def _to_bytes(self, token: int) -> bytes:
        name = self.name(token)
        if name is None or token in self.special_ids:
            return b""
        if self._is_byte_level:
            table = _byte_level_alphabet()
            # As the tokenizers library does it: an added token may hold other characters.
            is_coded = all(character in table for character in name)
            return bytes(table[c] for c in name) if is_coded else name.encode()
        if self._is_sentencepiece:
            for pattern, content in self._replacements:
                name = name.replace(pattern, content)
            return _fallback_byte(name) or name.encode()
        text: str = self.tokenizer.decode([token])
        # Decoders of this kind drop the first token's space, which inside a text is there.
        return (" " * name.startswith(_SPACE) + text.lstrip(" ")).encode()


class TextStream:
    """Ids in, the text that they complete out; half a character is held back until it is whole.

    The pieces, `flush` included, put together are the text of all ids.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._drops_space = vocabulary.strips_first_space
        self._ids: list[
            int
        ] = []  # for decoders that are not bytewise: the last ids shown, new ones
        self._shown = ""  # the text of the former

    def push(self, ids: Sequence[int]) -> str:
        """The text that `ids` completed."""
        if not self._vocabulary.is_bytewise:
            return "".join(map(self._push_one, ids))
        return self._without_first_space(
            self._utf8.decode(b"".join(map(self._vocabulary.bytes_of, ids)))
        )

    def flush(self) -> str:
        """What is left, an incomplete character as U+FFFD."""
        if self._vocabulary.is_bytewise:
            return self._without_first_space(self._utf8.decode(b"", final=True))
        text = self._text(self._ids)[len(self._shown) :]
        self._ids, self._shown = [], ""
        return text

    def _without_first_space(self, text: str) -> str:
        if self._drops_space and text:
            self._drops_space = False
            return text.removeprefix(" ")
        return text

    def _push_one(self, token: int) -> str:
        """The new text at the end of a short window of ids: the last one shown is its context."""
        if token in self._vocabulary.special_ids or self._vocabulary.name(token) is None:
            return ""
        self._ids.append(token)
        whole = self._text(self._ids)
        if not whole.startswith(self._shown) or whole.endswith("\ufffd"):
            return ""
        text = whole[len(self._shown) :]
        self._ids = [token]
        self._shown = self._text(self._ids)
        return text

    def _text(self, ids: list[int]) -> str:
        text: str = self._vocabulary.tokenizer.decode(ids)
        return text


def _steps(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """The settings of the tokenizer's decoders, in the order they are applied."""
    if tokenizer.decoder is None:
        return []
    settings: dict[str, Any] = json.loads(tokenizer.decoder.__getstate__())
    steps: list[dict[str, Any]] = settings.get("decoders", [settings])
    return steps


def _fallback_byte(name: str) -> bytes | None:
    """The byte that a token of the form <0xE2> stands for, None for other tokens."""
    if len(name) != 6 or not name.startswith("<0x") or not name.endswith(">"):
        return None
    try:
        return bytes.fromhex(name[3:5])
    except ValueError:
        return None


@cache
def _byte_level_alphabet() -> dict[str, int]:
    """The character that stands for each byte in byte-level BPE (GPT-2), as character -> byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {chr(byte): byte for byte in plain}
    return table | {chr(256 + index): byte for index, byte in enumerate(others)}
