"""Where a run ends, and what of its text is shown."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from ssd.decode import autoregressive, decode
from ssd.events import collect
from ssd.proposer import Replay
from ssd.request import Request
from ssd.stop import Stop, StopCheck, VisibleText
from tests.proposers import right_among_wrong
from tests.toy import ToyModel, lane_of

LETTERS = "abcdefghijkl"


class Letters:
    """A decoder whose ids are letters; `held` of them come late, as halves of characters do."""

    def __init__(self, held: int = 0) -> None:
        self._late = ""
        self._held = held

    def push(self, ids: Sequence[int]) -> str:
        """The letters that are not held back."""
        self._late += "".join(LETTERS[token] for token in ids)
        cut = max(0, len(self._late) - self._held)
        shown, self._late = self._late[:cut], self._late[cut:]
        return shown

    def flush(self) -> str:
        """The rest."""
        shown, self._late = self._late, ""
        return shown


def ids(text: str) -> list[int]:
    return [LETTERS.index(letter) for letter in text]


def visible(text: str, strings: Sequence[str] = (), stop: str = "", held: int = 0) -> list[str]:
    """The pieces that a run of `text` shows, token by token, then at its end."""
    shown = VisibleText(Letters(held), frozenset(ids(stop)), strings)
    return [*(shown.push([token]) for token in ids(text)), shown.flush()]


def test_text_streams_as_it_comes() -> None:
    assert visible("abc") == ["a", "b", "c", ""]


def test_the_end_token_and_what_follows_do_not_show() -> None:
    assert visible("ablcd", stop="l") == ["a", "b", "", "", "", ""]


def test_a_partial_match_is_held_back_until_decided() -> None:
    assert visible("abcabd", ["abd"]) == ["", "", "abc", "", "", "", ""]
    assert visible("aab", ["ab"]) == ["", "a", "", ""]
    assert visible("ab", ["abc"]) == ["", "", "ab"], "flushed at the end"


def test_a_partial_match_before_the_end_token_is_shown() -> None:
    assert "".join(visible("abl", ["abc"], stop="l")) == "ab"


def test_nothing_follows_a_stop_string_though_half_a_character_does() -> None:
    text = VisibleText(Letters(1), frozenset(), ["ab"])
    assert text.push(ids("abc")) == "" and text.is_closed
    assert text.flush() == ""


def test_the_earliest_of_several_strings_counts() -> None:
    assert "".join(visible("abcdef", ["de", "cd"])) == "ab"
    assert "".join(visible("abcdef", ["bcdx", "cd"])) == "ab"


def test_the_shown_text_is_the_text_up_to_the_first_stop_string() -> None:
    """All texts of three letters up to length 7, late decoding included, against plain find."""
    strings = ("ab", "bca", "aa")
    for size in range(8):
        for letters in itertools.product("abc", repeat=size):
            text = "".join(letters)
            starts = [(text.find(s) + len(s), text.find(s)) for s in strings if s in text]
            # The first to be complete ends the run; of two complete at once, the earlier start.
            expected = text[: min(starts)[1]] if starts else text
            for held in (0, 2):
                if held and starts:
                    continue  # what comes late may complete two strings at once
                assert "".join(visible(text, strings, held=held)) == expected, text
            pieces = visible(text, strings)
            for cut in range(len(pieces)):
                assert expected.startswith("".join(pieces[:cut])), "nothing is taken back"


def test_cut_counts_the_tokens_that_stand() -> None:
    stop = Stop(5, frozenset({7}), ("ab",), Letters)
    for tokens, expected in (
        ([2, 3], (2, None)),
        ([7, 1, 1], (1, "stop")),
        ([2, 7, 1], (2, "stop")),
        ([2, 3, 7], (3, "stop")),
        ([2, 0, 1, 4], (3, "stop")),
        ([2, 2, 2, 2, 2], (5, "length")),
        ([2, 2, 2, 2, 2, 7], (5, "length")),  # a stop beyond the budget
        ([2, 2, 2, 2, 7, 2], (5, "stop")),  # a stop inside it, at its very end
        ([2, 2, 2, 0, 1, 2], (5, "stop")),
        ([], (0, None)),
    ):
        assert StopCheck(stop).cut(tokens) == expected, tokens


def test_cut_remembers_over_rounds() -> None:
    check = StopCheck(Stop(6, frozenset(), ("abc",), Letters))
    assert check.cut([5, 0]) == (2, None) and check.num_left == 4
    assert check.cut([1]) == (1, None)
    assert check.cut([2, 9]) == (1, "stop")
    check = StopCheck(Stop(3))
    assert check.cut([1, 1]) == (2, None)
    assert check.cut([1, 1]) == (1, "length")


def answers(stop: Stop, request: Request, model: ToyModel, answer: Sequence[int]) -> list[object]:
    """(ids, reason) of the baseline and of runs whose paths settle many tokens a round."""
    request = Request(request.prompt, request.sampling, request.seed, stop)
    runs = [collect(autoregressive(lane_of(model), request))]
    for proposer in (
        Replay(answer, 3),
        Replay(answer, 15),
        right_among_wrong(answer, 3, model.vocab_size, 15),
    ):
        runs.append(collect(decode(lane_of(model), proposer, request)))
    return [(run.tokens, run.finish_reason) for run in runs]


def test_stops_inside_accepted_paths() -> None:
    """A stop id and a stop string at every place of the answer: first, middle, last of a path."""
    for seed in range(2):
        model = ToyModel(seed, context_length=100)
        plain = Request((1, 2, 3), stop=Stop(40))
        answer = collect(autoregressive(lane_of(model), plain)).tokens
        text = "".join(LETTERS[token] for token in answer)
        for place in range(40):
            token = answer[place]
            first = answer.index(token)
            expected = (answer[: first + 1], "stop")
            got = answers(Stop(40, frozenset({token})), plain, model, answer)
            assert got == [expected] * 4
            string = text[place : place + 3]
            end = text.find(string) + len(string)
            expected = (answer[:end], "stop")
            assert (
                answers(Stop(40, strings=(string,), new_stream=Letters), plain, model, answer)
                == [expected] * 4
            )


def test_never_more_than_the_maximum() -> None:
    model = ToyModel(9, context_length=100)
    plain = Request((1, 2, 3), stop=Stop(40))
    answer = collect(autoregressive(lane_of(model), plain)).tokens
    for limit in range(1, 20):
        assert answers(Stop(limit), plain, model, answer) == [(answer[:limit], "length")] * 4
        stop = Stop(limit, frozenset({answer[limit]}) - set(answer[:limit]))
        assert answers(stop, plain, model, answer) == [(answer[:limit], "length")] * 4


def test_a_match_never_reaches_into_the_prompt() -> None:
    model = ToyModel(2)
    prompt = tuple(random.Random(0).choices(range(12), k=5))
    answer = collect(autoregressive(lane_of(model), Request(prompt, stop=Stop(8)))).tokens
    string = LETTERS[prompt[-1]] + LETTERS[answer[0]]
    stop = Stop(8, strings=(string,), new_stream=Letters)
    run = collect(autoregressive(lane_of(model), Request(prompt, stop=stop)))
    inside = "".join(LETTERS[token] for token in answer).find(string)
    assert len(run.tokens) == (8 if inside < 0 else inside + 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_new_tokens": 0}, "max new tokens must be 1 or more, got 0"),
        ({"strings": ("",), "new_stream": Letters}, "at least one character"),
        ({"strings": ("a",)}, "need a text decoder"),
    ],
)
def test_a_bad_stop_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Stop(**options)  # type: ignore[arg-type]
