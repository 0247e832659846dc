"""The numbers of `summary --json`, computed from records (DESIGN 8).

Beside the contract's keys a summary has

* `by_category`: the table of `methods` again for each category;
* `per_prompt`: for each method a row a prompt, the slowest first (`compare.breakdown.per_prompt`);
* `looping`: the prompts whose answer goes round in circles; `without_looping`: the table without
  them, null where there are none or nothing else;
* `plain_loop`: speed-ups over the plain autoregressive loop where the exact one is noticeably
  slower (`compare.plain_loop`), else null;
* `choice`: the precision that `auto` chose, and by what;
* `noise`: how far the repeats of one run lie apart (`compare.breakdown.noise`).

Rows of `acceptance_by_depth` have the 95 % Wilson interval, `low` and `high`, too.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare import breakdown
from compare.certificate import VERDICTS, Certificate, certify
from compare.digest import Digest, Digests
from compare.intervals import bootstrap, wilson
from compare.naming import BASELINES, REFERENCE, has_verdict
from compare.plain_loop import plain_loop, precision_choice
from compare.records import SCHEMA, RunKey
from compare.step_record import ORIGINS, Seconds

METRICS = (
    "prompts",
    "runs",
    "tokens",
    "tokens_per_second",
    "speedup",
    "end_to_end_speedup",
    "time_to_first_token",
    "target_passes",
    "draft_passes",
    "tokens_per_step",
    "nodes_per_step",
    "acceptance_rate",
    "acceptance_by_depth",
    "origins",
    "seconds",
    "bytes_per_token",
    "verdicts",
    "agrees",
    "logit_rows_equal",
    "error",
)

SHORT_ANSWER = 32


@dataclass(frozen=True)
class Ratio:
    """A speed-up by prompt: each prompt's median over repeats, and its answer's length."""

    by_prompt: Mapping[str, float]
    lengths: Mapping[str, int]

    def to_json(self) -> dict[str, float | None] | None:
        """Median over prompts, its 95 % bootstrap interval, and the least of the longer answers."""
        if not self.by_prompt:
            return None
        ratios = list(self.by_prompt.values())
        low, high = bootstrap(ratios)
        long = [x for name, x in self.by_prompt.items() if self.lengths[name] >= SHORT_ANSWER]
        return {
            "median": statistics.median(ratios),
            "low": low,
            "high": high,
            "min": min(long, default=None),
        }


def summary(environment: Mapping[str, Any], digests: Digests) -> dict[str, Any]:
    """All metrics of a record file, every key for every method."""
    stand_ins = breakdown.answers(digests)
    looping = breakdown.looping(stand_ins)
    others = digests.only(stand_ins.keys() - set(looping))
    ratios = {m: decode_speedup(digests, m).by_prompt for m in digests.methods}
    return {
        "schema": SCHEMA,
        "environment": dict(environment),
        "reference": REFERENCE if REFERENCE in digests.methods else None,
        "methods": _methods(environment, digests, digests.methods),
        "by_category": {
            category: _methods(environment, digests.only(prompts), digests.methods)
            for category, prompts in breakdown.categories(digests).items()
        },
        "per_prompt": {m: breakdown.per_prompt(stand_ins, ratios[m]) for m in digests.methods},
        "looping": list(looping),
        "without_looping": (
            _methods(environment, others, digests.methods) if looping and others.runs else None
        ),
        "noise": breakdown.noise(digests),
        "choice": precision_choice(environment),
        "plain_loop": plain_loop(
            environment,
            digests.methods,
            lambda method, over: decode_speedup(digests, method, over).by_prompt,
        ),
    }


def _methods(
    environment: Mapping[str, Any], digests: Digests, order: Sequence[str]
) -> dict[str, Any]:
    there = set(digests.methods)
    return {m: method_summary(environment, digests, m) for m in order if m in there}


def method_summary(environment: Mapping[str, Any], digests: Digests, method: str) -> dict[str, Any]:
    """The `METRICS` of one method. A failed run counts in `error` and nowhere else."""
    every = digests.of_method(method)
    runs = [run for run in every if run.error is None]
    values = {
        "prompts": len({run.key.prompt_id for run in runs}),
        "runs": len(runs),
        **_totals(runs),
        "speedup": decode_speedup(digests, method).to_json(),
        "end_to_end_speedup": speedup(digests, method, _end_to_end_ratio).to_json(),
        **_certainty(environment, digests, method, runs),
        "error": len(every) - len(runs),
    }
    if method in BASELINES:  # what they guessed in vain is not seen
        values |= dict.fromkeys(("nodes_per_step", "acceptance_rate", "acceptance_by_depth"))
    return {key: values[key] for key in METRICS}


def _totals(runs: Sequence[Digest]) -> dict[str, Any]:
    tokens = sum(len(run.token_ids) for run in runs)
    seconds = sum((run.seconds for run in runs), Seconds())
    passes = sum(run.target_passes for run in runs)
    tried = sum((run.tried for run in runs), Counter[int]())
    accepted = sum((run.accepted for run in runs), Counter[int]())
    origins = sum((run.origins for run in runs), Counter[str]())
    read = [run.bytes_read for run in runs if run.bytes_read is not None]
    depths = [_depth(depth, tried[depth], accepted[depth]) for depth in sorted(tried)]
    return {
        "tokens": tokens,
        "tokens_per_second": per(tokens, seconds.decode),
        "time_to_first_token": statistics.median(r.first_token for r in runs) if runs else None,
        "target_passes": passes,
        "draft_passes": sum(run.draft_passes for run in runs),
        "tokens_per_step": per(tokens, passes),
        "nodes_per_step": per(sum(run.nodes for run in runs), passes),
        "acceptance_rate": per(accepted.total(), tried.total()),
        "acceptance_by_depth": depths or None,
        "origins": {name: origins[name] for name in ORIGINS},
        "seconds": vars(seconds),
        "bytes_per_token": per(sum(read), tokens) if len(read) == len(runs) else None,
    }


def _depth(depth: int, tried: int, accepted: int) -> dict[str, Any]:
    low, high = wilson(accepted, tried)
    return {"depth": depth, "tried": tried, "accepted": accepted, "low": low, "high": high}


def per(amount: float, count: float) -> float | None:
    """`amount` over `count`, None where there is nothing to divide by."""
    return amount / count if count else None


def speedup(
    digests: Digests,
    method: str,
    ratio: Callable[[Digest, Digest], float],
    over: str = REFERENCE,
) -> Ratio:
    """The speed-up of a method over another by prompt, of runs of the same repeat."""
    by_prompt: defaultdict[str, list[float]] = defaultdict(list)
    lengths: dict[str, int] = {}
    for run in digests.of_method(method):
        reference = _counterpart(digests, run, over)
        if reference is not None:
            by_prompt[run.key.prompt_id].append(ratio(reference, run))
            lengths[run.key.prompt_id] = len(reference.token_ids)
    medians = {name: statistics.median(ratios) for name, ratios in by_prompt.items()}
    return Ratio(medians, lengths)


def ratios(digests: Digests, run: Digest) -> tuple[float, float] | None:
    """The decode and the end-to-end speed-up of one run, None where there is nothing to compare."""
    reference = _counterpart(digests, run, REFERENCE)
    if reference is None:
        return None
    return _decode_ratio(reference, run), _end_to_end_ratio(reference, run)


def _counterpart(digests: Digests, run: Digest, over: str) -> Digest | None:
    """The run of the same prompt and repeat, where both have an answer and a time."""
    found = digests.runs.get(RunKey(over, run.key.prompt_id, run.key.repeat))
    if found is None or not all(
        each.token_ids and each.seconds.decode > 0 for each in (found, run)
    ):
        return None
    return found


def decode_speedup(digests: Digests, method: str, over: str = REFERENCE) -> Ratio:
    """The speed-up of a method over another by prompt, prefill left out."""
    return speedup(digests, method, _decode_ratio, over)


def _scaled_decode(reference: Digest, run: Digest) -> float:
    """The run's decode time; where its answer has another length, brought to the reference's.

    Runs of the same answer, all of ours, have the same length.
    """
    return run.seconds.decode * len(reference.token_ids) / len(run.token_ids)


def _decode_ratio(reference: Digest, run: Digest) -> float:
    return reference.seconds.decode / _scaled_decode(reference, run)


def _end_to_end_ratio(reference: Digest, run: Digest) -> float:
    return reference.seconds.total / (run.seconds.prefill + _scaled_decode(reference, run))


def _certainty(
    environment: Mapping[str, Any], digests: Digests, method: str, runs: Sequence[Digest]
) -> dict[str, Any]:
    """Verdicts and equal logit rows of our methods; how many answers agree, of the others."""
    unknown = {"verdicts": None, "agrees": None, "logit_rows_equal": None}
    if REFERENCE not in digests.methods:
        return unknown
    pairs = [(digests.reference_of(run, REFERENCE), run) for run in runs]
    if not judges(environment, method):
        same = [ref.token_ids == run.token_ids for ref, run in pairs if ref is not None]
        return {**unknown, "agrees": sum(same)}
    found = [c for run in runs if (c := certificate(environment, digests, run)) is not None]
    counts = Counter(each.verdict for each in found)
    return {
        "verdicts": {name: counts[name] for name in VERDICTS},
        "agrees": None,
        "logit_rows_equal": [sum(c.rows_equal for c in found), sum(c.num_rows for c in found)],
    }


def judges(environment: Mapping[str, Any], method: str) -> bool:
    """Whether the method has verdicts in a run of these settings."""
    if method in BASELINES:
        return False
    return has_verdict(method, environment.get("settings", {}).get("temperature", 0.0))


def certificate(
    environment: Mapping[str, Any], digests: Digests, run: Digest
) -> Certificate | None:
    """The verdict on a run, None where its reference failed or is missing."""
    reference = digests.reference_of(run, REFERENCE)
    if reference is None or run.error is not None:
        return None
    is_exact = bool(environment.get("is_exact", False))
    return certify(reference, run, is_exact=is_exact, near_tie=digests.verdicts.get)
