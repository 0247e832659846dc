"""The lessons' numbers, from records that can be worked out on paper."""

from __future__ import annotations

from dataclasses import replace

from compare.digest import Digests
from compare.metrics import summary
from compare.page.lesson_facts import facts, named
from compare.page.shown import Shown
from compare.records import RunKey, RunRecord
from tests.records_by_hand import ENVIRONMENT, guessed, plain

TIMES = {
    "target": {"1": 0.010, "8": 0.012, "64": 0.030},
    "draft": {"1": 0.002, "8": 0.003},
}


def shown(prompt: str, seconds_a_token: float) -> Shown:
    """One prompt whose baseline takes so long a token; staged takes a second for all six."""
    runs: list[RunRecord] = [
        plain((1, 2, 3, 4, 5, 6), RunKey("autoregressive", prompt), seconds_a_token),
        guessed(RunKey("staged", prompt)),
    ]
    pair = {"hardware": "abacus", "pass_seconds": TIMES}
    environment = {**ENVIRONMENT, "pair": pair}
    lines = [run.to_json() for run in runs]
    return Shown(environment, lines, (), summary(environment, Digests.of(runs)), {}, name=prompt)


def test_facts_are_those_of_the_runs() -> None:
    found = named(facts([shown("a", 0.5), shown("b", 0.1)]), {"b": "the second"})
    assert found["machine"] == "abacus"
    assert (found["ms_1"], found["ratio_8"], found["ratio_64"]) == ("10.0", "1.20", "3.0")
    assert found["gain_8"] == "6.7" and found["draft_share"] == "20 %"
    assert found["staged_tokens_per_pass"] == "3.00" and found["staged_draft_passes"] == "6"
    assert found["a_staged_speedup"] == "3.00" and found["b_staged_speedup"] == "0.60"
    assert (found["least_speedup"], found["least_prompt"]) == ("0.60", "the second")
    assert (found["most_speedup"], found["most_prompt"]) == ("3.00", "a")


def test_totals_leave_out_runs_under_other_settings() -> None:
    first, other = shown("a", 0.5), shown("b", 0.5)
    other = replace(other, environment={**other.environment, "settings": {"temperature": 1.0}})
    assert facts([first, other])["staged_draft_passes"] == "3"


def test_what_is_not_known_is_absent() -> None:
    bare = shown("a", 0.5)
    bare = replace(bare, environment={**ENVIRONMENT, "pair": {"pair": "toy"}})
    found = facts([bare])
    assert not {"ms_1", "draft_share", "machine", "least_speedup"} & found.keys()
    assert facts([]) == {}
