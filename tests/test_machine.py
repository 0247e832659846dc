"""Remembered measurements: kept, made anew when they cannot be read, never in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ssd.models import machine
from ssd.models.machine import Survey, code_version


def test_a_measurement_is_made_once(tmp_path: Path) -> None:
    """The second time it is read; forgotten, it is made again."""
    made: list[int] = []

    def measure() -> dict[str, int]:
        made.append(1)
        return {"value": len(made)}

    assert machine.remembered(tmp_path, "probe", "a", measure) == {"value": 1}
    assert machine.remembered(tmp_path, "probe", "a", measure) == {"value": 1}
    assert machine.remembered(tmp_path, "probe", "b", measure) == {"value": 2}
    machine.forget(tmp_path, "probe", "a")
    assert machine.remembered(tmp_path, "probe", "a", measure) == {"value": 3}


def test_a_damaged_measurement_is_made_anew(tmp_path: Path) -> None:
    """A file cut short is no error."""
    machine.remembered(tmp_path, "cost", "a", lambda: {"value": 1})
    (stored,) = tmp_path.rglob("cost-a-*.json")
    stored.write_text('{"val')
    assert machine.remembered(tmp_path, "cost", "a", lambda: {"value": 2}) == {"value": 2}
    assert machine.remembered(tmp_path, "cost", "a", lambda: {"value": 3}) == {"value": 2}


def test_a_measurement_of_another_shape_is_made_anew(tmp_path: Path) -> None:
    """Valid JSON that is not what was measured."""

    def is_good(found: dict[str, Any]) -> bool:
        return found["value"] > 1

    machine.remembered(tmp_path, "cost", "a", lambda: {"value": 2}, is_good)
    (stored,) = tmp_path.rglob("cost-a-*.json")
    for number, other in enumerate(("[]", "{}", "null", '{"value": 1}', '{"value": "x"}')):
        stored.write_text(other)
        fresh = {"value": number + 5}
        assert machine.remembered(tmp_path, "cost", "a", lambda: fresh, is_good) == fresh  # noqa: B023


def test_careful_measurements_take_the_place_of_brief_ones(tmp_path: Path) -> None:
    """And not the other way round."""
    made: list[int] = []

    def measure() -> dict[str, Any]:
        made.append(1)
        return {"value": len(made)}

    def found(is_brief: bool) -> Any:
        survey = Survey(tmp_path, lambda progress: None, is_brief)
        return survey.remembered("probe", "a", measure, lambda found: True)["value"]

    assert [found(True), found(True), found(False), found(False), found(True)] == [1, 1, 2, 2, 2]


def test_other_code_measures_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code that computes and measures is known by its bytes."""
    assert len(code_version()) == 8
    machine.remembered(tmp_path, "cost", "a", lambda: {"value": 1})
    monkeypatch.setattr(machine, "code_version", lambda: "another")
    assert machine.remembered(tmp_path, "cost", "a", lambda: {"value": 2}) == {"value": 2}


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """Where a file stands in the folder's place, measurements are just not kept."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert machine.remembered(blocked, "cost", "a", lambda: {"value": 1}) == {"value": 1}
    machine.forget(blocked, "cost", "a")


def test_keys_depend_on_what_a_measurement_depends_on() -> None:
    """Threads and parts change the key; the same again gives it again."""
    cpu = torch.device("cpu")
    threads = torch.get_num_threads()
    first = machine.key(cpu, weights="x")
    assert machine.key(cpu, weights="x") == first
    assert machine.key(cpu, weights="y") != first
    torch.set_num_threads(threads + 1)
    try:
        assert machine.key(cpu, weights="x") != first
    finally:
        torch.set_num_threads(threads)
    assert machine.hardware(cpu)
