"""Benchmark suites of known laws, read from the files in `data`; by suite and by name.

- ``paper``: the 67 problems of the paper. Of the libraries that it prints only the functions are
  transformations: sums and products are part of the encoding, coefficients are real and division
  is not in the method. So L_x is {1, identity} and the printed functions, and L_y is L_x without
  the trigonometric ones.
- ``feynman``: 100 laws of the Feynman lectures and 20 harder ones (Udrescu and Tegmark, 2020).
- ``strogatz``: right-hand sides of seven systems with two states, from Strogatz's book on
  nonlinear dynamics. Elsewhere the rows lie on trajectories, here in a box that holds them.
- ``lsr-synth``, ``lsr-transform`` (LLM-SRBench, Shojaee and others, 2025), ``srsd`` (Matsubara
  and others, 2022), ``odebench`` (d'Ascoli and others, 2024): half of each benchmark.
- ``two-terms``: sums of two terms of different variables, drawn at random. A term is a product of
  functions of one variable each, or a function of a + b, a b + c or 1 + a b.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from gsr.benchmarks.suites.problem import (
    Beyond,
    Box,
    Grid,
    Lattice,
    Problem,
    Ranges,
    Sampling,
    Span,
    SwappedProblem,
    Trajectory,
    Uniform,
    features,
    renamed,
    rows_of,
)

TRIGONOMETRIC = {"cos", "sin", "tan"}
PLACES: dict[str, Callable[[float, float, int], Sampling]] = {
    "uniform": Uniform,
    "grid": Grid,
    "lattice": Lattice,
}

FEYNMAN_ROWS, STROGATZ_ROWS, TRANSFORM_ROWS, SRSD_ROWS = 200, 100, 1000, 1000
TWO_TERMS = Uniform(1.0, 3.0, 400)
ODE_ROWS, ODE_END = 150, 10.0
SYNTH_ROWS = 500
#: Strain and temperature, the variables of the materials of LSR-Synth.
MATERIALS = ((0.0, 0.6), (273.0, 573.0))
#: Start and last time of the families of LSR-Synth that are equations of motion.
MOTIONS = {"BPG": ((5.0,), 60.0), "CRK": ((1.0,), 30.0), "PO": ((0.5, 0.5), 20.0)}

Record = dict[str, str]
Names = tuple[str, ...]


def _problem(
    suite: str, name: str, formula: str, names: Names, sampling: Sampling, **more: Any
) -> Problem:
    return Problem(suite, name, renamed(formula, names), features(len(names)), sampling, **more)


def _ranges(text: str) -> tuple[Names, tuple[Span, ...]]:
    """Return the names and spans in text such as ``v1:0.1:10:log v2:-5:5``."""
    parts = [each.split(":") for each in text.split()]
    spans = (
        Span(float(low), float(high), "log" in how, "signed" in how, "integer" in how)
        for _, low, high, *how in parts
    )
    return tuple(each[0] for each in parts), tuple(spans)


def _box(spans: tuple[Span, ...], count: int) -> Box:
    return Box(tuple((span.low, span.high) for span in spans), count)


def _paper(row: Record) -> Problem:
    formula, allowed = row["formula"], ("one", "identity", *row["functions"].split())
    return Problem(
        suite=row["name"].partition("-")[0].lower(),
        name=row["name"],
        expression=formula,
        variables=tuple(sorted(set(re.findall(r"x\d", formula)))),
        sampling=_place(row["rows"]),
        library=allowed,
        target_library=tuple(each for each in allowed if each not in TRIGONOMETRIC),
        n_psi=int(row["n_psi"]),
        note=row["note"],
        test_sampling=_place(row["test_rows"]) if row["test_rows"] else None,
    )


def _place(text: str) -> Sampling:
    kind, low, high, count = text.split(":")
    return PLACES[kind](float(low), float(high), int(count))


def _feynman(row: Record) -> Problem:
    names, spans = _ranges(row["ranges"])
    given = ", ".join(f"x{k} = {name}" for k, name in enumerate(names, 1))
    note = f"{row['formula']}; {given}"
    sampling = _box(spans, FEYNMAN_ROWS)
    return _problem("feynman", f"Feynman-{row['name']}", row["formula"], names, sampling, note=note)


def _strogatz(row: Record) -> Problem:
    names, spans = _ranges(row["ranges"])
    return _problem(
        "strogatz", f"Strogatz-{row['name']}", row["formula"], names,
        _box(spans, STROGATZ_ROWS), note=row["note"],
    )  # fmt: skip


def _two_terms(row: Record) -> Problem:
    names = features(int(row["columns"]))
    return _problem("two-terms", f"Two-terms-{row['name']}", row["formula"], names, TWO_TERMS)


def _synthetic(row: Record) -> Problem:
    name, formula, names = row["name"], row["formula"], tuple(row["variables"].split())
    sampling = _synthetic_sampling(name, names, formula)
    return _problem(
        "lsr-synth", f"LSR-Synth-{name}", formula, names, sampling,
        note=f"{formula}; x = {', '.join(names)}",
        test_sampling=Beyond(sampling, SYNTH_ROWS),
        provable=False,
    )  # fmt: skip


def _synthetic_sampling(name: str, names: Names, formula: str) -> Sampling:
    family = name.rstrip("0123456789")
    if family not in MOTIONS:
        return Box(MATERIALS, SYNTH_ROWS)
    start, end = MOTIONS[family]
    # The oscillators have a position, whose derivative is the velocity.
    sides = ("v", formula) if family == "PO" else (formula,)
    states = ("x", "v") if family == "PO" else (names[1],)
    return Trajectory(sides, states, start, end, SYNTH_ROWS, names)


def _transformed(row: Record) -> Problem:
    names, spans = _ranges(row["ranges"])
    kept = row["features"].split()
    inputs = features(len(names))
    return SwappedProblem(
        suite="lsr-transform",
        name=f"LSR-Transform-{row['name']}",
        expression=renamed(row["formula"], names),
        variables=features(len(kept)),
        sampling=_box(spans, TRANSFORM_ROWS),
        note=f"{row['output']} = {row['formula']} for {row['target']}; x = {', '.join(kept)}",
        provable=False,
        inputs=inputs,
        target=inputs[names.index(row["target"])],
    )


def _realistic(row: Record) -> Problem:
    names, spans = _ranges(row["ranges"])
    return _problem(
        "srsd", f"SRSD-{row['name']}", row["formula"], names, Ranges(spans, SRSD_ROWS),
        note=row["difficulty"], provable=False,
    )  # fmt: skip


def _system(row: Record) -> list[Problem]:
    train, test = system(row)
    states = train.states
    return [
        _problem(
            "odebench", f"ODEBench-{row['name']}.{k}", side, states, replace(train, columns=states),
            note=f"{row['description']}, d(x{k})/dt", test_sampling=replace(test, columns=states),
            provable=False,
        )
        for k, side in enumerate(train.right_hand_sides, 1)
    ]  # fmt: skip


def system(row: Record) -> tuple[Trajectory, Trajectory]:
    """Return the series of a system, times first, from the start of the data and from another."""
    sides = tuple(side.strip() for side in row["right_hand_sides"].split(";"))
    states = tuple(f"x_{k}" for k in range(len(sides)))
    starts = [tuple(float(v) for v in each.split()) for each in row["starts"].split(";")]
    columns, end = ("t", *states), float(row.get("end", ODE_END))
    count = int(row.get("rows", ODE_ROWS))
    train, test = (Trajectory(sides, states, each, end, count, columns) for each in starts)
    return train, test


#: The problems of the paper, and the others.
PROBLEMS = tuple(map(_paper, rows_of("paper")))
BEYOND_PAPER = (
    *map(_feynman, rows_of("feynman")),
    *map(_strogatz, rows_of("strogatz")),
    *map(_synthetic, rows_of("lsr_synth")),
    *map(_transformed, rows_of("lsr_transform")),
    *map(_realistic, rows_of("srsd")),
    *(each for row in rows_of("odebench") for each in _system(row)),
    *map(_two_terms, rows_of("two_terms")),
)


# ---- suites and names ----------------------------------------------------------------------------

__all__ = ["ALL_PROBLEMS", "ALL_SUITES", "PROBLEMS", "SUITES", "Problem", "get", "select"]

ALL_PROBLEMS: tuple[Problem, ...] = PROBLEMS + BEYOND_PAPER
SUITES = tuple(dict.fromkeys(each.suite for each in PROBLEMS))
ALL_SUITES = tuple(dict.fromkeys(each.suite for each in ALL_PROBLEMS))
GROUPS = {"all": ALL_SUITES, "paper": SUITES, **{suite: (suite,) for suite in ALL_SUITES}}

_BY_NAME = {each.name.lower(): each for each in ALL_PROBLEMS}


def get(name: str) -> Problem:
    """Return the problem called `name`, in any letter case; ValueError if there is none."""
    if name.lower() not in _BY_NAME:
        raise _unknown(name, [each.name for each in ALL_PROBLEMS])
    return _BY_NAME[name.lower()]


def select(names: Iterable[str]) -> list[Problem]:
    """Return the problems of the given names and suites, each once, in the order asked for.

    ``paper`` stands for the five suites of the paper, ``all`` for every suite.
    """
    chosen: dict[str, Problem] = {}
    for name in [names] if isinstance(names, str) else names:
        chosen.update((each.name, each) for each in _expand(name))
    return list(chosen.values())


def _expand(name: str) -> list[Problem]:
    key = name.lower()
    if key in GROUPS:
        return [each for each in ALL_PROBLEMS if each.suite in GROUPS[key]]
    if key in _BY_NAME:
        return [_BY_NAME[key]]
    raise _unknown(name, [*GROUPS, *(each.name for each in ALL_PROBLEMS)])


def _unknown(name: str, known: list[str]) -> ValueError:
    spelling = {each.lower(): each for each in known}
    near = [spelling[each] for each in get_close_matches(name.lower(), spelling, n=3)]
    suites = ", ".join(ALL_SUITES)
    hint = f"did you mean {' or '.join(near)}?" if near else f"the suites are {suites}."
    return ValueError(f"unknown problem or suite {name!r}: {hint}")
