"""The benchmark: its methods, the chain search, ratios, the paper's tables, the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compare import conduct
from compare.bench import (
    CHAINS,
    SAMPLINGS,
    Search,
    bench_methods,
    bench_text,
    label_of,
    ratios,
)
from compare.digest import Digests
from compare.methods import Bench, Task
from compare.metrics import summary
from compare.naming import check_methods
from compare.paper import PAPER, Row, our_row, paper_text
from compare.record_file import RecordReader
from compare.records import RunKey, RunRecord
from compare.settings import Settings
from tests.command_line import assert_refused, exit_code
from tests.records_by_hand import ENVIRONMENT, failed, plain
from tests.tiny_pair import tiny_pair

ANSWER = tuple(range(1, 41))
# Seconds a token, by method and prompt.
PACES = {
    "autoregressive": {"a": 1.0, "b": 1.0, "c": 1.0},
    "speculative:1": {"a": 0.8, "b": 0.8, "c": 0.8},
    "speculative:4": {"a": 0.5, "b": 0.4, "c": 2.0},
    "speculative": {"a": 0.9, "b": 0.9, "c": 0.9},
    "staged": {"a": 0.25, "b": 0.4, "c": 1.25},
    "hf-generate": {"a": 2.0, "b": 2.0, "c": 2.0},
}


def _runs() -> Iterator[RunRecord]:
    for method, paces in PACES.items():
        for prompt, pace in paces.items():
            yield plain(ANSWER, RunKey(method, prompt), pace)


def test_all_chains_and_baselines_meet_in_one_run() -> None:
    methods = bench_methods(CHAINS, has_baselines=True)
    assert check_methods(methods, lambda package: True) == methods
    assert methods[0] == "autoregressive" and {"speculative", "staged"} <= set(methods)
    assert [f"speculative:{n}" for n in range(1, 9)] == list(methods[1:9])
    assert {"hf-generate", "hf-assisted", "llama-cpp"} <= set(methods)
    assert not {"hf-generate", "llama-cpp"} & set(bench_methods((2,), has_baselines=False))


def test_the_best_chain_is_the_one_of_the_highest_median() -> None:
    search = Search.of(Digests.of(_runs()))
    assert search.medians == {
        "speculative:1": pytest.approx(1.25),
        "speculative:4": pytest.approx(2.0),
        "speculative": pytest.approx(1 / 0.9),
    }
    assert search.best == "speculative:4"
    assert "1 1.25x, 4 2.00x, adaptive 1.11x; the best: 4" in search.words()
    adaptive = [*_runs(), *(plain(ANSWER, RunKey("speculative", n), 0.1) for n in "abc")]
    search = Search.of(Digests.of(adaptive))
    assert (search.best, search.best_constant) == ("speculative", "speculative:4")
    assert {("staged", "speculative"), ("staged", "speculative:4")} <= set(
        ratios(Digests.of(adaptive))
    )
    nothing = Search.of(Digests.of([failed(RunKey("speculative:1", "a"))]))
    assert nothing.best is None and "no run of speculative" in nothing.words()


def test_ratios_are_paired_by_prompt() -> None:
    found = ratios(Digests.of(_runs()))
    assert list(found) == [
        ("staged", "autoregressive"),
        ("speculative:4", "autoregressive"),
        ("staged", "speculative:4"),
        ("autoregressive", "hf-generate"),
        ("staged", "hf-generate"),
    ]
    # By prompt: 2, 1, 1.6. The ratio of the medians would be 1.25.
    against = found["staged", "speculative:4"]
    assert (against["median"], against["min"]) == (pytest.approx(1.6), pytest.approx(1.0))
    assert found["staged", "autoregressive"]["min"] == pytest.approx(0.8)
    assert found["autoregressive", "hf-generate"]["median"] == pytest.approx(2.0)


def test_the_text_shows_the_search_the_ratios_and_where_it_does_not_pay() -> None:
    digests = Digests.of(_runs())
    text = bench_text(digests, summary(ENVIRONMENT, digests))
    assert "chain search" in text
    row = next(line for line in text.splitlines() if line.startswith("staged / speculative:4"))
    assert row.split()[3] == "1.60"
    assert "staged is slower than autoregressive on 1 of 3 prompts" in text
    assert "speculative:4 is slower than autoregressive on 1 of 3 prompts" in text
    worst = text[text.index("staged is slower") :].splitlines()[2]
    assert worst.startswith("c ") and "0.80x" in worst
    assert "host share of the decode time: autoregressive 0.0%, staged 0.0%" in text


def test_looping_answers_are_left_out_once_more() -> None:
    loop = replace(plain((5,) * 40, RunKey("staged", "d"), 0.01))
    reference = plain((5,) * 40, RunKey("autoregressive", "d"), 1.0)
    digests = Digests.of([*_runs(), reference, loop])
    text = bench_text(digests, summary(ENVIRONMENT, digests))
    row = next(x for x in text.splitlines() if x.startswith("staged / autoregressive"))
    assert row.split()[3] == "3.25" and row.split()[-1] == "2.50"


def test_settings_have_the_label_of_their_sampling() -> None:
    assert label_of(Settings()) == "greedy"
    assert label_of(Settings(temperature=1.0, top_k=50)) == "top-k-50"
    assert label_of(Settings(temperature=1.0)) is None
    assert label_of(Settings(top_p=0.9)) is None
    assert set(SAMPLINGS) == set(PAPER)


def test_the_papers_figures_are_the_papers() -> None:
    """Tables 1 and 2, and the 2.33, 1.46, 3.17 and 1.99 times that follow from them."""
    greedy, sampled = PAPER["greedy"], PAPER["top-k-50"]
    assert greedy.bandwidth == (1.0, 0.31, 0.23) and sampled.bandwidth == (1.0, 0.48, 0.35)
    assert greedy.speedups == pytest.approx((1.0, 2.33, 3.17), abs=0.005)
    assert sampled.speedups == pytest.approx((1.0, 1.46, 1.99), abs=0.005)


def test_our_row_takes_the_best_chain_as_speculative() -> None:
    digests = Digests.of(
        replace(run, bytes_read=int(4000 * run.seconds.target))  # type: ignore[union-attr]
        for run in _runs()
    )
    row = our_row("greedy", summary(ENVIRONMENT, digests)["methods"], "speculative:4")
    assert row == Row(
        "Deterministic",
        pytest.approx((1.0, 2.9 / 3, 1.9 / 3)),
        pytest.approx((1.0, 3 / 2.9, 3 / 1.9)),
    )
    text = paper_text({"greedy": row})
    assert "0.63" in text and "475.0" in text and "3.17" in text


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("--temperature 1", "--temperature"),
        ("--top-k 3", "--top-k"),
        ("--chain 3", "--chain"),
        ("--chains 1,auto", "whole numbers"),
        ("--chains x", "--chains"),
        ("--also magic", "magic"),
        ("--also staged", "more than once"),
        ("--chains 3,3", "more than once"),
        ("--chains 1000", "0 to 127"),
        ("--limit 0", "--limit"),
        ("--repeats 0", "--repeats"),
        ("--suite no-such-suite", "no suite"),
        ("--pair nobody", "pair"),
        ("--nodes 1000", "nodes"),
    ],
)
def test_a_bad_argument_is_one_line_and_nothing_is_written(
    options: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bench.jsonl"
    assert_refused(("bench", "--out", str(out), *options.split()), word, tmp_path, capsys)


def test_an_output_that_exists_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = tmp_path / "bench-top-k-50.jsonl"
    held.write_text("mine")
    assert exit_code("bench", "--out", str(tmp_path / "bench.jsonl")) == 2
    assert "exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [held.name] and held.read_text() == "mine"


@pytest.fixture
def with_tiny_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands load a tiny pair, and do not wait for what else runs on this machine."""
    pair = tiny_pair(tmp_path / "target")
    monkeypatch.setattr(conduct, "load", lambda options: pair)
    monkeypatch.setattr(conduct, "alone", nullcontext)


def _suite(folder: Path) -> str:
    prompts: list[dict[str, Any]] = [{"id": name, "text": name * 8} for name in ("one", "two")]
    path = folder / "suite.jsonl"
    path.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    return str(path)


@pytest.mark.usefixtures("with_tiny_pair")
def test_the_papers_tables_come_from_one_run_of_each_sampling_and_a_resume_adds_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (
        "bench", "--paper", "--suite", _suite(tmp_path), "--chains", "1,3", "--out",
        str(tmp_path / "b.jsonl"), "--max-new-tokens", "12",
    )  # fmt: skip
    assert exit_code(*asked) == 0
    printed = capsys.readouterr().out
    assert printed.count("chain search") == 2 and "Table 1" in printed and "Table 2" in printed
    files = [tmp_path / f"b-{label}.jsonl" for label in SAMPLINGS]
    for path, temperature in zip(files, (0.0, 1.0), strict=True):
        environment = RecordReader(path).environment()
        assert environment["settings"]["temperature"] == temperature
        assert environment["method_settings"]["speculative:3"] == {"chain": 3}
        runs = [line for line in RecordReader(path).lines() if isinstance(line, RunRecord)]
        assert len(runs) == 2 * len(environment["methods"]) == 10
        for run in runs:
            assert run.error is None
            if run.key.method == "speculative:3":
                chains = [len(step.tree) - 1 for step in run.steps]
                assert max(chains) == 3
        assert exit_code("verify", str(path)) == 0
    before = [path.read_bytes() for path in files]
    assert exit_code(*asked, "--resume") == 0
    assert [path.read_bytes() for path in files] == before


class Interrupted(Bench):
    """A workbench at which Ctrl-C is pressed before the second prompt's staged run."""

    def run(self, task: Task) -> RunRecord:
        """The record of the task."""
        if task.key == RunKey("staged", "two"):
            raise KeyboardInterrupt
        return super().run(task)


@pytest.mark.usefixtures("with_tiny_pair")
def test_ctrl_c_shows_what_is_there_and_the_rest_can_follow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (
        "bench", "--paper", "--suite", _suite(tmp_path), "--chains", "2", "--out",
        str(tmp_path / "b.jsonl"), "--max-new-tokens", "8",
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conduct, "Bench", Interrupted)
        assert exit_code(*asked) == 130
    printed = capsys.readouterr().out
    assert "staged / autoregressive" in printed and "Deterministic" in printed
    assert "b-greedy.jsonl" in printed and "b-top-k-50.jsonl" not in printed
    assert not (tmp_path / "b-top-k-50.jsonl").exists()
    assert exit_code(*asked, "--resume") == 0
    assert "Top-k" in capsys.readouterr().out


@pytest.mark.usefixtures("with_tiny_pair")
def test_what_cannot_run_here_is_left_out_with_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pair without a GGUF, or a machine without llama-cpp-python."""
    out = tmp_path / "b.jsonl"
    asked = ("--suite", _suite(tmp_path), "--chains", "2", "--out", str(out), "--limit", "1")
    assert exit_code("bench", *asked, "--max-new-tokens", "4", "--also", "staged:24") == 0
    assert "llama-cpp is left out: llama-cpp needs" in capsys.readouterr().err
    environment = RecordReader(tmp_path / "b-greedy.jsonl").environment()
    assert "llama-cpp" not in environment["methods"] and "hf-assisted" in environment["methods"]
    assert environment["methods"][-1] == "staged:24"
