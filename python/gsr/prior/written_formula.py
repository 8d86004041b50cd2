"""Formulas that a user knows: as structures to start a search from, and fitted to data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gsr.encoding import encode, encode_target
from gsr.encoding.rows import IntegerMatrix
from gsr.encoding.sympy_forms import number_and_rest
from gsr.equation import Equation, check_names
from gsr.exceptions import GSRError
from gsr.formula import FAILURES, guarded
from gsr.lazy import sympy
from gsr.library import Library, resolve
from gsr.options import check_parameters
from gsr.prior.formula_terms import Known, Reader, Term
from gsr.rows import Rows
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.noise import Loss, given
from gsr.validation import as_sigma, as_weights, as_x_sigma, check_magnitude

if TYPE_CHECKING:
    from gsr.prior.fitted_formula import FittedFormula

Tables = tuple[Library, Library]


def fit_formula(
    formula: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    feature_names: Sequence[str] | None = None,
    target_name: str | None = None,
    sample_weight: npt.ArrayLike | None = None,
    *,
    sigma: npt.ArrayLike | None = None,
    x_sigma: npt.ArrayLike | None = None,
    errors: str = "auto",
    loss: str = "squared",
    quantile: float = 0.5,
    library: Any = "all",
    target_library: Any = None,
) -> FittedFormula:
    """Fit the constants of a known formula to data, without a search.

    Coefficients are found by least squares. Constants inside arguments start from the numbers in
    the formula, or from a scan; a letter that stands in several places is one constant.

    Parameters
    ----------
    formula : str, Equation, sympy.Expr or sympy.Eq
        Text such as ``"y = a*x1^2 + b*sin(w*x2) + c"``, ``"x1*sin(x2)"`` (for y = ...) or
        ``"period^2 = k distance^3"``. ``^`` and ``**`` are powers, a space is a product, names
        with odd characters stand between backticks. Names that are neither features nor the
        target are constants to fit, with a warning if they are like that of a column, and so are
        numbers with a point inside arguments; whole numbers stay. Every term has a coefficient
        that is fitted; a number there is its start. A power that is a multiple of neither one
        half nor one third is one of the absolute value.
    X : array or data frame of shape (N, d)
        Features.
    y : array or series of shape (N,)
        Target.
    feature_names : sequence of str, optional
        Those of the data frame, else x1, x2, ...
    target_name : str, optional
        That of the series, else y.
    sample_weight : array of shape (N,), optional
        Weights of the rows.
    sigma : array of shape (N,), or float, optional
        Standard deviation of each measurement of y.
    x_sigma : array of shape (N, d) or (d,), or float, optional
        Standard deviations of the features, 0 where they are exact; the formula is then fitted
        by orthogonal distance regression.
    errors : {"auto", "constant", "relative", "poisson"}
        How measurements of y scatter around the formula, as for `gsr.GSRRegressor`.
    loss : {"squared", "absolute", "huber", "quantile"}
        What the fit minimises, as for `gsr.GSRRegressor`.
    quantile : float
        For ``loss="quantile"``: the part of the rows that lies below the formula.
    library, target_library : Library, str or sequence
        What the law is made of; the target's is that of the features unless given.

    Returns
    -------
    FittedFormula
        The `Equation`, exact to rounding where the data are, with errors of its constants. Its
        `repr` says which names of the formula are columns and which are constants.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(1, 5, 20)[:, None]
    >>> law = fit_formula("y = a*exp(-x1/tau) + b", x, 3 * np.exp(-x[:, 0] / 2) + 1)
    >>> print(law)
    y = 3 exp(-0.5 x1) + 1
    >>> print(f"{law.constants['tau'].value:.6g}")
    2
    """
    from gsr.prior.fitted_formula import FittedFormula, fit_constants
    from gsr.prior.formula_model import FormulaModel

    check_parameters({"errors": errors, "loss": loss, "quantile": quantile})
    names, target = _names(X, y, feature_names, target_name)
    tables = resolve(library), resolve(library if target_library is None else target_library)
    rows = _rows(X, y, sample_weight, sigma, x_sigma, names, target)
    given_weights = sample_weight is not None or sigma is not None
    if given_weights and errors in ("relative", "poisson"):
        raise GSRError(f"errors={errors!r} cannot be combined with sample_weight or sigma")
    model = FormulaModel(_read(formula, Reader(names, target, *tables)), names)
    _first_structure(model.known, names, tables, formula)  # what cannot be encoded shows at once
    training = replace(_training(rows, tables), loss=Loss(loss, quantile))  # type: ignore[arg-type]
    found = fit_constants(model, training, errors)
    law, data = found.law, found.data
    equation = Equation.from_data(
        *tables, law.psi, law.beta, law.phi, law.alpha, data.X, data.y,
        feature_names=names, target_name=target,
    )  # fmt: skip
    parts = {field.name: getattr(equation, field.name) for field in fields(equation)}
    return FittedFormula(
        **{**parts, "level": found.level},
        rmse=found.rmse,
        uncertainty=found.uncertainty(model),
        named=model,
    )


def _training(rows: Rows, tables: Tables) -> Training:
    X = np.asfortranarray(rows.X)
    data = Training(*tables, X, rows.y, rows.weights, x_sigma=rows.x_sigma)
    if rows.sigma is None or rows.precision is None:
        return data
    return replace(data, noise=replace(given(rows.sigma, rows.y), precision=rows.precision))


def _names(
    X: Any, y: Any, feature_names: Sequence[str] | None, target_name: str | None
) -> tuple[list[str], str]:
    shape = np.shape(X)
    if len(shape) != 2:
        raise GSRError(f"X must be a table of rows and columns, but its shape is {shape}")
    columns = getattr(X, "columns", None)
    given = feature_names if feature_names is not None else columns
    names = [f"x{v + 1}" for v in range(shape[1])] if given is None else [str(n) for n in given]
    target = str(target_name or getattr(y, "name", None) or "y")
    if len(names) != shape[1]:
        raise GSRError(f"X has {shape[1]} columns, but there are {len(names)} feature names")
    check_names(tuple(names), target, shape[1])
    return names, target


def _rows(
    X: Any,
    y: Any,
    sample_weight: Any,
    sigma: Any,
    x_sigma: Any,
    names: Sequence[str],
    target: str,
) -> Rows:
    table, column = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if column.shape != (len(table),) or not len(table):
        raise GSRError(f"X of shape {table.shape} and y of shape {column.shape} do not fit")
    for name, values in [*zip(names, table.T, strict=True), (target, column)]:
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise GSRError(f"{name!r} has values that are not finite, first in row {row}")
    check_magnitude(column[:, None], [f"y, the target {target},"])
    weights = guarded(lambda: as_weights(sample_weight, table), "sample_weight")
    deviations, of_features = as_sigma(sigma, column), as_x_sigma(x_sigma, table)
    if weights is not None and deviations is not None:
        raise GSRError("give either sample_weight or sigma, not both")
    if deviations is not None:
        return Rows(table, column, deviations**-2.0, 1.0, of_features).normalised()
    rows = Rows(table, column, weights, x_sigma=of_features)
    return rows if weights is None else rows.take(np.flatnonzero(weights > 0.0))


# ---- structures --------------------------------------------------------------------------------


class Structure(NamedTuple):
    """A formula in the encoding of the search: its coefficients are 1 where it gives none."""

    psi: list[IntegerMatrix]
    phi: list[IntegerMatrix]
    beta: list[float]
    alpha: list[float]

    @classmethod
    def of(cls, law: Equation | FittedLaw) -> Structure:
        """Copy a law."""
        psi, phi = ([[list(r) for r in m] for m in side] for side in (law.psi, law.phi))
        return cls(psi, phi, law.beta.tolist(), law.alpha.tolist())


def parse(
    formula: Any,
    feature_names: Sequence[str],
    target_name: str,
    library: Library,
    target_library: Library,
    data: Training | None = None,
) -> list[Structure]:
    """Return one formula, as `gsr.fit_formula` takes it, or several as structures to start from.

    Constants are fitted to `data`; without data those inside functions that the formula gives no
    value for are anything near 1.
    """
    tables = library, target_library
    found = []
    for each in formula if _is_list(formula) else [formula]:
        if isinstance(each, Equation) and _fits(each, feature_names, tables):
            found.append(Structure.of(each))
        else:
            known = _read(each, Reader(feature_names, target_name, *tables))
            first = _first_structure(known, feature_names, tables, each)
            found.append(first if data is None else _fitted(known, feature_names, data) or first)
    return found


def parse_terms(
    terms: Iterable[Any], feature_names: Sequence[str], library: Library, target_name: str = "y"
) -> list[IntegerMatrix]:
    """Return terms of the features as basis matrices, without their coefficients."""
    found = []
    for each in [terms] if isinstance(terms, str) else terms:
        reader = Reader(feature_names, target_name, library, library, strict=True)
        known = _read(each, reader)
        alone = [(t.coefficient, t.basis) for t in known.target] == [(1, reader.y)]
        if not alone or "=" in str(each) or not isinstance(each, (str, sympy.Expr)):
            raise GSRError(f"the term {str(each)!r} must be a function of the features alone")
        if len(known.features) != 1:
            raise GSRError(
                f"{str(each)!r} has {len(known.features)} terms; list each term by itself"
            )
        found += _first_structure(known, feature_names, (library, library), each).phi
    return found


def _read(formula: Any, reader: Reader) -> Known:
    """Return the terms of a formula of any kind."""
    if isinstance(formula, Equation):
        formula = formula.sympy()
    return guarded(lambda: reader.read(formula), formula)


def _first_structure(known: Known, names: Sequence[str], tables: Tables, text: object) -> Structure:
    """Return a formula with the constants that it gives; others are no special numbers."""
    inside = {s for term in known.terms for s in term.basis.free_symbols}
    values = {}
    for k, (symbol, start) in enumerate(known.starts.items(), start=1):
        unset = 1.0 + 0.09 * k if symbol in inside else 1.0
        values[symbol] = unset if start is None else start
    return guarded(lambda: structure(known, values, names, tables), text)


def structure(
    known: Known,
    values: Mapping[Any, float],
    names: Sequence[str],
    tables: Tables,
    coefficients: npt.ArrayLike | None = None,
) -> Structure:
    """Return a formula in the encoding of the search, for some values of its constants.

    The coefficients are those of all terms; of the formula unless given.
    """
    numbers = {symbol: sympy.Float(float(value), 17) for symbol, value in values.items()}
    given = [term.coefficient.xreplace(numbers) for term in known.terms]
    if coefficients is not None:
        given = [sympy.Float(float(c), 17) for c in np.asarray(coefficients)]

    def side(terms: Sequence[Term], given: Sequence[Any], form: Callable[[Any], Any]) -> Any:
        matrices, found = [], []
        for term, coefficient in zip(terms, given, strict=True):
            number, basis = number_and_rest(term.basis.xreplace(numbers))
            matrices.append(_named(form, basis, term.text, names))
            found.append(_real(coefficient * number, term.text))
        return matrices, found

    library, target_library = tables
    d, n = len(names), len(known.target)
    psi, beta = side(known.target, given[:n], lambda basis: encode_target(basis, target_library))
    phi, alpha = side(known.features, given[n:], lambda basis: encode(basis, library, d))
    return Structure(psi, phi, [b / beta[0] for b in beta], [a / beta[0] for a in alpha])


def _fitted(known: Known, names: Sequence[str], data: Training) -> Structure | None:
    """Return a structure whose constants are fitted, None if no values are any good."""
    from gsr.prior.fitted_formula import fit
    from gsr.prior.formula_model import FormulaModel

    try:
        return Structure.of(fit(FormulaModel(known, names), data)[0])
    except GSRError:
        return None


def _is_list(formula: Any) -> bool:
    return isinstance(formula, Sequence) and not isinstance(formula, str)


def _fits(equation: Equation, names: Sequence[str], tables: Tables) -> bool:
    same = (equation.library, equation.target_library) == tables
    return same and tuple(names) == equation.feature_names


def _named(
    form: Callable[[Any], IntegerMatrix], basis: Any, text: str, names: Sequence[str]
) -> IntegerMatrix:
    """Encode a basis function; error messages use the user's names."""
    try:
        return form(basis)
    except FAILURES as error:
        reason = re.sub(
            r"\bx(\d+)\b", lambda m: names[int(m[1]) - 1] if 0 < int(m[1]) <= len(names) else m[0],
            str(error),
        )  # fmt: skip
        raise GSRError(f"the term {text!r} of the formula: {reason}") from None


def _real(value: Any, text: str) -> float:
    number = guarded(lambda: complex(value), text)
    if number.imag or not np.isfinite(number.real) or not number.real:
        raise GSRError(f"the term {text!r} of the formula has the coefficient {value!s}")
    return number.real
