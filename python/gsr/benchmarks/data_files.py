"""The suites `nist`, `empirical` and `blackbox`: measured data in files, not part of the project.

- ``nist``: nonlinear regression sets of the NIST Statistical Reference Datasets. A file has a
  model, its certified constants and residual sum of squares, and the data.
- ``empirical``: historical laws from their measurements. A file has the columns of its law and a
  column `target`.
- ``blackbox``: accuracy on tables whose law is unknown, such as those of PMLB: tab-separated,
  compressed, with a column `target`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.table import Table

from gsr.benchmarks import measured, runner
from gsr.benchmarks.measured import Outcome, StructureOutcome
from gsr.benchmarks.runner import median
from gsr.benchmarks.suites.curves import Curve, box, constants_of
from gsr.benchmarks.suites.problem import Array, rows_of
from gsr.exceptions import GSRError

#: Largest residual sum of squares that passes, relative to the certified one.
RATIO = 1.1
#: Constants that a law may have beyond those of the certified model.
SPARE = 1
#: Root mean square error, relative to the standard deviation of y, that passes in any case:
#: some certified sums are those of the rounding of generated data.
ROUNDING = 1e-9

#: The historical laws by the names of their files: formula of the target, and typical constants.
#: Logarithms of the target are in the files already.
TRUTHS = {row["name"]: row for row in rows_of("empirical")}

#: Part of the rows that is trained on in a black-box table, and the most rows.
TRAINING = 0.75
MOST_ROWS = 10_000
#: Predictions with a lower R2 on test rows are flagged.
WILD = -0.1

PathLike = str | os.PathLike[str]


def _fit(task: measured.Task, X: Array, y: Array) -> measured.Fit:
    return measured.fit(X, y, task.options, seed=task.blank.seed)


def run(
    suite: str, folder: PathLike, *, options: Mapping[str, Any], runs: int = 1, **how: Any
) -> list[Any]:
    """Fit the files of a folder, with the seeds 0..runs-1.

    `options` are parameters of the estimator; see `gsr.benchmarks.measured.run` for `how`.
    """
    ending, work, kind, _, names = SUITES[suite]
    paths = {path.name.removesuffix(ending): path for path in Path(folder).glob(f"*{ending}")}
    known = sorted(name for name in paths if not names or name in names)
    if not known:
        raise GSRError(f"{os.fspath(folder)}: there is no file {' or '.join(names) or '*'}{ending}")
    tasks = [
        measured.Task(kind(suite, name, seed=seed), options, work, paths[name])
        for name in known
        for seed in range(runs)
    ]
    return measured.run(tasks, **how)


def _read(path: Path, separator: str) -> tuple[list[str], Array, Array]:
    """Return the names of the features, the features, and the column `target`."""
    table = pd.read_csv(path, sep=separator, float_precision="round_trip", dtype=float)
    if "target" not in table:
        raise GSRError(f"{os.fspath(path)}: no column 'target'")
    y = table.pop("target").to_numpy()
    return list(table), table.to_numpy(), y


# ---- nist ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dataset:
    """A file of NIST's."""

    name: str
    #: The model as the file writes it.
    model: str
    #: Certified constants.
    constants: Mapping[str, float]
    #: Certified residual sum of squares.
    rss: float
    #: The features' names in the model.
    names: tuple[str, ...]
    X: Array
    #: The left side of the model, which may be log[y].
    y: Array

    @property
    def curve(self) -> Curve:
        """The certified model in the box of the data."""
        formula = self.model.partition("=")[2]
        for ours, theirs in (("(", "["), (")", "]"), ("atan", "arctan")):
            formula = formula.replace(theirs, ours)
        return Curve(self.name, formula, self.constants, box(self.names, self.X), len(self.y))


def read_nist(path: PathLike) -> Dataset:
    """Read a file of NIST's; GSRError if a part is missing."""
    text = Path(path).read_text("ascii", errors="replace")
    lines = text.splitlines()
    model = _nist_model(lines)
    certified = r"^\s*(b\d+)\s*=\s*\S+\s+\S+\s+(\S+)\s+\S+\s*$"
    constants = {k: float(v) for k, v in re.findall(certified, text, re.MULTILINE)}
    total = re.search(r"^Residual Sum of Squares:\s*(\S+)", text, re.MULTILINE)
    if not model or not constants or total is None:
        raise GSRError(f"{os.fspath(path)}: no model, certified constants or residual sum")
    names, table = _nist_table(lines, path)
    y, X = table[:, 0], table[:, 1:]
    y = np.log(y) if re.match(r"log\s*[\[(]\s*y", model) else y
    return Dataset(Path(path).stem, model, constants, float(total[1]), names, X, y)


def _nist_model(lines: Sequence[str]) -> str:
    """Return the model, which may go over several lines, without its error term."""
    start = next((k for k, line in enumerate(lines) if line.startswith("Model:")), len(lines))
    end = next(
        (k for k in range(start, len(lines)) if lines[k].strip().lower().startswith("starting")),
        len(lines),
    )
    block = " ".join(line.strip() for line in lines[start:end])
    found = re.search(r"(?:y|log\s*[\[(]\s*y\s*[\])])\s*=.*?\+\s*e\s*$", block.strip())
    return re.sub(r"\s*\+\s*e$", "", re.sub(r"\s+", " ", found[0].strip())) if found else ""


def _nist_table(lines: Sequence[str], path: PathLike) -> tuple[tuple[str, ...], Array]:
    """Return the features' names and the columns, y first; the last line with Data: names them."""
    starts = [k for k, line in enumerate(lines) if re.match(r"Data:\s+y\s+x", line)]
    if not starts:
        raise GSRError(f"{os.fspath(path)}: no data")
    names = lines[starts[-1]].split()[1:]
    rows = [line.split() for line in lines[starts[-1] + 1 :] if line.strip()]
    if not rows or any(len(row) != len(names) for row in rows):
        raise GSRError(f"{os.fspath(path)}: rows of data must have {len(names)} numbers")
    return tuple(names[1:]), np.array(rows, dtype=float)


@dataclass(frozen=True)
class NistOutcome(StructureOutcome):
    """The outcome of one set; the truth is the certified model."""

    #: Residual sum of squares, relative to the certified one.
    ratio: float = math.inf
    #: Constants of the certified model.
    n_certified: int = 0
    model: str = ""


def _fit_nist(task: measured.Task) -> Any:
    data = read_nist(task.subject)
    fitted = _fit(task, data.X, data.y)
    total = float(np.sum((fitted.model.predict(data.X) - data.y) ** 2))
    total = total if math.isfinite(total) else math.inf
    outcome = measured.judged(task.blank, fitted, data.curve, data.X, data.y)
    rounding = len(data.y) * (ROUNDING * float(np.std(data.y))) ** 2
    near = total <= max(RATIO * data.rss, rounding)
    n_certified = len(data.constants)
    return replace(
        outcome,
        ratio=total / data.rss,
        n_certified=n_certified,
        model=data.model,
        found=near and outcome.n_constants <= n_certified + SPARE,
    )


def _nist_outcomes(outcomes: Sequence[NistOutcome]) -> Table:
    passed = sum(each.found for each in outcomes)
    same = sum(each.structure in ("same", "spare") for each in outcomes)
    near = sum(each.ratio <= RATIO for each in outcomes)
    caption = (
        f"{passed} of {len(outcomes)} pass: sum at most {RATIO:g} times the certified one with at "
        f"most {SPARE} constant more. With any number of constants: {near}. "
        f"The certified model itself: {same}."
    )
    columns: runner.Columns = {
        "set": lambda each: each.problem,
        "passes": lambda each: "yes" if each.found else "",
        "sum / certified>": lambda each: f"{each.ratio:.4g}",
        "constants>": lambda each: f"{each.n_constants}/{each.n_certified}",
        "structure": lambda each: each.structure,
        "verdict": lambda each: each.level,
        "s>": lambda each: f"{each.seconds:.1f}",
        "law": lambda each: each.error or each.equation,
    }
    return runner.outcome_table("NIST StRD, nonlinear regression", columns, outcomes, caption)


# ---- empirical -----------------------------------------------------------------------------------


def historical(name: str, names: Sequence[str], X: Array) -> Curve:
    """Return the law of a file as a curve in the box of its data."""
    row = TRUTHS[name]
    return Curve(name, row["formula"], constants_of(row["constants"]), box(names, X), len(X))


def _fit_empirical(task: measured.Task) -> Any:
    names, X, y = _read(task.subject, ",")
    curve = historical(task.blank.problem, names, X)
    return measured.judged(task.blank, _fit(task, X, y), curve, X, y)


def _empirical_outcomes(outcomes: Sequence[StructureOutcome]) -> Table:
    found = sum(each.found for each in outcomes)
    front = sum(each.on_front for each in outcomes)
    caption = f"{found} of {len(outcomes)} found, {front} on the front. {measured.MARK}"
    columns = {"law": lambda each: each.problem, **measured.STRUCTURE}
    return runner.outcome_table("Historical laws", columns, outcomes, caption)


# ---- blackbox ------------------------------------------------------------------------------------


def split(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return the numbers of the training rows and of the test rows."""
    order = np.random.default_rng(seed).permutation(n_rows)
    first = round(TRAINING * n_rows)
    return order[: min(first, MOST_ROWS)], order[first:]


@dataclass(frozen=True)
class BlackBoxOutcome(Outcome):
    """The outcome of one table; it counts as found unless R2 is far below 0."""

    #: On test rows and on training rows.
    r2: float = -math.inf
    r2_train: float = -math.inf
    #: Size of the training table.
    n_rows: int = 0
    n_features: int = 0


def _fit_blackbox(task: measured.Task) -> Any:
    _, X, y = _read(task.subject, r"\s+")
    train, test = split(len(y), task.blank.seed)
    fitted = _fit(task, X[train], y[train])
    r2, r2_train = (measured.r2(fitted.model.predict(X[rows]), y[rows]) for rows in (test, train))
    return replace(
        task.blank,
        **fitted.noted(),
        found=r2 >= WILD,
        r2=r2,
        r2_train=r2_train,
        n_rows=len(train),
        n_features=X.shape[1],
    )


def _blackbox_outcomes(outcomes: Sequence[BlackBoxOutcome]) -> Table:
    wild = sum(not each.found for each in outcomes)
    caption = (
        f"Median test R2 {median(each.r2 for each in outcomes):.3f}, size "
        f"{median(each.complexity for each in outcomes):.0f}, "
        f"{median(each.seconds for each in outcomes):.1f} s. Below {WILD:g}: {wild}."
    )
    columns: runner.Columns = {
        "table": lambda each: each.problem,
        "seed>": lambda each: str(each.seed),
        "rows>": lambda each: f"{each.n_rows:,}",
        "features>": lambda each: str(each.n_features),
        "R2 train>": lambda each: f"{each.r2_train:.3f}",
        "R2 test>": lambda each: f"{each.r2:.3f}" + ("" if each.found else " !"),
        "size>": lambda each: str(each.complexity),
        "s>": lambda each: f"{each.seconds:.1f}",
        "error": lambda each: each.error,
    }
    return runner.outcome_table("Black-box tables", columns, outcomes, caption)


class Suite(NamedTuple):
    """A kind of files."""

    ending: str
    work: Callable[[measured.Task], Any]
    outcome: Callable[..., Outcome]
    #: Makes the table of the outcomes.
    table: Callable[[Sequence[Any]], Table]
    #: Names of the files, if others are left out.
    names: Sequence[str] = ()


SUITES = {
    "nist": Suite(".dat", _fit_nist, NistOutcome, _nist_outcomes),
    "empirical": Suite(
        ".csv", _fit_empirical, StructureOutcome, _empirical_outcomes, tuple(TRUTHS)
    ),
    "blackbox": Suite(".tsv.gz", _fit_blackbox, BlackBoxOutcome, _blackbox_outcomes),
}
