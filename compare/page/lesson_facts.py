"""The numbers in the lessons, computed from the recorded runs that ship with the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compare.digest import Digests
from compare.metrics import decode_speedup, method_summary
from compare.naming import base_name
from compare.page.shown import Shown
from compare.plots_machine import curves
from compare.records import RunRecord

_STAGED = "staged"
_PROMPTS = ("least_prompt", "most_prompt")


def facts(recorded: Sequence[Shown]) -> dict[str, str]:
    """What the lessons may say of recorded runs, by name; a fact that they do not hold is absent.

    Totals are over the runs that share the first one's environment. A prompt is its id.
    """
    if not recorded:
        return {}
    environment = recorded[0].environment
    usual = [shown for shown in recorded if shown.environment == environment]
    digests = _digests(usual)
    found = _passes(environment)
    for method in digests.methods:
        found |= _totals(method, method_summary(environment, digests, method))
    return found | _by_prompt(_digests(recorded))


def named(found: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """The facts, their prompts called by `names`, where it has their ids."""
    prompts = {key: found[key] for key in _PROMPTS if key in found}
    return {**found, **{key: names.get(prompt, prompt) for key, prompt in prompts.items()}}


def _digests(recorded: Sequence[Shown]) -> Digests:
    return Digests.of(RunRecord.from_json(run) for shown in recorded for run in shown.records)


def _passes(environment: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    curve = curves(environment)
    target = dict(curve.get("target", []))
    if {1, 8, 64} <= target.keys():
        found["ms_1"] = f"{1000 * target[1]:.1f}"
        found["ratio_8"] = f"{target[8] / target[1]:.2f}"
        found["gain_8"] = f"{8 * target[1] / target[8]:.1f}"
        found["ratio_64"] = f"{target[64] / target[1]:.1f}"
    if 1 in target and curve.get("draft"):
        found["draft_share"] = f"{100 * curve['draft'][0][1] / target[1]:.0f} %"
    hardware = environment.get("pair", {}).get("hardware")
    if isinstance(hardware, str):
        found["machine"] = hardware
    return found


def _totals(method: str, values: Mapping[str, Any]) -> dict[str, str]:
    found = {f"{method}_draft_passes": str(values["draft_passes"])}
    if values["tokens_per_step"] is not None:
        found[f"{method}_tokens_per_pass"] = f"{values['tokens_per_step']:.2f}"
    if values["speedup"] is not None:
        found[f"{method}_speedup"] = f"{values['speedup']['median']:.2f}"
    if values["bytes_per_token"] is not None:
        found[f"{method}_mb_per_token"] = f"{values['bytes_per_token'] / 1e6:.0f}"
    return found


def _by_prompt(digests: Digests) -> dict[str, str]:
    """Speed-ups by prompt, and where staged decoding gained least and most."""
    found = {
        f"{prompt}_{base_name(method)}_speedup": f"{ratio:.2f}"
        for method in digests.methods
        for prompt, ratio in decode_speedup(digests, method).by_prompt.items()
    }
    ratios = decode_speedup(digests, _STAGED).by_prompt
    if len(ratios) < 2:
        return found
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return found | {
        "least_speedup": f"{ratios[least]:.2f}",
        "least_prompt": least,
        "most_speedup": f"{ratios[most]:.2f}",
        "most_prompt": most,
    }
