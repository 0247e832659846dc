"""The N-gram: guesses at the price of a table look-up, from the context and from a Katz table."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssd import noise
from ssd.calibration import UNCALIBRATED, Calibration
from ssd.cost import Pricing
from ssd.grow import Guess, Limits, Path, as_tree, grow, grow_priced
from ssd.meter import Meter
from ssd.request import Request
from ssd.tree import TokenTree

LONGEST_MATCH = 6
LONGEST_CONTEXT = 3  # ids that a Katz table looks back
KEY_BITS = 20  # per id in a table's key
# By match length, from held-out text the target wrote: `python -m ssd.train calibrate`.
_PRIOR_HITS = (0.0, 0.19, 0.48, 0.57, 0.68, 0.70, 0.90)
_PRIOR_WEIGHT = 8.0
_TRUST_WEIGHT = 8.0  # of a table's chances before the answer has shown anything


class ContextMatches:
    """Where the end of a text has stood in it before, and how often such a match was right.

    A memo of the context: the same context gives the same answers, however it was reached.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._context: list[int] = []
        self._next: tuple[dict[Path, int], ...] = tuple({} for _ in range(LONGEST_MATCH + 1))
        self._tried = [0] * (LONGEST_MATCH + 1)
        self._hit = [0] * (LONGEST_MATCH + 1)

    def update(self, context: Sequence[int]) -> None:
        """Turn to `context`, from what is known of its beginning."""
        known = len(self._context)
        if list(context[:known]) != self._context:
            self._forget()
            known = 0
        for token in context[known:]:
            self._append(token)

    def _append(self, token: int) -> None:
        tail = tuple(self._context[-LONGEST_MATCH:])
        is_longest = True
        for length in range(len(tail), 0, -1):
            key = tail[len(tail) - length :]
            if is_longest and (guessed := self._next[length].get(key)) is not None:
                self._tried[length] += 1
                self._hit[length] += guessed == token
                is_longest = False
            self._next[length][key] = token
        self._context.append(token)

    def hit_rate(self, length: int) -> float:
        """How often the continuation of a match of `length` was right, in this context so far."""
        prior = _PRIOR_HITS[length] * _PRIOR_WEIGHT
        return (self._hit[length] + prior) / (self._tried[length] + _PRIOR_WEIGHT)

    def longest(self) -> tuple[int, int | None]:
        """The length of the longest match of the context's end, and what followed it."""
        tail = tuple(self._context[-LONGEST_MATCH:])
        for length in range(len(tail), 0, -1):
            token = self._next[length].get(tail[len(tail) - length :])
            if token is not None:
                return length, token
        return 0, None

    def guesses(self, path: Path) -> dict[int, float]:
        """Tokens that followed where the context's end and `path` stood before, longest first."""
        tail = (*self._context[-LONGEST_MATCH:], *path)[-LONGEST_MATCH:]
        found: dict[int, float] = {}
        left = 1.0
        for length in range(len(tail), 0, -1):
            token = self._next[length].get(tail[len(tail) - length :])
            if token is not None and token not in found:
                found[token] = left * self.hit_rate(length)
                left -= found[token]
        return found


@dataclass(frozen=True)
class KatzTable:
    """The likeliest continuations of one to three ids under a Katz back-off model.

    `keys`: sorted `[M]` uint64, one for each context, see `key`; `tokens`, `probabilities`:
    `[M, K]`, best first, probability 0 where there are fewer.
    """

    keys: NDArray[np.uint64]
    tokens: NDArray[np.uint16]
    probabilities: NDArray[np.float16]

    @staticmethod
    def key(context: Sequence[int]) -> int:
        """The number of a context of up to three ids: 20 bits an id, the last one lowest."""
        number = 0
        for token in context:
            number = (number << KEY_BITS) + token + 1
        return number

    @cached_property
    def _sorted(self) -> array[int]:
        # For one look-up at a time bisect is several times quicker than numpy.
        return array("Q", self.keys.tobytes())

    def guesses(self, tail: Sequence[int]) -> list[tuple[int, float]]:
        """Continuations of the longest known end of `tail`, of up to three ids; best first."""
        known = self._sorted
        key = self.key(tail[-LONGEST_CONTEXT:])
        for length in range(min(len(tail), LONGEST_CONTEXT), 0, -1):
            key &= (1 << KEY_BITS * length) - 1
            at = bisect_left(known, key)
            if at < len(known) and known[at] == key:
                pairs = zip(self.tokens[at].tolist(), self.probabilities[at].tolist(), strict=True)
                return [(token, chance) for token, chance in pairs if chance > 0]
        return []


class TableTrust:
    """A table, trusted as far as the answer at hand bears it out: hits over the chances it gave.

    Text unlike what the table was counted on makes its guesses too sure of themselves. A memo of
    the answer: the same answer gives the same trust.
    """

    def __init__(self, table: KatzTable) -> None:
        self._table = table
        self._forget(())

    def _forget(self, prompt: Sequence[int]) -> None:
        self._read = list(prompt)
        self._num_prompt = len(prompt)
        self._given = self._hit = _TRUST_WEIGHT

    def update(self, context: Sequence[int], num_prompt: int) -> None:
        """Turn to `context`, of which the first `num_prompt` ids are nobody's guess."""
        known = len(self._read)
        if num_prompt != self._num_prompt or list(context[:known]) != self._read:
            self._forget(context[:num_prompt])
            known = num_prompt
        for at in range(known, len(context)):
            for token, chance in self._table.guesses(context[max(0, at - LONGEST_CONTEXT) : at]):
                self._given += chance
                self._hit += token == context[at]
        self._read += context[known:]

    @property
    def factor(self) -> float:
        """What to multiply the table's chances by, at most 1."""
        return min(1.0, self._hit / self._given)

    def guesses(self, tail: Sequence[int]) -> list[tuple[int, float]]:
        """The table's continuations of `tail`, their chances scaled."""
        factor = self.factor
        return [(token, factor * chance) for token, chance in self._table.guesses(tail)]


class NGram:
    """Both sources as one: the context's matches first, the table for what they leave.

    Either can be left out: `table` None, or `is_matching` false. `calibration`: what the chances of
    both are worth under noise.
    """

    def __init__(
        self,
        table: KatzTable | None,
        *,
        is_matching: bool = True,
        calibration: Calibration = UNCALIBRATED,
    ) -> None:
        self._calibration = calibration
        self._table = None if table is None else TableTrust(table)
        self._is_matching = is_matching
        self._matches = ContextMatches()
        self._context: Sequence[int] = ()
        self._request: Request | None = None

    def read(self, context: Sequence[int]) -> None:
        """Learn `context`; what is known of its beginning is not learned again."""
        if self._is_matching:
            self._matches.update(context)

    def turn_to(self, context: Sequence[int], request: Request) -> None:
        """Get ready to guess after `context`."""
        self.read(context)
        if self._table is not None:
            self._table.update(context, len(request.prompt))
        self._context = context
        self._request = request

    def guesses(self, path: Path) -> list[Guess]:
        """Likely next tokens after the context and `path`, best first."""
        found = self._matches.guesses(path) if self._is_matching else {}
        left = 1.0 - sum(found.values())
        if self._table is not None and left > 0:
            tail = (*self._context[-LONGEST_CONTEXT:], *path)[-LONGEST_CONTEXT:]
            for token, chance in self._table.guesses(tail):
                found[token] = found.get(token, 0.0) + left * chance
        position = len(self._context) + len(path)
        chances = self._given_noise(found, position)
        ranked = sorted(chances.items(), key=lambda item: (-item[1], item[0]))
        return [Guess(token, chance, "ngram") for token, chance in ranked]

    def _given_noise(self, found: dict[int, float], position: int) -> dict[int, float]:
        """The chance that each token wins at `position` now that its noise is known."""
        assert self._request is not None
        sampling, seed = self._request.sampling, self._request.seed
        if sampling.is_greedy:
            return found
        return {
            token: self._calibration.given_noise(
                sampling.temperature, chance, noise.uniform_of(seed, position, token)
            )
            for token, chance in found.items()
        }


class NGramProposer:
    """Prompt lookup and the Katz table as a proposer of their own: the method `lookup`."""

    def __init__(self, ngram: NGram, limits: Limits, pricing: Pricing | None, meter: Meter) -> None:
        self._ngram = ngram
        self._limits = limits
        self._pricing = pricing
        self._meter = meter

    def prefill(self, context: Sequence[int]) -> Iterator[None]:
        """Read the prompt."""
        self._ngram.read(context)
        yield

    def propose(self, context: Sequence[int], request: Request, max_depth: int) -> TokenTree:
        """The likeliest continuations, as many as are worth their price."""
        with self._meter.time("ngram"):
            self._ngram.turn_to(context, request)
            limits = replace(self._limits, max_depth=min(self._limits.max_depth, max_depth))
            if self._pricing is None:
                grown = grow(self._ngram.guesses, limits)
            else:
                costs = self._pricing.target
                grown = grow_priced(self._ngram.guesses, limits, costs, 0.0).candidates
        return as_tree(context[-1], grown)
