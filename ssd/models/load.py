"""A pair made ready on a device: weights, numerics, what this machine showed when it was probed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from ssd.calibration import Calibration
from ssd.cost import Pricing, default_clock, one_pass
from ssd.exact import NumericsKind, ProbeResult
from ssd.models import machine
from ssd.models.assets import ASSETS, DraftAsset, read_draft, read_katz
from ssd.models.checkpoint import Checkpoint, read_checkpoint
from ssd.models.device import choose_device, choose_dtype
from ssd.models.download import Progress, Report
from ssd.models.families import fingerprint, transformer
from ssd.models.fetch import default_cache, embedded_target, given_folder
from ssd.models.graphed import GraphedTransformer, graphed
from ssd.models.hub import hub_folder
from ssd.models.machine import Survey
from ssd.models.packed import in_integers, packed
from ssd.models.pairs import PAIRS, PairSpec
from ssd.models.precision import Choice, candidates, fastest, known_agreement
from ssd.models.probing import probed
from ssd.models.threads import use_threads
from ssd.models.timing import Stopwatch, cheapest, exact_over_plain, model_key, pass_costs
from ssd.models.traced import TracedTransformer, traced
from ssd.models.transformer import Transformer
from ssd.models.versions import versions
from ssd.ngram import KatzTable
from ssd.text import TextCodec

PRECISIONS = ("auto", "bf16", "fp32", "fp16", "int8", "int4")
NUMERICS = ("exact", "fast")

_INTEGER_BITS = {"int8": 8, "int4": 4}


@dataclass(frozen=True)
class Options:
    """Which pair, where, and computing how. Raises ValueError for an unknown value.

    `draft`: a folder that `ssd.train` made, in place of the pair's own draft and N-gram.
    """

    pair: str = "smollm2-135m"
    device: str = "auto"
    precision: str = "auto"
    numerics: str = "exact"
    threads: int | None = None
    model_dir: Path | None = None
    draft: Path | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("pair", self.pair, tuple(PAIRS)),
            ("precision", self.precision, PRECISIONS),
            ("numerics", self.numerics, NUMERICS),
        ):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise ValueError(f"threads must lie from 1 to 1024, got {self.threads}")


@dataclass(frozen=True)
class LoadedPair:
    """A target and its helpers, ready to decode. `description` is what a record says of them.

    `draft_folder`: where the draft was read from, a folder of ours or one of transformers'.
    """

    name: str
    folder: Path
    codec: TextCodec
    target: Transformer
    draft: Transformer
    katz: KatzTable | None
    pricing: Pricing
    calibration: Calibration
    clock: Callable[[], float]
    is_exact: bool
    description: dict[str, Any]
    draft_folder: Path = ASSETS
    library_dtype: torch.dtype = torch.float32
    """What other libraries compute in on the same weights: the target's dtype; where that has
    integer weights, the faster one here."""

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the target's weights."""
        return self.target.weights.embedding.dtype

    @property
    def device(self) -> torch.device:
        """Where both models are."""
        return self.target.weights.embedding.device


def load_pair(
    options: Options, report: Report = lambda progress: None, *, is_brief: bool = False
) -> LoadedPair:
    """The pair that `options` name, probed and priced on this machine.

    `is_brief`: measure a machine that is not known yet as long as a first answer needs, no longer;
    `refined` does the rest. Sets the number of threads that torch uses. Raises ValueError for what
    the options got wrong and ModelUnavailable where the model cannot be had; each message is one
    sentence.
    """
    device = choose_device(options.device)
    use_threads(options.threads)
    spec, cache = PAIRS[options.pair], default_cache()
    folder = _target_folder(spec, options, cache, report)
    report(Progress("loading the model", 0))
    kind = cast(NumericsKind, options.numerics)
    checkpoint = read_checkpoint(folder)
    survey = Survey(cache, report, is_brief)
    choice = _choice(checkpoint, device, survey) if options.precision == "auto" else None
    precision = options.precision if choice is None else choice.precision
    bare = target_in(checkpoint, precision, device)
    dtype = bare.weights.embedding.dtype
    target, probe_result = probed(bare, kind, survey)
    draft_folder = _draft_folder(spec, options, report)
    small, asset = _draft(draft_folder, bare, checkpoint.tensors.get("lm_head.weight"))
    clock = default_clock(device)
    stopwatch = Stopwatch(clock, one_pass(target), model_key(target), survey)
    draft = cheapest(graphed(small), stopwatch)
    pricing = Pricing(
        target=pass_costs(target, stopwatch),
        draft=pass_costs(draft, stopwatch),
        alone=asset.alone,
        helped=asset.helped,
    )
    is_integer = precision in _INTEGER_BITS
    rounds_attention = is_integer or dtype != torch.float32
    is_exact = kind == "exact" and probe_result.is_invariant and rounds_attention
    return LoadedPair(
        name=options.pair,
        folder=folder,
        codec=TextCodec.load(folder),
        target=target,
        draft=draft,
        katz=read_katz(draft_folder),
        pricing=pricing,
        calibration=asset.calibration,
        clock=clock,
        is_exact=is_exact,
        description=_description(options, target, draft)
        | {
            "precision": precision if is_integer else str(dtype).removeprefix("torch."),
            "choice": None if choice is None else choice.to_json(),
            "exact_over_plain": exact_over_plain(target, stopwatch),
        }
        | _measured(target, probe_result, pricing)
        | _worth(asset),
        draft_folder=draft_folder,
        library_dtype=choose_dtype("auto", device) if is_integer else dtype,
    )


def refined(pair: LoadedPair, report: Report) -> LoadedPair:
    """`pair` with what was measured briefly measured with care; `report` may raise to end that.

    A width that the longer probe finds not invariant is no longer used.
    """
    survey, kind = Survey(default_cache(), report), pair.target.numerics.kind
    target, probe_result = probed(pair.target, kind, survey)
    stopwatch = Stopwatch(pair.clock, one_pass(target), model_key(target), survey)
    pricing = replace(
        pair.pricing,
        target=pass_costs(target, stopwatch),
        draft=pass_costs(pair.draft, stopwatch),
    )
    return replace(
        pair,
        target=target,
        pricing=pricing,
        is_exact=pair.is_exact and probe_result.is_invariant,
        description=pair.description | _measured(target, probe_result, pricing),
    )


def target_in(checkpoint: Checkpoint, precision: str, device: torch.device) -> Transformer:
    """The model of `checkpoint` in a precision, not probed yet; `auto` is a dtype for the device.

    Raises ValueError where the model or the machine does not go with it.
    """
    bits = _INTEGER_BITS.get(precision)
    dtype = choose_dtype(precision, device) if bits is None else torch.float32
    model = transformer(checkpoint.config, checkpoint.tensors, dtype, device)
    return traced(graphed(packed(model)) if bits is None else in_integers(model, bits))


def _choice(checkpoint: Checkpoint, device: torch.device, survey: Survey) -> Choice | None:
    """What `auto` is on a CPU, None elsewhere."""
    if device.type != "cpu":
        return None
    published = transformer(checkpoint.config, checkpoint.tensors, torch.float32, device)
    agreement = known_agreement(fingerprint(published.weights))
    key = model_key(published, "precision")
    make = partial(target_in, checkpoint, device=device)
    return fastest(candidates(agreement), make, agreement, key, survey)


def _target_folder(spec: PairSpec, options: Options, cache: Path, report: Report) -> Path:
    given = given_folder(spec.target, options.model_dir)
    if given is not None:
        return given
    if spec.hub_id is None:
        return embedded_target(cache, report)
    return hub_folder(spec.hub_id, report)


def _draft_folder(spec: PairSpec, options: Options, report: Report) -> Path:
    if options.draft is not None or spec.draft is None:
        return options.draft or ASSETS
    name = spec.draft.split("/")[-1]
    folder = given_folder(name, options.model_dir, may_be_itself=False)  # that one is the target
    return folder or hub_folder(spec.draft, report)


def _draft(
    folder: Path, target: Transformer, head: Tensor | None
) -> tuple[Transformer, DraftAsset]:
    if not (folder / "config.json").is_file():
        return read_draft(folder, target, head)
    checkpoint = read_checkpoint(folder)
    embedding = target.weights.embedding
    model = transformer(checkpoint.config, checkpoint.tensors, embedding.dtype, embedding.device)
    return model, DraftAsset()


def _worth(asset: DraftAsset) -> dict[str, Any]:
    """By what guesses are weighed besides pass times."""
    hopes = {"alone": asdict(asset.alone), "helped": asdict(asset.helped)}
    return {"calibration": {"key": asset.calibration.digest, **hopes}}


def _measured(target: Transformer, found: ProbeResult, pricing: Pricing) -> dict[str, Any]:
    """What a record says of what was measured."""
    return {
        "probe": {
            "key": model_key(target, "exact"),
            "widths": list(found.invariant_widths),
            "rows": found.num_rows,
            "is_invariant": found.is_invariant,
        },
        "pass_seconds": {
            name: dict(zip(map(str, costs.widths), costs.seconds, strict=True))
            for name, costs in (("target", pricing.target), ("draft", pricing.draft))
        },
    }


def _description(options: Options, target: Transformer, draft: Transformer) -> dict[str, Any]:
    """What a record says of the pair and the machine."""
    embedding = target.weights.embedding
    return {
        "pair": options.pair,
        "device": str(embedding.device),
        "hardware": machine.hardware(embedding.device),
        "threads": torch.get_num_threads(),
        "numerics": options.numerics,
        "is_graphed": isinstance(target, GraphedTransformer),
        "is_traced": isinstance(target, TracedTransformer),
        "weights": {"target": fingerprint(target.weights), "draft": fingerprint(draft.weights)},
        "versions": versions(("torch", "transformers", "gradio", "numpy")),
    }
