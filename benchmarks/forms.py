"""How many laws are found when their form is known and its functions are searched for.

There are twenty forms with two unknown functions, and 1 % noise. A law counts as found if it can
represent the truth: with its constants fitted to rows without noise, its error is rounding error,
and it has at most two constants more than the truth (an offset or a factor may move between parts).
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.table import Table
from scipy.optimize import least_squares

from benchmarks.command import console, parse_arguments, parser_of
from gsr.benchmarks.suites.problem import Array
from gsr.exceptions import GSRError
from gsr.files import write_whole

NOISE, ROWS, LOW, HIGH = 0.01, 300, 0.3, 3.5
#: Default number of evaluations in the search for a part.
EVALUATIONS = 1500
#: Error relative to the spread of y that is rounding error, and number of spare constants.
EXACT, SPARE = 1e-6, 2


@dataclass(frozen=True)
class Problem:
    """A form, and its true functions and constants."""

    form: str
    #: The complete law, as a NumPy expression of x1, ..., x4.
    truth: str
    n_constants: int

    def draw(self, rng: np.random.Generator, noise: float) -> tuple[Array, Array, Array]:
        """Return rows, y and y without noise."""
        X = rng.uniform(LOW, HIGH, (ROWS, 4))
        names = {f"x{k + 1}": column for k, column in enumerate(X.T)}
        clean = np.asarray(eval(self.truth, {"__builtins__": {}, **vars(np)}, names))
        return X, clean + noise * clean.std() * rng.normal(size=ROWS), clean


PROBLEMS = (
    Problem("f(x1) + g(x2)", "1.3*x1**2 + 2.1*exp(-0.8*x2)", 3),
    Problem("sin(f(x1, x2)) + g(x3)**2", "sin(0.5*x1*x2) + (0.3*x3**2 + 0.5)**2", 3),
    Problem("f(x1)*g(x2)", "(x1 + 0.6)*log(x2 + 1.5)", 3),
    Problem("f(x1)/(1 + g(x2))", "3.1*sqrt(x1)/(1 + 0.7*x2**2)", 2),
    Problem("exp(-f(x1))*g(x2)", "exp(-0.4*x1**2)*(2 + 1.5*x2)", 3),
    Problem("f(x1)*x3 + g(x2)", "2.2*x3/x1 + 1.7*x2**2", 2),
    Problem("sqrt(f(x1)) + g(x2)", "sqrt(1.2*x1 + 0.5*x1**2) + 0.9*sin(2.0*x2)", 4),
    Problem("f(x1)*exp(-g(x2)*x3)", "(2.5 + x1)*exp(-0.3*x2**2*x3)", 3),
    Problem("a*x4 + f(x1) + g(x2, x3)", "1.4*x4 + 0.8*exp(0.7*x1) + 1.1*x2*x3", 4),
    Problem("log(f(x1)) + x2*g(x3)", "log(1.5 + x1**2) + x2*0.6*x3**2", 3),
    Problem("f(x1)**2 + g(x2)*x3", "(0.7*x1 + 1)**2 + 2.3*x3/(1 + x2)", 3),
    Problem("x1*f(x2) + x2*g(x1)", "x1*1.6*exp(-x2) + x2*0.5*x1**2", 2),
    Problem("f(x1, x2)/(x3 + g(x4))", "2.4*x1*x2/(x3 + 0.5*x4**2)", 2),
    Problem("cos(f(x1)) + g(x2)", "cos(0.9*x1) + 0.1*x2**3", 2),
    Problem("tanh(f(x1)) + g(x2, x3)", "tanh(0.5*x1**2) + 0.8*x2/x3", 2),
    Problem("exp(f(x1)) + g(x2)", "exp(0.2*x1**2) + 1.9*log(x2)", 2),
    Problem("f(x1)*sin(x3) + g(x2)*cos(x3)", "1.5*x1**2*sin(x3) + 2.0*sqrt(x2)*cos(x3)", 2),
    Problem("1/(f(x1) + g(x2))", "1/(0.6*x1**2 + 1.2*x2)", 2),
    Problem("(f(x1) + x3)*g(x2)", "(1.8/x1 + x3)*(0.5 + x2**2)", 2),
    Problem("x3**2*f(x1) - g(x2, x4)", "x3**2*0.9*exp(-0.5*x1) - 1.3*x2*sqrt(x4)", 3),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The outcome of a form."""

    form: str
    law: str
    #: Error relative to the spread of y with constants fitted to rows without noise.
    error: float
    n_constants: int
    found: bool
    seconds: float


def run(problem: Problem, seed: int, max_evals: int) -> Outcome:
    """Fit a form and judge its law."""
    from gsr import GSRForm, GSRRegressor

    X, y, clean = problem.draw(np.random.default_rng(seed), NOISE)
    start = time.perf_counter()
    regressor = GSRRegressor(n_jobs=1, max_evals=max_evals, max_time=None)
    model = GSRForm(problem.form, regressor=regressor, max_time=None, random_state=seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
    except GSRError as failure:
        return Outcome(problem.form, str(failure), np.inf, 0, False, time.perf_counter() - start)
    spent = time.perf_counter() - start
    error, number = best_error(model, X, clean), len(model._values)
    found = error <= EXACT and number <= problem.n_constants + SPARE
    return Outcome(problem.form, str(model), error, number, found, spent)


def best_error(model: Any, X: Array, clean: Array) -> float:
    """Return the error with constants fitted to rows without noise."""
    spread = float(clean.std())

    def left(values: Array) -> Array:
        with np.errstate(all="ignore"):
            found = np.asarray(model._evaluate(*X.T, *values)[0], dtype=float)
        return np.nan_to_num((found - clean) / spread, nan=1e3, posinf=1e3, neginf=-1e3)

    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    best = least_squares(left, model._values, x_scale="jac", max_nfev=200, **tight)
    return float(np.sqrt(np.mean(best.fun**2)))


def shown(outcomes: Sequence[Outcome]) -> Table:
    """Return the outcomes as a table."""
    table = Table("form", "found", "error", "constants", "s", "law")
    for each in outcomes:
        mark = "yes" if each.found else "no"
        numbers = f"{each.error:.1e}", str(each.n_constants), f"{each.seconds:.0f}"
        table.add_row(each.form, mark, *numbers, each.law)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Fit all forms."""
    parser = parser_of("forms", __doc__)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of noise and searches")
    parser.add_argument(
        "--max-evals", type=int, default=EVALUATIONS, metavar="N", help="of each search for a part"
    )
    parser.add_argument("--only", type=int, nargs="*", metavar="K", help="numbers of forms, from 1")
    asked = parse_arguments(parser, argv)
    outcomes = []
    for number in asked.only or range(1, len(PROBLEMS) + 1):
        outcomes.append(run(PROBLEMS[number - 1], asked.seed, asked.max_evals))
        console().print(shown(outcomes[-1:]))
    n_found = sum(each.found for each in outcomes)
    console().print(f"{n_found} of {len(outcomes)} found ({100 * n_found / len(outcomes):.0f} %)")
    if asked.json is not None:
        write_whole(json.dumps([asdict(each) for each in outcomes], indent=1) + "\n", asked.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
