"""The draft stage: a small model that grows the target's tree, helped by the N-gram below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ssd.calibration import UNCALIBRATED, Calibration
from ssd.cost import Pricing
from ssd.grow import (
    BEST_CHILD,
    Candidate,
    Guess,
    Guesses,
    Limits,
    Path,
    Priced,
    as_tree,
    grow,
    grow_priced,
)
from ssd.guesses import RowReader, merged
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.ngram import NGram
from ssd.request import Request
from ssd.tree import NO_PARENT, TokenTree
from ssd.trust import DraftTrust, Expectation

# What verifying a further proposal costs beside the N-gram's, in units of a row of the target: not
# every row that is read leads to one. On twelve prompts of no suite, priced as with AVX2, staged
# gained 1 % by it; a chain gained nothing and pays nothing.
_VERIFIED = 0.5


@dataclass(frozen=True)
class DraftPolicy:
    """How a draft stage guesses.

    `branching`: children considered per node, 1 for a chain. `pricing`: None for a fixed tree of
    `limits`, whatever it costs. `is_merged`: whether the N-gram's guesses enter the target's tree
    too; else they only say which rows of the draft to compute ahead. `num_ahead`: how many of those
    a pass may hold without a price. `calibration`: what its guesses' shares are worth.
    """

    limits: Limits
    branching: int = 4
    pricing: Pricing | None = None
    is_merged: bool = False
    num_ahead: int = 8
    calibration: Calibration = UNCALIBRATED


@dataclass(frozen=True)
class DraftPass:
    """One pass of the draft: the rows that growth wanted, and those read ahead for the N-gram.

    `logits`: `[len(paths), V]`, over `head_ids` where the draft's head is a reduced one; those of
    `paths` that are not `wanted` were read ahead.
    """

    paths: tuple[Path, ...]
    wanted: frozenset[Path]
    logits: Tensor
    head_ids: NDArray[np.int64] | None


class DraftStage:
    """A proposer made of a draft model and, below it, the N-gram (the paper's second stage).

    Growth reads rows of the draft, memoised by path for one round. The N-gram foresees which rows
    will be read, so that one pass computes what would take several; it cannot change what a row
    says. With a fixed policy and nothing merged the tree is the same with and without it.
    """

    def __init__(
        self,
        draft: CachedModel,
        head_ids: Tensor | None,
        policy: DraftPolicy,
        ngram: NGram | None,
        meter: Meter,
        witness: Callable[[DraftPass], None] = lambda read: None,
    ) -> None:
        """`witness` is told of each pass, within the clock: let it take note, no more."""
        assert ngram is not None or not policy.is_merged
        self._draft = draft
        self._head_ids = None if head_ids is None else head_ids.cpu().numpy()
        self._policy = policy
        self._reader = RowReader(policy.branching, policy.calibration, self._head_ids)
        self._ngram = ngram
        self._meter = meter
        self._witness = witness
        self._trust = DraftTrust()

    def prefill(self, context: Sequence[int]) -> Iterator[None]:
        """Fill the draft's cache, if the context fits, and read the prompt into the N-gram."""
        if len(context) < self._draft.model.context_length:
            self._draft.keep(context)
            for _ in self._draft.fill():
                yield
        if self._ngram is not None:
            self._ngram.read(context)
            yield

    def propose(self, context: Sequence[int], request: Request, max_depth: int) -> TokenTree:
        """The likeliest paths under the draft, and under the N-gram where they are merged."""
        room = self._draft.model.context_length - len(context)
        limits = self._policy.limits
        limits = replace(limits, max_depth=min(limits.max_depth, max_depth, room))
        if limits.max_depth <= 0 or limits.num_nodes <= 0:
            return TokenTree.root_only(context[-1])
        self._draft.keep(context)
        if self._ngram is not None:
            with self._meter.time("ngram"):
                self._ngram.turn_to(context, request)
        self._trust.learn(context)
        growth = _Growth(self, context, request, limits)
        tree = as_tree(context[-1], growth.grown())
        self._trust.note(context, growth.expectations())
        return tree

    # The parts of a round, used by _Growth.

    def rows(
        self, paths: Sequence[Path], wanted: Sequence[Path], number: dict[Path, int], root: int
    ) -> Tensor:
        """The draft's logits after each of `paths`, from one pass; parents come first.

        `wanted`: those of `paths` that growth asked for.
        """
        tokens = [path[-1] if path else root for path in paths]
        for path in paths:
            number[path] = len(number)
        parents = [number[path[:-1]] if path else NO_PARENT for path in paths]
        logits = self._draft.extend(tokens, parents)
        self._witness(DraftPass(tuple(paths), frozenset(wanted), logits, self._head_ids))
        return logits

    @property
    def num_pending(self) -> int:
        """How many settled ids the draft has not read: its next pass computes them too."""
        return self._draft.num_pending

    @property
    def reader(self) -> RowReader:
        """What turns rows into guesses."""
        return self._reader

    @property
    def policy(self) -> DraftPolicy:
        """How this stage guesses."""
        return self._policy

    @property
    def meter(self) -> Meter:
        """The lane's clock."""
        return self._meter

    @property
    def trust(self) -> float:
        """What the answer at hand makes of an expected gain."""
        return self._trust.factor

    @property
    def ngram(self) -> NGram | None:
        """The stage below."""
        return self._ngram


class _Growth:
    """One round's growth: rows read so far, and the tree that they make."""

    def __init__(
        self, stage: DraftStage, context: Sequence[int], request: Request, limits: Limits
    ) -> None:
        self._stage, self._context, self._request, self._limits = stage, context, request, limits
        self._number: dict[Path, int] = {}
        self._drafted: dict[Path, list[Guess]] = {}
        self._foreseen: dict[Path, list[Guess]] = {}
        self._known: dict[Path, list[Guess]] = {}
        self._spent_s = 0.0

    def grown(self) -> list[Candidate]:
        """The final tree: draft passes until no unread row could matter or is worth a pass."""
        pricing = self._stage.policy.pricing
        while True:
            if pricing is None:
                candidates = grow(self._guesses, self._limits)
                rows = self._with_foresight(self._unread(candidates))
            else:
                priced = grow_priced(self._guesses, self._limits, pricing.target, self._spent_s)
                candidates = priced.candidates
                rows = self._worth_a_pass(priced, pricing)
            if not rows:
                return candidates
            self._read(rows)

    def _unread(self, candidates: list[Candidate]) -> list[Path]:
        """The paths whose children, once read, might replace one of the candidates."""
        is_full = len(candidates) >= self._limits.num_nodes
        floor = candidates[-1].probability if is_full else 0.0
        chances = self._unread_chances(candidates)
        return [path for path, chance in chances.items() if chance * BEST_CHILD >= floor]

    def _unread_chances(self, candidates: list[Candidate]) -> dict[Path, float]:
        """The chance that each path is reached, of those whose children are not read yet."""
        chances = {(): 1.0} | {each.path: each.probability for each in candidates}
        return {
            path: chance
            for path, chance in chances.items()
            if path not in self._drafted and len(path) < self._limits.max_depth
        }

    def _worth_a_pass(self, priced: Priced, pricing: Pricing) -> list[Path]:
        """The likeliest unread paths, as many as one pass should read for the most gain, or none.

        A row gains what a first guess of the draft may bring where the N-gram has not spoken.
        """
        trust, size = self._stage.trust, len(priced.candidates)
        row_s = pricing.target.at(size + 2) - pricing.target.at(size + 1)
        share = _VERIFIED if self._stage.policy.is_merged else 0.0
        verifying = share * priced.tokens_per_second * max(0.0, row_s)
        chances = self._unread_chances(priced.candidates)
        unread = sorted(chances, key=lambda path: -chances[path])
        gain = most = 0.0
        num_worth, waiting = 0, self._stage.num_pending
        for number, path in enumerate(unread, start=1):
            gain += chances[path] * max(0.0, trust * self._expected_gain(path, pricing) - verifying)
            net = gain - priced.tokens_per_second * pricing.draft.at(number + waiting)
            if net > most:
                most, num_worth = net, number
        return sorted(unread[:num_worth], key=len)

    def _expected_gain(self, path: Path, pricing: Pricing) -> float:
        """The probability that a first proposal of the draft after `path` gains a token."""
        hopes = pricing.helped if self._stage.policy.is_merged else pricing.alone
        hope = hopes.greedy if self._request.sampling.is_greedy else hopes.noisy
        foreseen = sum(guess.probability for guess in self._foreseen_after(path))
        return hope * max(0.0, 1.0 - foreseen)

    def expectations(self) -> dict[Path, Expectation]:
        """What was expected of each row that was read, none without a price."""
        pricing = self._stage.policy.pricing
        if pricing is None:
            return {}
        found = {}
        for path, guesses in self._drafted.items():
            if guesses:
                token = guesses[0].token
                foreseen = {each.token: each.probability for each in self._foreseen_after(path)}
                worth = 1.0 - foreseen.get(token, 0.0)
                found[path] = Expectation(token, worth, self._expected_gain(path, pricing))
        return found

    def _with_foresight(self, unread: list[Path]) -> list[Path]:
        """The unread paths and the rows that the N-gram expects to be read after them."""
        ngram, policy = self._stage.ngram, self._stage.policy
        paths = dict.fromkeys(unread)
        if ngram is None or policy.num_ahead == 0:
            return unread
        with self._stage.meter.time("ngram"):
            for start in unread[:2]:
                depth = self._limits.max_depth - len(start) - 1
                ahead = grow(_after(ngram, start), Limits(policy.num_ahead, depth))
                for candidate in ahead:
                    path = (*start, *candidate.path)
                    if candidate.probability > 0.2 and path not in self._drafted:
                        paths[path] = None
        return sorted(paths, key=len)

    def _read(self, paths: list[Path]) -> None:
        """Read rows in one pass; those below a row that is not read yet the N-gram foresaw."""
        if (pricing := self._stage.policy.pricing) is not None:
            self._spent_s += pricing.draft.at(len(paths) + self._stage.num_pending)
        wanted = [path for path in paths if not path or path[:-1] in self._drafted]
        rows = self._stage.rows(paths, wanted, self._number, self._context[-1])
        for path, guesses in zip(paths, self._row_guesses(paths, rows), strict=True):
            self._drafted[path] = guesses
            self._known.pop(path, None)

    def _row_guesses(self, paths: list[Path], rows: Tensor) -> list[list[Guess]]:
        if self._request.sampling.is_greedy:
            return self._stage.reader.greedy(rows)
        positions = [len(self._context) + len(path) for path in paths]
        return self._stage.reader.noisy(rows, positions, self._request)

    def _guesses(self, path: Path) -> list[Guess]:
        if path not in self._known:
            self._known[path] = merged(self._drafted.get(path), self._foreseen_after(path))
        return self._known[path]

    def _foreseen_after(self, path: Path) -> list[Guess]:
        """The N-gram's guesses, where they are merged."""
        if not self._stage.policy.is_merged:
            return []
        if path not in self._foreseen:
            assert self._stage.ngram is not None
            with self._stage.meter.time("ngram"):
                self._foreseen[path] = self._stage.ngram.guesses(path)
        return self._foreseen[path]


def _after(ngram: NGram, start: Path) -> Guesses:
    """The N-gram's two best guesses after `start` and a path."""
    return lambda path: ngram.guesses((*start, *path))[:2]
