"""A tiny target in a folder, and text that is easily learned."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from ssd.models.families import transformer
from ssd.models.transformer import Transformer
from ssd.train.corpus import Corpus
from ssd.train.distill import Settings
from tests.tiny import CPU, tiny_llama

VOCABULARY = 61
SETTINGS = Settings(
    layers=(0, 1), num_ids=40, num_tokens=12_000, batch_tokens=512, lr=2e-2, warmup_steps=2
)


def write_target(folder: Path, **changes: object) -> Path:
    """A model folder of a tiny Llama."""
    tiny = tiny_llama(3, **changes)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(tiny.config))
    save_file(tiny.tensors, folder / "model.safetensors")
    return folder


def target(**changes: object) -> Transformer:
    """The same model as the product computes it, in float32."""
    tiny = tiny_llama(3, **changes)
    return transformer(tiny.config, tiny.tensors, torch.float32, CPU)


def corpus(num_documents: int = 60) -> Corpus:
    """Documents in which every id is followed by the one three above it: easily learned."""
    rng = np.random.default_rng(0)
    documents = []
    for _ in range(num_documents):
        ids = (int(rng.integers(40)) + 3 * np.arange(int(rng.integers(18, 30)))) % 40
        documents.append((ids.tolist(), 4))
    return Corpus.of(documents, VOCABULARY)
