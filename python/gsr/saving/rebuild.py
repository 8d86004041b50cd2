"""From the checked content of a file to a fitted model; nothing is learnt anew."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gsr import _core
from gsr.encoding.rows import ONE, Argument, Matrix, Part, Row, rows
from gsr.equation import Equation, check_names, nonzero
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError
from gsr.library import Library, Transformation
from gsr.prediction.inversion import Branches, Inversion
from gsr.prediction.signs import Neighbours, SignRule
from gsr.saving.document import HISTORY, MARK
from gsr.saving.schema import number
from gsr.saving.tables import ATTRIBUTES, LIBRARY
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.selection.fitted import FittedLaw
from gsr.selection.noise import Noise
from gsr.selection.poles import Poles
from gsr.selection.rounding import Rounded
from gsr.selection.uncertainty import Uncertainty
from gsr.transformation import BUILTINS

#: Made from other parts of the file.
DERIVED = ("front_", "best_index_", "equation_", "history_", "models_", "feature_names_in_")


class Reader:
    """Builds models.

    Parameters
    ----------
    content : dict
        The file's content, as `DOCUMENT` gives it back.
    own : mapping of str to Transformation
        Transformations that are not built in.
    """

    def __init__(self, content: Mapping[str, Any], own: Mapping[str, Transformation]) -> None:
        self.own = own
        self.libraries = [self._library(form) for form in content["libraries"]]
        self.training_rows = [
            _neighbours(form, f"training_rows[{i}]")
            for i, form in enumerate(content["training_rows"])
        ]

    # ---- the model ---------------------------------------------------------------------------

    def model(self, form: Mapping[str, Any], where: str = "model") -> GSRRegressor:
        """Return an estimator with all that it has found."""
        model = GSRRegressor(**self._parameters(form))
        for name, value in form["attributes"].items():
            setattr(model, *self._attribute(name, value, f"{where}.attributes.{name}"))
        if form["features"] is not None:
            self._name_features(model, form, where)
        if form.get("targets"):
            model.models_ = {
                each["name"]: self.model(each["model"], f"{where}.targets[{i}].model")
                for i, each in enumerate(form["targets"])
            }
            return model
        self._fill_front(model, form, where)
        model.history_ = _history(form["history"], f"{where}.history")
        return model

    def _parameters(self, form: Mapping[str, Any]) -> dict[str, Any]:
        known = GSRRegressor().get_params(deep=False)
        stored = form["parameters"]
        others = sorted(set(stored) - set(known))
        if others:
            warnings.warn(
                f"this gsr has no parameter {', '.join(others)[:200]}: left out", stacklevel=4
            )
        return {
            name: self._parameter(value, f"model.parameters.{name}")
            for name, value in stored.items()
            if name in known and name not in form["not_stored"]
        }

    def _parameter(self, value: Any, where: str) -> Any:
        if isinstance(value, list):
            return [self._parameter(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        marks = {
            MARK + "number": number,
            MARK + "transformation": self._transformation,
            MARK + "library": self._marked_library,
        }
        for mark, read in marks.items():
            if set(value) == {mark}:
                return read(value[mark], where)
        return {key: self._parameter(item, f"{where}.{key}") for key, item in value.items()}

    def _marked_library(self, form: Any, where: str) -> Library:
        return self._library(LIBRARY(form, where))

    def _attribute(self, name: str, value: Any, where: str) -> tuple[str, Any]:
        if not re.fullmatch(r"[a-z][a-z0-9_]*_", name) or name in DERIVED:
            raise GSRError(f"{where} is no attribute of a fitted model")
        if hasattr(GSRRegressor, name):
            raise GSRError(f"{where} is not stored, but found from the laws")
        found = self._parameter(value, where)
        if name in ATTRIBUTES:
            return name, ATTRIBUTES[name](found, where)
        if not (found is None or isinstance(found, bool | int | float | str)):
            raise GSRError(f"{where} must be a plain value, got {type(found).__name__}")
        return name, found

    @staticmethod
    def _name_features(model: Any, form: Mapping[str, Any], where: str) -> None:
        names = form["features"]
        if getattr(model, "n_features_in_", len(names)) != len(names):
            raise GSRError(f"{where}.attributes.n_features_in_ does not fit {len(names)} features")
        model.n_features_in_ = len(names)
        model._names = list(names)
        if form["named"]:
            model.feature_names_in_ = np.array(names, dtype=object)
        if form["target"] is not None:
            check_names(tuple(names), form["target"], len(names))
            model._target_name = form["target"]

    def _fill_front(self, model: Any, form: Mapping[str, Any], where: str) -> None:
        if form["features"] is None or form["target"] is None:
            raise GSRError(f"{where} needs the names of features and target")
        n_laws, best = len(form["front"]), form["best_index"]
        if not n_laws:
            raise GSRError(f"{where}.front has no laws")
        if best is None or best >= n_laws:
            raise GSRError(f"{where}.best_index must be below {n_laws}, got {best}")
        names = (form["features"], form["target"])
        model.front_, model._others = (
            [
                self._entry(each, names, f"{where}.{key}[{i}]")
                for i, each in enumerate(form[key] or [])
            ]
            for key in ("front", "others")
        )
        model.best_index_ = best
        model.equation_ = model.front_[best].equation

    # ---- laws --------------------------------------------------------------------------------

    def _entry(self, form: Mapping[str, Any], names: Any, where: str) -> FrontEntry:
        law = FittedLaw(**_as_law(form["law"]))
        made: dict[str, Any] = {
            "equation": self._equation(form["equation"], law, names, where, form["text"]),
            "level": form["level"],
            "poles": Poles(**form["poles"]),
        }
        known = {"left_out": "left_out", "length": "length", "is_weighted": "weighted"}
        made |= {name: form[key] for name, key in known.items() if form[key] is not None}
        if form["uncertainty"] is not None:
            made["uncertainty"] = _uncertainty(form["uncertainty"], f"{where}.uncertainty")
        if form["rounded"] is not None:
            place = f"{where}.rounded"
            rounded = form["rounded"]
            shorter = FittedLaw(**_as_law(rounded["law"]))
            made["rounded"] = Rounded(shorter, tuple(rounded["texts"]), rounded["bits"])
            made["rounded_equation"] = self._equation(
                rounded["equation"], shorter, names, place, rounded["text"]
            )
        entry = FrontEntry(
            form["complexity"],
            form["rmse"],
            form["exact"],
            form["n_constants"],
            form["bits"],
            make=_no_data,
            law=law,
            held_out=form["held_out"],
        )
        vars(entry).update(made)
        return entry

    def _equation(
        self, form: Mapping[str, Any], law: FittedLaw, names: Any, where: str, text: str | None
    ) -> Equation:
        features, target = names
        library = _at(self.libraries, form["library"], f"{where}.equation.library")
        targets = _at(self.libraries, form["target_library"], f"{where}.equation.target_library")
        psi, beta = nonzero(law.psi, law.beta, f"matrices in {where}.law.psi")
        phi, alpha = nonzero(law.phi, law.alpha, f"matrices in {where}.law.phi")
        if not psi:
            raise GSRError(f"{where}.law.beta must hold a number other than 0")
        _check_matrices(psi, targets, 1, f"{where}.law.psi")
        _check_matrices(phi, library, len(features), f"{where}.law.phi")
        place = f"{where}.equation.bars"
        branches = self._branches(form["branches"], library, len(features), f"{where}.branches")
        return Equation(
            library, targets, psi, beta, phi, alpha, tuple(features), target,
            _bars(form["bars_target"], psi, f"{place}_target"),
            _bars(form["bars_features"], phi, f"{place}_features"),
            Inversion(targets, psi, beta, branches), form["level"], text=text or "",
        )  # fmt: skip

    def _branches(
        self, form: Mapping[str, Any], library: Library, n_features: int, where: str
    ) -> Branches:
        low, high, home = form["low"], form["high"], form["home"]
        if low > high or (home is not None and not home[0] <= home[1]):
            raise GSRError(f"{where}: low and home must not be above high")
        neighbours = None
        if form["neighbours"] is not None:
            neighbours = _at(self.training_rows, form["neighbours"], f"{where}.neighbours")
            if neighbours.X.shape[1] != n_features:
                raise GSRError(f"{where}.neighbours must have {n_features} features")
        return Branches(
            low,
            high,
            None if home is None else (home[0], home[1]),
            _sign(form["sign"], library, n_features, f"{where}.sign"),
            neighbours,
            None if form["sides"] is None else tuple(form["sides"]),
        )

    # ---- libraries ---------------------------------------------------------------------------

    def _library(self, form: Mapping[str, Any]) -> Library:
        entries = [self._transformation(name, "a library") for name in form["entries"]]
        return Library(entries, form["name"])

    def _transformation(self, name: Any, where: str) -> str | Transformation:
        if name in BUILTINS:
            return str(name)
        if not isinstance(name, str) or name not in self.own:
            raise GSRError(f"{where} holds the transformation {name!r}, which is not known")
        return self.own[name]


def _at(items: Sequence[Any], index: int, where: str) -> Any:
    if index >= len(items):
        raise GSRError(f"{where} must be below {len(items)}, got {index}")
    return items[index]


def _no_data(law: Any) -> Equation:
    raise GSRError("the law was read without its training data")


def _as_law(form: Mapping[str, Any]) -> dict[str, Any]:
    return {**form, "phi": tuple(form["phi"]), "psi": tuple(form["psi"])}


def _check_matrices(matrices: Any, library: Library, n_features: int, where: str) -> None:
    for k, matrix in enumerate(matrices):
        try:
            _core.complexity(library.table, matrix, n_features)
            rows(matrix, library)
        except ValueError as error:
            raise GSRError(f"{where}[{k}]: {error}") from error


def _bars(
    form: Sequence[Sequence[int]], matrices: Sequence[Matrix], where: str
) -> tuple[tuple[int, ...], ...]:
    if len(form) != len(matrices):
        raise GSRError(f"{where} must have {len(matrices)} items, got {len(form)}")
    for bars, matrix in zip(form, matrices, strict=True):
        if any(row >= len(matrix) for row in bars):
            raise GSRError(f"{where} names a row that is not there")
    return tuple(tuple(bars) for bars in form)


def _neighbours(form: Mapping[str, Any], where: str) -> Neighbours:
    scale, X, y = form["scale"], form["X"], form["y"]
    if not len(y) or X.shape != (len(y), len(scale)) or not (scale > 0).all():
        raise GSRError(f"{where}: scale, X and y do not fit each other")
    return Neighbours(scale, X, y)


def _sign(
    form: Mapping[str, Any] | None, library: Library, n_features: int, where: str
) -> SignRule | None:
    if form is None:
        return None
    if form["constant"] == 0:
        raise GSRError(f"{where}.constant must be 1 or -1, got 0")
    arguments = (_argument(each, library, n_features, where) for each in form["arguments"])
    return SignRule(form["constant"], tuple(arguments), library)


def _argument(
    form: Mapping[str, Any], library: Library, n_features: int, where: str, depth: int = 1
) -> Argument:
    if depth > _core.MAX_ROWS:
        raise GSRError(f"{where}: more than {_core.MAX_ROWS} rows inside each other")
    parts = []
    for part in form["parts"]:
        base = part["base"]
        if isinstance(base, dict):
            inner = _argument(base["argument"], library, n_features, where, depth + 1)
            if base["code"] >= len(library):
                raise GSRError(f"{where}: no transformation of the library: {base['code']}")
            base = Row(base["code"], inner, base["reciprocal"], base["number"])
        elif base != ONE and base > n_features:
            raise GSRError(f"{where}: variable {base} is not between 1 and {n_features}")
        parts.append(Part(base, part["times"]))
    return Argument(form["product"], tuple(parts))


def _uncertainty(form: Mapping[str, Any], where: str) -> Uncertainty:
    n = len(form["names"])
    if len(form["values"]) != n or form["covariance"].shape != ((n, n) if n else (0, 0)):
        raise GSRError(f"{where}: names, values and covariance do not fit each other")
    noise = {name: value for name, value in form["noise"].items() if value is not None}
    if "knots" in noise:
        y, sigma = noise["knots"]
        if len(y) != len(sigma) or not len(y):
            raise GSRError(f"{where}.noise.knots: there must be as many values as errors")
        noise["knots"] = (y, sigma)
    elif noise["kind"] in ("given", "effective"):
        raise GSRError(f"{where}.noise.knots: given errors need knots")
    return Uncertainty(**{**form, "names": tuple(form["names"]), "noise": Noise(**noise)})


def _history(form: Mapping[str, Any], where: str) -> list[Progress]:
    columns = [form[name] for name in HISTORY]
    if len({len(column) for column in columns}) > 1:
        raise GSRError(f"{where}: columns must have the same length")
    return [Progress(*values) for values in zip(*columns, strict=True)]
