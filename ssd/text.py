"""Everything between text and ids: prompts in, streamed text out.

Control tokens are written by the chat template alone: in what a person typed, `<|im_end|>` is ten
characters, never the id that ends a turn. transformers is not used, it takes seconds to import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from ssd.chat import ChatTemplate, Message
from ssd.detokenize import TextStream, Vocabulary

__all__ = ["TextCodec", "TextStream", "check_prompt"]

_NEVER = "(?!)"


class TextCodec:
    """A model's text: `prompt_ids` one way, `decode` and `stream` the other.

    `stop_ids` are the ids that end an answer, as transformers has them.
    """

    def __init__(self, tokenizer: str, settings: dict[str, Any], stop_ids: frozenset[int]) -> None:
        """`tokenizer`: the text of tokenizer.json; `settings`: those of tokenizer_config.json."""
        self.stop_ids = stop_ids
        self._source = tokenizer
        self._plain = Tokenizer.from_str(tokenizer)
        self._plain.no_padding()
        self._plain.no_truncation()
        self._adds_bos: bool | None = settings.get("add_bos_token")
        names = _special_names(settings)
        self._bos = names.get("bos_token", "")
        template = settings.get("chat_template")
        self._template = ChatTemplate(template, names) if template else None
        self.vocabulary = Vocabulary(self._plain)

    @classmethod
    def load(cls, folder: Path) -> TextCodec:
        """The codec of the model in `folder`. Raises ValueError where its files do not give one."""
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise ValueError(
                f"expected tokenizer.json in {folder}, got none: make it with transformers, "
                "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
            )
        settings = _read(folder / "tokenizer_config.json")
        if (file := folder / "chat_template.jinja").is_file():
            settings["chat_template"] = file.read_bytes().decode("utf-8")
        elif isinstance(templates := settings.get("chat_template"), list):
            by_name = {entry["name"]: entry["template"] for entry in templates}
            settings["chat_template"] = by_name.get("default")
        try:
            return cls(path.read_text(encoding="utf-8"), settings, _stop_ids(folder))
        except ValueError:
            raise
        except Exception as error:  # what the tokenizers library raises for a bad file
            raise ValueError(
                f"expected a tokenizer in {path}, got {error}: copy it again"
            ) from error

    @property
    def has_chat_template(self) -> bool:
        """Whether prompts become messages; a base model's prompts are always raw."""
        return self._template is not None

    def prompt_ids(
        self, text: str, *, raw: bool = False, system: str | None = None
    ) -> tuple[int, ...]:
        """The ids of a prompt, up to where the answer begins.

        A raw prompt is the text alone (with the model's BOS, if its tokenizer adds one), and has no
        place for `system`. Without `system` the template's own default applies.
        Raises ValueError for a prompt without text, or with half a surrogate pair.
        """
        check_prompt(text)
        _check_unicode(system or "")
        if raw or self._template is None:
            return tuple(self._raw_ids(text))
        messages = [{"role": "user", "content": text}]
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        return tuple(self._chat_ids(self._template, messages))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; special tokens do not show, bytes that are not UTF-8 become U+FFFD."""
        stream = self.stream()
        return stream.push(list(ids)) + stream.flush()

    def stream(self) -> TextStream:
        """A fresh incremental decoder."""
        return TextStream(self.vocabulary)

    def token_bytes(self, token: int) -> bytes:
        """The bytes that `token` adds to a text; none for special tokens and unknown ids."""
        return self.vocabulary.bytes_of(token)

    def token_text(self, token: int) -> str:
        """`token` for display: a special token's name, parts of characters as \\xNN."""
        if token in self.vocabulary.special_ids:
            return self.vocabulary.name(token) or ""
        return self.token_bytes(token).decode("utf-8", "backslashreplace")

    def _raw_ids(self, text: str) -> list[int]:
        ids: list[int] = self._literal.encode(text).ids
        bos = self._plain.token_to_id(self._bos) if self._bos else None
        has_bos = bos is not None and ids[:1] == [bos]
        if self._adds_bos is True and bos is not None and not has_bos:
            return [bos, *ids]
        return ids[1:] if self._adds_bos is False and has_bos else ids

    def _chat_ids(self, template: ChatTemplate, messages: list[Message]) -> list[int]:
        """The ids of the rendered messages; what stands between control tokens is text.

        As a rule no message holds a control token, and the rendered text is encoded as it is.
        """
        if not any(self._control.search(message["content"]) for message in messages):
            ids: list[int] = self._plain.encode(
                template.render(messages), add_special_tokens=False
            ).ids
            return ids
        text, marks = template.render_marked(messages)
        ids, strips = [], False
        for piece in self._control.split(text):
            if piece in self._control_tokens:
                token, strips = self._control_tokens[piece]
                ids.append(token)
                continue
            for mark, words in marks.items():
                piece = piece.replace(mark, words)
            piece = piece.lstrip() if strips else piece
            ids += self._literal.encode(piece, add_special_tokens=False).ids
        return ids

    @cached_property
    def _control_tokens(self) -> dict[str, tuple[int, bool]]:
        """The tokens that only the template may write -> (id, whether white space after it goes).

        The special ones, and every other added token that the template contains.
        """
        template = self._template.source if self._template else ""
        return {
            token.content: (index, token.rstrip)
            for index, token in self._plain.get_added_tokens_decoder().items()
            if token.special
            or index in self.stop_ids
            or (token.content in template and not token.content.isspace())
        }

    @cached_property
    def _control(self) -> re.Pattern[str]:
        """A pattern that finds control tokens, the longest first, and keeps them in a split."""
        longest_first = sorted(self._control_tokens, key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, longest_first)) or _NEVER})")

    @cached_property
    def _literal(self) -> Tokenizer:
        """The tokenizer that takes control tokens in a text for text.

        One of its own: to switch the other one to and fro is not safe between threads.
        """
        source = self._source
        if any(
            index not in self.vocabulary.special_ids for index, _ in self._control_tokens.values()
        ):
            settings = json.loads(source)
            for entry in settings["added_tokens"]:
                entry["special"] = entry["special"] or entry["content"] in self._control_tokens
            source = json.dumps(settings)
        literal = Tokenizer.from_str(source)
        literal.no_padding()
        literal.no_truncation()
        literal.encode_special_tokens = True
        return literal


def check_prompt(text: str) -> None:
    """Raises ValueError for a prompt without text, or with half a surrogate pair."""
    if not text.strip():
        got = "only white space" if text else "an empty one"
        raise ValueError(f"expected a prompt with some text, got {got}: write what to answer")
    _check_unicode(text)


def _special_names(settings: dict[str, Any]) -> dict[str, str]:
    """bos_token and its like -> how the token is spelt."""
    pairs = {key: value for key, value in settings.items() if key.endswith("_token")}
    spelt = {k: v.get("content") if isinstance(v, dict) else v for k, v in pairs.items()}
    return {key: value for key, value in spelt.items() if isinstance(value, str)}


def _stop_ids(folder: Path) -> frozenset[int]:
    """The end tokens of generation_config.json, or else of config.json."""
    for name in ("generation_config.json", "config.json"):
        ids = _read(folder / name).get("eos_token_id")
        if ids is not None:
            return frozenset(ids if isinstance(ids, list) else [ids])
    return frozenset()


def _read(path: Path) -> dict[str, Any]:
    """The JSON object in `path`, empty where there is no such file."""
    if not path.is_file():
        return {}
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"expected JSON in {path}, got {error}: copy the file again") from error
    return value


def _check_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"expected Unicode text, got half a surrogate pair (U+{ord(text[error.start]):04X}) "
            f"as character {error.start + 1}: type or paste it again, or save the file as UTF-8"
        ) from None
