"""Distil a small draft from text that the target wrote.

The draft is a Llama of a few layers over the target's own embedding, which stays frozen and is not
stored with the draft; its head is the target's rows of the most frequent ids. Trained on the ids
that the target emitted, so its softmax is a forecast of the target's choice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaModel

from ssd.models.assets import write_draft

_HELD_OUT = 0.05
_IGNORE = -100


@dataclass(frozen=True)
class Corpus:
    """Documents of token ids: `tokens` one after another, `length` and `prompt` ids a document."""

    tokens: np.ndarray
    length: np.ndarray
    prompt: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Corpus:
        """The corpus stored in an `.npz` file with the arrays `tokens`, `length` and `prompt`."""
        with np.load(path) as arrays:
            return cls(arrays["tokens"], arrays["length"], arrays["prompt"])

    def split(self) -> tuple[Corpus, Corpus]:
        """The training part, and the last 5 % of the documents for validation."""
        cut = int(len(self.length) * (1 - _HELD_OUT))
        at = int(self.length[:cut].sum())
        return (
            Corpus(self.tokens[:at], self.length[:cut], self.prompt[:cut]),
            Corpus(self.tokens[at:], self.length[cut:], self.prompt[cut:]),
        )

    def documents(self) -> Iterator[tuple[list[int], int]]:
        """Each document's ids, and how many of them are the prompt."""
        ends = self.length.cumsum()
        for end, length, prompt in zip(ends, self.length, self.prompt, strict=True):
            yield self.tokens[end - length : end].tolist(), int(prompt)

    def frequent_ids(self, count: int) -> np.ndarray:
        """The `count` most frequent ids, ascending."""
        frequency = np.bincount(self.tokens)
        return np.sort(np.argsort(-frequency, kind="stable")[:count])

    def batches(self, num_tokens: int, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Padded (ids, is_answer) of about `num_tokens` each, documents of like length together."""
        starts = self.length.cumsum() - self.length
        order = np.argsort(self.length + rng.uniform(0, 24, len(self.length)), kind="stable")
        groups: list[list[int]] = [[]]
        for index in order:
            if groups[-1] and self.length[index] * (len(groups[-1]) + 1) > num_tokens:
                groups.append([])
            groups[-1].append(int(index))
        for group in (groups[i] for i in rng.permutation(len(groups))):
            width = int(self.length[group].max())
            ids = np.zeros((len(group), width), dtype=np.int64)
            is_answer = np.zeros((len(group), width), dtype=bool)
            for row, index in enumerate(group):
                length = self.length[index]
                ids[row, :length] = self.tokens[starts[index] : starts[index] + length]
                is_answer[row, self.prompt[index] : length] = True
            yield torch.from_numpy(ids), torch.from_numpy(is_answer)


@dataclass(frozen=True)
class Settings:
    """How a draft is trained; stored beside it."""

    layers: tuple[int, ...] = (0, 1, 28, 29)
    num_ids: int = 12288
    num_tokens: int = 6_000_000
    batch_tokens: int = 8192
    lr: float = 2e-3
    decay_share: float = 0.5
    warmup_steps: int = 20
    seed: int = 0


class Draft(nn.Module):
    """The body of the draft and the two frozen pieces of the target that it borrows."""

    def __init__(self, target_dir: Path, settings: Settings, head_ids: np.ndarray) -> None:
        super().__init__()
        config = LlamaConfig.from_pretrained(target_dir)
        config.num_hidden_layers = len(settings.layers)
        weights = load_file(target_dir / "model.safetensors")
        embedding = weights["model.embed_tokens.weight"]
        self.to_row: Tensor
        self.head: Tensor
        self.body = LlamaModel(config)
        self.body.load_state_dict(_pruned(weights, settings.layers))
        self.body.embed_tokens.weight.requires_grad_(False)
        self.register_buffer("head", embedding[torch.from_numpy(head_ids)])
        to_row = torch.full((config.vocab_size,), _IGNORE)
        to_row[torch.from_numpy(head_ids)] = torch.arange(len(head_ids))
        self.register_buffer("to_row", to_row)

    def forward(self, ids: Tensor, is_answer: Tensor) -> tuple[Tensor, Tensor]:
        """Logits over the head's ids and the row to be guessed, at the places before an answer id.

        `ids`, `is_answer`: `[B, T]`. Returns `[M, head]`, `[M]`; a row that the head lacks is -100.
        """
        hidden = self.body(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
        chosen = is_answer[:, 1:]
        return hidden[chosen] @ self.head.to(hidden.dtype).T, self.to_row[ids[:, 1:][chosen]]


def _pruned(weights: dict[str, Tensor], layers: tuple[int, ...]) -> dict[str, Tensor]:
    kept = {f"layers.{old}.": f"layers.{new}." for new, old in enumerate(layers)}
    state = {}
    for name, value in weights.items():
        name = name.removeprefix("model.")
        if not name.startswith("layers."):
            state[name] = value
        for old, new in kept.items():
            if name.startswith(old):
                state[new + name.removeprefix(old)] = value.clone()
    return state


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


@torch.no_grad()
def agreement(draft: Draft, corpus: Corpus, batch_tokens: int) -> tuple[float, float]:
    """How often the draft's first guess is the next id of an answer, and the loss in nats."""
    hits = total = 0
    loss = 0.0
    for ids, is_answer in corpus.batches(batch_tokens, np.random.default_rng(0)):
        with torch.autocast("cpu", torch.bfloat16):
            logits, rows = draft(ids, is_answer)
        hits += int((logits.argmax(-1) == rows).sum())
        total += len(rows)
        loss += float(F.cross_entropy(logits.float(), rows, reduction="sum", ignore_index=_IGNORE))
    return hits / total, loss / total


@dataclass
class Progress:
    """Where a training run stands."""

    step: int = 0
    seen: int = 0
    epoch: int = 0


class Trainer:
    """A training run in the folder `out`; goes on from its checkpoint where there is one."""

    def __init__(self, target_dir: Path, corpus: Corpus, settings: Settings, out: Path) -> None:
        torch.manual_seed(settings.seed)
        self._training, self._held_out = corpus.split()
        self._settings, self._out = settings, out
        head_ids = self._training.frequent_ids(settings.num_ids)
        self._draft = Draft(target_dir, settings, head_ids)
        self._optimizers = _optimizers(self._draft, settings)
        self._progress = Progress()
        out.mkdir(parents=True, exist_ok=True)
        self._checkpoint = out / "checkpoint.pt"
        if self._checkpoint.exists():
            self._restore()

    def run(self, report: Callable[[str], None]) -> None:
        """Train to the end, store the draft and its card."""
        settings, progress = self._settings, self._progress
        start, start_seen = time.monotonic(), progress.seen
        while progress.seen < settings.num_tokens:
            rng = np.random.default_rng([settings.seed, progress.epoch, progress.step])
            for ids, is_answer in self._training.batches(settings.batch_tokens, rng):
                loss = self._step(ids, is_answer)
                if progress.step % 10 == 0:
                    speed = (progress.seen - start_seen) / (time.monotonic() - start)
                    left = max(0, settings.num_tokens - progress.seen) / speed / 60
                    report(
                        f"step {progress.step}  {progress.seen / 1e6:.2f}M tokens  loss {loss:.3f}"
                        f"  {speed:.0f} tokens/s  {left:.0f} min left"
                    )
                if progress.step % 50 == 0:
                    self._save()
                if progress.step % 100 == 0:
                    report(f"step {progress.step}  held out: {self._figures()}")
                if progress.seen >= settings.num_tokens:
                    break
            progress.epoch += 1
        figures = self._figures()
        report(f"done: {figures}")
        _store(self._out, self._draft, settings, figures)

    def _step(self, ids: Tensor, is_answer: Tensor) -> float:
        progress, settings = self._progress, self._settings
        factor = _lr_factor(progress.step, progress.seen / settings.num_tokens, settings)
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = settings.lr * factor
        with torch.autocast("cpu", torch.bfloat16):
            logits, rows = self._draft(ids, is_answer)
        loss = F.cross_entropy(logits.float(), rows, ignore_index=_IGNORE)
        loss.backward()
        for optimizer in self._optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        progress.step += 1
        progress.seen += int(is_answer.sum())
        return loss.item()

    def _figures(self) -> dict[str, float]:
        top1, nats = agreement(self._draft, self._held_out, self._settings.batch_tokens)
        return {"top1": round(top1, 4), "loss_nats": round(nats, 4), "tokens": self._progress.seen}

    def _save(self) -> None:
        scratch = self._checkpoint.with_suffix(".tmp")
        state = {
            "draft": self._draft.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
            **asdict(self._progress),
        }
        torch.save(state, scratch)
        scratch.replace(self._checkpoint)

    def _restore(self) -> None:
        state = torch.load(self._checkpoint, weights_only=True)
        self._draft.load_state_dict(state["draft"])
        for optimizer, stored in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(stored)
        self._progress = Progress(state["step"], state["seen"], state["epoch"])


def _store(out: Path, draft: Draft, settings: Settings, figures: dict[str, float]) -> None:
    """Write the draft and its card in the form that `ssd.models.assets` reads."""
    config = draft.body.config
    state = draft.body.state_dict()
    tensors = {name: v.bfloat16() for name, v in state.items() if name != "embed_tokens.weight"}
    head_ids = torch.nonzero(draft.to_row >= 0)[:, 0].to(torch.int32)
    card = {
        "num_layers": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "epsilon": config.rms_norm_eps,
        "width": config.hidden_size,
        "vocab_size": config.vocab_size,
        "hope": round(figures["top1"], 3),
        "sharpness": 1.0,
        "settings": asdict(settings),
        "held_out": figures,
    }
    write_draft(out, {"head_ids": head_ids, **tensors}, card)
