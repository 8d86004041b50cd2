"""A fitted model as plain data for JSON.

Mapping tables and training rows that several laws share are stored once, in `libraries` and
`training_rows`; laws refer to them by number.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from gsr.encoding.rows import Argument, Row, integers
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library, Transformation
from gsr.prediction.inversion import Branches
from gsr.prediction.signs import Neighbours, SignRule
from gsr.saving.schema import SPECIAL
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.selection.fitted import FittedLaw, LawLike
from gsr.selection.noise import Noise
from gsr.selection.poles import Poles
from gsr.selection.rounding import Rounded
from gsr.selection.uncertainty import Uncertainty

Plain = Any
HISTORY = ("seconds", "max_time", "generation", "evaluations", "rmse", "status")
#: Marks an object of the package in a parameter, which JSON has no form for.
MARK = "$"


def plain_number(value: float | None) -> Plain:
    """Return a number as JSON can hold it."""
    if value is None or math.isfinite(value):
        return None if value is None else float(value)
    return next(name for name, special in SPECIAL.items() if str(float(value)) == str(special))


def _numbers(values: Any) -> Plain:
    array = np.asarray(values, dtype=float)
    if np.isfinite(array).all():
        return array.tolist()
    return [_numbers(item) if np.ndim(item) else plain_number(float(item)) for item in array]


class Writer:
    """Turns models into plain data, and collects what they share.

    Attributes
    ----------
    libraries, training_rows : list
        What the laws refer to by number.
    transformations : dict
        The user's own, by name.
    """

    def __init__(self) -> None:
        self.libraries: list[Plain] = []
        self.training_rows: list[Plain] = []
        self.transformations: dict[str, Transformation] = {}
        self._numbers_of_rows: dict[tuple[bytes, ...], int] = {}

    # ---- the model ---------------------------------------------------------------------------

    def model(self, model: Any) -> Plain:
        """Return an estimator: its parameters, and what it has found."""
        parameters, left_out = self._parameters(model.get_params(deep=False))
        if left_out:
            told = "; ".join(f"{name}: {why}" for name, why in left_out.items())
            warnings.warn(f"not in the saved model: {told}", UserWarning, stacklevel=4)
        found = vars(model)
        several = found.get("models_") or {}
        return {
            "parameters": parameters,
            "not_stored": left_out,
            "features": _features(found),
            "named": "feature_names_in_" in found,
            "target": found.get("_target_name"),
            "attributes": self._attributes(found, parameters),
            "best_index": found.get("best_index_"),
            "front": [self.entry(entry) for entry in found.get("front_", [])],
            "others": [self.entry(entry) for entry in found.get("_others", [])],
            "history": _history(found.get("history_", [])),
            "targets": [{"name": str(k), "model": self.model(m)} for k, m in several.items()],
        }

    def _parameters(self, parameters: Mapping[str, Any]) -> tuple[Plain, Plain]:
        kept: dict[str, Plain] = {}
        left_out: dict[str, str] = {}
        for name, value in parameters.items():
            try:
                kept[name] = self._parameter(value)
            except TypeError as error:
                kept[name], left_out[name] = None, str(error)
        return kept, left_out

    def _parameter(self, value: Any) -> Plain:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {MARK + "number": plain_number(value)}
        if isinstance(value, Library):
            return {MARK + "library": self.libraries[self.library(value)]}
        if isinstance(value, Transformation):
            return {MARK + "transformation": self._own(value)}
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, list | tuple):
            return [self._parameter(item) for item in value]
        if isinstance(value, Mapping) and all(_is_key(key) for key in value):
            return {key: self._parameter(item) for key, item in value.items()}
        raise TypeError(f"a {type(value).__name__} cannot be stored")

    def _attributes(self, found: Mapping[str, Any], parameters: Mapping[str, Any]) -> Plain:
        """Return what fitting has left in the estimator, as far as it is plain."""
        return {
            name: self._parameter(value)
            for name, value in found.items()
            if name.endswith("_") and name not in parameters and name != "best_index_"
            if value is None or isinstance(value, bool | int | float | str | np.generic)
        }

    def library(self, library: Library) -> int:
        """Return the number of a mapping table."""
        for entry in library.entries:
            if isinstance(entry, Transformation):
                self._own(entry)
        form = {"name": library.name, "entries": list(library.names)}
        if form not in self.libraries:
            self.libraries.append(form)
        return self.libraries.index(form)

    def _own(self, entry: Transformation) -> str:
        if self.transformations.setdefault(entry.name, entry) != entry:
            raise GSRError(f"two different transformations have the name {entry.name!r}")
        return entry.name

    # ---- laws --------------------------------------------------------------------------------

    def entry(self, entry: FrontEntry) -> Plain:
        """Return a law of the front with all that is known about it."""
        rounded: Rounded | None = _known(entry, "rounded")
        return {
            "text": str(entry.equation),
            "complexity": int(entry.complexity),
            "rmse": plain_number(entry.rmse),
            "exact": bool(entry.exact),
            "weighted": bool(entry.is_weighted),
            "n_constants": int(entry.n_constants),
            "bits": plain_number(entry.bits),
            "held_out": plain_number(entry.held_out),
            "left_out": plain_number(_known(entry, "left_out")),
            "length": plain_number(_known(entry, "length")),
            "level": str(entry.level),
            "poles": _poles(entry.poles),
            "law": _law(entry.law),
            "equation": self.equation(entry.equation),
            "uncertainty": _uncertainty(_known(entry, "uncertainty")),
            "rounded": None if rounded is None else self._rounded(rounded, entry.rounded_equation),
        }

    def _rounded(self, rounded: Rounded, equation: Equation) -> Plain:
        return {
            "text": str(equation),
            "texts": list(rounded.texts),
            "bits": plain_number(rounded.bits),
            "law": _law(rounded.law),
            "equation": self.equation(equation),
        }

    def equation(self, equation: Equation) -> Plain:
        """Return what an equation knows beyond its law."""
        return {
            "library": self.library(equation.library),
            "target_library": self.library(equation.target_library),
            "bars_target": [list(map(int, bars)) for bars in equation.absolute_target],
            "bars_features": [list(map(int, bars)) for bars in equation.absolute_features],
            "level": equation.level,
            "branches": self._branches(equation.inversion.branches),
        }

    def _branches(self, branches: Branches) -> Plain:
        return {
            "low": plain_number(branches.low),
            "high": plain_number(branches.high),
            "home": None if branches.home is None else _numbers(branches.home),
            "sides": None if branches.sides is None else [int(side) for side in branches.sides],
            "sign": _sign(branches.sign),
            "neighbours": None if branches.neighbours is None else self._rows(branches.neighbours),
        }

    def _rows(self, neighbours: Neighbours) -> int:
        arrays = (neighbours.scale, neighbours.X, neighbours.y)
        key = tuple(array.tobytes() for array in arrays)
        if key not in self._numbers_of_rows:
            self._numbers_of_rows[key] = len(self.training_rows)
            scale, X, y = map(_numbers, arrays)
            self.training_rows.append({"scale": scale, "X": X, "y": y})
        return self._numbers_of_rows[key]


def _known(entry: FrontEntry, name: str) -> Any:
    """Return a property that is computed from training data; None if it cannot be had."""
    if entry.data is None and name not in vars(entry):
        return None
    try:
        return getattr(entry, name)
    except (GSRError, ArithmeticError, np.linalg.LinAlgError):
        return None


def _law(law: LawLike) -> Plain:
    fitted = FittedLaw.of(law)
    return {
        "psi": [integers(matrix) for matrix in fitted.psi],
        "beta": _numbers(fitted.beta),
        "phi": [integers(matrix) for matrix in fitted.phi],
        "alpha": _numbers(fitted.alpha),
        "complexity": int(fitted.complexity),
        "rmse": plain_number(fitted.rmse),
        "transformed_error": plain_number(fitted.transformed_error),
        "exact": bool(fitted.exact),
        "bits": plain_number(fitted.bits),
    }


def _poles(poles: Poles) -> Plain:
    where = None if poles.where is None else _numbers(poles.where)
    return {"verdict": poles.verdict, "reason": poles.reason, "where": where}


def _uncertainty(found: Uncertainty | None) -> Plain:
    if found is None:
        return None
    return {
        "names": list(found.names),
        "values": _numbers(found.values),
        "covariance": _numbers(found.covariance),
        "degrees_of_freedom": int(found.degrees_of_freedom),
        "sigma": plain_number(found.sigma),
        "noise": _noise(found.noise),
    }


def _noise(noise: Noise) -> Plain:
    return {
        "kind": noise.kind,
        "floor": plain_number(noise.floor),
        "power": plain_number(noise.power),
        "precision": plain_number(noise.precision),
        "knots": None if noise.knots is None else [_numbers(each) for each in noise.knots],
        "absolute": noise.absolute,
    }


def _sign(rule: SignRule | None) -> Plain:
    if rule is None:
        return None
    return {"constant": int(rule.constant), "arguments": [_argument(a) for a in rule.arguments]}


def _argument(argument: Argument) -> Plain:
    parts = [{"base": _base(base), "times": times} for base, times in argument.parts]
    return {"product": argument.is_product, "parts": parts}


def _base(base: int | Row) -> Plain:
    if not isinstance(base, Row):
        return int(base)
    return {
        "code": base.code,
        "argument": _argument(base.argument),
        "reciprocal": base.reciprocal,
        "number": base.number,
    }


def _history(history: list[Progress]) -> Plain:
    columns = {name: [getattr(progress, name) for progress in history] for name in HISTORY}
    for name in ("seconds", "max_time", "rmse"):
        columns[name] = [plain_number(value) for value in columns[name]]
    return columns


def _features(found: Mapping[str, Any]) -> Plain:
    names = found.get("_names", found.get("feature_names_in_"))
    return None if names is None else [str(name) for name in names]


def _is_key(key: Any) -> bool:
    return isinstance(key, str) and not key.startswith(MARK)
