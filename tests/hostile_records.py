"""Records whose every text tries to break out of the page that shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compare.digest import Digests
from compare.records import RunKey, RunRecord
from compare.verdict_record import VerdictRecord
from tests.records_by_hand import ENVIRONMENT, edited, failed, guessed, plain

HOSTILE = (
    '<img src=x onerror=alert(1)></script><script>document.title="PWNED"</script><!-- '
    '${1+1} {{2}} `x` \\u0041 \'a\' "b" <a href="javascript:alert(2)">c</a> \u202e\x00\ud800 =1+1'
)
HOSTILE_ENVIRONMENT: dict[str, Any] = {
    **ENVIRONMENT,
    "command": ["run", HOSTILE],
    "commit": HOSTILE,
    "pair": {"pair": HOSTILE, "hardware": HOSTILE, HOSTILE: {HOSTILE: HOSTILE}},
    "suite": {"name": HOSTILE, "sha256": HOSTILE, "prompts": 2},
    HOSTILE: [HOSTILE],
}


def hostile_runs() -> list[RunRecord]:
    """Good, differing and failed runs, under hostile names."""
    reference = plain((1, 2, 3, 4, 5, 6), RunKey("autoregressive", HOSTILE))
    staged = guessed(RunKey("staged", HOSTILE))
    stranger = plain((1, 2, 9, 4, 5, 6), RunKey(HOSTILE, HOSTILE), 0.5)
    broken = replace(failed(RunKey("tree", HOSTILE)), error=HOSTILE)
    looping = plain((1, 2) * 20, RunKey("autoregressive", f"2 {HOSTILE}"))
    runs = [reference, staged, stranger, broken, looping]
    runs.append(plain((1, 2) * 20, RunKey("staged", f"2 {HOSTILE}"), 0.5))
    runs = [replace(run, text=HOSTILE, category=f"{HOSTILE} {n}") for n, run in enumerate(runs)]
    step = edited(runs[0].steps[0], entropy=(0.5,))  # type: ignore[arg-type]
    runs[0] = replace(runs[0], steps=(step, *runs[0].steps[1:]))  # type: ignore[arg-type]
    return runs


def hostile_digests() -> Digests:
    """The same as digests, with a hostile verdict."""
    runs = hostile_runs()
    return Digests.of([*runs, VerdictRecord(runs[1].key, "BUG", HOSTILE)])
