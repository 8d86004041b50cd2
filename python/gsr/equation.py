"""A law g(y) = f(x): how it reads, and what it predicts."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr.encoding import decode, evaluate, latex, law_complexity
from gsr.encoding.fold import fold, negative_arguments, values_of
from gsr.encoding.matrices import Decoder
from gsr.encoding.rows import Argument, Matrix, is_constant, rows
from gsr.encoding.writing import Writer, shown_name, text, weighted_sum
from gsr.exceptions import GSRError, PredictionWarning
from gsr.files import check_utf8
from gsr.lazy import sympy
from gsr.library import Library
from gsr.prediction.explicit import explicit
from gsr.prediction.inversion import Inversion, Solution, logarithms
from gsr.transformation import Array

Bars = tuple[tuple[int, ...], ...]
Terms = list[tuple[float, Any]]
#: Coefficient, matrix, library, names of the variables, and rows of ln with bars.
Part = tuple[float, Matrix, Library, tuple[str, ...], tuple[int, ...]]
ROWS_NAMED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Equation:
    """A law sum_j beta_j psi_j(y) = sum_k alpha_k phi_k(x).

    `Equation.from_data` finds the bars and the inversion from training data.

    Parameters
    ----------
    library, target_library : Library
        Mapping tables of the features and of the target.
    psi, phi : tuple of matrices
        Basis functions of the target and of the features.
    beta, alpha : array
        Their coefficients; beta[0] is 1.
    feature_names : tuple of str
        Any strings; they are never parsed.
    target_name : str
        Likewise.
    absolute_target, absolute_features : tuple of tuples of int
        For each basis function the rows of ln that need the bars of ln|t|.
    inversion : Inversion
        Solves g(y) = v.
    level : str
        Verdict on the residuals: ``"rounding"`` (exact), ``"noise"`` (within noise), ``"above"``
        (structure left), ``"ambiguous"`` (within noise, as for laws of other kinds) or
        ``"unknown"`` (too few rows).
    sample : array of shape (n, d), optional
        Rows on which a shorter form must have the same values to be the text of the law. Without
        them the law is written as it is encoded.
    text : str
        The text, if it is known already.
    """

    library: Library
    target_library: Library
    psi: tuple[Matrix, ...]
    beta: Array
    phi: tuple[Matrix, ...]
    alpha: Array
    feature_names: tuple[str, ...]
    target_name: str
    absolute_target: Bars
    absolute_features: Bars
    inversion: Inversion
    level: str = "unknown"
    sample: Array | None = None
    text: str = ""

    @classmethod
    def from_data(
        cls,
        library: Library,
        target_library: Library,
        psi: Sequence[Matrix],
        beta: npt.ArrayLike,
        phi: Sequence[Matrix],
        alpha: npt.ArrayLike,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
        target_name: str = "y",
    ) -> Equation:
        """Build a law and learn from training data what it leaves open.

        Parameters
        ----------
        library, target_library, psi, beta, phi, alpha
            As for the class; terms with coefficient 0 are dropped.
        X : array of shape (N, d)
            Training features.
        y : array of shape (N,)
            Training target. Both decide where ln|t| is written ln(t), and which solution of
            g(y) = v is meant.
        feature_names : sequence of str, optional
            x1, x2, ... unless given.
        target_name : str
            Name of the target.

        Returns
        -------
        Equation
        """
        table, target = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        names = tuple(feature_names or (f"x{v + 1}" for v in range(table.shape[1])))
        check_names(names, target_name, table.shape[1])
        psi, beta = nonzero(psi, beta, "psi")
        phi, alpha = nonzero(phi, alpha, "phi")
        column = target[:, None]
        bars_y = tuple(negative_arguments(m, target_library, column) for m in psi)
        bars_x = tuple(negative_arguments(m, library, table) for m in phi)
        found = logarithms(phi, alpha.tolist(), library)
        inversion = Inversion.learn(target_library, psi, beta, table, target, found, library)
        return cls(
            library, target_library, psi, beta, phi, alpha, names, target_name, bars_y, bars_x,
            inversion,
        )  # fmt: skip

    # ---- reading -----------------------------------------------------------------------------

    def __str__(self) -> str:
        if self.text or self.sample is None:
            return self.text or self.as_encoded()
        from gsr.selection import simplify

        return simplify.implicit(self, self.sample)

    __repr__ = __str__

    def __getstate__(self) -> dict[str, Any]:
        # Training rows are no part of a law.
        text = self.text if self.sample is None else str(self)
        return {**self.__dict__, "text": text, "sample": None}

    def as_encoded(self) -> str:
        """Return the law as text, term by term."""
        return f"{self.left_side()} = {_written(self._parts('x'))}"

    def left_side(self) -> str:
        """Return g(y) as text."""
        return _written(self._parts("y"))

    def feature_terms(self) -> list[str]:
        """Return each term of f(x) as text, with its coefficient, in the order of phi."""
        return [_written([part]) for part in self._feature_parts()]

    def terms(self) -> tuple[Terms, Terms]:
        """Return (target terms, feature terms), each as (coefficient, SymPy expression)."""
        target, features = (
            [(c, decode(m, library, names, absolute=bars)) for c, m, library, names, bars in parts]
            for parts in (self._parts("y"), self._parts("x"))
        )
        return target, features

    def feature_term(self, k: int) -> Any:
        """Return phi_k as a SymPy expression."""
        bars = self.absolute_features[k]
        return decode(self.phi[k], self.library, self.feature_names, absolute=bars)

    def argument(self, argument: Argument, bars: bool | Collection[int] = True) -> Any:
        """Return an argument of the features as a SymPy expression, with bars in its logarithms."""
        return fold(argument, Decoder(self.library, self._name, bars))

    def _name(self, v: int) -> str:
        return self.feature_names[v - 1]

    def sympy(self) -> Any:
        """Return the law as a SymPy equation, with the coefficients as they are."""
        left, right = (
            sympy.Add(*(e if c == 1 else sympy.Float(c) * e for c, e in side))
            for side in self.terms()
        )
        return sympy.Eq(left, right, evaluate=False)

    def explicit(self) -> list[Any]:
        """Return closed forms y = ... as SymPy expressions.

        Returns
        -------
        list of sympy.Expr
            One for each branch that the training range meets; empty without a closed form.
        """
        return explicit(self)

    def latex(self) -> str:
        """Return the law as LaTeX, with six significant digits."""
        return " = ".join(latex.side(terms) for terms in self.terms())

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def unit_vector(self) -> tuple[Array, Array]:
        """Return (alpha, beta) scaled so that together they have norm 1, as the paper prints."""
        norm = float(np.sqrt((self.alpha**2).sum() + (self.beta**2).sum()))
        return self.alpha / norm, self.beta / norm

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def complexity(self) -> int:
        """Nodes of both sides, counted as the search counts them."""
        libraries = (self.library, self.target_library)
        return law_complexity(self.psi, self.phi, *libraries, len(self.feature_names))

    def _parts(self, side: str) -> list[Part]:
        """Return the terms of a side ("y" or "x") as they are written: the constant last."""
        if side == "y":
            found = zip(self.beta, self.psi, self.absolute_target, strict=True)
            names, library = (self.target_name,), self.target_library
            return [(float(b), m, library, names, bars) for b, m, bars in found]
        return sorted(self._feature_parts(), key=lambda part: is_constant(part[1], self.library))

    def _feature_parts(self) -> list[Part]:
        found = zip(self.alpha, self.phi, self.absolute_features, strict=True)
        return [(float(a), m, self.library, self.feature_names, bars) for a, m, bars in found]

    # ---- prediction --------------------------------------------------------------------------

    def predict(self, X: npt.ArrayLike) -> Array:
        """Solve the law for y.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n,)
            NaN where the law gives no finite y, in which case a `PredictionWarning` says in
            which rows and why. It also says where several values were possible and the nearest
            training row had to decide.
        """
        table = np.asarray(X, dtype=float)
        if table.ndim != 2 or table.shape[1] != len(self.feature_names):
            raise GSRError(
                f"X must have {len(self.feature_names)} columns ({', '.join(self.feature_names)}),"
                f" but its shape is {table.shape}"
            )
        solution = self.solution(table)
        if not solution.solved.all():
            self._warn_unsolved(table, ~solution.solved)
        if solution.guessed.any():
            self._warn_guessed(solution.guessed)
        return solution.values

    def solution(self, X: Array) -> Solution:
        """Return the y of each row of X, without warnings."""
        with np.errstate(all="ignore"):
            return self.inversion.solve(self._right(X), X)

    def _right(self, X: Array) -> Array:
        """Return f(x)."""
        with np.errstate(all="ignore"):
            v = evaluate(self.phi, self.library, X) @ self.alpha if self.phi else 0.0
        return np.broadcast_to(np.asarray(v, dtype=float), (len(X),))

    def _warn_unsolved(self, X: Array, unsolved: Any) -> None:
        v = self._right(X)
        reasons = np.full(len(X), f"f(x) is outside the range of {self.left_side()}", dtype=object)
        reasons[self.inversion.overflows(v)] = f"{shown_name(self.target_name)} overflows"
        reasons[~np.isfinite(v)] = "f(x) overflows"
        writer = Writer(self.library, self._name, ())
        for row in (row for matrix in self.phi for row in rows(matrix, self.library)):
            if row is not None:  # inner rows come later, and are the better reason
                undefined = ~np.isfinite(values_of(row, X, self.library))
                reasons[undefined] = f"{writer.basis_function([row])} is undefined"
        for k, name in enumerate(self.feature_names):
            reasons[~np.isfinite(X[:, k])] = f"{shown_name(name)} is not finite"
        told = [
            f"{reason} in {listed(unsolved & (reasons == reason))}"
            for reason in dict.fromkeys(reasons[unsolved])
        ]
        message = f"{unsolved.sum()} of {len(X)} predictions are NaN: {'; '.join(told)}"
        warnings.warn(message, PredictionWarning, stacklevel=3)

    def _warn_guessed(self, guessed: Any) -> None:
        warnings.warn(
            f"several values of {shown_name(self.target_name)} solve the law in"
            f" {listed(guessed)}; the one closest to the nearest training row was taken",
            PredictionWarning,
            stacklevel=3,
        )


def _written(parts: list[Part]) -> str:
    return weighted_sum([(part[0], partial(_term, part)) for part in parts])


def _term(part: Part, size: str) -> str:
    _, matrix, library, names, bars = part
    if is_constant(matrix, library):
        return size or "1"
    return text(matrix, library, names, absolute=bars, coefficient=size)


def listed(rows: Any) -> str:
    """Return how many rows a mask marks, with the numbers of the first ones, counted from 0."""
    found = np.flatnonzero(rows)
    shown = ", ".join(map(str, found[:ROWS_NAMED])) + (", ..." if len(found) > ROWS_NAMED else "")
    return f"{len(found)} row{'s' if len(found) > 1 else ''} ({shown})"


def check_names(names: tuple[str, ...], target_name: str, n_features: int) -> None:
    """Raise unless there is a name for each feature and no name is there twice."""
    if len(names) != n_features:
        raise GSRError(f"there are {n_features} features, but {len(names)} feature names")
    everything = [*names, target_name]
    twice = [name for name, count in Counter(everything).items() if count > 1]
    if twice:
        raise GSRError(f"names must differ, but {twice[0]!r} is there twice")
    for name in everything:
        check_utf8("the name", str(name))


def nonzero(
    matrices: Sequence[Matrix], coefficients: npt.ArrayLike, what: str
) -> tuple[tuple[Matrix, ...], Array]:
    """Return matrices and coefficients without those whose coefficient is 0."""
    values = np.atleast_1d(np.asarray(coefficients, dtype=float))
    if len(values) != len(matrices):
        raise GSRError(f"there are {len(matrices)} {what}, but {len(values)} coefficients")
    kept = [(m, c) for m, c in zip(matrices, values, strict=True) if c != 0]
    return tuple(m for m, _ in kept), np.array([c for _, c in kept])
