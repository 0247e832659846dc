"""The commands `bench` and `ablate`: one interleaved run, what it shows, and its records."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from compare import suites
from compare.ablate import Cell, Grid, ablation_csv, ablation_text, cells
from compare.bench import CHAINS, OPTIONAL, SAMPLINGS, Search, bench_methods, bench_text
from compare.conduct import Done, Part, conduct_all, exit_code
from compare.console import check_counts, check_out, check_varied, settings_from
from compare.metrics import summary as metrics
from compare.naming import SOURCES, check_methods
from compare.paper import our_row, paper_text
from compare.table import title
from ssd import commands


def bench(args: argparse.Namespace) -> int:
    """`compare bench`: the exit code. Raises ValueError for what it refuses."""
    check_varied(args, ("temperature", "top_k", "chain"), "bench varies this itself")
    chains = CHAINS if args.chains is None else _sizes("chains", args.chains)
    if None in chains:
        raise ValueError("--chains takes whole numbers: the adaptive chain is tried in any case")
    methods = bench_methods([n for n in chains if n is not None], has_baselines=not args.paper)
    methods += tuple(name for name in args.also.split(",") if name)
    check_methods([name for name in methods if name not in OPTIONAL])
    settings = settings_from(args)
    paths = {label: _beside(args.out, label) for label in SAMPLINGS}
    suite_name = args.suite or ("humaneval" if args.paper else "quick")
    suite = _suite(args, suite_name, list(paths.values()))
    parts = [
        Part(
            paths[label],
            suite,
            methods,
            replace(settings, **sampling),
            args.repeats,
            optional=OPTIONAL,
        )
        for label, sampling in SAMPLINGS.items()
    ]
    done = conduct_all(parts, commands.options_from(args), may_resume=args.resume)
    found = [metrics(each.environment, each.digests) for each in done]
    for each, figures in zip(done, found, strict=True):
        print(f"{title(each.environment)}\n\n{bench_text(each.digests, figures)}\n")
    if args.paper:
        print(f"{_paper(done, found)}\n")
    print("records: " + ", ".join(str(part.path) for part in parts[: len(done)]))
    return exit_code(*done)


def _paper(done: Sequence[Done], found: Sequence[Mapping[str, Any]]) -> str:
    """The paper's tables. `found`: the metrics of each of `done`."""
    rows = {}
    for label, each, figures in zip(SAMPLINGS, done, found, strict=False):
        best = Search.of(each.digests).best
        if best is not None:
            rows[label] = our_row(label, figures["methods"], best)
    return paper_text(rows)


def ablate(args: argparse.Namespace) -> int:
    """`compare ablate`: the exit code. Raises ValueError for what it refuses."""
    check_varied(args, ("temperature", "nodes", "chain"), "ablate varies this itself")
    default = Grid()
    grid = Grid(
        default.sizes if args.sizes is None else _sizes("sizes", args.sizes),
        default.depths if args.depths is None else _sizes("depths", args.depths),
        _sources(args.sources),
    )
    methods = check_methods(grid.methods())
    varied = {f"T{t:g}": replace(settings_from(args), temperature=t) for t in _temperatures(args)}
    page, table = args.out.with_suffix(".html"), args.out.with_suffix(".csv")
    paths = {label: _beside(args.out, label) for label in varied}
    for path in (page, table):
        check_out(path, may_exist=args.resume)
    suite = _suite(args, args.suite, list(paths.values()))
    parts = [Part(paths[n], suite, methods, each, args.repeats) for n, each in varied.items()]
    done = conduct_all(parts, commands.options_from(args), may_resume=args.resume)
    found = [cell for each in done for cell in cells(metrics(each.environment, each.digests))]
    print(f"{title(done[0].environment)}\n\n{ablation_text(found)}\n")
    _write(found, page, table)
    written = [*(part.path for part in parts[: len(done)]), page, table]
    print("written: " + ", ".join(str(path) for path in written))
    return exit_code(*done)


def _write(found: Sequence[Cell], page: Path, table: Path) -> None:
    from compare.ablate_figure import ablation_page  # here, for Plotly takes a while to import

    for path, text in ((page, ablation_page(found)), (table, ablation_csv(found))):
        new = path.with_name(f".{path.name}.new")
        try:
            new.write_text(text, encoding="utf-8")
            os.replace(new, path)
        except OSError as error:
            raise ValueError(f"{path} cannot be written: {error.strerror}") from error


def _suite(args: argparse.Namespace, name: str, outputs: Sequence[Path]) -> suites.Suite:
    """The suite, once all else that can be refused before loading is found good."""
    check_counts(args)
    commands.check(args)
    commands.options_from(args)
    for path in outputs:
        check_out(path, may_exist=args.resume)
    return suites.limited(suites.load_suite(name, commands.progress_line()), args.limit)


def _beside(path: Path, label: str) -> Path:
    return path.with_name(f"{path.stem}-{label}{path.suffix}")


def _sizes(option: str, text: str) -> tuple[int | None, ...]:
    """The sizes in a list like `4,12,auto`. Raises ValueError."""
    names = text.split(",")
    for name in names:
        if name != "auto" and not (name.isascii() and name.isdigit()):
            raise ValueError(f"--{option} must be whole numbers like 4,12,auto, got {text!r}")
    return tuple(None if name == "auto" else int(name) for name in names)


def _sources(text: str | None) -> tuple[str, ...]:
    names = SOURCES if text is None else tuple(text.split(","))
    for name in names:
        if name not in SOURCES:
            raise ValueError(f"--sources must be among {', '.join(SOURCES)}, got {name!r}")
    return names


def _temperatures(args: argparse.Namespace) -> list[float]:
    try:
        found = [float(text) for text in args.temperatures.split(",")]
    except ValueError:
        raise ValueError(
            f"--temperatures must be numbers like 0,1, got {args.temperatures!r}"
        ) from None
    for temperature in found:
        if not 0 <= temperature < float("inf"):
            raise ValueError(f"--temperatures must be 0 or more, got {temperature}")
        if found.count(temperature) > 1:
            raise ValueError(f"--temperatures names {temperature:g} more than once")
    return found
