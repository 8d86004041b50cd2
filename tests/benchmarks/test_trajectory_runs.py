"""The suite `trajectories` of `gsr bench`."""

import dataclasses
import math

import numpy as np
import pytest
from rich.console import Console

from gsr.benchmarks import trajectory_runs
from gsr.benchmarks.measured import Task
from gsr.benchmarks.suites import system
from gsr.benchmarks.suites.problem import rows_of
from gsr.benchmarks.trajectory_runs import System, SystemOutcome, data

NAME = "1"
ROW = next(row for row in rows_of("odebench") if row["name"] == NAME)
HERE, ELSEWHERE = system(ROW)


def test_noise_removes_half_of_the_rows():
    t, x = data(HERE, NAME, 0.0, 0)
    fewer, noisy = data(HERE, NAME, 0.05, 0)
    assert (len(t), len(fewer)) == (150, 75)
    assert (np.diff(fewer) > 0).all()
    clean = x[np.searchsorted(t, fewer)]
    assert 0.02 < (noisy - clean).std() / x.std() < 0.1


@pytest.mark.slow
def test_a_system_is_found():
    blank = SystemOutcome("trajectories", NAME, 0.0, 0, n_states=1)
    options = {"max_evals": 1500, "max_time": None}
    task = Task(blank, options, trajectory_runs._fit_system, System.of(ROW))
    outcome = task.work(task)
    assert outcome.found
    assert outcome.n_exact == outcome.n_states == 1
    assert outcome.equation.startswith("x0' = ")


def test_structure_and_intervals_of_a_known_system():
    """A system of the suite `motions`, by gsr and by PySINDy as it comes."""
    pytest.importorskip("pysindy")
    row = {**ROW, "name": "decay", "constants": "2", "right_hand_sides": "1.5 - 0.7*x_0"}
    options = {"max_evals": 1000, "max_time": None}
    outcomes = trajectory_runs.run(
        [row], suite="motions", options=options, noises=(0.01,), against=("pysindy",),
        progress=False,
    )  # fmt: skip
    assert [each.method for each in outcomes] == ["gsr", "pysindy"]
    assert not any(each.error for each in outcomes)
    assert [each.n_structure for each in outcomes] == [1, 1]
    assert (outcomes[0].n_intervals, outcomes[1].n_intervals) == (2, 0)
    assert outcomes[0].found


def test_systems_are_selected_by_name():
    assert [row["name"] for row in trajectory_runs.select("motions", ["lorenz"])] == ["lorenz"]
    with pytest.raises(ValueError, match="has no system 'x'"):
        trajectory_runs.select("motions", ["x"])
    for row in trajectory_runs.select("motions", []):
        each = System.of(row)
        assert len(each.constants) == len(each.here.states)
        assert len(each.here.rows) == int(row["rows"])


def test_tables_count_what_is_right():
    right = SystemOutcome("trajectories", "a", 0.01, 0, 0.99, 0.95, 2, 2, 1.0, "x0' = x1")
    wrong = dataclasses.replace(right, problem="b", r2_elsewhere=-math.inf, n_exact=1)
    console = Console(width=160)
    with console.capture() as captured:
        console.print(trajectory_runs.tables([right, wrong]))
    last = next(line for line in captured.get().splitlines() if "all, 1 %" in line)
    assert "100.0 %" in last and "50.0 %" in last and "3 of 4" in last
