"""Sums of two terms of different variables, drawn from a seed, beside columns that play no part.

A term is a product of functions of one variable each, or a function of a + b, a b + c or 1 + a b.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gsr.benchmarks.suites.problem import Problem
from gsr.benchmarks.suites.sampling import Array, Uniform

SEED, COUNT, ROWS = 20, 50, 400
LOW, HIGH = 1.0, 3.0
#: A term must vary by this much, and by this part of what the other one does.
LEAST_SPREAD, LEAST_SHARE = 1e-2, 0.05

Function = Callable[[Array], Array]
Drawn = tuple[str, Array]

FACTORS: dict[str, Function] = {
    "{}": np.positive,
    "{}**2": np.square,
    "1/{}": np.reciprocal,
    "sqrt({})": np.sqrt,
    "log({})": np.log,
    "exp(-{})": lambda x: np.exp(-x),
    "cos({})": np.cos,
}
OUTER: dict[str, Function] = {
    "sqrt({})": np.sqrt,
    "log({})": np.log,
    "exp(-({}))": lambda x: np.exp(-x),
    "cos({})": np.cos,
    "1/({})": np.reciprocal,
    "({})**2": np.square,
}
INNER: dict[str, Callable[[Array, Array, Array], Array]] = {
    "{} + {}": lambda a, b, c: a + b,
    "1 + {}*{}": lambda a, b, c: 1 + a * b,
    "{}*{} + {}": lambda a, b, c: a * b + c,
}


def _term(rng: np.random.Generator, names: list[str]) -> Drawn:
    """Return a term of the first two or three names, and its values at some rows."""
    X = rng.uniform(LOW, HIGH, (3, ROWS))
    if rng.random() < 0.5:
        count = rng.integers(2, 4)
        texts = rng.choice(list(FACTORS), count)
        values = np.prod([FACTORS[text](x) for text, x in zip(texts, X, strict=False)], axis=0)
        return "*".join(text.format(x) for text, x in zip(texts, names, strict=False)), values
    inner, outer = rng.choice(list(INNER)), rng.choice(list(OUTER))
    argument = str(inner).format(*names[: inner.count("{}")])
    return str(outer).format(argument), OUTER[outer](INNER[inner](*X))


def _problem(number: int, expression: str, n_columns: int) -> Problem:
    return Problem(
        suite="two-terms",
        name=f"Two-terms-{number}",
        expression=expression,
        variables=tuple(f"x{k}" for k in range(1, n_columns + 1)),
        sampling=Uniform(LOW, HIGH, ROWS),
        library=(),
        target_library=(),
    )


def draw(count: int, seed: int) -> tuple[Problem, ...]:
    """Return `count` laws; those of which one term hardly varies are drawn again."""
    rng = np.random.default_rng(seed)
    laws: dict[str, Problem] = {}
    while len(laws) < count:
        n_columns = int(rng.integers(6, 9))
        names = [f"x{k}" for k in rng.permutation(n_columns) + 1]
        drawn = [_term(rng, names[:3]), _term(rng, names[3:6])]
        spreads = [float(np.std(values)) for _, values in drawn]
        if min(spreads) > max(LEAST_SPREAD, LEAST_SHARE * max(spreads)):
            law = " + ".join(text for text, _ in drawn)
            laws.setdefault(law, _problem(len(laws) + 1, law, n_columns))
    return tuple(laws.values())


TWO_TERMS = draw(COUNT, SEED)
