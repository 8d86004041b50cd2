"""Whether two versions find the same laws, bit for bit.

    python -m benchmarks.same_laws record before.json
    python -m benchmarks.same_laws record after.json
    python -m benchmarks.same_laws compare before.json after.json

For changes that must not change any result. Every search ends after a number of evaluations or an
amount of work, never after a time, and runs on one thread. What is recorded are all laws with all
digits, the counts of evaluations, and a hash of the saved state of every island, in which a single
different bit shows. `record --fits` records what is made of laws in Python instead: fits with many
options, and fitted formulas, with constants, verdicts, predictions and source code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.searches import blueprint, estimator
from gsr import fit_formula
from gsr.benchmarks.suites import select
from gsr.benchmarks.suites.curves import ERRORS, select_curves
from gsr.benchmarks.suites.problem import Array
from gsr.blueprint import Blueprint
from gsr.islands.migration import Message, default_migration

#: Every so many problems of the suites, and the noise in those of odd number.
EVERY = 6
NOISE = 0.02
#: Evaluations of a search on a problem, and of a fit.
EVALUATIONS = 4000
#: Work of a search on a curve, in individuals.
CURVE_WORK = 30_000.0
#: Work after which the search on a table is recorded; the last goes through most stages of the
#: guide.
TABLE_WORK = (2_000.0, 20_000.0, 120_000.0, 400_000.0)
#: Work after which a search is saved and goes on in a new island.
RESUMED_AT = (500.0, 3_000.0, 12_000.0, 40_000.0, 90_000.0, 150_000.0)
#: The same where the stages of the guide are done before.
RESUMED_LATE = (60_000.0, 70_000.0)
#: And the options that make them few.
FEW_CANDIDATES: dict[str, Any] = {
    "transform_target": False,
    "constants": False,
    "division": False,
    "library": ["square", "sqrt"],
}
#: Epochs of two islands that exchange individuals.
EPOCHS = 12
#: Problems, every so many curves, and evaluations of the fits.
PROBLEMS = ("Nguyen-3", "Nguyen-9", "Livermore-5", "Feynman-I.12.2", "SymSet-5")
EVERY_CURVE = 9
FIT_EVALUATIONS = 500
#: Options of fits to a table of two columns.
OPTIONS: dict[str, dict[str, Any]] = {
    "huber": {"loss": "huber"},
    "absolute": {"loss": "absolute"},
    "quantile": {"loss": "quantile", "quantile": 0.8},
    "shape": {"constraints": {"x1": "increasing", "y": "positive"}},
    "units": {"units": {"x1": "m", "x2": "s", "y": "m^2/s"}},
    "held out": {"validation_fraction": 0.25, "criterion": "held_out"},
    "bic": {"criterion": "bic"},
    "start": {"start": "y = a x1^2/x2"},
}
#: Formulas of x1, and options with which they are fitted.
FORMULAS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("y = a exp(-x1/tau) + b", {}),
    ("y = v x1/(k + x1)", {"errors": "relative"}),
    ("y = (a + b x1)/(c + d x1)", {}),
    ("ln(y) = a ln(x1) + b", {"loss": "huber"}),
    ("y = a x1 + b", {"x_sigma": 0.05}),
    ("y^2 = a x1 + b", {}),
)

Record = dict[str, Any]


# ---- what is searched ----------------------------------------------------------------------------


def tables() -> dict[str, tuple[Array, Array, Array | None, Mapping[str, Any]]]:
    """Return tables by name: features, target, weights, and options of the estimator."""
    rng = np.random.default_rng(5)
    wide = rng.uniform(0.5, 3.0, (150, 8))
    pair = rng.uniform(0.5, 3.0, (60, 2))
    line = np.linspace(0.1, 6.0, 50)[:, None]
    noise = rng.standard_normal(150)
    product = pair[:, 0] ** 1.5 * np.exp(-0.7 * pair[:, 1])
    of_eight = wide[:, 0] * wide[:, 1] / wide[:, 2] + np.sin(wide[:, 3]) * wide[:, 4]
    weights = rng.uniform(0.01, 4.0, 60)
    units = {"x1": "m", "x2": "s", "y": "m/s"}
    strict = {"units": units, "constants_with_units": False}
    many = np.column_stack([wide, wide[:, ::-1] + 0.3 * rng.standard_normal(wide.shape)])
    return {
        "eight columns": (wide, of_eight + 0.05 * noise, None, {}),
        "shifted product": (wide, wide[:, 1] * (1.0 + wide[:, 2] ** 2 / wide[:, 3]), None, {}),
        "weights": (pair, product + 0.02 * noise[:60], weights, {}),
        "units": (pair, 2.0 * pair[:, 0] / pair[:, 1] + 0.02 * noise[:60], None, {"units": units}),
        "strict units": (pair, 2.0 * pair[:, 0] / pair[:, 1] + 0.02 * noise[:60], None, strict),
        "sixteen columns": (many, many[:, 0] * many[:, 9] + 0.05 * noise, None, {}),
        "pole": (line, 1.0 / (line[:, 0] - 2.03) + 0.05 * noise[:50], None, {}),
        "two waves": (pair, np.sin(3 * pair[:, 0]) * np.cos(5 * pair[:, 1]), None, {}),
        "one column": (line, np.exp(-line[:, 0]) + 0.3 + 0.01 * noise[:50], None, {}),
        "restricted": (
            pair, product + 0.5 * pair[:, 0] + 0.02 * noise[:60], None,
            {"required_terms": ["x1"], "max_terms": 4, "forbid": {"x2": ["sin", "cos"]}},
        ),
        "y alone": (pair, product + 0.02 * noise[:60], None, {"transform_target": False}),
        "no constants": (pair, product + 0.02 * noise[:60], None, {"constants": False}),
    }  # fmt: skip


def cases() -> Iterator[tuple[str, Callable[[], Record]]]:
    """Return what is recorded: names, and what makes the records."""
    for k, problem in enumerate(select(["all"])[::EVERY]):
        noise = NOISE if k % 2 else 0.0
        yield f"{problem.name}, noise {noise}", partial(searched_problem, *problem.train(0, noise))
    for k, curve in enumerate(select_curves([])[::2]):
        errors = ERRORS[k % len(ERRORS)]
        X, y, sigma = curve.train(0, errors)
        posed = blueprint(X, y, None if sigma is None else sigma**-2.0)
        yield f"{curve.name}, errors {errors}", partial(searched, posed, (CURVE_WORK,))
    known = tables()
    for name, (X, y, weights, options) in known.items():
        posed = blueprint(X, y, weights, **options)
        yield f"table {name}", partial(searched, posed, TABLE_WORK)
        yield f"fit {name}", partial(fitted, X, y, weights, **options)
    for name in ("eight columns", "weights", "one column"):
        posed = blueprint(*known[name][:3])
        yield f"resumed {name}", partial(searched, posed, RESUMED_AT, resumes=True)
        yield f"two islands {name}", partial(migrating, posed, EPOCHS)
    posed = blueprint(*known["one column"][:3], **FEW_CANDIDATES)
    yield "resumed after all stages", partial(searched, posed, RESUMED_LATE, resumes=True)
    yield "fit islands", partial(fitted, *known["weights"][:3], islands=2)


def fits() -> Iterator[tuple[str, Callable[[], Record]]]:
    """Return fits that are recorded: names, and what makes the records."""
    few = {"max_evals": FIT_EVALUATIONS}
    for problem in select(PROBLEMS):
        for noise in (0.0, NOISE):
            X, y = (rows[:400] for rows in problem.train(0, noise))
            yield f"{problem.name}, noise {noise}", partial(explained, X, y, {}, **few)
    for k, curve in enumerate(select_curves([])[::EVERY_CURVE]):
        errors = ERRORS[k % len(ERRORS)]
        X, y, sigma = curve.train(0, errors)
        given = {} if sigma is None else {"sigma": sigma}
        yield f"{curve.name}, errors {errors}", partial(explained, X, y, given, **few)
    rng = np.random.default_rng(3)
    X, drawn = rng.uniform(0.5, 3.0, (80, 2)), rng.standard_normal(80)
    y = 2.0 * X[:, 0] ** 2 / X[:, 1] + 0.05 * drawn
    y[::13] += 9.0 * (np.arange(len(y[::13])) % 2)
    for name, options in OPTIONS.items():
        yield name, partial(explained, X, y, {}, **options, **few)
    weights = rng.uniform(0.1, 2.0, 80)
    for name, values in (("sample_weight", weights), ("x_sigma", [0.02, 0.0])):
        yield name, partial(explained, X, y, {name: values}, **few)
    line = np.linspace(0.5, 6.0, 50)[:, None]
    law = (3.0 * line[:, 0] / (2.0 + line[:, 0])) * (1.0 + 0.03 * drawn[:50])
    for text, options in FORMULAS:
        yield f"formula {text}", partial(formula, text, line, law, **options)


# ---- searches ------------------------------------------------------------------------------------


def searched_problem(X: Array, y: Array) -> Record:
    """Record a search that ends with an exact law, or after some evaluations."""
    island = blueprint(X, y, max_evals=EVALUATIONS).island()
    island.run(inf)
    return record(island)


def searched(of: Blueprint, work: Sequence[float], *, resumes: bool = False) -> Record:
    """Record one search after each amount of work; with `resumes` a new island continues it."""
    island = of.island()
    records = {}
    for amount in work:
        island.run(inf, amount)
        records[f"{amount:g}"] = record(island)
        if resumes:
            saved, island = island.save(), of.island()
            island.load(saved)
    return records


def migrating(of: Blueprint, epochs: int) -> Record:
    """Record two islands that share the guide's work and exchange what they find."""
    migration = default_migration(2, 0)
    islands = [of.island(k, 2) for k in range(2)]
    for epoch in range(1, epochs + 1):
        for island in islands:
            island.run(inf, 1e4 * epoch)
        sent = [migration.emigrants(island, epoch) for island in islands]
        for k, island in enumerate(islands):
            migration.accept(island, Message(1 - k, k, epoch, sent[1 - k]))
    return {str(k): record(island) for k, island in enumerate(islands)}


def fitted(X: Array, y: Array, weights: Array | None, **options: Any) -> Record:
    """Record the table of a fit."""
    model = estimator(max_evals=EVALUATIONS, **options).fit(X, y, weights)
    return {
        "laws": [
            {**written(row.entry.equation), "text": row.equation, "complexity": row.complexity,
             "rmse": repr(row.rmse), "pick": row.pick}
            for row in model.equations_
        ],
        "evaluations": model.n_evaluations_,
        "status": model.status_,
    }  # fmt: skip


def explained(X: Array, y: Array, given: Mapping[str, Any], **options: Any) -> Record:
    """Record a fit with what is made of its laws."""
    model = estimator(**options).fit(X, y, **given)
    return {
        "laws": [
            {**written(entry.equation), "text": str(entry.equation), "rmse": repr(entry.rmse),
             "left out": repr(entry.left_out), "verdict": entry.level, "bits": repr(entry.length),
             "poles": entry.poles.verdict, "excursion": repr(entry.excursion),
             "rounded": str(entry.rounded_equation)}
            for entry in model.front_
        ],
        "evaluations": model.n_evaluations_,
        "verdict": model.level_,
        "noise": model.noise_,
        "why": model.why_,
        "intervals": {name: repr(ends) for name, ends in model.intervals().items()},
        "explicit": [str(form) for form in model.equation_.explicit()],
        "latex": model.equation_.latex(),
        "source": model.export("numpy"),
        "predictions": repr(model.predict(X[:20]).tolist()),
        "bands": repr(model.predict_interval(X[:20]).tolist()),
    }  # fmt: skip


def formula(text: str, X: Array, y: Array, **options: Any) -> Record:
    """Record a fitted formula."""
    law = fit_formula(text, X, y, **options)
    bands = repr(law.predict_interval(X).tolist())
    return {**written(law), "summary": law.summary(), "bands": bands}


# ---- records -------------------------------------------------------------------------------------


def record(island: Any) -> Record:
    """Return the laws of an island, its counts, and a hash of its state."""
    return {
        "laws": [
            {**written(law), "complexity": law.complexity, "rmse": repr(law.rmse)}
            for law in [*island.front(), *island.runners_up()]
        ],
        "evaluations": island.evaluations,
        "generation": island.generation,
        "work": repr(island.work),
        "unconverged": island.n_unconverged,
        "status": island.status,
        "state": hashlib.sha256(island.save()).hexdigest(),
    }


def written(law: Any) -> Record:
    """Return both sides of a law: coefficients with all digits, and matrices."""
    return {
        side: [f"{float(c)!r} {matrix!r}" for c, matrix in zip(coefficients, matrices, strict=True)]
        for side, coefficients, matrices in (
            ("left", law.beta, law.psi),
            ("right", law.alpha, law.phi),
        )
    }


def differences(a: Any, b: Any, where: str = "") -> Iterator[str]:
    """Yield where two records differ; of a list of laws, only the first difference."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            yield from differences(a.get(key), b.get(key), f"{where}/{key}")
    elif a != b:
        if isinstance(a, list) and isinstance(b, list):
            pairs = zip(a, b, strict=False)
            k = next((k for k, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))
            a, b, where = a[k : k + 1], b[k : k + 1], f"{where}/{k}"
        yield f"{where}: {a} against {b}"


# ---- command -------------------------------------------------------------------------------------


def write_records(path: Path, cases: Iterator[tuple[str, Callable[[], Record]]]) -> int:
    """Run all searches and write their records."""
    records = {}
    for name, make in cases:
        records[name] = make()
        print(name, flush=True)
    path.write_text(json.dumps(records, indent=1), encoding="utf-8")
    return 0


def compare(first: Path, second: Path) -> int:
    """Print where two files of records differ; 1 if they do."""
    a, b = (json.loads(path.read_text(encoding="utf-8")) for path in (first, second))
    found = list(differences(a, b))
    for line in found:
        print(line)
    print(f"{len(a)} searches, {len(found)} differences")
    return 1 if found else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_laws")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="run all searches and write what they find")
    recording.add_argument("file", type=Path)
    recording.add_argument("--fits", action="store_true", help="record fits in all details instead")
    comparing = commands.add_parser("compare", help="tell where two records differ")
    comparing.add_argument("files", type=Path, nargs=2)
    asked = parser.parse_args(argv)
    if asked.command == "compare":
        return compare(*asked.files)
    return write_records(asked.file, fits() if asked.fits else cases())


if __name__ == "__main__":
    raise SystemExit(main())
