"""The named pairs of a target and a draft."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PairSpec:
    """Where the two models of a pair come from.

    `target`: the name of its folder under the model directory. `hub_id`: where transformers' hub
    has it; None for the embedded one. `draft`: the hub's name of a whole model, or None for the
    draft that ships with this package.
    """

    target: str
    hub_id: str | None = None
    draft: str | None = None


PAIRS = {
    "smollm2-135m": PairSpec(target="SmolLM2-135M-Instruct"),
    "gpt2-large": PairSpec("gpt2-large", "openai-community/gpt2-large", "distilbert/distilgpt2"),
    "smollm2-1.7b": PairSpec(
        "SmolLM2-1.7B-Instruct",
        "HuggingFaceTB/SmolLM2-1.7B-Instruct",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
    ),
}
