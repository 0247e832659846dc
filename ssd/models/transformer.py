"""The forward of the Llama and GPT-2 families over slots: one set of layers for both."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ssd.cache import KVCache
from ssd.exact import Numerics
from ssd.model import Pass
from ssd.models.attention import AllSlots, Attention, Frame, paired
from ssd.models.layers import Layer, Norm, Product


@dataclass(frozen=True)
class Architecture:
    """The shape of a decoder-only transformer.

    `rotary_base` None means learned positions. Heads of a group share one key-value head.
    """

    vocab_size: int
    context_length: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_size: int
    rotary_base: float | None

    def __post_init__(self) -> None:
        if self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"query heads must be a multiple of key-value heads, got {self.num_heads} "
                f"and {self.num_kv_heads}"
            )

    @property
    def group(self) -> int:
        """How many query heads share a key-value head."""
        return self.num_heads // self.num_kv_heads


@dataclass(frozen=True)
class Weights:
    """All weights. `positions`: `[context, E]` where positions are learned.

    `head_ids`: `[V']`, the ids that the rows of a reduced head speak of; None for all of them.
    """

    embedding: Tensor
    positions: Tensor | None
    layers: tuple[Layer, ...]
    norm: Norm
    head: Product
    head_ids: Tensor | None = None


class Transformer:
    """A `LanguageModel`: weights, numerics and nothing else. Not changed by its forwards."""

    cache_type: type[KVCache] = KVCache

    def __init__(self, architecture: Architecture, weights: Weights, numerics: Numerics) -> None:
        self.architecture = architecture
        self.weights = weights
        self.numerics = numerics
        self._rotation = rotation_table(architecture, weights.embedding.device)

    def with_numerics(self, numerics: Numerics) -> Transformer:
        """The same model computing otherwise."""
        return Transformer(self.architecture, self.weights, numerics)

    @property
    def vocab_size(self) -> int:
        """Ids that a row of logits speaks of, all of them."""
        return self.architecture.vocab_size

    @property
    def context_length(self) -> int:
        """The longest context."""
        return self.architecture.context_length

    @property
    def max_width(self) -> int:
        """The most rows in a forward."""
        return self.numerics.widths[-1]

    @property
    def head_ids(self) -> Tensor | None:
        """The ids that a row of logits speaks of where they are not all, `[V']`."""
        return self.weights.head_ids

    def ids_of(self, columns: Tensor) -> Tensor:
        """The ids that columns of its logits speak of, on the CPU where the head is reduced."""
        return columns if self.head_ids is None else self.head_ids.cpu()[columns]

    @property
    def weight_bytes(self) -> int:
        """Bytes of weights that one forward reads."""
        linears = [linear for layer in self.weights.layers for linear in layer.linears]
        return sum(linear.num_bytes for linear in (*linears, self.weights.head))

    def new_cache(self) -> KVCache:
        """An empty cache for `forward`."""
        a, embedding = self.architecture, self.weights.embedding
        shape = (a.num_layers, a.num_kv_heads, a.head_size)
        read_as = self.numerics.attention_dtype(embedding.dtype)
        return self.cache_type(shape, embedding.dtype, read_as, embedding.device)

    def reserve(self, num_slots: int) -> None:
        """Get ready for passes over so many slots, before a clock runs. Nothing to do here."""

    @torch.inference_mode()
    def forward(self, rows: Pass, cache: KVCache, num_logits: int) -> Tensor:
        """Logits of the last `num_logits` rows, `[num_logits, V]`; writes the rows' slots."""
        num_rows = len(rows.tokens)
        device = self.weights.embedding.device
        width = self.numerics.width(num_rows)
        tokens = padded(rows.tokens, width).to(device)
        positions = padded(rows.positions, width).to(device)
        cache.reserve(rows.first + num_rows)
        windows = cache.windows(rows.first, num_rows)
        attend = self.attention(windows, self._bias(rows), num_rows, width)
        x = self.hidden(tokens, positions, attend)
        if num_logits < num_rows:
            asked = x[num_rows - num_logits : num_rows]
            x = padded(asked, self.numerics.width(num_logits)) if num_logits else asked
        return self.logits(x)[:num_logits]

    def hidden(self, tokens: Tensor, positions: Tensor, attend: Attention) -> Tensor:
        """What the layers make of `W` rows, `[W, E]`; `attend` knows which of them are real."""
        x = F.embedding(tokens, self.weights.embedding)
        if self.weights.positions is not None:
            x = x + F.embedding(positions, self.weights.positions)
        rotation = None if self._rotation is None else self._rotation.index_select(0, positions)
        for layer, window in zip(self.weights.layers, attend.windows.layers(), strict=True):
            gathered = attend(window, layer.qkv(layer.attention_norm(x)), rotation)
            x = x + layer.output(gathered)
            x = x + layer.mlp(layer.mlp_norm(x))
        return x

    def logits(self, hidden: Tensor) -> Tensor:
        """The logits of rows that `hidden` gave, `[W, V]`."""
        return self.weights.head(self.weights.norm(hidden))

    def attention(
        self, windows: AllSlots, bias: Tensor | None, num_rows: int, width: int
    ) -> Attention:
        """The attention of a pass of `width` rows, the first `num_rows` of them real.

        `bias`: `[G * num_rows, S]`, 0 or -inf, None where all rows see all slots.
        """
        return Attention(self.numerics, windows, bias, self.frame(num_rows, width))

    def frame(self, num_rows: int, width: int) -> Frame:
        """What attention computes in, of `width` rows of which `num_rows` are real."""
        a, embedding = self.architecture, self.weights.embedding
        num_heads = a.num_heads + 2 * a.num_kv_heads
        rows = torch.empty(width, num_heads * a.head_size, device=embedding.device)
        heads = rows.view(width, num_heads, a.head_size)
        parts = (a.num_heads, a.num_kv_heads, a.num_kv_heads)
        asked, keys, values = heads[:num_rows].split(parts, dim=1)
        # Query rows of the heads that share keys lie together, [Hkv, G, T, D].
        by_row = (num_rows, a.num_kv_heads, a.group, a.head_size)
        grouped = asked.view(by_row).permute(1, 2, 0, 3)
        dtype = self.numerics.attention_dtype(embedding.dtype)
        queries = embedding.new_empty(grouped.shape, dtype=dtype)
        out = embedding.new_zeros(width, a.num_heads * a.head_size)
        turned = heads[:, : a.num_heads + a.num_kv_heads]
        return Frame(
            rows=rows,
            turned=None if a.rotary_base is None else paired(turned),
            grouped=grouped,
            keys=keys,
            values=values,
            queries=queries,
            flat_queries=queries.flatten(1, 2),
            out=out,
            grouped_out=out[:num_rows].view(by_row).permute(1, 2, 0, 3),
            is_coarse=self._is_coarse,
        )

    @property
    def _is_coarse(self) -> bool:
        """Whether attention keeps 18 bits: where neither dtype nor reader rounds to fewer."""
        is_exact = self.numerics.kind == "exact"
        reader = self.weights.layers[0].output
        is_wide = self.weights.embedding.dtype == torch.float32
        return is_exact and is_wide and not reader.rounds_inputs

    def _bias(self, rows: Pass) -> Tensor | None:
        """0 where a row sees a slot, -inf elsewhere, `[G * T, S]`; None for a row of its own."""
        num_rows, num_new = rows.mask.shape
        if num_rows == num_new == 1:  # else to look costs as much as a bias of zeros
            return None
        embedding, group = self.weights.embedding, self.architecture.group
        dtype = self.numerics.attention_dtype(embedding.dtype)
        bias = torch.zeros(group, num_rows, rows.prefix + num_new, dtype=dtype)
        bias.narrow(2, rows.prefix, num_new).masked_fill_(~rows.mask, float("-inf"))
        return bias.view(group * num_rows, -1).to(embedding.device)


def rotation_table(architecture: Architecture, device: torch.device) -> Tensor | None:
    """e^(i position theta), `[context, 1, D / 2]` complex64 (arXiv 2104.09864); None if learned."""
    if architecture.rotary_base is None:
        return None
    exponents = torch.arange(0, architecture.head_size, 2, dtype=torch.int64).float()
    frequencies = 1.0 / architecture.rotary_base ** (exponents / architecture.head_size)
    angles = torch.outer(torch.arange(architecture.context_length).float(), frequencies)
    return torch.polar(torch.ones_like(angles), angles).unsqueeze(1).to(device)


def padded(x: Tensor, width: int) -> Tensor:
    """`x` with rows of zeros up to `width` rows."""
    missing = width - len(x)
    return x if missing <= 0 else torch.cat((x, x.new_zeros(missing, *x.shape[1:])))
