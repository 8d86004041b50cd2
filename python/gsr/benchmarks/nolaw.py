"""The suite `nolaw`: tables of pure noise, where the only right law is a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from gsr.benchmarks import measured
from gsr.benchmarks.measured import Outcome
from gsr.benchmarks.suites.sampling import Array

#: Distributions of the target.
TARGETS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: 3.0 + rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(0.0, 10.0, n),
    "lognormal": lambda rng, n: rng.lognormal(1.0, 0.5, n),
    "student": lambda rng, n: rng.standard_t(3, n),
    "counts": lambda rng, n: rng.poisson(6.0, n).astype(float),
}
#: Rows and features of a table.
SIZES = (
    (12, 1), (20, 1), (20, 3), (30, 1), (30, 5), (50, 1), (50, 2), (50, 10), (80, 1), (100, 3),
    (100, 8), (150, 1), (150, 20), (200, 2), (200, 5), (300, 1), (300, 12), (500, 4), (700, 1),
    (1000, 3),
)  # fmt: skip
#: Tables of a run: all sizes of all distributions.
N_TABLES = len(TARGETS) * len(SIZES)


@dataclass(frozen=True)
class _NoiseTask:
    target: str
    n_rows: int
    n_features: int
    seed: int
    options: Mapping[str, Any]

    def blank(self) -> Outcome:
        name = f"{self.target}, {self.n_rows} rows, {self.n_features} features"
        return Outcome("nolaw", name, errors=self.target, seed=self.seed)

    def data(self) -> tuple[Array, Array]:
        key = list(TARGETS).index(self.target)
        rng = np.random.default_rng([self.seed, key, self.n_rows, self.n_features])
        X = rng.uniform(0.5, 5.0, (self.n_rows, self.n_features))
        X[:, 1::2] = rng.standard_normal(X[:, 1::2].shape)
        if self.n_features == 1:
            X = np.sort(X, axis=0)
        return X, TARGETS[self.target](rng, self.n_rows)

    def run(self) -> Outcome:
        fitted = measured.fit(*self.data(), self.options, seed=self.seed)
        found = not fitted.chosen.uses_features
        return replace(self.blank(), **fitted.noted(), found=found)


def run(*, options: Mapping[str, Any], runs: int = 1, **how: Any) -> list[Outcome]:
    """Fit 100 tables, with the seeds 0..runs-1, by an estimator with these options."""
    tasks = [
        _NoiseTask(target, rows, features, seed, options)
        for target in TARGETS
        for rows, features in SIZES
        for seed in range(runs)
    ]
    return measured.run(tasks, **how)


def tables(outcomes: Sequence[Outcome]) -> Table:
    """Return one line per distribution, and the laws that are more than a constant."""
    wrong = [each for each in outcomes if not each.found]
    rows = []
    for kind in dict.fromkeys(each.errors for each in outcomes):
        group = [each for each in outcomes if each.errors == kind]
        right = sum(each.found for each in group)
        early = sum(each.ended_early for each in group)
        seconds = measured.median(each.seconds for each in group)
        rows.append((kind, f"{right} of {len(group)}", f"{early}", f"{seconds:.1f}", ""))
    rows += [(each.problem, "", "", "", each.error or each.equation) for each in wrong]
    titles = ("noise", "constant law>", "ended early>", "median s>", "law")
    right = len(outcomes) - len(wrong)
    return measured.table("Noise without a law", titles, rows, f"{right} of {len(outcomes)} right.")
