"""Many contexts of one model side by side, each in a row of its own: a token each per step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ssd.exact import Numerics
from ssd.model import Pass
from ssd.models.attention import paired
from ssd.models.layers import Layer
from ssd.models.transformer import Transformer, rotation_table

_BUCKET = 32  # slots are read up to a multiple of this, so that few shapes occur


class Rows:
    """Keys and values of `num_rows` contexts of at most `length` ids, and their next logits.

    Plain attention in the model's dtype: for writing text, not for comparing logits.
    """

    def __init__(self, model: Transformer, num_rows: int, length: int) -> None:
        shape, embedding = model.architecture, model.weights.embedding
        self._shape, self._weights = shape, model.weights
        self._alone = model.with_numerics(Numerics("fast", (length,)))
        self._rotation = rotation_table(shape, embedding.device)
        size = (shape.num_layers, num_rows, shape.num_kv_heads, length, shape.head_size)
        self._keys = torch.zeros(size, dtype=embedding.dtype, device=embedding.device)
        self._values = torch.zeros_like(self._keys)
        self._held = [0] * num_rows

    @torch.inference_mode()
    def start(self, row: int, ids: Sequence[int]) -> Tensor:
        """Begin a context in `row`, whatever it held; the logits after `ids`, `[V]`."""
        count = len(ids)
        tokens, positions = torch.tensor(ids), torch.arange(count)
        mask = torch.ones(count, count, dtype=torch.bool).tril()
        cache = self._alone.new_cache()
        logits = self._alone.forward(Pass(tokens, positions, 0, 0, mask), cache, 1)
        for layer, window in enumerate(cache.windows(0, count).layers()):
            self._keys[layer, row, :, :count] = window.keys()
            self._values[layer, row, :, :count] = window.values()
        self._held[row] = count
        return logits[0]

    def leave(self, row: int) -> None:
        """Nothing; what `row` holds is no longer wanted."""
        self._held[row] = 0

    @torch.inference_mode()
    def step(self, tokens: Sequence[int]) -> Tensor:
        """Add a token to every row; the logits after them, `[B, V]`."""
        weights, positions = self._weights, torch.tensor(self._held)
        device = weights.embedding.device
        num_slots = -(-(int(positions.max()) + 1) // _BUCKET) * _BUCKET
        num_slots = min(num_slots, self._keys.shape[3])
        unseen = torch.arange(num_slots) > positions[:, None]
        bias = torch.zeros(unseen.shape, dtype=weights.embedding.dtype)
        bias = bias.masked_fill_(unseen, float("-inf"))[:, None, None].to(device)
        x = F.embedding(torch.tensor(tokens).to(device), weights.embedding)
        if weights.positions is not None:
            x = x + F.embedding(positions.to(device), weights.positions)
        for number, layer in enumerate(weights.layers):
            x = x + layer.output(self._attention(number, layer, x, (positions, bias)))
            x = x + layer.mlp(layer.mlp_norm(x))
        last = self._keys.shape[3] - 1
        self._held = [min(held + 1, last) for held in self._held]  # rows that were left go on
        logits: Tensor = weights.head(weights.norm(x))
        return logits

    def _attention(
        self, number: int, layer: Layer, x: Tensor, where: tuple[Tensor, Tensor]
    ) -> Tensor:
        """`where`: the rows' positions, `[B]`, and what they do not see, `[B, 1, 1, S]`."""
        shape, positions, bias = self._shape, where[0].to(x.device), where[1]
        num_rows, num_turned = len(x), shape.num_heads + shape.num_kv_heads
        heads = layer.qkv(layer.attention_norm(x)).view(num_rows, -1, shape.head_size)
        turned = heads[:, :num_turned]
        if self._rotation is not None:
            wide = turned.to(torch.float32, copy=True)
            paired(wide).mul_(self._rotation[positions])
            turned = wide.to(x.dtype)
        keys, values = self._keys[number], self._values[number]
        at = torch.arange(num_rows, device=x.device)
        keys[at, :, positions] = turned[:, shape.num_heads :]
        values[at, :, positions] = heads[:, num_turned:]
        # The query heads that share keys are rows of one product, [B, Hkv, G, D].
        queries = turned[:, : shape.num_heads].reshape(
            num_rows, shape.num_kv_heads, -1, shape.head_size
        )
        num_slots = bias.shape[-1]
        out = F.scaled_dot_product_attention(
            queries, keys[:, :, :num_slots], values[:, :, :num_slots], attn_mask=bias
        )
        return out.reshape(num_rows, -1)
