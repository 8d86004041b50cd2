"""Time and memory against the size of the data: cells, processes and tables."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks import scaling


def test_one_axis_grows_at_a_time() -> None:
    every = scaling.cells()
    down = [cell for cell in every if cell.axis == "rows"]
    across = [cell for cell in every if cell.axis == "features"]
    assert (down[0].rows, down[-1].rows) == (20, 1_000_000)
    assert {cell.features for cell in down} == {3}
    assert (across[0].features, across[-1].features) == (1, 50)
    assert {cell.rows for cell in across} == {200}


@pytest.mark.parametrize("features", [1, 2, 5])
def test_the_law_is_the_same_for_every_size(features: int) -> None:
    X, y = scaling.data(30, features)
    second = X[:, min(1, features - 1)]
    np.testing.assert_allclose(y, 1.5 * X[:, 0] ** 2 + 2 * np.sin(second) - 0.5)
    assert X.shape == (30, features)
    np.testing.assert_array_equal(y, scaling.data(30, features)[1])
    assert not np.array_equal(y, scaling.data(30, features, seed=1)[1])


@pytest.mark.slow
def test_a_cell_is_measured_in_a_process_of_its_own() -> None:
    seen: list[scaling.Cell] = []
    (cell,) = scaling.run([scaling.Cell("rows", 20, 1)], max_time=2.0, report=seen.append)
    assert cell.error == ""
    assert math.isfinite(cell.seconds)
    assert cell.peak >= cell.before > 0
    assert seen == [cell]


@pytest.mark.slow
def test_a_cell_that_fails_says_why() -> None:
    (cell,) = scaling.run([scaling.Cell("rows", 20, 1)], preset="best", max_time=1.0)
    assert "preset" in cell.error
    assert math.isnan(cell.seconds)


def text_of(renderable: Any) -> list[str]:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(renderable)
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_tables_show_the_growth_from_line_to_line() -> None:
    small = scaling.Cell("rows", 100, 3, seconds=0.5, peak=120.0, before=100.0, found=True)
    large = replace(small, rows=1_000, seconds=2.0, peak=150.0, found=False)
    broken = scaling.Cell("features", 200, 50, error="out of memory")
    lines = text_of(scaling.tables([small, large, broken]))
    assert "100 0.5 120 20 found" in lines
    assert "1,000 10 2 4 150 50 not found" in lines
    assert "50 out of memory" in lines


def test_the_command_measures_all_cells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(cell: scaling.Cell, *_: Any) -> scaling.Cell:
        return replace(cell, seconds=0.5, peak=100.0, before=90.0, found=True)

    monkeypatch.setattr(scaling, "_in_a_process", measured)
    path = tmp_path / "cells.json"
    assert scaling.main(["--json", str(path)]) == 0
    shown = capsys.readouterr()
    assert "1,000,000" in shown.out
    assert "rows 1,000,000, features 3: 0.5 s" in shown.err
    assert len(json.loads(path.read_text())) == len(scaling.cells())
