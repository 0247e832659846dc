"""Prompt lookup by searching the whole context anew each time."""

from __future__ import annotations

from collections.abc import Sequence


def latest_follower(text: Sequence[int], tail: Sequence[int]) -> int | None:
    """The token after the last occurrence of `tail` in `text` that something follows."""
    size = len(tail)
    for start in range(len(text) - size - 1, -1, -1):
        if list(text[start : start + size]) == list(tail):
            return text[start + size]
    return None


def tallies(context: Sequence[int], longest: int) -> tuple[list[int], list[int]]:
    """By match length: how often the longest match of a beginning guessed, and guessed right."""
    tried, hit = [0] * (longest + 1), [0] * (longest + 1)
    for end in range(1, len(context)):
        before = context[:end]
        for length in range(min(longest, end), 0, -1):
            guess = latest_follower(before, before[end - length :])
            if guess is not None:
                tried[length] += 1
                hit[length] += guess == context[end]
                break
    return tried, hit


def followers(context: Sequence[int], path: Sequence[int], longest: int) -> list[tuple[int, int]]:
    """(token, match length) of what followed the end of context + path, the longest match first."""
    tail = [*context, *path][-longest:]
    found: list[tuple[int, int]] = []
    for length in range(len(tail), 0, -1):
        guess = latest_follower(context, tail[len(tail) - length :])
        if guess is not None and guess not in [token for token, _ in found]:
            found.append((guess, length))
    return found
