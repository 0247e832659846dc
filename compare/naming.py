"""The names of the methods: which there are, what may follow a name, and what it means.

`speculative:3` is a chain of 3, `staged:24` a tree of 24 nodes, `staged:24:6:katz` one of depth 6
whose N-gram knows the Katz table alone; `auto` leaves a size to the price. The same base method
may so stand several times in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssd.lanes import Guessing

REFERENCE = "autoregressive"
OURS = (
    REFERENCE,
    "speculative",
    "staged",
    "tree",
    "lookup",
    "replay",
    "speculative-rejection",
)
NATIVE = "native"
HUGGING_FACE = ("hf-generate", "hf-assisted", "hf-lookup")
LLAMA_CPP = "llama-cpp"
BASELINES = (NATIVE, *HUGGING_FACE, LLAMA_CPP)
METHODS = (*OURS, *BASELINES)
DEFAULT_METHODS = (REFERENCE, "speculative", "staged")

LLAMA_PACKAGE = "llama_cpp"
LLAMA_MISSING = (
    f"{LLAMA_CPP} needs the package llama-cpp-python, which is not installed: "
    "pip install llama-cpp-python (it compiles for some minutes), or leave it out"
)

SOURCES = ("none", "katz", "match", "both")  # of the N-gram
_SIZES: dict[str, tuple[str, ...]] = {
    "speculative": ("chain",),
    "speculative-rejection": ("chain",),
    "replay": ("nodes",),
    "tree": ("nodes", "depth"),
    "lookup": ("nodes", "depth", "sources"),
    "staged": ("nodes", "depth", "sources"),
}


@dataclass(frozen=True)
class Method:
    """A method as a run names it: its base name, and the values after it."""

    name: str
    values: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Method:
        """The method that `text` names. Raises ValueError for an unknown name or value."""
        name, *values = text.split(":")
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}: choose from {_choices()}")
        fields = _SIZES.get(name, ())
        if len(values) > len(fields):
            takes = f"may be followed by {':'.join(fields)}" if fields else "takes no size"
            raise ValueError(f"the method {name} {takes}, got {text!r}")
        for field, value in zip(fields, values, strict=False):
            _value(text, field, value)
        return cls(name, tuple(values))

    @property
    def is_ours(self) -> bool:
        """Whether it is one of the lab's own: those decide the exit code."""
        return self.name in OURS

    def guessing(self, default: Guessing) -> Guessing:
        """`default`, but for what the name says. Raises ValueError for a size out of range."""
        return replace(default, **self.told)

    @property
    def told(self) -> dict[str, Any]:
        """What the name says, by field of `ssd.lanes.Guessing`; None is auto."""
        pairs = zip(_SIZES.get(self.name, ()), self.values, strict=False)
        return {field: _value(str(self), field, value) for field, value in pairs}

    def __str__(self) -> str:
        return ":".join((self.name, *self.values))


def _value(text: str, field: str, value: str) -> Any:
    if field == "sources":
        if value not in SOURCES:
            raise ValueError(
                f"the sources in {text!r} must be both, katz, match or none, got {value!r}"
            )
        return value
    if value == "auto":
        return None
    if not (value.isascii() and value.isdigit()) or str(int(value)) != value:
        raise ValueError(f"the {field} in {text!r} must be auto or a whole number, got {value!r}")
    return int(value)


def _is_installed(package: str) -> bool:
    return find_spec(package) is not None


def check_methods(
    names: Sequence[str], is_installed: Callable[[str], bool] = _is_installed
) -> tuple[str, ...]:
    """The names themselves. Raises ValueError for an unknown or repeated one, or for none.

    `is_installed`: whether a package can be imported; `llama-cpp` needs one that few have.
    """
    if not names:
        raise ValueError(f"expected at least one method, got none: choose from {_choices()}")
    for name in names:
        method = Method.parse(name)
        if names.count(name) > 1:
            raise ValueError(f"the method {name} is named more than once: name it once")
        if method.name == LLAMA_CPP and not is_installed(LLAMA_PACKAGE):
            raise ValueError(LLAMA_MISSING)
        if method.values:
            _check_sizes(method)
    return tuple(names)


def _check_sizes(method: Method) -> None:
    from ssd.lanes import Guessing  # here, for torch takes seconds to import

    method.guessing(Guessing())


def _choices() -> str:
    return ", ".join(name for name in METHODS if name != LLAMA_CPP)


def base_name(method: str) -> str:
    """The name before its sizes, whether or not there is such a method."""
    return method.split(":")[0]


def has_verdict(method: str, temperature: float) -> bool:
    """Whether the method must give the reference's ids: not so baselines and rejection at T > 0."""
    name = base_name(method)
    if name != "speculative-rejection":
        return name in OURS
    from ssd.sampling import GREEDY_BELOW  # here, for torch takes seconds to import

    return temperature < GREEDY_BELOW
