"""A pair made ready on a device: weights, numerics, what this machine showed when it was probed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache as cached
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from ssd.calibration import Calibration
from ssd.cost import Pricing, default_clock, measure, one_pass
from ssd.exact import CANDIDATE_WIDTHS, Numerics, NumericsKind, ProbeResult, probe
from ssd.model import Pass
from ssd.models import machine
from ssd.models.assets import ASSETS, DraftAsset, read_draft, read_katz
from ssd.models.checkpoint import Checkpoint, read_checkpoint
from ssd.models.device import choose_device, choose_dtype
from ssd.models.download import Progress, Report
from ssd.models.families import fingerprint, transformer
from ssd.models.fetch import default_cache, embedded_target, given_folder
from ssd.models.graphed import GraphedTransformer, graphed
from ssd.models.hub import hub_folder
from ssd.models.packed import in_integers, packed
from ssd.models.pairs import PAIRS, PairSpec
from ssd.models.timing import Stopwatch, cheapest, model_key, pass_costs
from ssd.models.traced import TracedTransformer, traced
from ssd.models.transformer import Transformer
from ssd.models.versions import versions
from ssd.ngram import KatzTable
from ssd.text import TextCodec

PRECISIONS = ("auto", "bf16", "fp32", "fp16", "int8", "int4")
NUMERICS = ("exact", "fast")

_FEW = 4  # rows, up to which widths are weighed against each other
_INTEGER_BITS = {"int8": 8, "int4": 4}
_CAREFUL = 12  # patience with them: what they cost is what every plain pass costs


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

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the target's weights."""
        return self.target.weights.embedding.dtype

    @property
    def device(self) -> torch.device:
        """Where both models are."""
        return self.target.weights.embedding.device


def load_pair(options: Options, report: Report = lambda progress: None) -> LoadedPair:
    """The pair that `options` name, probed and priced on this machine.

    Sets the number of threads that torch uses. Raises ValueError for what the options got wrong and
    ModelUnavailable where the model cannot be had; each message is one sentence.
    """
    device = choose_device(options.device)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    spec, cache = PAIRS[options.pair], default_cache()
    folder = _target_folder(spec, options, cache, report)
    report(Progress("loading the model", 0))
    kind = cast(NumericsKind, options.numerics)
    checkpoint = read_checkpoint(folder)
    bare = _target(checkpoint, options.precision, device)
    dtype = bare.weights.embedding.dtype
    target, probed = _probed(bare, kind, cache, report)
    draft_folder = _draft_folder(spec, options, report)
    small, asset = _draft(draft_folder, bare, checkpoint.tensors.get("lm_head.weight"))
    clock = default_clock(device)
    stopwatch = Stopwatch(clock, one_pass(target), model_key(target), cache, report)
    draft = cheapest(graphed(small), stopwatch)
    pricing = Pricing(
        target=pass_costs(target, stopwatch),
        draft=pass_costs(draft, stopwatch),
        alone=asset.alone,
        helped=asset.helped,
    )
    is_exact = kind == "exact" and probed.is_invariant and dtype != torch.float32
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
        description=_description(options, target, draft, probed, pricing) | _worth(asset),
        draft_folder=draft_folder,
    )


def _target(checkpoint: Checkpoint, precision: str, device: torch.device) -> Transformer:
    bits = _INTEGER_BITS.get(precision)
    dtype = choose_dtype(precision, device) if bits is None else torch.float32
    model = transformer(checkpoint.config, checkpoint.tensors, dtype, device)
    return traced(graphed(packed(model)) if bits is None else in_integers(model, bits))


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


def _probed(
    model: Transformer, kind: NumericsKind, cache: Path, report: Report
) -> tuple[Transformer, ProbeResult]:
    """`model` computing with the widths that the probe found invariant, and what it found.

    A small width that takes longer than a larger one is left out: its passes are padded further.
    """
    name = model_key(model, "exact")

    def fresh() -> dict[str, Any]:
        alone = cached(lambda width: model.with_numerics(Numerics("exact", (width,))))
        result = probe(
            lambda ids: _lonely_rows(alone(len(ids)), ids),
            model.vocab_size,
            report=lambda done, total: report(Progress("probing the kernels", done, total)),
        )
        return {"widths": list(result.invariant_widths), "rows": result.num_rows}

    found = machine.remembered(cache, "probe", name, fresh, _are_widths)
    result = ProbeResult(tuple(found["widths"]), found["rows"])
    if kind == "fast" or not result.is_invariant:
        return model.with_numerics(Numerics(kind, CANDIDATE_WIDTHS)), result
    exact = model.with_numerics(Numerics(kind, result.invariant_widths))

    def affordable() -> dict[str, Any]:
        few = tuple(width for width in result.invariant_widths if width <= _FEW)
        clock = default_clock(model.weights.embedding.device)
        slow = measure(exact, clock, few, _CAREFUL).overpriced
        return {"widths": [width for width in result.invariant_widths if width not in slow]}

    found = machine.remembered(cache, "widths", name, affordable, _are_widths)
    return model.with_numerics(Numerics(kind, tuple(found["widths"]))), result


def _are_widths(found: dict[str, Any]) -> bool:
    return len(found["widths"]) > 0 and all(width in CANDIDATE_WIDTHS for width in found["widths"])


def _lonely_rows(model: Transformer, ids: Sequence[int]) -> Tensor:
    """Logits of rows that see nothing but themselves, in one pass."""
    width = len(ids)
    tokens = torch.tensor(ids)
    rows = Pass(tokens, tokens % model.context_length, 0, 0, torch.eye(width, dtype=torch.bool))
    return model.forward(rows, model.new_cache(), width)


def _worth(asset: DraftAsset) -> dict[str, Any]:
    """By what guesses are weighed besides pass times."""
    hopes = {"alone": asdict(asset.alone), "helped": asdict(asset.helped)}
    return {"calibration": {"key": asset.calibration.digest, **hopes}}


def _description(
    options: Options,
    target: Transformer,
    draft: Transformer,
    probed: ProbeResult,
    pricing: Pricing,
) -> dict[str, Any]:
    """What a record says of the pair and the machine."""
    embedding = target.weights.embedding
    dtype = str(embedding.dtype).removeprefix("torch.")
    return {
        "pair": options.pair,
        "device": str(embedding.device),
        "hardware": machine.hardware(embedding.device),
        "threads": torch.get_num_threads(),
        "precision": options.precision if options.precision in _INTEGER_BITS else dtype,
        "numerics": options.numerics,
        "is_graphed": isinstance(target, GraphedTransformer),
        "is_traced": isinstance(target, TracedTransformer),
        "probe": {
            "key": model_key(target, "exact"),
            "widths": list(probed.invariant_widths),
            "is_invariant": probed.is_invariant,
        },
        "weights": {"target": fingerprint(target.weights), "draft": fingerprint(draft.weights)},
        "pass_seconds": {
            name: dict(zip(map(str, costs.widths), costs.seconds, strict=True))
            for name, costs in (("target", pricing.target), ("draft", pricing.draft))
        },
        "versions": versions(("torch", "transformers", "gradio", "numpy")),
    }
