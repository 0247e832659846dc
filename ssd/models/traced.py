"""A pass whose layers run as one graph of TorchScript: the same operations, no Python between.

At one row a layer is some forty small operations, and half of their time is Python's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ssd.cost import one_pass
from ssd.exact import Numerics
from ssd.models.attention import Attention, Frame, parts_of, tensors_in
from ssd.models.layers import Linear, Product
from ssd.models.packed import ByRows
from ssd.models.transformer import Transformer, Weights

_FEW_ROWS = 16  # a pass of more takes so long that the making of its views does not show

Traces = dict[tuple[object, ...], Callable[..., Tensor]]
Run = Callable[[Tensor, Tensor, Attention], Tensor]


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
        # What Python decides on the way: a trace holds one of its answers.
        is_few = tuple(len(tokens) <= most for most in self._turns)
        kind = (self.numerics.kind, attend.bias is None, is_few)
        own = tuple(tensors_in((attend.windows, attend.bias)))
        tensors = (tokens, positions, *own, *attend.frame.tensors)
        if kind not in self._traces:
            self._traces[kind] = _traced(_Layers(super().hidden, self.weights, attend), tensors)
        return self._traces[kind](*tensors)

    def logits(self, hidden: Tensor) -> Tensor:
        """The logits of rows that `hidden` gave, `[W, V]`."""
        head = self.weights.head
        kind = ("head", isinstance(head, ByRows) and len(hidden) <= head.most)
        if kind not in self._traces:
            self._traces[kind] = _traced(_Head(super().logits, self.weights), (hidden,))
        return self._traces[kind](hidden)


class _Held(torch.nn.Module):
    """A module that holds `weights`, for a trace of what computes with them."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        # Weights in a library's own layout cannot be constants of a graph, but parts of a module.
        for number, part in enumerate(parts_of(weights)):
            if isinstance(part, Tensor) and part.is_mkldnn:
                self.register_buffer(f"weight_{number}", part)
            elif isinstance(part, torch.ScriptObject):
                setattr(self, f"weight_{number}", part)


class _Layers(_Held):
    """The layers as a function of tensors alone: ids, positions and those of the attention."""

    def __init__(self, run: Run, weights: Weights, attend: Attention) -> None:
        super().__init__(weights)
        self._run, self._attend = run, attend

    def forward(self, tokens: Tensor, positions: Tensor, *tensors: Tensor) -> Tensor:
        """What the layers make of them."""
        return self._run(tokens, positions, _with_tensors(self._attend, iter(tensors)))


class _Head(_Held):
    """What follows the layers."""

    def __init__(self, run: Callable[[Tensor], Tensor], weights: Weights) -> None:
        super().__init__(weights)
        self._run = run

    def forward(self, hidden: Tensor) -> Tensor:
        """The logits."""
        return self._run(hidden)


def _traced(function: _Held, inputs: tuple[Tensor, ...]) -> Callable[..., Tensor]:
    """The graph of `function`; `function` itself where the two differ in a bit on `inputs`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a trace holds fixed, and of TorchScript's age
        trace: Callable[..., Tensor] = torch.jit.trace(function, inputs, check_trace=False)
    # Copies: a pass's results lie in memory that the next one of its shape uses again.
    given, wanted = trace(*inputs).clone(), function(*inputs).clone()
    return trace if torch.equal(given, wanted) else function


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

    Plain float32 layers stay as they are: of them a graph makes others, with other last bits.
    """
    embedding = model.weights.embedding
    is_plain = any(isinstance(part, Linear) for part in _linears(model.weights))
    if embedding.device.type != "cpu" or (embedding.dtype == torch.float32 and is_plain):
        return model
    quick = TracedTransformer(model, {})
    try:
        one_pass(quick)()
    except RuntimeError:
        return model
    return quick


def _linears(weights: Weights) -> Iterator[Product]:
    """All linear layers, of those that are computed in two ways both."""
    for linear in (*(each for layer in weights.layers for each in layer.linears), weights.head):
        yield from (linear.narrow, linear.wide) if isinstance(linear, ByRows) else (linear,)
