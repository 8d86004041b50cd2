"""`GSRForm`: laws whose form is known except for some functions in it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gsr import validation
from gsr.equation import check_names
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError, PredictionWarning
from gsr.files import write_whole
from gsr.forms import reading
from gsr.forms.fitting import Formula, numeric, table
from gsr.forms.reading import Form, Part, column
from gsr.forms.search import compared, search
from gsr.formula import expression as read_expression
from gsr.lazy import sympy
from gsr.options import MIN_ROWS
from gsr.saving import write_document
from gsr.selection import FrontEntry
from gsr.selection.uncertainty import inverse_gram
from gsr.transformation import Array

DIGITS = 6
#: Printers of SymPy by language.
LANGUAGES = {"python": "pycode", "c": "ccode", "fortran": "fcode", "julia": "julia_code"}


class GSRForm(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Laws of a known form with unknown functions, such as ``sin(f(x1, x2)) + g(x3)**2``.

    Only the unknown functions are searched for. The complete law is printed, saved and used for
    predictions.

    Parameters
    ----------
    form : str
        The right side of y = .... A name before an opening parenthesis that is not a known function
        is an unknown function of the columns in the parentheses; other names that are not columns
        are constants.
    regressor : GSRRegressor, optional
        Searches for the functions, with options such as `library` or `max_terms`. Its `max_time`
        is replaced unless `max_time` is None here.
    units : dict, optional
        Units of columns and of unknown functions by name. They are used in the search for a
        function if its unit and those of its columns are given.
    max_time : float or None, default 30
        Total time in seconds.
    random_state : int, optional
        Seed of the starting points and of the searches.

    Attributes
    ----------
    parts_ : dict
        From the name of each unknown function to its formula as a SymPy expression.
    constants_ : dict
        From the name of each constant of the form to (value, standard error).
    rmse_ : float
        Root mean square of the residuals; weighted if there are weights.
    fit_time_ : float
        Duration of the fit in seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from gsr import GSRForm
    >>> x = np.random.default_rng(0).uniform(0.5, 2, (60, 2))
    >>> model = GSRForm("exp(f(x1)) * x2", random_state=0)
    >>> print(model.fit(x, np.exp(1 / x[:, 0]) * x[:, 1]))
    y = x2*exp(1/x1)
    """

    def __init__(
        self,
        form: str = "f(x1)",
        *,
        regressor: GSRRegressor | None = None,
        units: Mapping[str, Any] | None = None,
        max_time: float | None = 30.0,
        random_state: Any = None,
    ) -> None:
        self.form = form
        self.regressor = regressor
        self.units = units
        self.max_time = max_time
        self.random_state = random_state

    # ---- fitting -----------------------------------------------------------------------------

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> GSRForm:
        """Search for the unknown functions.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features. The form refers to the columns by name; those of an array are x1, x2, ....
        y : array of shape (n_samples,)
            Target; named after the series if it is one.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        GSRForm
            The estimator itself.
        """
        start = time.perf_counter()
        rows, target, weights = self._rows(X, y, sample_weight)
        form = reading.read(self.form, self._names, self._target_name)
        self._check_units(form)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = search(form, rows, target, weights, self._explain(rows, seed), self.max_time, seed)
        pieces = [each for each in found.model.pieces.values() if isinstance(each, Formula)]
        template = form.expression.xreplace({p.part.symbol: p.expression for p in pieces})
        symbols = [*form.constants, *(symbol for piece in pieces for symbol in piece.symbols)]
        self._take(form, template, symbols, found.theta)
        values = dict(zip(symbols, found.theta.tolist(), strict=True))
        self.parts_ = {p.part.name: self._named(p.expression.xreplace(values)) for p in pieces}
        self.rmse_ = found.model.rmse(found.theta)
        errors = self._errors(found.model.linearise(found.theta))
        self.constants_ = {
            str(symbol)[:-1]: (float(found.theta[k]), errors[k])
            for k, symbol in enumerate(form.constants)
        }
        self.fit_time_ = time.perf_counter() - start
        return self

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        validation.check_columns(X)
        rows = validate_data(self, X, dtype=np.float64)
        target = validation.as_numbers(y, rows)
        if target.ndim != 1:
            raise GSRError(f"y must be one column, but its shape is {target.shape}")
        validation.check_finite(target[:, None], ["y"])
        if len(target) < MIN_ROWS or not np.ptp(target):
            raise GSRError(
                f"y must have at least {MIN_ROWS} rows that are not all the same, got {len(target)}"
            )
        weights = validation.as_weights(sample_weight, rows)
        named = getattr(self, "feature_names_in_", [f"x{k + 1}" for k in range(rows.shape[1])])
        self._names = [str(name) for name in named]
        self._target_name = str(getattr(y, "name", None) or "y")
        while self._target_name in self._names:
            self._target_name += "'"
        check_names(tuple(self._names), self._target_name, rows.shape[1])
        return rows, target, np.ones(len(rows)) if weights is None else weights / weights.mean()

    def _check_units(self, form: Form) -> None:
        known = {*self._names, *(part.name for part in form.parts)}
        for name in self.units or {}:
            if name not in known:
                raise GSRError(
                    f"units has {name!r}, which is neither a column nor an unknown function",
                    "units",
                )

    def _explain(self, rows: Array, seed: int) -> Any:
        """Return the function that searches for laws of a part."""

        def explain(
            part: Part, target: Array, weights: Array, seconds: float | None
        ) -> list[FrontEntry]:
            model: GSRRegressor
            model = GSRRegressor() if self.regressor is None else clone(self.regressor)
            names = [self._names[k] for k in part.columns]
            units = self.units or {}
            if part.name in units and all(name in units for name in names):
                model.set_params(units={name: units[name] for name in (*names, part.name)})
            if self.max_time is not None:
                model.set_params(max_time=seconds)
            if self.regressor is None or self.random_state is not None:
                model.set_params(random_state=seed)
            model.set_params(transform_target=False)
            model.__dict__["_given_name"] = part.name
            even = np.ptp(weights) == 0.0
            kept = np.flatnonzero(weights > 0.0)
            named = _frame(rows[kept][:, list(part.columns)], names)
            model.fit(named, target[kept], None if even else weights[kept])
            return compared([*model.front_, *model._others])

        return explain

    def _take(self, form: Form, template: Any, symbols: list[Any], values: Array) -> None:
        columns = [column(k) for k in range(len(self._names))]
        self.form_, self._template, self._symbols, self._values = form, template, symbols, values
        self._evaluate = numeric([*columns, *symbols], [template])

    @staticmethod
    def _errors(known: tuple[Array, Array] | None) -> list[float]:
        """Return the standard errors of all constants."""
        assert known is not None, "the law is defined on all rows"
        left, jacobian = known
        freedom = len(left) - jacobian.shape[1]
        variance = float(left @ left) / freedom if freedom > 0 else math.inf
        unit = np.diag(inverse_gram(np.asarray(np.linalg.qr(jacobian, mode="r"))))
        return [math.sqrt(variance * each) for each in unit]

    # ---- reading -----------------------------------------------------------------------------

    def _named(self, expression: Any) -> Any:
        """Return an expression in x1, x2, ... with the names of the columns."""
        names = {column(k): sympy.Symbol(name, real=True) for k, name in enumerate(self._names)}
        return expression.xreplace(names)

    @property
    def expression_(self) -> Any:
        """The right side of the complete law as a SymPy expression."""
        check_is_fitted(self, "_template")
        values = map(sympy.Float, self._values.tolist())
        return self._named(self._template.xreplace(dict(zip(self._symbols, values, strict=True))))

    def sympy(self) -> Any:
        """Return the law as a SymPy equation."""
        left = sympy.Symbol(self._target_name, real=True)
        return sympy.Eq(left, self.expression_, evaluate=False)

    def latex(self) -> str:
        """Return the law as LaTeX, with six significant digits."""
        return str(sympy.latex(_rounded(self.sympy())))

    def __str__(self) -> str:
        if not hasattr(self, "_template"):
            return repr(self)
        return f"{self._target_name} = {_rounded(self.expression_)}"

    def print(self) -> None:
        """Print the complete law, its functions and its constants."""
        parts = [f"  {name} = {_rounded(part)}" for name, part in self.parts_.items()]
        errors = [f"  {n} = {v:.6g} ± {e:.2g}" for n, (v, e) in self.constants_.items()]
        print("\n".join([str(self), *parts, *errors]))

    # ---- using -------------------------------------------------------------------------------

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the values of the law; NaN, with a warning, where it is undefined.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Features.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "_template")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(all="ignore"):
            found = table(self._evaluate(*rows.T, *self._values), len(rows))[:, 0]
        bad = ~np.isfinite(found)
        if bad.any():
            warnings.warn(
                f"{bad.sum()} of {len(rows)} predictions are NaN: the law is undefined there",
                PredictionWarning,
                stacklevel=2,
            )
        return np.where(bad, np.nan, found)

    def export(self, language: str = "python", path: str | PathLike[str] | None = None) -> str:
        """Return the right side of the law in a programming language.

        Parameters
        ----------
        language : {"python", "c", "fortran", "julia"}
            The language; columns are named x1, x2, ...
        path : str or path, optional
            A file to which the expression is also written.

        Returns
        -------
        str
            An expression.
        """
        check_is_fitted(self, "_template")
        if language not in LANGUAGES:
            raise GSRError(f"language must be one of {', '.join(LANGUAGES)}, got {language!r}")
        values = dict(zip(self._symbols, map(sympy.Float, self._values.tolist()), strict=True))
        source = str(getattr(sympy, LANGUAGES[language])(self._template.xreplace(values)))
        if path is not None:
            write_whole(source + "\n", path)
        return source

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a readable file; `gsr.load` restores it.

        Parameters
        ----------
        path : str or path
            The JSON file. An existing file is replaced atomically.
        """
        check_is_fitted(self, "_template")
        content = {
            "form": self.form,
            "features": self._names,
            "named": hasattr(self, "feature_names_in_"),
            "target": self._target_name,
            "law": str(self._template),
            "symbols": [str(each) for each in self._symbols],
            "values": self._values.tolist(),
            "parts": {name: str(part) for name, part in self.parts_.items()},
            "constants": self.constants_,
            "rmse": self.rmse_,
        }
        write_document({"form": content}, path)


def read(content: Mapping[str, Any]) -> GSRForm:
    """Return the model in a file written by `GSRForm.save`, without executing any code in it."""
    try:
        model = GSRForm(str(content["form"]))
        model._names = [str(name) for name in content["features"]]
        model._target_name = str(content["target"])
        model.n_features_in_ = len(model._names)
        if content["named"]:
            model.feature_names_in_ = np.array(model._names, dtype=object)
        form = reading.read(model.form, model._names, model._target_name)
        symbols = {name: sympy.Symbol(name, real=True) for name in map(str, content["symbols"])}
        known = {**{f"x{k + 1}": column(k) for k in range(len(model._names))}, **symbols}
        values = np.array([float(each) for each in content["values"]])
        model._take(form, read_expression(content["law"], known), list(symbols.values()), values)
        named = {name: sympy.Symbol(name, real=True) for name in model._names}
        model.parts_ = {n: read_expression(t, named) for n, t in content["parts"].items()}
        model.constants_ = {n: (float(v), float(e)) for n, (v, e) in content["constants"].items()}
        model.rmse_ = float(content["rmse"])
    except (KeyError, TypeError, ValueError) as error:
        raise GSRError(f"the form in the file is damaged: {error}") from error
    return model


def _rounded(expression: Any) -> Any:
    """Return an expression with numbers of six digits."""
    return expression.xreplace(
        {each: sympy.Float(each, DIGITS) for each in expression.atoms(sympy.Float)}
    )


def _frame(table: Array, names: list[str]) -> Any:
    import pandas

    return pandas.DataFrame(table, columns=names)
