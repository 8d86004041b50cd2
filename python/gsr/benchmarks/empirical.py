"""The suite `empirical`: historical laws from their measurements, in files of their own.

The files are not part of this project. Each has the columns of its law and a column `target`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from gsr.benchmarks import measured
from gsr.benchmarks.measured import StructureOutcome
from gsr.benchmarks.suites.curves import Curve, box
from gsr.benchmarks.suites.sampling import Array
from gsr.exceptions import GSRError

#: The laws by the names of their files: formula of the target, and typical constants. Logarithms
#: of the target are in the files already.
TRUTHS: dict[str, tuple[str, dict[str, float]]] = {
    "hubble": ("H*D", {"H": 475.3}),
    "kepler": ("k*a**1.5", {"k": 366.7}),
    "leavitt": ("m*log(P) + b", {"m": -0.87, "b": 15.56}),
    "planck": (
        "a + 3*log(nu) - c*nu/T - log(1 - exp(-c*nu/T))",
        {"a": -114.75, "c": 4.799e-11},
    ),
    "schechter": ("a*log(L) - b*L + c", {"a": -1.21, "b": 4.04e-9, "c": -2.2}),
}


def read(path: str | os.PathLike[str]) -> tuple[list[str], Array, Array]:
    """Return the names of the features, their columns and the target of a CSV file."""
    with open(path, newline="", encoding="utf-8") as file:
        names, *rows = list(csv.reader(file))
    if "target" not in names:
        raise GSRError(f"{os.fspath(path)}: no column 'target'")
    table = np.array(rows, dtype=float)
    at = names.index("target")
    return [*names[:at], *names[at + 1 :]], np.delete(table, at, axis=1), table[:, at]


def truth(name: str, names: Sequence[str], X: Array) -> Curve:
    """Return the law of a file as a curve in the box of its data."""
    formula, constants = TRUTHS[name]
    return Curve(name, formula, constants, box(names, X), len(X))


@dataclass(frozen=True)
class _EmpiricalTask:
    path: Path
    seed: int
    options: Mapping[str, Any]

    def blank(self) -> StructureOutcome:
        return StructureOutcome("empirical", self.path.stem, seed=self.seed)

    def run(self) -> StructureOutcome:
        names, X, y = read(self.path)
        curve = truth(self.path.stem, names, X)
        fitted = measured.fit(X, y, self.options, seed=self.seed)
        return measured.judged(self.blank(), fitted, curve, X, y)


def run(
    folder: str | os.PathLike[str], *, options: Mapping[str, Any], runs: int = 1, **how: Any
) -> list[StructureOutcome]:
    """Fit the files of a folder whose law is known, with the seeds 0..runs-1.

    Parameters
    ----------
    folder : path-like
        Folder of .csv files.
    options : mapping
        Parameters of the estimator.
    runs : int
        Fits per file.
    **how
        See `gsr.benchmarks.measured.run`.
    """
    paths = [path for path in measured.files(folder, "*.csv") if path.stem in TRUTHS]
    if not paths:
        raise GSRError(f"{os.fspath(folder)}: none of {', '.join(TRUTHS)} is there as .csv")
    return measured.run([_EmpiricalTask(p, s, options) for p in paths for s in range(runs)], **how)


def tables(outcomes: Sequence[StructureOutcome]) -> Table:
    """Return the laws with their verdicts."""
    found = sum(each.found for each in outcomes)
    front = sum(each.on_front for each in outcomes)
    rows = [
        (
            each.problem,
            each.structure or "failed",
            "yes" if each.on_front else "",
            measured.verdict(each),
            f"{each.r2:.5f}",
            f"{each.seconds:.1f}",
            each.error or each.equation,
        )
        for each in outcomes
    ]
    titles = ("law", "structure", "front", "verdict", "R2>", "s>", "found law")
    caption = f"{found} of {len(outcomes)} found, {front} on the front. {measured.MARK}"
    return measured.table("Historical laws", titles, rows, caption)
