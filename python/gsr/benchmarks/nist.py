"""The suite `nist`: nonlinear regression sets of the NIST Statistical Reference Datasets.

Each file holds a model, its certified constants and residual sum of squares, and the data. The
files are not part of this project.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from gsr.benchmarks import measured
from gsr.benchmarks.measured import StructureOutcome
from gsr.benchmarks.suites.curves import Curve, box
from gsr.benchmarks.suites.sampling import Array
from gsr.exceptions import GSRError

#: Largest residual sum of squares that passes, relative to the certified one.
RATIO = 1.1
#: Constants that a law may have beyond those of the certified model.
SPARE = 1
#: Root mean square error, relative to the standard deviation of y, that passes in any case:
#: some certified sums are those of the rounding of generated data.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Dataset:
    """A file of NIST's.

    Parameters
    ----------
    name : str
        Name of the file without its ending.
    model : str
        The model as the file writes it.
    constants : mapping
        Certified constants.
    rss : float
        Certified residual sum of squares.
    names : tuple of str
        The features' names in the model.
    X, y : array
        The data; y is the left side of the model, which may be log[y].
    """

    name: str
    model: str
    constants: Mapping[str, float]
    rss: float
    names: tuple[str, ...]
    X: Array
    y: Array

    @property
    def curve(self) -> Curve:
        """The certified model in the box of the data."""
        formula = self.model.partition("=")[2]
        for ours, theirs in (("(", "["), (")", "]"), ("atan", "arctan")):
            formula = formula.replace(theirs, ours)
        return Curve(self.name, formula, self.constants, box(self.names, self.X), len(self.y))


def read(path: str | os.PathLike[str]) -> Dataset:
    """Read a file of NIST's.

    Raises
    ------
    GSRError
        If a part is missing.
    """
    text = Path(path).read_text("ascii", errors="replace")
    lines = text.splitlines()
    model = _model(lines)
    constants = {
        found[1]: float(found[2])
        for found in re.finditer(
            r"^\s*(b\d+)\s*=\s*\S+\s+\S+\s+(\S+)\s+\S+\s*$", text, re.MULTILINE
        )
    }
    total = re.search(r"^Residual Sum of Squares:\s*(\S+)", text, re.MULTILINE)
    if not model or not constants or total is None:
        raise GSRError(f"{os.fspath(path)}: no model, certified constants or residual sum")
    names, table = _table(lines, path)
    y, X = table[:, 0], table[:, 1:]
    y = np.log(y) if re.match(r"log\s*[\[(]\s*y", model) else y
    return Dataset(Path(path).stem, model, constants, float(total[1]), names, X, y)


def _model(lines: Sequence[str]) -> str:
    """Return the model, which may go over several lines, without its error term."""
    start = next((k for k, line in enumerate(lines) if line.startswith("Model:")), len(lines))
    end = next(
        (k for k in range(start, len(lines)) if lines[k].strip().lower().startswith("starting")),
        len(lines),
    )
    block = " ".join(line.strip() for line in lines[start:end])
    found = re.search(r"(?:y|log\s*[\[(]\s*y\s*[\])])\s*=.*?\+\s*e\s*$", block.strip())
    return re.sub(r"\s*\+\s*e$", "", re.sub(r"\s+", " ", found[0].strip())) if found else ""


def _table(lines: Sequence[str], path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Array]:
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
    """What became of one set; the truth is the certified model.

    Parameters
    ----------
    ratio : float
        Residual sum of squares, relative to the certified one.
    n_certified : int
        Constants of the certified model.
    model : str
        The certified model.
    """

    ratio: float = math.inf
    n_certified: int = 0
    model: str = ""


@dataclass(frozen=True)
class _NistTask:
    path: Path
    seed: int
    options: Mapping[str, Any]

    def blank(self) -> NistOutcome:
        return NistOutcome("nist", self.path.stem, seed=self.seed)

    def run(self) -> NistOutcome:
        data = read(self.path)
        fitted = measured.fit(data.X, data.y, self.options, seed=self.seed)
        total = float(np.sum((fitted.model.predict(data.X) - data.y) ** 2))
        total = total if math.isfinite(total) else math.inf
        outcome = measured.judged(self.blank(), fitted, data.curve, data.X, data.y)
        outcome = replace(
            outcome, ratio=total / data.rss, n_certified=len(data.constants), model=data.model
        )
        rounding = len(data.y) * (ROUNDING * float(np.std(data.y))) ** 2
        near = total <= max(RATIO * data.rss, rounding)
        return replace(outcome, found=near and outcome.n_constants <= outcome.n_certified + SPARE)


def run(
    folder: str | os.PathLike[str], *, options: Mapping[str, Any], runs: int = 1, **how: Any
) -> list[NistOutcome]:
    """Fit all sets of a folder, with the seeds 0..runs-1.

    Parameters
    ----------
    folder : path-like
        Folder of .dat files.
    options : mapping
        Parameters of the estimator.
    runs : int
        Fits per set.
    **how
        See `gsr.benchmarks.measured.run`.
    """
    paths = measured.files(folder, "*.dat")
    return measured.run([_NistTask(p, s, options) for p in paths for s in range(runs)], **how)


def tables(outcomes: Sequence[NistOutcome]) -> Table:
    """Return the sets with their residual sums and constants."""
    passed = sum(each.found for each in outcomes)
    same = sum(each.structure in ("same", "spare") for each in outcomes)
    near = sum(each.ratio <= RATIO for each in outcomes)
    caption = (
        f"{passed} of {len(outcomes)} pass: sum at most {RATIO:g} times the certified one with at "
        f"most {SPARE} constant more. With any number of constants: {near}. "
        f"The certified model itself: {same}."
    )
    rows = [
        (
            each.problem,
            "yes" if each.found else "",
            f"{each.ratio:.4g}",
            f"{each.n_constants}/{each.n_certified}",
            each.structure,
            each.level,
            f"{each.seconds:.1f}",
            each.error or each.equation,
        )
        for each in outcomes
    ]
    titles = (
        "set",
        "passes",
        "sum / certified>",
        "constants>",
        "structure",
        "verdict",
        "s>",
        "law",
    )
    return measured.table("NIST StRD, nonlinear regression", titles, rows, caption)
