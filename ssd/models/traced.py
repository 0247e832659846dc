"""A pass whose layers run as one graph of TorchScript: the same operations, no Python between.

At one row a layer is some forty small operations, and half of their time is Python's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ssd.cost import one_pass
from ssd.exact import Numerics
from ssd.models.attention import Attention, Frame, tensors_in
from ssd.models.integer import ByRows
from ssd.models.layers import Layer
from ssd.models.transformer import Transformer, through

_FEW_ROWS = 16  # a pass of more takes so long that the making of its views does not show

Traces = dict[tuple[object, ...], Callable[..., Tensor]]


class TracedTransformer(Transformer):
    """A `LanguageModel` whose layers are traced at their first pass of a kind.

    Twin: `Transformer`, whose logits it gives to the last bit, for its operations are the same.
    Its passes compute in the same memory, so one thread at a time may run them.
    """

    def __init__(self, model: Transformer, traces: Traces) -> None:
        """`traces`: what was traced of the same weights, to be added to."""
        super().__init__(model.architecture, model.weights, model.numerics)
        self._traces = traces
        self._frames: dict[tuple[int, int], Frame] = {}
        products = [product for layer in model.weights.layers for product in layer.linears]
        self._turns = sorted({each.most for each in products if isinstance(each, ByRows)})

    def with_numerics(self, numerics: Numerics) -> TracedTransformer:
        """The same model computing otherwise."""
        return TracedTransformer(super().with_numerics(numerics), self._traces)

    def frame(self, num_rows: int, width: int) -> Frame:
        """What attention computes in. Where it is small, the same for all passes of a shape."""
        if width > _FEW_ROWS:
            return super().frame(num_rows, width)
        if (num_rows, width) not in self._frames:
            self._frames[num_rows, width] = super().frame(num_rows, width)
        return self._frames[num_rows, width]

    def hidden(self, tokens: Tensor, positions: Tensor, attend: Attention) -> Tensor:
        """What the layers make of `W` rows, `[W, E]`; `attend` knows which of them are real."""
        x = self.embedded(tokens, positions)
        # What Python decides on the way: a trace holds one of its answers.
        is_few = tuple(len(x) <= most for most in self._turns)
        kind = (self.numerics.kind, attend.bias is None, is_few)
        own = tuple(tensors_in((attend.windows, attend.bias, attend.rotation)))
        tensors = (*own, *attend.frame.tensors)
        if kind not in self._traces:
            self._traces[kind] = _traced(self.weights.layers, attend, (x, *tensors))
        return self._traces[kind](x, *tensors)


class _Layers(torch.nn.Module):
    """The layers as a function of tensors alone: the input and those of a pass's attention."""

    def __init__(self, layers: Sequence[Layer], attend: Attention) -> None:
        super().__init__()
        self._layers, self._attend = tuple(layers), attend
        # Weights in oneDNN's own layout cannot be constants of a graph, but buffers of a module.
        for number, weight in enumerate(tensors_in(self._layers)):
            if weight.is_mkldnn:
                self.register_buffer(f"weight_{number}", weight)

    def forward(self, x: Tensor, *tensors: Tensor) -> Tensor:
        """What the layers make of `x`."""
        return through(self._layers, x, _with_tensors(self._attend, iter(tensors)))


def _traced(
    layers: Sequence[Layer], attend: Attention, inputs: tuple[Tensor, ...]
) -> Callable[..., Tensor]:
    """The graph of `layers`, which runs once for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a trace holds fixed, and of TorchScript's age
        trace: Callable[..., Tensor] = torch.jit.trace(
            _Layers(layers, attend), inputs, check_trace=False
        )
    return trace


def _with_tensors(value: Any, tensors: Iterator[Tensor]) -> Any:
    """`value` with the next of `tensors` in place of each of its own."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple):
        return tuple(_with_tensors(each, tensors) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(value, **{name: _with_tensors(each, tensors) for name, each in old.items()})
    return value


def traced(model: Transformer) -> Transformer:
    """`model` with its layers traced on a CPU; itself elsewhere, or where this torch cannot.

    Float32 stays as it is: of its products a graph makes others, with other last bits.
    """
    embedding = model.weights.embedding
    if embedding.device.type != "cpu" or embedding.dtype == torch.float32:
        return model
    quick = TracedTransformer(model, {})
    try:
        one_pass(quick)()
    except RuntimeError:
        return model
    return quick
