"""The numbers in the lessons, computed from the recorded runs that ship with the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compare.digest import Digests
from compare.metrics import decode_speedup, method_summary

_STAGED = "staged"


def curves(environment: Mapping[str, Any]) -> dict[str, list[tuple[int, float]]]:
    """Measured pass times of a record's `environment`: model -> (width, seconds), ascending."""
    measured = environment.get("pair", {}).get("pass_seconds", {})
    return {
        model: sorted((int(width), float(seconds)) for width, seconds in times.items())
        for model, times in measured.items()
    }


def facts(
    environment: Mapping[str, Any], digests: Digests, names: Mapping[str, str]
) -> dict[str, str]:
    """What the lessons may say of recorded runs, by name; a fact that they do not hold is absent.

    `names`: what a prompt is called, by its id.
    """
    found = _passes(environment)
    for method in digests.methods:
        found |= _totals(method, method_summary(environment, digests, method))
    return found | _extremes(digests, names)


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


def _extremes(digests: Digests, names: Mapping[str, str]) -> dict[str, str]:
    """The prompts on which staged decoding gained least and most."""
    ratios = decode_speedup(digests, _STAGED).by_prompt
    if len(ratios) < 2:
        return {}
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return {
        "least_speedup": f"{ratios[least]:.2f}",
        "least_prompt": names.get(least, least),
        "most_speedup": f"{ratios[most]:.2f}",
        "most_prompt": names.get(most, most),
    }
