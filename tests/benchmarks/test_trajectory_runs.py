"""The suite `trajectories` of `gsr bench`."""

import dataclasses
import math

import numpy as np
import pytest
from rich.console import Console

from gsr.benchmarks import trajectory_runs
from gsr.benchmarks.suites.formulas import rows_of
from gsr.benchmarks.suites.listed import system
from gsr.benchmarks.trajectory_runs import SystemOutcome, _SystemTask

OPTIONS = {"max_evals": 1500, "max_time": None}


def task(name, noise=0.0):
    row = next(row for row in rows_of("odebench") if row["name"] == name)
    return _SystemTask(row["name"], *system(row), noise, 0, OPTIONS)


def test_noise_removes_half_of_the_rows():
    t, x = task("1").data()
    fewer, noisy = task("1", 0.05).data()
    assert (len(t), len(fewer)) == (150, 75)
    assert (np.diff(fewer) > 0).all()
    clean = x[np.searchsorted(t, fewer)]
    assert 0.02 < (noisy - clean).std() / x.std() < 0.1


@pytest.mark.slow
def test_a_system_is_found():
    outcome = task("1").run()
    assert outcome.found
    assert outcome.n_exact == outcome.n_states == 1
    assert outcome.equation.startswith("x0' = ")


def test_tables_count_what_is_right():
    right = SystemOutcome("trajectories", "a", 0.01, 0, 0.99, 0.95, 2, 2, 1.0, "x0' = x1")
    wrong = dataclasses.replace(right, problem="b", r2_elsewhere=-math.inf, n_exact=1)
    console = Console(width=160)
    with console.capture() as captured:
        console.print(trajectory_runs.tables([right, wrong]))
    last = next(line for line in captured.get().splitlines() if "all, 1 %" in line)
    assert "100.0 %" in last and "50.0 %" in last and "3 of 4" in last
