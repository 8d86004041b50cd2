"""Fitted models in files: versioned, readable JSON that gives back the same predictions.

Nothing in a file is run. What a law has learnt from training data, such as which solution of
g(y) = v is meant, is stored and not learnt anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

import gsr
from gsr.encoding.rows import integers
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.files import read_whole, write_whole
from gsr.library import Library, Transformation
from gsr.prediction.inversion import Neighbours
from gsr.saving.forms import HistoryForm, MotionForm, RowsForm, TargetForm, plain_number
from gsr.selection import FrontEntry
from gsr.selection.fitted import FittedLaw, LawLike
from gsr.selection.rounding import Rounded
from gsr.transformation import BUILTINS, Symbolic

if TYPE_CHECKING:
    from gsr.groups.law import GroupTable
    from gsr.saving.forms import DocumentForm

FORMAT = "gsr model"
VERSION = 1
WIDTH = 100


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file; see `GSRRegressor.save`."""
    write_whole(text(model), path)


def text(model: Any) -> str:
    """Return what the file of a fitted model holds."""
    if not (getattr(model, "front_", None) or getattr(model, "models_", None)):
        raise GSRError("only a fitted model can be saved: call fit first")
    writer = Writer()
    content = writer.model(model)
    own = writer.transformations.values()
    document = {
        "transformations": {entry.name: _described(entry) for entry in own},
        "libraries": writer.libraries,
        "model": content,
        "training_rows": writer.training_rows,
    }
    return document_text(document)


def document_text(content: Mapping[str, Any]) -> str:
    """Return a model, as plain data, with the format and the checksum of its file."""
    document = {
        "format": FORMAT,
        "format_version": VERSION,
        "gsr_version": gsr.__version__,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **content,
    }
    head = {"format": FORMAT, "checksum": _checksum(document)}
    return _written({**head, **document}) + "\n"


def write_document(content: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Write a model, as plain data, to a file."""
    write_whole(document_text(content), path)


def load(path: str | PathLike[str], transformations: Sequence[Transformation] = ()) -> Any:
    """Read a model that the `save` of an estimator has written.

    Parameters
    ----------
    path : str or path
        The file.
    transformations : sequence of Transformation
        Those of your own that the model uses; code is not stored in the file.

    Returns
    -------
    GSRRegressor, GSRDynamics, GSRForm or GSRImplicit
        Fitted. It predicts the same, bit for bit; its training data are not in it.

    Raises
    ------
    GSRError
        Names the file and what is wrong with it.
    """
    try:
        own = _by_name(transformations)
        document = _document(read_whole(path))
        if "implicit" in document:
            from gsr.implicit import files

            return files.model(document["implicit"])
        if "form" in document:
            from gsr.forms import estimator

            return estimator.read(document["form"])
        return _model(document, own)
    except GSRError as error:
        name = os.fspath(path)
        raise GSRError(str(error) if str(name) in str(error) else f"{name}: {error}") from error


# ---- reading -----------------------------------------------------------------------------------


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise GSRError("this is no gsr model: it is not text") from None
    except RecursionError:
        raise GSRError("this is no gsr model: lists inside each other without end") from None
    except ValueError as error:
        raise GSRError(f"this is no gsr model, or it is damaged or cut off: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise GSRError(f'this is no gsr model: it does not say "format": "{FORMAT}"')
    _check_version(document)
    _check_checksum(document)
    return document


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _check_version(document: Mapping[str, Any]) -> None:
    version = document.get("format_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise GSRError(f"format_version must be a whole number from 1 to {VERSION}, got {version}")
    if version > VERSION:
        writer = str(document.get("gsr_version"))[:20]
        raise GSRError(
            f"the file has format version {version}, written by gsr {writer}; this gsr"
            f" ({gsr.__version__}) reads up to {VERSION}: install a newer gsr"
        )


def _check_checksum(document: Mapping[str, Any]) -> None:
    if "checksum" not in document:
        raise GSRError("the file has no checksum: it is damaged")
    stored = document["checksum"]
    if stored is not None and stored != _checksum(document):
        raise GSRError(
            "the content does not fit its checksum: the file is damaged, or was edited. If you"
            ' have edited it on purpose, write "checksum": null, and it is read without that check'
        )


def _model(document: dict[str, Any], own: Mapping[str, Transformation]) -> Any:
    # These need the estimator, which needs scikit-learn.
    from gsr.saving import forms
    from gsr.saving.rebuild import Reader

    try:
        content = forms.read(forms.DocumentForm, document, "file")
        _check_own(content, own)
        return Reader(content, own).model(content.model)
    except RecursionError:
        raise GSRError("this is no gsr model: lists inside each other without end") from None


def _by_name(transformations: Sequence[Transformation]) -> dict[str, Transformation]:
    given = [transformations] if isinstance(transformations, Transformation) else transformations
    for entry in given:
        if not isinstance(entry, Transformation):
            raise GSRError(f"transformations must hold gsr.Transformation objects, not {entry!r}")
    return {entry.name: entry for entry in given}


def _check_own(content: DocumentForm, own: Mapping[str, Transformation]) -> None:
    """Raise unless the user's own transformations are there, and are those of the file."""
    stored = content.transformations
    used = {name for library in content.libraries for name in library.entries}
    missing = sorted((used | set(stored)) - set(BUILTINS) - set(own))
    if missing:
        forms = [f"{name} ({stored.get(name, {}).get('sympy') or 'code'})" for name in missing]
        names = ", ".join(missing)[:300]
        raise GSRError(
            f"the model uses transformations that are not built in: {', '.join(forms)[:300]}; code"
            f" is not stored, so give them: load(path, transformations=[{names}])"
        )
    for name, form in stored.items():
        known = _described(own[name]) if name in own else {"sympy": BUILTINS[name].sympy}
        for label, value in known.items():
            if form.get(label) is not None and value is not None and form[label] != value:
                raise GSRError(
                    f"transformation {name!r} is not the one of the file: its {label} is"
                    f" {value!r}, in the file {form[label]!r}"
                )


# ---- writing -----------------------------------------------------------------------------------


def _described(entry: Transformation) -> dict[str, Any]:
    """Return what a file says about a transformation: not its code."""

    def template(form: Symbolic | None) -> str | None:
        return form if isinstance(form, str) else None

    return {
        "text": entry.text,
        "sympy": template(entry.sympy),
        "inverse_sympy": template(entry.inverse_sympy),
        "has_inverse": entry.inverse is not None,
        "cost": entry.cost,
    }


def _checksum(document: Mapping[str, Any]) -> str:
    """Return SHA-256 of the content in a form that does not depend on its layout."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(plain.encode("ascii")).hexdigest()


def _written(value: Any, indent: int = 0) -> str:
    """Return JSON in which what is short, and every list of numbers, has one line."""
    line = _line(value)
    flat = isinstance(value, list) and not any(isinstance(item, list | dict) for item in value)
    if flat or not isinstance(value, list | dict) or len(line) + indent <= WIDTH:
        return line
    space = " " * (indent + 1)
    if isinstance(value, list):
        parts = [_written(item, indent + 1) for item in value]
    else:
        parts = [f"{_line(key)}: {_written(item, indent + 1)}" for key, item in value.items()]
    ends = "[]" if isinstance(value, list) else "{}"
    lines = f",\n{space}".join(parts)
    return f"{ends[0]}\n{space}{lines}\n{' ' * indent}{ends[1]}"


def _line(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Half of a surrogate pair, which a name may hold, has no form in UTF-8.
    fine = line.isascii() or not any("\ud800" <= c <= "\udfff" for c in line)
    return line if fine else json.dumps(value, allow_nan=False)


# ---- a fitted model as plain data ----------------------------------------------------------------

Plain = Any
#: Marks an object of the package in a parameter, which JSON has no form for.
MARK = "$"


class Writer:
    """Turns models into plain data, and collects what they share."""

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
        names = found.get("_names", found.get("feature_names_in_"))
        several = found.get("models_") or {}
        history = found.get("history_", [])
        form = {
            "parameters": parameters,
            "not_stored": left_out,
            "features": None if names is None else list(map(str, names)),
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
        written = {**TargetForm.model_validate(form).model_dump(), "targets": targets}
        if "largest_" in found:
            written["motion"] = MotionForm.model_validate(model).model_dump()
        return written

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
        if hasattr(value, "get_params"):
            kept, left_out = self._parameters(value.get_params(deep=False))
            if left_out:
                raise TypeError("; ".join(f"{name}: {why}" for name, why in left_out.items()))
            return {MARK + "regressor": kept}
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, list | tuple):
            return [self._parameter(item) for item in value]
        is_plain = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
        if is_plain and not any(key.startswith(MARK) for key in value):
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
            **_groups(getattr(entry.equation, "groups", None)),
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
    """Return a property that is computed from training data; None if that fails."""
    if entry.data is None and name not in vars(entry):
        return None
    try:
        return getattr(entry, name)
    except (GSRError, ArithmeticError, np.linalg.LinAlgError):
        return None


def _groups(table: GroupTable | None) -> dict[str, Any]:
    if table is None:
        return {}
    return {"groups": {**vars(table), "law": _law(table.law), "local": table.local.tolist()}}


def _law(law: LawLike) -> dict[str, Any]:
    fitted = FittedLaw.of(law)
    return {
        **vars(fitted),
        "psi": [integers(matrix) for matrix in fitted.psi],
        "phi": [integers(matrix) for matrix in fitted.phi],
    }
