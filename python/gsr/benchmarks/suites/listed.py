"""Suites whose laws are listed in files: LSR-Synth, LSR-Transform, SRSD and ODEBench.

Each holds half of the laws of a public benchmark. Formulas, constants and ranges are those of
the benchmarks: LLM-SRBench (Shojaee and others, 2025) has the first two, SRSD-Feynman is by
Matsubara and others (2022), ODEBench by d'Ascoli and others (2024).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from gsr.benchmarks.suites.problem import Problem
from gsr.benchmarks.suites.sampling import Array, Box, Ranges, Sampling, Span
from gsr.benchmarks.suites.trajectories import Beyond, Trajectory

LAWS = files("gsr.benchmarks.suites") / "laws"

TRANSFORM_ROWS = SRSD_ROWS = 1000
ODE_ROWS, ODE_END = 150, 10.0
SYNTH_ROWS = 500
EPSILON, TEMPERATURE = (0.0, 0.6), (273.0, 573.0)
#: Start and last time of the families of LSR-Synth that are equations of motion.
MOTIONS = {"BPG": ((5.0,), 60.0), "CRK": ((1.0,), 30.0), "PO": ((0.5, 0.5), 20.0)}


@dataclass(frozen=True)
class SwappedProblem(Problem):
    """A law solved for another variable: its output is a feature, one of its inputs the target.

    Parameters
    ----------
    inputs : tuple of str
        The law's own variables, of which the rows are drawn.
    target : str
        The one that becomes the target.
    """

    inputs: tuple[str, ...] = ()
    target: str = ""

    def _data(self, sampling: Sampling, rng: np.random.Generator) -> tuple[Array, Array]:
        drawn = Problem(self.suite, self.name, self.expression, self.inputs, sampling, (), ())
        inputs, output = drawn._data(sampling, rng)
        place = self.inputs.index(self.target)
        return np.column_stack([np.delete(inputs, place, axis=1), output]), inputs[:, place]


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (LAWS / name).open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _renamed(formula: str, names: tuple[str, ...]) -> str:
    """Return the formula in x1, x2, ... instead of `names`."""
    new = {name: f"x{k}" for k, name in enumerate(names, 1)}
    return re.sub(r"[A-Za-z]\w*", lambda word: new.get(word[0], word[0]), formula)


def _features(count: int) -> tuple[str, ...]:
    return tuple(f"x{k}" for k in range(1, count + 1))


# ---- LSR-Synth ---------------------------------------------------------------------------------


def _synthetic(name: str, names: tuple[str, ...], formula: str) -> Problem:
    sampling = _synthetic_sampling(name, names, formula)
    return Problem(
        suite="lsr-synth",
        name=f"LSR-Synth-{name}",
        expression=_renamed(formula, names),
        variables=_features(len(names)),
        sampling=sampling,
        library=(),
        target_library=(),
        note=f"{formula}; x = {', '.join(names)}",
        test_sampling=Beyond(sampling, SYNTH_ROWS),
        provable=False,
    )


def _synthetic_sampling(name: str, names: tuple[str, ...], formula: str) -> Sampling:
    family = name.rstrip("0123456789")
    if family not in MOTIONS:
        return Box((EPSILON, TEMPERATURE), SYNTH_ROWS)
    start, end = MOTIONS[family]
    # The oscillators have a position, whose derivative is the velocity.
    sides = ("v", formula) if family == "PO" else (formula,)
    states = ("x", "v") if family == "PO" else (names[1],)
    return Trajectory(sides, states, start, end, SYNTH_ROWS, names)


# ---- the others --------------------------------------------------------------------------------


def _transformed(row: dict[str, str]) -> Problem:
    ranges = [each.split(":") for each in row["ranges"].split()]
    names = tuple(each[0] for each in ranges)
    features = row["features"].split()
    kept = [name for name in names if name != row["target"]]
    if [*kept, row["output"]] != features:
        raise ValueError(f"{row['name']}: features {features} are not those of the formula")
    inputs = _features(len(names))
    return SwappedProblem(
        suite="lsr-transform",
        name=f"LSR-Transform-{row['name']}",
        expression=_renamed(row["formula"], names),
        variables=_features(len(features)),
        sampling=Box(tuple((float(a), float(b)) for _, a, b in ranges), TRANSFORM_ROWS),
        library=(),
        target_library=(),
        note=f"{row['output']} = {row['formula']} for {row['target']}; x = {', '.join(features)}",
        provable=False,
        inputs=inputs,
        target=inputs[names.index(row["target"])],
    )


def _realistic(row: dict[str, str]) -> Problem:
    spans = [each.split(":") for each in row["ranges"].split()]
    names = tuple(each[0] for each in spans)
    ranges = tuple(
        Span(float(low), float(high), "log" in how, "signed" in how, "integer" in how)
        for _, low, high, *how in spans
    )
    return Problem(
        suite="srsd",
        name=f"SRSD-{row['name']}",
        expression=_renamed(row["formula"], names),
        variables=_features(len(names)),
        sampling=Ranges(ranges, SRSD_ROWS),
        library=(),
        target_library=(),
        note=row["difficulty"],
        provable=False,
    )


def _system(row: dict[str, str]) -> list[Problem]:
    sides = tuple(side.strip() for side in row["right_hand_sides"].split(";"))
    states = tuple(f"x_{k}" for k in range(len(sides)))
    starts = [tuple(float(v) for v in each.split()) for each in row["starts"].split(";")]
    train, test = (Trajectory(sides, states, each, ODE_END, ODE_ROWS, states) for each in starts)
    return [
        Problem(
            suite="odebench",
            name=f"ODEBench-{row['name']}.{k}",
            expression=_renamed(side, states),
            variables=_features(len(states)),
            sampling=train,
            library=(),
            target_library=(),
            note=f"{row['description']}, d(x{k})/dt",
            test_sampling=test,
            provable=False,
        )
        for k, side in enumerate(sides, 1)
    ]


LSR_SYNTH = tuple(
    _synthetic(row["name"], tuple(row["variables"].split()), row["formula"])
    for row in _rows("lsr_synth.csv")
)
LSR_TRANSFORM = tuple(_transformed(row) for row in _rows("lsr_transform.csv"))
SRSD = tuple(_realistic(row) for row in _rows("srsd.csv"))
ODEBENCH = tuple(each for row in _rows("odebench.csv") for each in _system(row))
