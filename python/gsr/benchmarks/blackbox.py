"""The suite `blackbox`: accuracy on tables whose law nobody knows, such as those of PMLB.

The files are not part of this project: tab-separated, compressed, with a column `target`.
"""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from gsr.benchmarks import measured
from gsr.benchmarks.measured import Outcome, median
from gsr.benchmarks.suites.sampling import Array
from gsr.exceptions import GSRError

ENDING = ".tsv.gz"
#: Part of the rows that is trained on, and the most rows.
TRAINING = 0.75
MOST_ROWS = 10_000
#: Predictions with a lower R2 on test rows are flagged.
WILD = -0.1


def read(path: str | os.PathLike[str]) -> tuple[Array, Array]:
    """Return features and target of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        names = file.readline().split()
        table = np.loadtxt(file, ndmin=2)
    if "target" not in names:
        raise GSRError(f"{os.fspath(path)}: no column 'target'")
    at = names.index("target")
    return np.delete(table, at, axis=1), table[:, at]


def split(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return the numbers of the training rows and of the test rows."""
    order = np.random.default_rng(seed).permutation(n_rows)
    first = round(TRAINING * n_rows)
    return order[: min(first, MOST_ROWS)], order[first:]


@dataclass(frozen=True)
class BlackBoxOutcome(Outcome):
    """What became of one table; it counts as found unless its predictions are wild.

    Parameters
    ----------
    r2, r2_train : float
        On test rows and on training rows.
    n_rows, n_features : int
        Size of the training table.
    """

    r2: float = -math.inf
    r2_train: float = -math.inf
    n_rows: int = 0
    n_features: int = 0


@dataclass(frozen=True)
class _BlackBoxTask:
    path: Path
    seed: int
    options: Mapping[str, Any]

    def blank(self) -> BlackBoxOutcome:
        return BlackBoxOutcome("blackbox", self.path.name.removesuffix(ENDING), seed=self.seed)

    def run(self) -> BlackBoxOutcome:
        X, y = read(self.path)
        train, test = split(len(y), self.seed)
        fitted = measured.fit(X[train], y[train], self.options, seed=self.seed)
        r2 = measured.r2(fitted.model.predict(X[test]), y[test])
        return replace(
            self.blank(),
            **measured.noted(fitted),
            found=r2 >= WILD,
            r2=r2,
            r2_train=measured.r2(fitted.model.predict(X[train]), y[train]),
            n_rows=len(train),
            n_features=X.shape[1],
        )


def run(
    folder: str | os.PathLike[str], *, options: Mapping[str, Any], runs: int = 1, **how: Any
) -> list[BlackBoxOutcome]:
    """Fit the files of a folder, split by the seeds 0..runs-1.

    Parameters
    ----------
    folder : path-like
        Folder of .tsv.gz files.
    options : mapping
        Parameters of the estimator.
    runs : int
        Splits per file.
    **how
        See `gsr.benchmarks.measured.run`.
    """
    paths = measured.files(folder, f"*{ENDING}")
    return measured.run([_BlackBoxTask(p, s, options) for p in paths for s in range(runs)], **how)


def tables(outcomes: Sequence[BlackBoxOutcome]) -> Table:
    """Return the tables with their accuracy."""
    wild = sum(not each.found for each in outcomes)
    caption = (
        f"Median test R2 {median(each.r2 for each in outcomes):.3f}, size "
        f"{median(each.complexity for each in outcomes):.0f}, "
        f"{median(each.seconds for each in outcomes):.1f} s. Below {WILD:g}: {wild}."
    )
    rows = [
        (
            each.problem,
            str(each.seed),
            f"{each.n_rows:,}",
            str(each.n_features),
            f"{each.r2_train:.3f}",
            f"{each.r2:.3f}" + ("" if each.found else " !"),
            str(each.complexity),
            f"{each.seconds:.1f}",
            each.error,
        )
        for each in outcomes
    ]
    titles = (
        "table", "seed>", "rows>", "features>", "R2 train>", "R2 test>", "size>", "s>", "error",
    )  # fmt: skip
    return measured.table("Black-box tables", titles, rows, caption)
