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
from gsr.groups.law import GroupedEquation, GroupTable
from gsr.library import Library, Transformation
from gsr.prediction.inversion import Branches, Inversion, Neighbours, SignRule
from gsr.saving import MARK, forms
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.selection.fitted import FittedLaw, constants
from gsr.selection.noise import Noise
from gsr.selection.poles import Poles
from gsr.selection.rounding import Rounded
from gsr.selection.uncertainty import Uncertainty
from gsr.transformation import BUILTINS

#: Names of the features, and that of the target.
Names = tuple[tuple[str, ...], str]
#: Made from other parts of the file.
DERIVED = ("front_", "best_index_", "equation_", "history_", "models_", "feature_names_in_")


class Reader:
    """Builds models."""

    def __init__(self, content: forms.DocumentForm, own: Mapping[str, Transformation]) -> None:
        self.own = own
        self.libraries = [self._library(form) for form in content.libraries]
        self.training_rows = [
            _neighbours(form, f"training_rows[{i}]") for i, form in enumerate(content.training_rows)
        ]

    # ---- the model ---------------------------------------------------------------------------

    def model(self, form: forms.TargetForm, where: str = "model") -> Any:
        """Return an estimator with all that it has found."""
        motion = form.motion if isinstance(form, forms.ModelForm) else None
        model = self._unfitted(form, motion is not None)
        attributes = self._attributes(form, f"{where}.attributes", type(model))
        for name, value in {**attributes, **dict(motion or ())}.items():
            setattr(model, name, value)
        if form.features is not None:
            self._name_features(model, form, where)
        if isinstance(form, forms.ModelForm) and form.targets:
            model.models_ = {
                each.name: self.model(each.model, f"{where}.targets[{i}].model")
                for i, each in enumerate(form.targets)
            }
            return model
        self._fill_front(model, form, where)
        columns = [column for _, column in form.history]
        if len({len(column) for column in columns}) > 1:
            raise GSRError(f"{where}.history: columns must have the same length")
        model.history_ = [Progress(*values) for values in zip(*columns, strict=True)]
        return model

    def _unfitted(self, form: forms.TargetForm, is_motion: bool) -> Any:
        if not is_motion:
            return GSRRegressor(**self._parameters(form, GSRRegressor))
        from gsr.dynamics.estimator import GSRDynamics

        return GSRDynamics(**self._parameters(form, GSRDynamics))

    def _parameters(self, form: forms.TargetForm, kind: type) -> dict[str, Any]:
        known = kind().get_params(deep=False)
        others = sorted(set(form.parameters) - set(known))
        if others:
            warnings.warn(
                f"this gsr has no parameter {', '.join(others)[:200]}: left out", stacklevel=4
            )
        return {
            name: self._parameter(value, f"model.parameters.{name}")
            for name, value in form.parameters.items()
            if name in known and name not in form.not_stored
        }

    def _parameter(self, value: Any, where: str) -> Any:
        if isinstance(value, list):
            return [self._parameter(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if set(value) == {MARK + "number"}:
            return forms.read(forms.NumberForm, {"number": value[MARK + "number"]}, where).number
        if set(value) == {MARK + "transformation"}:
            return self._transformation(value[MARK + "transformation"], where)
        if set(value) == {MARK + "regressor"}:
            given = self._parameter(value[MARK + "regressor"], where)
            return GSRRegressor(**given)
        if set(value) == {MARK + "library"}:
            return self._library(forms.read(forms.LibraryForm, value[MARK + "library"], where))
        return {key: self._parameter(item, f"{where}.{key}") for key, item in value.items()}

    def _attributes(self, form: forms.TargetForm, where: str, made: type) -> dict[str, Any]:
        found = {}
        for name, value in form.attributes.items():
            place = f"{where}.{name}"
            if not re.fullmatch(r"[a-z][a-z0-9_]*_", name) or name in DERIVED:
                raise GSRError(f"{place} is no attribute of a fitted model")
            if hasattr(made, name):
                raise GSRError(f"{place} is not stored, but found from the laws")
            found[name] = self._parameter(value, place)
            if not isinstance(found[name], bool | int | float | str | None):
                kind = type(found[name]).__name__
                raise GSRError(f"{place} must be a plain value, got {kind}")
        known = forms.read(forms.AttributesForm, found, where)
        return {**found, **known.model_dump(exclude_unset=True)}

    @staticmethod
    def _name_features(model: Any, form: forms.TargetForm, where: str) -> None:
        names = form.features or []
        if getattr(model, "n_features_in_", len(names)) != len(names):
            raise GSRError(f"{where}.attributes.n_features_in_ does not fit {len(names)} features")
        model.n_features_in_ = len(names)
        model._names = list(names)
        if form.named:
            model.feature_names_in_ = np.array(names, dtype=object)
        if form.target is not None:
            check_names(tuple(names), form.target, len(names))
            model._target_name = form.target

    def _fill_front(self, model: Any, form: forms.TargetForm, where: str) -> None:
        if form.features is None or form.target is None:
            raise GSRError(f"{where} needs the names of features and target")
        n_laws, best = len(form.front), form.best_index
        if not n_laws:
            raise GSRError(f"{where}.front has no laws")
        if best is None or best >= n_laws:
            raise GSRError(f"{where}.best_index must be below {n_laws}, got {best}")
        names = (tuple(form.features), form.target)
        model.front_, model._others = (
            [self._entry(each, names, f"{where}.{key}[{i}]") for i, each in enumerate(laws)]
            for key, laws in (("front", form.front), ("others", form.others or []))
        )
        model.best_index_ = best
        model.equation_ = model.front_[best].equation

    # ---- laws --------------------------------------------------------------------------------

    def _entry(self, form: forms.EntryForm, names: Names, where: str) -> FrontEntry:
        law = _law(form.law)
        table = None if form.groups is None else _groups(form.groups, f"{where}.groups")
        if table is not None:
            names = ((*names[0], *table.letters), names[1])
            check_names(*names, len(names[0]))

        def equation(found: Any, law: FittedLaw, where: str) -> Equation:
            plain = self._equation(found, law, names, where)
            return plain if table is None else GroupedEquation(**{**vars(plain), "groups": table})

        made: dict[str, Any] = {
            "equation": equation(form, law, where),
            "level": form.level,
            "poles": Poles(**dict(form.poles)),
        }
        stored = {
            "left_out": form.left_out, "length": form.length, "is_weighted": form.weighted
        }  # fmt: skip
        made |= {name: value for name, value in stored.items() if value is not None}
        if form.uncertainty is not None:
            made["uncertainty"] = _uncertainty(form.uncertainty, f"{where}.uncertainty")
        if form.rounded is not None:
            shorter = _law(form.rounded.law)
            made["rounded"] = Rounded(shorter, tuple(form.rounded.texts), form.rounded.bits)
            made["rounded_equation"] = equation(form.rounded, shorter, f"{where}.rounded")
        entry = FrontEntry(
            form.complexity, form.rmse, form.exact, form.n_constants, form.bits,
            make=_no_data, law=law, held_out=form.held_out,
        )  # fmt: skip
        vars(entry).update(made)
        return entry

    def _equation(
        self, found: forms.EntryForm | forms.RoundedForm, law: FittedLaw, names: Names, where: str
    ) -> Equation:
        (features, target), form = names, found.equation
        library = _at(self.libraries, form.library, f"{where}.equation.library")
        targets = _at(self.libraries, form.target_library, f"{where}.equation.target_library")
        psi, beta = nonzero(law.psi, law.beta, f"matrices in {where}.law.psi")
        phi, alpha = nonzero(law.phi, law.alpha, f"matrices in {where}.law.phi")
        if not psi:
            raise GSRError(f"{where}.law.beta must hold a number other than 0")
        _check_matrices(psi, targets, 1, f"{where}.law.psi")
        _check_matrices(phi, library, len(features), f"{where}.law.phi")
        place = f"{where}.equation.bars"
        branches = self._branches(form.branches, library, len(features), f"{where}.branches")
        return Equation(
            library, targets, psi, beta, phi, alpha, features, target,
            _bars(form.bars_target, psi, f"{place}_target"),
            _bars(form.bars_features, phi, f"{place}_features"),
            Inversion(targets, psi, beta, branches), form.level, text=found.text or "",
        )  # fmt: skip

    def _branches(
        self, form: forms.BranchesForm, library: Library, n_features: int, where: str
    ) -> Branches:
        home = None if form.home is None else (form.home[0], form.home[1])
        if form.low > form.high or (home is not None and not home[0] <= home[1]):
            raise GSRError(f"{where}: low and home must not be above high")
        neighbours = None
        if form.neighbours is not None:
            neighbours = _at(self.training_rows, form.neighbours, f"{where}.neighbours")
            if neighbours.X.shape[1] != n_features:
                raise GSRError(f"{where}.neighbours must have {n_features} features")
        sign = _sign(form.sign, library, n_features, f"{where}.sign")
        sides = None if form.sides is None else tuple(form.sides)
        return Branches(form.low, form.high, home, sign, neighbours, sides)

    # ---- libraries ---------------------------------------------------------------------------

    def _library(self, form: forms.LibraryForm) -> Library:
        entries = [self._transformation(name, "a library") for name in form.entries]
        return Library(entries, form.name)

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


def _law(form: forms.LawForm) -> FittedLaw:
    return FittedLaw(**{**dict(form), "phi": tuple(form.phi), "psi": tuple(form.psi)})


def _groups(form: forms.GroupsForm, where: str) -> GroupTable:
    law, (n_groups, n) = _law(form.law), (len(form.labels), len(form.local))
    shapes = {form.constants.shape, form.deviations.shape}
    lengths = {len(form.descriptions), len(form.chances), len(constants(law))}
    if shapes != {(n_groups, n)} or lengths != {n} or len(form.letters) != sum(form.local):
        raise GSRError(f"{where}: the parts of the table do not fit each other")
    lists = ("labels", "descriptions", "letters")
    plain = {name: tuple(getattr(form, name)) for name in lists}
    return GroupTable(**{**dict(form), **plain, "law": law, "local": np.array(form.local)})


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


def _neighbours(form: forms.RowsForm, where: str) -> Neighbours:
    scale, X, y = form.scale, form.X, form.y
    if not len(y) or X.shape != (len(y), len(scale)) or not (scale > 0).all():
        raise GSRError(f"{where}: scale, X and y do not fit each other")
    return Neighbours(scale, X, y)


def _sign(
    form: forms.SignForm | None, library: Library, n_features: int, where: str
) -> SignRule | None:
    if form is None:
        return None
    if form.constant == 0:
        raise GSRError(f"{where}.constant must be 1 or -1, got 0")
    arguments = (_argument(each, library, n_features, where) for each in form.arguments)
    return SignRule(form.constant, tuple(arguments), library)


def _argument(
    form: forms.ArgumentForm, library: Library, n_features: int, where: str, depth: int = 1
) -> Argument:
    if depth > _core.MAX_ROWS:
        raise GSRError(f"{where}: more than {_core.MAX_ROWS} rows inside each other")
    parts = []
    for part in form.parts:
        base: int | Row
        if isinstance(part.base, forms.RowForm):
            row = part.base
            if row.code >= len(library):
                raise GSRError(f"{where}: no transformation of the library: {row.code}")
            inner = _argument(row.argument, library, n_features, where, depth + 1)
            base = Row(row.code, inner, row.reciprocal, row.number)
        else:
            base = part.base
            if base != ONE and base > n_features:
                raise GSRError(f"{where}: variable {base} is not between 1 and {n_features}")
        parts.append(Part(base, part.times))
    return Argument(form.product, tuple(parts))


def _uncertainty(form: forms.UncertaintyForm, where: str) -> Uncertainty:
    n = len(form.names)
    if len(form.values) != n or form.covariance.shape != ((n, n) if n else (0, 0)):
        raise GSRError(f"{where}: names, values and covariance do not fit each other")
    noise = {name: value for name, value in form.noise if value is not None}
    if "knots" in noise:
        y, sigma = noise["knots"]
        if len(y) != len(sigma) or not len(y):
            raise GSRError(f"{where}.noise.knots: there must be as many values as errors")
        noise["knots"] = (y, sigma)
    elif noise["kind"] in ("given", "effective"):
        raise GSRError(f"{where}.noise.knots: given errors need knots")
    made = {**dict(form), "names": tuple(form.names), "noise": Noise(**noise)}
    return Uncertainty(**made)
