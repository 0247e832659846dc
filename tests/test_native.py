"""The plain loop: our own, but in the numerics that everybody has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compare.methods import Bench, Task
from compare.records import RunKey
from ssd.exact import Numerics
from ssd.lanes import Guessing
from ssd.request import Request
from ssd.sampling import Sampling
from ssd.stop import Stop
from tests.tiny_pair import tiny_pair

REQUEST = Request((5, 6, 7, 5, 6, 7), Sampling(), 3, Stop(12))


def task(method: str, request: Request = REQUEST) -> Task:
    return Task(RunKey(method, "p"), "toy", request, Guessing())


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_it_is_the_autoregressive_loop_in_fast_numerics(tmp_path: Path, temperature: float) -> None:
    pair = tiny_pair(tmp_path / "target")
    request = replace(REQUEST, sampling=Sampling(temperature))
    fast = pair.target.with_numerics(Numerics("fast", pair.target.numerics.widths))
    expected = Bench(replace(pair, target=fast)).run(task("autoregressive", request))
    found = Bench(pair).run(task("native", request))
    assert found.error is None and found.token_ids == expected.token_ids
    assert found.key.method == "native" and found.logit_hashes == ()
    assert len(found.steps) == len(found.token_ids) == 12
    assert Bench(pair).settings_of("native") == {"numerics": "fast"}


def test_a_prompt_that_fills_the_context_is_a_failure(tmp_path: Path) -> None:
    pair = tiny_pair(tmp_path / "target")
    full = replace(REQUEST, prompt=(1,) * pair.target.context_length)
    assert "context" in (Bench(pair).run(task("native", full)).error or "")
