"""Formulas of the data files: read, renamed and compiled."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsr.formula import expression

DATA = files("gsr.benchmarks.suites") / "data"


def rows_of(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file of this package by column."""
    with (DATA / f"{name}.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def features(count: int) -> tuple[str, ...]:
    """Return x1, x2, ..."""
    return tuple(f"x{k}" for k in range(1, count + 1))


def renamed(formula: str, names: tuple[str, ...]) -> str:
    """Return the formula in x1, x2, ... instead of `names`."""
    new = dict(zip(names, features(len(names)), strict=True))
    return re.sub(r"[A-Za-z]\w*", lambda word: new.get(word[0], word[0]), formula)


@cache
def compiled(
    formula: str | tuple[str, ...], names: tuple[str, ...], real: bool | None = None
) -> Callable[..., Any]:
    """Return a NumPy function of the named variables; of several formulas, a list of values."""
    import sympy

    symbols = {name: sympy.Symbol(name, real=real) for name in names}

    whole = (
        expression(formula, symbols)
        if isinstance(formula, str)
        else [expression(text, symbols) for text in formula]
    )
    modules = [{"harmonic": _harmonic}, "numpy"]
    function: Callable[..., Any] = sympy.lambdify(list(symbols.values()), whole, modules=modules)
    return function


def _harmonic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum 1/k for k = 1..x at whole numbers x."""
    whole = np.rint(x).astype(np.intp)
    sums: NDArray[np.float64] = np.cumsum(1.0 / np.arange(1, whole.max() + 1))
    return sums[whole - 1]
