"""How often prediction intervals contain new measurements.

A law is fitted many times to fresh errors. New measurements of the same kind are compared with the
intervals for them, over the whole range and in each quarter of it.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.command import console, parse_arguments, parser_of
from gsr.benchmarks import measured, runner
from gsr.benchmarks.measured import Outcome
from gsr.benchmarks.suites.problem import Array

LEVELS = (0.90, 0.95)
QUARTERS = 4
FRESH_ROWS = 80
REPLICATIONS = 200
#: Evaluations of each fit, unless told.
EVALUATIONS = 100
#: How far a share may be from its level, over the whole range and in a quarter.
WHOLE, QUARTER = 0.03, 0.06
#: Two-sided 95 % quantile of the normal distribution.
NORMAL = 1.959964


@dataclass(frozen=True)
class Case:
    """A law with one feature and errors of one kind."""

    #: The law with its true constants; all are fitted.
    start: str
    #: The true y of x.
    values: Callable[[Array], Array]
    #: Standard deviation of the errors, of x and the true y.
    size: Callable[[Array, Array], Array]
    #: Their kind; the fit is told the sizes of kind ``sigma`` only.
    errors: str
    #: Range of x.
    low: float
    high: float
    #: Training rows, drawn at random.
    n_rows: int

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Return x, measurements of y and the standard deviations of their errors."""
        x = rng.uniform(self.low, self.high, n)
        truth = self.values(x)
        size = np.broadcast_to(self.size(x, truth), (n,)).astype(float)
        return x[:, None], truth + size * rng.standard_normal(n), size


def _line(x: Array) -> Array:
    return 3.0 * x


def _decay(x: Array) -> Array:
    return np.asarray(6.2 * np.exp(-0.43 * x) + 1.35)


def _saturation(x: Array) -> Array:
    return np.asarray(12.3 * x / (4.2 + x))


_LINE = ("y = 3.0*x1", _line)
_DECAY = ("y = 6.2*exp(-0.43*x1) + 1.35", _decay)
_SATURATION = ("1/y = 0.341/x1 + 0.0813", _saturation)

CASES: dict[str, Case] = {
    "line, constant": Case(*_LINE, lambda x, y: np.full(len(x), 0.5), "constant", 1, 10, 40),
    "decay, constant": Case(*_DECAY, lambda x, y: np.full(len(x), 0.1), "constant", 0, 10, 50),
    "saturation, constant": Case(
        *_SATURATION, lambda x, y: np.full(len(x), 0.1), "constant", 0.5, 40, 40
    ),
    "line, relative": Case(*_LINE, lambda x, y: 0.05 * y, "relative", 1, 10, 60),
    "saturation, relative": Case(*_SATURATION, lambda x, y: 0.05 * y, "relative", 0.5, 40, 60),
    "line, sigma": Case(*_LINE, lambda x, y: 0.02 * x**2, "sigma", 1, 10, 40),
    "decay, sigma": Case(*_DECAY, lambda x, y: 0.03 * (1.0 + x), "sigma", 0, 10, 50),
}


@dataclass(frozen=True)
class CoverageOutcome(Outcome):
    """Shares of new measurements inside their intervals."""

    #: Whether the fit starts from the true law.
    way: str = ""
    #: Fits.
    replications: int = 0
    #: Median width of the 95 % intervals, relative to those of the true law and errors.
    width: float = math.nan
    #: Shares over the whole range.
    whole_90: float = math.nan
    whole_95: float = math.nan
    #: Shares in each quarter of it.
    quarters_90: Sequence[float] = ()
    quarters_95: Sequence[float] = ()


def _cover(task: measured.Task) -> Any:
    name, replications = task.subject
    case = CASES[name]
    start = {"start": case.start} if task.blank.way == "known" else {}
    parts = [_replication(case, seed, {**task.options, **start}) for seed in range(replications)]
    inside = np.stack([part.inside for part in parts], axis=1)
    quarter = np.stack([part.quarter for part in parts])
    whole = inside.mean(axis=(1, 2)).tolist()
    quarters = [[float(level[quarter == k].mean()) for k in range(QUARTERS)] for level in inside]
    return replace(
        task.blank,
        **{**parts[-1].fitted.noted(), "seconds": sum(p.fitted.seconds for p in parts)},
        found=_near(whole, quarters),
        replications=len(parts),
        width=runner.median(float(part.width) for part in parts),
        whole_90=whole[0],
        whole_95=whole[1],
        quarters_90=quarters[0],
        quarters_95=quarters[1],
    )


def _near(whole: Sequence[float], quarters: Sequence[Sequence[float]]) -> bool:
    return all(
        abs(whole[k] - level) <= WHOLE
        and all(abs(share - level) <= QUARTER for share in quarters[k])
        for k, level in enumerate(LEVELS)
    )


@dataclass(frozen=True)
class _Replication:
    fitted: measured.Fit
    inside: Any
    quarter: Any
    width: float


def _replication(case: Case, seed: int, options: Mapping[str, Any]) -> _Replication:
    rng = np.random.default_rng([seed, 2024])
    X, y, size = case.draw(case.n_rows, rng)
    told = case.errors == "sigma"
    fitted = measured.fit(X, y, options, sigma=size if told else None)
    X, y, size = case.draw(FRESH_ROWS, rng)
    intervals = fitted.model.predict_interval
    takes_sigma = "sigma" in inspect.signature(intervals).parameters
    known = {"sigma": size} if told and takes_sigma else {}
    ends = [intervals(X, level, **known) for level in LEVELS]
    inside = np.stack([(low <= y) & (y <= high) for low, high in (each.T for each in ends)])
    part = (X[:, 0] - case.low) / (case.high - case.low)
    quarter = np.minimum((QUARTERS * part).astype(int), QUARTERS - 1)
    width = float(np.nanmedian(np.diff(ends[1], axis=1)[:, 0] / (2 * NORMAL * size)))
    return _Replication(fitted, inside, quarter, width)


def run(
    *, options: Mapping[str, Any], replications: int = REPLICATIONS, **how: Any
) -> list[CoverageOutcome]:
    """Measure the coverage of all cases, from the true law and by search.

    Parameters
    ----------
    options : mapping
        Parameters of the estimator.
    replications : int
        Fits per case.
    **how
        See `gsr.benchmarks.measured.run`.
    """
    tasks = [
        measured.Task(
            CoverageOutcome("coverage", f"{name}, {way}", case.errors, way=way),
            options, _cover, (name, replications),
        )
        for way in ("known", "searched")
        for name, case in CASES.items()
    ]  # fmt: skip
    return measured.run(tasks, **how)


def tables(outcomes: Sequence[CoverageOutcome]) -> Table:
    """Return the shares by case and level."""
    rows = []
    for each in outcomes:
        for level, whole, quarters in (
            ("90 %", each.whole_90, each.quarters_90),
            ("95 %", each.whole_95, each.quarters_95),
        ):
            shares = [f"{share:.3f}" for share in quarters] or [""] * QUARTERS
            width = f"{each.width:.2f}" if level == "95 %" else ""
            rows.append((each.problem, level, f"{whole:.3f}", *shares, width, each.error))
    titles = (
        "case",
        "level",
        "whole>",
        *(f"q{k + 1}>" for k in range(QUARTERS)),
        "width>",
        "error",
    )
    fits = max((each.replications for each in outcomes), default=0)
    caption = f"{fits} fits per case. Width: of 95 % intervals, 1 is that of the true errors."
    return runner.table("Coverage of prediction intervals", titles, rows, caption)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 after Ctrl-C."""
    parser = parser_of("coverage", __doc__)
    parser.add_argument("--fits", type=int, default=REPLICATIONS, metavar="N", help="per case")
    parser.add_argument("--max-evals", type=int, default=EVALUATIONS, metavar="N", help="of a fit")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    asked = parse_arguments(parser, argv)
    options = {"max_evals": asked.max_evals, "max_time": None}
    outcomes = run(options=options, replications=asked.fits, jobs=asked.jobs, json_path=asked.json)
    if outcomes:
        console().print(tables(outcomes))
    return 0 if len(outcomes) == 2 * len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
