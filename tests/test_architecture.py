"""Who may import whom (DESIGN, Layout): dependencies run one way."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Lowest first; a module imports from layers below its own and from its own layer.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("ssd.tree", "ssd.noise", "ssd.cache", "ssd.exact", "ssd.detokenize", "ssd.chat"),
    ("ssd.verify", "ssd.sampling", "ssd.events", "ssd.text"),
    ("ssd.meter", "ssd.stop"),
    ("ssd.request", "ssd.model"),
    ("ssd.proposer", "ssd.cost", "ssd.rules", "ssd.calibration", "ssd.grow", "ssd.guesses"),
    ("ssd.ngram", "ssd.trust", "ssd.draft"),
    ("ssd.decode",),
    ("ssd.models",),
    ("ssd.lanes", "ssd.commands", "ssd.train"),
    ("ssd.__main__", "ssd.train.__main__"),
    ("compare",),
    ("compare.page",),
    ("app",),
)
EVERYWHERE = {"ssd"}  # the package itself: a docstring
HEAVY = {"gradio", "plotly", "pandas"}
# What reaches models: the commands, and what they hand to others. The core gets them injected.
REACH_MODELS = ("ssd.models", "ssd.lanes", "ssd.commands", "ssd.__main__", "ssd.train", "compare")


def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    found = {"app": ROOT / "app.py"}
    for package in ("ssd", "compare"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(name: str, source: str, *, at_the_top: bool = False) -> Iterator[str]:
    """All that `source` imports: anywhere, in functions and for types only too, or at the top."""
    tree = ast.parse(source)
    for node in tree.body if at_the_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else str(node.module)


EDGES = [
    (name, target) for name, path in MODULES.items() for target in imports(name, path.read_text())
]
OURS = [
    (name, target) for name, target in EDGES if target.split(".")[0] in ("ssd", "compare", "app")
]


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def layer(name: str) -> int:
    """The layer of `name`: that of its longest listed beginning."""
    fits = [
        (len(entry), number)
        for number, entries in enumerate(LAYERS)
        for entry in entries
        if is_within(name, entry)
    ]
    assert fits, f"{name} has no layer: add it to LAYERS"
    return max(fits)[1]


def test_every_module_has_a_layer_and_every_layer_a_module() -> None:
    for name in MODULES:
        if name not in EVERYWHERE:
            layer(name)
    for entries in LAYERS:
        for entry in entries:
            assert entry in MODULES, f"{entry} is gone: take it out of LAYERS"


@pytest.mark.parametrize(("name", "target"), sorted(set(OURS)))
def test_imports_go_down(name: str, target: str) -> None:
    assert target in MODULES, f"{name} imports {target}, which is not there"
    if name in EVERYWHERE or target in EVERYWHERE:
        return
    assert layer(target) <= layer(name), f"{name} must not import {target}"


@pytest.mark.parametrize("name", [name for name in MODULES if is_within(name, "ssd")])
def test_ssd_knows_nothing_of_comparisons_and_pages(name: str) -> None:
    for source, target in EDGES:
        if source == name:
            top = target.split(".")[0]
            assert top not in HEAVY | {"compare", "app", "tests"}, f"{name} imports {target}"


def test_nothing_of_the_product_imports_tests() -> None:
    assert not [edge for edge in EDGES if edge[1].split(".")[0] == "tests"]


def test_models_are_reached_by_injection() -> None:
    for name, target in OURS:
        if is_within(target, "ssd.models"):
            assert any(is_within(name, package) for package in REACH_MODELS), (name, target)


def test_nothing_stands_on_training() -> None:
    for name, target in OURS:
        if is_within(target, "ssd.train"):
            assert is_within(name, "ssd.train"), (name, target)


def test_only_the_app_stands_on_the_page() -> None:
    for name, target in OURS:
        if is_within(target, "compare.page"):
            assert is_within(name, "compare.page") or name == "app", (name, target)


def test_the_decision_knows_no_models_caches_or_generators() -> None:
    allowed = {"ssd.tree"}
    assert {target for name, target in OURS if name == "ssd.verify"} <= allowed
    for name in ("ssd.tree", "ssd.noise"):
        assert not [target for source, target in OURS if source == name]


@pytest.mark.parametrize("top", ["ssd", "compare"])
def test_there_are_no_circles(top: str) -> None:
    """In `ssd` not even by imports inside functions; in `compare` at the top of modules."""
    graph: dict[str, set[str]] = {
        name: {
            target
            for target in imports(name, path.read_text(), at_the_top=top == "compare")
            if target in MODULES and target != name
        }
        for name, path in MODULES.items()
        if is_within(name, top)
    }
    done: set[str] = set()
    for start in graph:
        stack = [(start, (start,))]
        while stack:
            name, path = stack.pop()
            for target in graph.get(name, set()) - done:
                assert target != start, " -> ".join((*path, target))
                if target not in path:
                    stack.append((target, (*path, target)))
        done.add(start)


def test_the_walk_sees_every_form_of_import() -> None:
    source = "import compare.run\ndef f():\n    from ssd import noise\n    import gradio as gr\n"
    assert list(imports("x", source)) == ["compare.run", "ssd.noise", "gradio"]


def test_importing_the_core_is_light() -> None:
    """None of the heavy packages, transformers among them, comes with the decoding loop."""
    import subprocess

    code = (
        "import sys, ssd.decode, ssd.draft, ssd.ngram, ssd.lanes; "
        "print(sorted({'gradio','plotly','pandas','transformers','compare'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
