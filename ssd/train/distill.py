"""Distil a small draft from text that the target wrote.

The draft is a Llama of a few layers over the target's own embedding, which stays frozen and is not
stored with the draft; its head is the target's rows of the most frequent ids. It learns the
target's law at every place where lessons are given (`ssd.train.teach`), else the ids written there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ssd.models.assets import read_card, write_draft
from ssd.train.body import Draft, Material
from ssd.train.corpus import Batch
from ssd.train.loss import Aim, loss
from ssd.train.teach import Teaching

_SAVE_EVERY = 25
_REPORT_EVERY = 10


@dataclass(frozen=True)
class Settings:
    """How a draft is trained; stored beside it.

    `layers`: the target's layers that it starts from; `num_ids`: the rows of its head;
    `num_tokens`: ids to learn from in all; `minutes`: for how long at most, None for no bound;
    `decay_share`: over which last part of them the learning rate falls to 0.
    """

    layers: tuple[int, ...] = (0, 1, 28, 29)
    num_ids: int = 12288
    num_tokens: int = 6_000_000
    minutes: float | None = None
    batch_tokens: int = 8192
    lr: float = 2e-3
    decay_share: float = 0.5
    warmup_steps: int = 20
    seed: int = 0


def _optimizers(draft: Draft, settings: Settings) -> list[torch.optim.Optimizer]:
    matrices = [p for p in draft.parameters() if p.requires_grad and p.ndim == 2]
    vectors = [p for p in draft.parameters() if p.requires_grad and p.ndim == 1]
    return [
        torch.optim.Muon(
            matrices, lr=settings.lr, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(vectors, lr=settings.lr, weight_decay=0.0),
    ]


def _lr_factor(step: int, share: float, settings: Settings) -> float:
    warm = min(1.0, (step + 1) / settings.warmup_steps)
    left = (1 - share) / settings.decay_share
    return warm * min(1.0, max(left, 0.0))


@dataclass(frozen=True)
class Figures:
    """A draft on text held out: how often its first guess is the id that the target wrote there,
    and the loss in nats."""

    top1: float
    loss_nats: float


@dataclass
class Progress:
    """Where a training run stands."""

    step: int = 0
    seen: int = 0
    epoch: int = 0
    seconds: float = 0.0


class Trainer:
    """A training run in the folder `out`; goes on from its checkpoint where there is one.

    Raises ValueError where the material does not fit together.
    """

    def __init__(self, material: Material, settings: Settings, out: Path) -> None:
        torch.manual_seed(settings.seed)
        if material.teaching is not None:
            material.teaching.check(material.corpus)
        self._material, self._settings, self._out = material, settings, out
        self._training, self._held_out = material.corpus.split()
        self._draft = Draft(material, settings.layers, settings.num_ids)
        self._optimizers = _optimizers(self._draft, settings)
        self._progress = Progress()
        out.mkdir(parents=True, exist_ok=True)
        self._checkpoint = out / "checkpoint.pt"
        if self._checkpoint.exists():
            self._restore()

    def run(self, report: Callable[[str], None]) -> None:
        """Train to the end, store the draft and its card."""
        progress = self._progress
        while self._share < 1:
            rng = np.random.default_rng([self._settings.seed, progress.epoch, progress.step])
            for batch in self._training.batches(self._settings.batch_tokens, rng):
                nats, top1 = self._step(batch)
                if progress.step % _REPORT_EVERY == 0:
                    report(f"step {progress.step}  loss {nats:.3f}  top-1 {top1:.3f}  {self._pace}")
                if progress.step % _SAVE_EVERY == 0:
                    self._save()
                if self._share >= 1:
                    break
            progress.epoch += 1
            report(f"epoch {progress.epoch}  held out: {self.figures()}")
        figures = self.figures()
        report(f"done: {figures}")
        self._store(figures)

    @property
    def _share(self) -> float:
        """How much of the run is done: of its ids or of its time, whichever is further."""
        progress, settings = self._progress, self._settings
        by_ids = progress.seen / settings.num_tokens
        if settings.minutes is None:
            return by_ids
        return max(by_ids, progress.seconds / 60 / settings.minutes)

    @property
    def _pace(self) -> str:
        """Progress in words."""
        progress, share = self._progress, self._share
        left = progress.seconds / 60 * (1 / share - 1)
        speed = progress.seen / progress.seconds
        return f"{progress.seen / 1e6:.2f}M ids  {speed:.0f} ids/s  {left:.0f} min left"

    def _step(self, batch: Batch) -> tuple[float, float]:
        progress, settings = self._progress, self._settings
        start = time.monotonic()
        factor = _lr_factor(progress.step, self._share, settings)
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = settings.lr * factor
        value, hits, count = self._loss(batch, self._material.teaching)
        value.backward()
        for optimizer in self._optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        progress.step += 1
        progress.seen += count
        progress.seconds += time.monotonic() - start
        return value.item(), hits / count

    def _loss(self, batch: Batch, teaching: Teaching | None) -> tuple[Tensor, int, int]:
        """Loss, hits and places of a batch."""
        with torch.autocast("cpu", torch.bfloat16):
            hidden = self._draft(batch)
        if teaching is None:
            ids = batch.ids[batch.is_answer][:, None]
            chances = torch.ones(ids.shape)
        else:
            ids, chances = teaching.lesson(batch)
        value, hits = loss(hidden, self._draft.head, Aim.of(ids, chances, self._draft.to_column))
        return value, hits, len(ids)

    @torch.no_grad()
    def figures(self) -> Figures:
        """The draft on the ids of the text held out."""
        hits = total = 0
        nats = 0.0
        for batch in self._held_out.batches(self._settings.batch_tokens, np.random.default_rng(0)):
            value, right, count = self._loss(batch, None)
            hits, total, nats = hits + right, total + count, nats + value.item() * count
        return Figures(round(hits / total, 4), round(nats / total, 4))

    def _save(self) -> None:
        scratch = self._checkpoint.with_suffix(".tmp")
        state = {
            "draft": self._draft.body.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
            "settings": asdict(self._settings),
            "material": self._material.described,
            **asdict(self._progress),
        }
        torch.save(state, scratch)
        scratch.replace(self._checkpoint)

    def _restore(self) -> None:
        state = torch.load(self._checkpoint, weights_only=True)
        for name, now in (
            ("settings", asdict(self._settings)),
            ("material", self._material.described),
        ):
            if state.get(name) != now:
                raise ValueError(
                    f"expected a checkpoint of the same {name} in {self._out}, got "
                    f"{state.get(name)}: give the same options, or another --out"
                )
        self._draft.body.load_state_dict(state["draft"])
        for optimizer, stored in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(stored)
        self._progress = Progress(*(state[field.name] for field in fields(Progress)))

    def _store(self, figures: Figures) -> None:
        """Write the draft and its card in the form that `ssd.models.assets` reads."""
        config, material = self._draft.body.config, self._material
        state = self._draft.body.state_dict()
        tensors = {name: v.bfloat16() for name, v in state.items() if name != "embed_tokens.weight"}
        card = {
            "num_layers": config.num_hidden_layers,
            "context_length": config.max_position_embeddings,
            "epsilon": config.rms_norm_eps,
            "width": config.hidden_size,
            "vocab_size": config.vocab_size,
            "hope": round(figures.top1, 3),
            "training": {
                "target": material.target.name,
                "corpus": material.corpus.digest,
                "documents": len(material.corpus.length),
                "answer_ids": material.corpus.num_answer_ids,
                "lessons": 0 if material.teaching is None else material.teaching.num_taught,
                "start": None if material.start is None else _training(material.start),
                "settings": {**asdict(self._settings), "num_tokens": self._progress.seen},
                "held_out": asdict(figures),
            },
        }
        write_draft(self._out, {"head_ids": self._draft.head_ids.to(torch.int32), **tensors}, card)


def _training(folder: Path) -> dict[str, Any]:
    """How the draft in `folder` was trained."""
    training: dict[str, Any] = read_card(folder)["training"]
    return training
