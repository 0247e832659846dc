"""A record file as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from compare.breakdown import distinct_share
from compare.digest import Digest, Digests
from compare.markup import visible
from compare.metrics import certificate, judges, ratios
from compare.step_record import ORIGINS, STAGES

Json = Mapping[str, Any]

_COLUMNS = (
    "method",
    "prompt_id",
    "category",
    "repeat",
    "error",
    "finish_reason",
    "prompt_tokens",
    "tokens",
    "prefill_s",
    *(f"{stage}_s" for stage in STAGES),
    "decode_s",
    "first_token_s",
    "tokens_per_second",
    "speedup",
    "end_to_end_speedup",
    "target_passes",
    "draft_passes",
    "draft_n",
    "draft_n_accepted",
    *(f"origin_{name}" for name in ORIGINS),
    "bytes_per_token",
    "entropy",
    "distinct_4_grams",
    "verdict",
    "logit_rows_equal",
    "first_difference",
)


def csv_text(environment: Json, digests: Digests) -> str:
    """One row a run, under a head; empty where a figure does not apply.

    Text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for run in digests.runs.values():
        writer.writerow(
            {key: _cell(value) for key, value in _row(environment, digests, run).items()}
        )
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        text = visible(value)
        return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
    return value


def _row(environment: Json, digests: Digests, run: Digest) -> dict[str, Any]:
    key = run.key
    row = {
        "method": key.method,
        "prompt_id": key.prompt_id,
        "category": run.category,
        "repeat": key.repeat,
        "error": run.error,
        "prompt_tokens": len(run.prompt_ids),
    }
    return row if run.error is not None else {**row, **_numbers(environment, digests, run)}


def _numbers(environment: Json, digests: Digests, run: Digest) -> dict[str, Any]:
    tokens, seconds = len(run.token_ids), run.seconds
    found = certificate(environment, digests, run) if judges(environment, run.key.method) else None
    speedup, end_to_end = ratios(digests, run) or (None, None)
    return {
        "finish_reason": run.finish_reason,
        "tokens": tokens,
        **{f"{name}_s": value for name, value in vars(seconds).items()},
        "decode_s": seconds.decode,
        "first_token_s": run.first_token,
        "tokens_per_second": tokens / seconds.decode if seconds.decode else None,
        "speedup": speedup,
        "end_to_end_speedup": end_to_end,
        "target_passes": run.target_passes,
        "draft_passes": run.draft_passes,
        "draft_n": run.nodes - run.target_passes,
        "draft_n_accepted": run.accepted.total(),
        **{f"origin_{name}": run.origins[name] for name in ORIGINS},
        "bytes_per_token": run.bytes_read / tokens if run.bytes_read and tokens else None,
        "entropy": run.entropy,
        "distinct_4_grams": distinct_share(run.token_ids),
        "verdict": None if found is None else found.verdict,
        "logit_rows_equal": None if found is None else found.rows_equal,
        "first_difference": None if found is None else found.parting,
    }
