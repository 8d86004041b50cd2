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

from gsr.encoding.rows import integers
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library, Transformation
from gsr.prediction.inversion import Neighbours
from gsr.saving.forms import HistoryForm, RowsForm, TargetForm, plain_number
from gsr.selection import FrontEntry
from gsr.selection.fitted import FittedLaw, LawLike
from gsr.selection.rounding import Rounded

Plain = Any
#: Marks an object of the package in a parameter, which JSON has no form for.
MARK = "$"


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
        history = found.get("history_", [])
        form = {
            "parameters": parameters,
            "not_stored": left_out,
            "features": _features(found),
            "named": "feature_names_in_" in found,
            "target": found.get("_target_name"),
            "attributes": self._attributes(found, parameters),
            "best_index": found.get("best_index_"),
            "front": [self.entry(entry) for entry in found.get("front_", [])],
            "others": [self.entry(entry) for entry in found.get("_others", [])],
            "history": {
                name: [getattr(progress, name) for progress in history]
                for name in HistoryForm.model_fields
            },
        }
        targets = [{"name": str(k), "model": self.model(m)} for k, m in several.items()]
        return {**TargetForm.model_validate(form).model_dump(), "targets": targets}

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

    def entry(self, entry: FrontEntry) -> dict[str, Any]:
        """Return a law of the front with all that is known about it."""
        known = ("complexity", "rmse", "exact", "n_constants", "bits", "held_out", "poles")
        return {
            **{name: getattr(entry, name) for name in known},
            "text": str(entry.equation),
            "weighted": entry.is_weighted,
            "level": str(entry.level),
            "law": _law(entry.law),
            "equation": self.equation(entry.equation),
            **{name: _known(entry, name) for name in ("left_out", "length", "uncertainty")},
            "rounded": self._rounded(entry),
        }

    def _rounded(self, entry: FrontEntry) -> dict[str, Any] | None:
        rounded: Rounded | None = _known(entry, "rounded")
        if rounded is None:
            return None
        equation = entry.rounded_equation
        law = {"law": _law(rounded.law), "equation": self.equation(equation)}
        return {**vars(rounded), **law, "text": str(equation)}

    def equation(self, equation: Equation) -> dict[str, Any]:
        """Return what an equation knows beyond its law."""
        branches = equation.inversion.branches
        return {
            "library": self.library(equation.library),
            "target_library": self.library(equation.target_library),
            "bars_target": equation.absolute_target,
            "bars_features": equation.absolute_features,
            "level": equation.level,
            "branches": {**vars(branches), "neighbours": self._rows(branches.neighbours)},
        }

    def _rows(self, neighbours: Neighbours | None) -> int | None:
        if neighbours is None:
            return None
        key = tuple(each.tobytes() for each in (neighbours.scale, neighbours.X, neighbours.y))
        if key not in self._numbers_of_rows:
            self._numbers_of_rows[key] = len(self.training_rows)
            self.training_rows.append(RowsForm.model_validate(neighbours).model_dump())
        return self._numbers_of_rows[key]


def _known(entry: FrontEntry, name: str) -> Any:
    """Return a property that is computed from training data; None if it cannot be had."""
    if entry.data is None and name not in vars(entry):
        return None
    try:
        return getattr(entry, name)
    except (GSRError, ArithmeticError, np.linalg.LinAlgError):
        return None


def _law(law: LawLike) -> dict[str, Any]:
    fitted = FittedLaw.of(law)
    return {
        **vars(fitted),
        "psi": [integers(matrix) for matrix in fitted.psi],
        "phi": [integers(matrix) for matrix in fitted.phi],
    }


def _features(found: Mapping[str, Any]) -> Plain:
    names = found.get("_names", found.get("feature_names_in_"))
    return None if names is None else [str(name) for name in names]


def _is_key(key: Any) -> bool:
    return isinstance(key, str) and not key.startswith(MARK)
