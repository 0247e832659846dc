"""The keyed rule's law, exactly: every choice function of a toy, for every kind of proposer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from ssd.decode import Lane, Rule, autoregressive, decode
from ssd.draft import DraftPolicy, DraftStage
from ssd.events import collect
from ssd.grow import Limits
from ssd.meter import Meter
from ssd.model import CachedModel
from ssd.ngram import NGram, NGramProposer
from ssd.proposer import Proposer, Silent
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from ssd.tree import NO_PARENT, ROOT, TokenTree
from ssd.verify import Verdict, verify
from tests.proposers import Guesser
from tests.test_rejection import TARGETS, Law, LawOf, Text, law_of, own_law
from tests.test_sampling import chi_square_bound
from tests.toy import ToyModel, lane_of

PROMPT = (1, 2)
NUM_TOKENS = 5
UNIFORM: Law = (Fraction(1, 2), Fraction(1, 2))


class Choices:
    """A choice function, prefix -> token, decided where it is looked at.

    `every` goes through all ways to decide: each is the set of the choice functions that agree
    where the run looked, and its weight, the product of their chances there, is that set's mass.
    """

    def __init__(self, law: LawOf, script: Sequence[int]) -> None:
        self._law = law
        self._script = script
        self.made: dict[Text, int] = {}
        self.weight = Fraction(1)
        self.rests: list[list[int]] = []

    def __call__(self, text: Sequence[int]) -> int:
        """The token after `text`, the prompt not counted."""
        key = tuple(text)
        if key not in self.made:
            law = self._law(key)
            options = [token for token, part in enumerate(law) if part]
            number = len(self.made)
            token = self._script[number] if number < len(self._script) else options[0]
            self.rests.append([other for other in options if other > token])
            self.made[key] = token
            self.weight *= law[token]
        return self.made[key]

    @staticmethod
    def every(law: LawOf, run: Callable[[Choices], Text]) -> Iterator[tuple[Text, Choices]]:
        """What `run` gives for each way to decide."""
        scripts: list[list[int]] = [[]]
        while scripts:
            script = scripts.pop()
            choices = Choices(law, script)
            yield run(choices), choices
            made = list(choices.made.values())
            for number in range(len(script), len(made)):
                scripts += [[*made[:number], other] for other in choices.rests[number]]


def chosen(choices: Choices) -> Rule:
    """The keyed rule with `choices` in place of the noise."""

    def rule(tree: TokenTree, logits: Tensor, context: Sequence[int], request: Request) -> Verdict:
        text = tuple(context[len(PROMPT) :])
        return verify(tree, lambda node: choices((*text, *tree.path_tokens(node))))

    return rule


def tree_of(context: Sequence[int], paths: Sequence[Text], depth: int) -> TokenTree:
    """The tree that holds `paths`, none deeper than `depth`."""
    nodes: dict[Text, int] = {(): 0}
    tokens, parents = [context[-1]], [NO_PARENT]
    for path in paths:
        for end in range(1, min(len(path), depth) + 1):
            if path[:end] not in nodes:
                nodes[path[:end]] = len(tokens)
                tokens.append(path[end - 1])
                parents.append(nodes[path[: end - 1]])
    origins = ("target", *("draft" for _ in tokens[1:]))
    return TokenTree(tuple(tokens), tuple(parents), origins)  # type: ignore[arg-type]


def chain(choices: Choices) -> Proposer:
    return Guesser(lambda context, request, depth: tree_of(context, [(0, 1, 2)], depth))


def bushy(choices: Choices) -> Proposer:
    paths = [(0, 0), (0, 1), (1,), (2, 2, 1)]
    return Guesser(lambda context, request, depth: tree_of(context, paths, depth))


def adversarial(choices: Choices) -> Proposer:
    """Another tree after each text: proposes a token again only where it was not just settled."""

    def tree(context: Sequence[int], request: Request, depth: int) -> TokenTree:
        last = context[-1]
        others = [token for token in range(3) if token != last]
        return tree_of(context, [(a, b, last) for a in others for b in others], depth)

    return Guesser(tree)


def peeking(choices: Choices) -> Proposer:
    """Looks up what the target will settle on, along the true text and where it never comes."""

    def tree(context: Sequence[int], request: Request, depth: int) -> TokenTree:
        text = tuple(context[len(PROMPT) :])
        right = choices(text)
        wrong = (right + 1) % 3
        return tree_of(
            context, [(wrong, choices((*text, wrong))), (right, choices((*text, wrong)))], depth
        )

    return Guesser(tree)


def favouring(choices: Choices) -> Proposer:
    """Proposes the true next token only where it is 0: a bias, if trees could make one."""

    def tree(context: Sequence[int], request: Request, depth: int) -> TokenTree:
        is_wanted = choices(tuple(context[len(PROMPT) :])) == 0
        return tree_of(context, [(0, 0, 0)] if is_wanted else [(0,)], depth)

    return Guesser(tree)


def silent(choices: Choices) -> Proposer:
    return Silent()


def lookup(choices: Choices) -> Proposer:
    return NGramProposer(NGram(None), Limits(5, 3), None, Meter())


def drafting(choices: Choices) -> Proposer:
    meter = Meter()
    draft = CachedModel(ToyModel(1, vocab_size=3), "draft", meter)
    return DraftStage(draft, None, DraftPolicy(Limits(6, 3), branching=2), None, meter)


def staged(choices: Choices) -> Proposer:
    meter = Meter()
    draft = CachedModel(ToyModel(1, vocab_size=3), "draft", meter)
    policy = DraftPolicy(Limits(6, 3), branching=2, is_merged=True)
    return DraftStage(draft, None, policy, NGram(None), meter)


PROPOSERS = [silent, chain, bushy, adversarial, peeking, favouring, lookup, drafting, staged]


@pytest.mark.parametrize("proposer", PROPOSERS)
def test_the_law_is_the_targets_over_several_rounds(
    proposer: Callable[[Choices], Proposer],
) -> None:
    p = law_of(TARGETS, 0)
    target = ToyModel(0, vocab_size=3)
    rounds = Counter[int]()

    def run(choices: Choices) -> Text:
        lane = lane_of(target, rule=chosen(choices))
        request = Request(PROMPT, stop=Stop(NUM_TOKENS))
        result = collect(decode(lane, proposer(choices), request))
        rounds[len(result.steps)] += 1
        text: Text = ()
        while len(text) < NUM_TOKENS:  # the text is the choice function's own path
            text = (*text, choices(text))
        assert result.tokens == text
        return result.tokens

    law: Counter[Text] = Counter()
    for text, choices in Choices.every(p, run):
        law[text] += choices.weight  # type: ignore[assignment]
    assert law == own_law(p, NUM_TOKENS)
    assert max(rounds) > 1


def test_the_enumeration_goes_through_all_choice_functions() -> None:
    """Looking everywhere to depth 1 over two tokens: 2^3 functions, of mass 1."""

    def run(choices: Choices) -> Text:
        return choices(()), choices((0,)), choices((1,))

    seen = list(Choices.every(lambda text: UNIFORM, run))
    assert len({text for text, _ in seen}) == len(seen) == 8
    assert sum(choices.weight for _, choices in seen) == 1


def test_a_best_of_rows_rule_is_caught() -> None:
    """The negative control: a sample of its own in each row, and the longest match wins.

    Two equal tokens, both at depth 1 and both below the first: the first token comes out with
    157/256 in place of a half.
    """
    paths = [(a, b) for a in (0, 1) for b in (0, 1)]
    tree = tree_of([9], paths, 2)
    leaves = [node for node in range(len(tree)) if tree.depths[node] == 2]

    def run(choices: Choices) -> Text:
        best: Text = ()
        for leaf in leaves:
            node, settled = ROOT, []
            for step in tree.path(leaf):
                token = choices((leaf, *settled))  # a sample of this row alone
                settled.append(token)
                if tree.tokens[step] != token:
                    break
                node = step
            else:
                settled.append(choices((leaf, *settled)))
            del node
            if len(settled) > len(best):
                best = tuple(settled)
        return best[:1]

    law: Counter[Text] = Counter()
    for text, choices in Choices.every(lambda text: UNIFORM, run):
        law[text] += choices.weight  # type: ignore[assignment]
    assert sum(law.values()) == 1
    assert law[(0,)] == Fraction(157, 256)


def test_whole_runs_follow_the_law() -> None:
    """The real noise, end to end: chi-square over 1,500 seeds, by luck beyond it 1e-6."""
    sampling = Sampling(0.8, 3, 0.95, 1.2)
    target = ToyModel(6, vocab_size=4, scale=2.0)
    shaken = ToyModel(6, vocab_size=4, scale=2.0, wobble=1.0)
    law: dict[Text, float] = {(): 1.0}
    for _ in range(3):
        longer: dict[Text, float] = {}
        for text, mass in law.items():
            history = [*PROMPT, *text]
            scores = sampling.scores(torch.tensor(target.row(history)), history)
            for token, part in enumerate(sampling.probabilities(scores)):
                if part:
                    longer[(*text, token)] = mass * part
        law = longer
    num = 1500
    counts: Counter[Text] = Counter()
    for seed in range(num):
        request = Request(PROMPT, sampling, seed, Stop(3))
        meter = Meter()
        lane = Lane(CachedModel(target, "target", meter), meter)
        draft = CachedModel(shaken, "draft", meter)
        policy = DraftPolicy(Limits(6, 3), is_merged=True)
        run = collect(decode(lane, DraftStage(draft, None, policy, NGram(None), meter), request))
        counts[run.tokens] += 1
        if seed < 200:
            assert run.tokens == collect(autoregressive(lane_of(target), request)).tokens
    assert set(counts) <= set(law)
    statistic = sum((counts[t] - num * m) ** 2 / (num * m) for t, m in law.items())
    assert statistic < chi_square_bound(len(law) - 1)
