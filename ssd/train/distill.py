"""Distil a small draft from text that the target wrote.

The draft is a Llama of a few layers over the target's own embedding, which stays frozen and is not
stored with the draft; its head is the target's rows of the most frequent ids. Trained on the ids
that the target emitted, so its softmax is a forecast of the target's choice.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaModel

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

    def frequent_ids(self, count: int) -> np.ndarray:
        """The `count` most frequent ids, ascending."""
        frequency = np.bincount(self.tokens)
        return np.sort(np.argsort(-frequency, kind="stable")[:count])

    def batches(self, num_tokens: int, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Padded (ids, is_answer) pairs of about `num_tokens`, documents of like length together."""
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
        torch.optim.Muon(matrices, lr=settings.lr, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
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


def train(
    target_dir: Path,
    corpus_file: Path,
    out: Path,
    settings: Settings,
    report: Callable[[str], None],
) -> None:
    """Train a draft into the folder `out`; goes on from its checkpoint where there is one."""
    torch.manual_seed(settings.seed)
    training, held_out = Corpus.load(corpus_file).split()
    head_ids = training.frequent_ids(settings.num_ids)
    draft = Draft(target_dir, settings, head_ids)
    optimizers = _optimizers(draft, settings)
    step, seen, epoch = 0, 0, 0
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / "checkpoint.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        draft.load_state_dict(state["draft"])
        for optimizer, stored in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(stored)
        step, seen, epoch = state["step"], state["seen"], state["epoch"]
    start, start_seen = time.monotonic(), seen
    while seen < settings.num_tokens:
        for ids, is_answer in training.batches(settings.batch_tokens, np.random.default_rng(epoch)):
            factor = _lr_factor(step, seen / settings.num_tokens, settings)
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = settings.lr * factor
            with torch.autocast("cpu", torch.bfloat16):
                logits, rows = draft(ids, is_answer)
            loss = F.cross_entropy(logits.float(), rows, ignore_index=_IGNORE)
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            step, seen = step + 1, seen + int(is_answer.sum())
            if step % 10 == 0:
                speed = (seen - start_seen) / (time.monotonic() - start)
                left = max(0, settings.num_tokens - seen) / speed / 60
                report(f"step {step}  {seen / 1e6:.2f}M tokens  loss {loss.item():.3f}  "
                       f"{speed:.0f} tokens/s  {left:.0f} min left")
            if step % 50 == 0:
                _save(checkpoint, draft, optimizers, step, seen, epoch)
            if step % 100 == 0:
                hits, nats = agreement(draft, held_out, settings.batch_tokens)
                report(f"step {step}  held out: top-1 {hits:.4f}  loss {nats:.4f}")
            if seen >= settings.num_tokens:
                break
        epoch += 1
    hits, nats = agreement(draft, held_out, settings.batch_tokens)
    report(f"done: held out top-1 {hits:.4f}  loss {nats:.4f}")
    assert math.isfinite(nats)
    state = {k: v.bfloat16() for k, v in draft.body.state_dict().items() if k != "embed_tokens.weight"}
    save_file({**state, "head_ids": torch.from_numpy(head_ids)}, out / "draft.safetensors")
    (out / "settings.json").write_text(json.dumps({**asdict(settings), "top1": hits, "loss": nats}))


def _save(path: Path, draft: Draft, optimizers: list, step: int, seen: int, epoch: int) -> None:
    scratch = path.with_suffix(".tmp")
    torch.save({"draft": draft.state_dict(), "optimizers": [o.state_dict() for o in optimizers],
                "step": step, "seen": seen, "epoch": epoch}, scratch)
    scratch.replace(path)


if __name__ == "__main__":
    import sys
    train(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), Settings(num_tokens=int(float(sys.argv[4]))), lambda m: print(m, flush=True))
