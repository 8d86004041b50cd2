"""What a fitted estimator shows, says and writes; the search is not in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, validate_data

from gsr import selection, validation
from gsr.encoding.writing import html
from gsr.equation import Equation
from gsr.exceptions import GSRError, SeveralTargetsError
from gsr.files import write_whole
from gsr.groups.labels import label_of, labels_for
from gsr.groups.law import GroupedEquation, GroupTable
from gsr.rows import Missing
from gsr.selection import FrontEntry, PolePolicy, choice, criteria, kinds
from gsr.selection.criteria import Criterion
from gsr.selection.fitted import FAILURES, Training
from gsr.threads import one_thread
from gsr.wording import LEVELS

if TYPE_CHECKING:
    from gsr.groups.fitting import GroupedRows
    from gsr.table import EquationTable

#: Columns that are named in a line.
SHOWN_LEFT_OUT = 5

Array = npt.NDArray[np.float64]
Self = TypeVar("Self", bound="Presentation")


class Presentation:
    """Methods of a fitted estimator that read its front.

    Methods that take an `index` mean the law with that number in `equations_` or its list `top`,
    the chosen one unless given.
    """

    front_: list[FrontEntry]
    best_index_: int
    equation_: Equation
    n_rows_: int
    criterion_: str
    criterion_value_: float | None
    support_: float
    criterion: Criterion
    poles: PolePolicy
    missing: Missing
    _names: list[str]
    _others: Sequence[FrontEntry] = ()
    _numbered: Sequence[FrontEntry] = ()
    left_out_: list[str]
    _group_rows: GroupedRows | None = None
    _to_insist = "give fewer columns to insist"

    def _left_out_line(self) -> str:
        """Say in one line which columns were not combined, if any, and how to insist on them."""
        names = self.left_out_
        if not names:
            return ""
        shown = ", ".join(names[:SHOWN_LEFT_OUT]) + (", ..." if len(names) > SHOWN_LEFT_OUT else "")
        return (
            f"{len(names)} of {len(self._names)} columns were not combined in the guided search: "
            f"{shown}; {self._to_insist}"
        )

    # ---- laws --------------------------------------------------------------------------------

    @property
    def equations_(self) -> EquationTable:
        """The front as a table, simplest first, with the chosen law marked."""
        from gsr.table import EquationTable

        check_is_fitted(self)
        self._check_single()
        support = getattr(self, "support_", 1.0)
        return EquationTable(self.front_, self.best_index_, self._others, self._laws, support)

    def to_pandas(self) -> Any:
        """Return the front as a pandas.DataFrame, with all columns of `equations_`."""
        return self.equations_.to_pandas()

    def __str__(self) -> str:
        if not hasattr(self, "front_"):
            models: Mapping[str, Any] = getattr(self, "models_", {})
            return "\n\n".join(map(str, models.values())) or repr(self)
        table = self.equations_
        return "\n".join([*table[table.best_index].forms, self._verdict, "", str(table)])

    def _repr_html_(self) -> Any:
        if not hasattr(self, "front_"):
            models: Mapping[str, Any] = getattr(self, "models_", {})
            several = "".join(each._repr_html_() for each in models.values())
            return several or super()._repr_html_()  # type: ignore[misc]
        table = self.equations_
        forms = "".join(f"<p><big>{html(form)}</big></p>" for form in table[table.best_index].forms)
        return f"{forms}<p>{escape(self._verdict)}</p>{table._repr_html_()}"

    @property
    def _verdict(self) -> str:
        return f"{LEVELS[self.level_].sentence}\nChosen: {self.why_}."

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def choose(self: Self, criterion: Criterion | None = None, *, index: int | None = None) -> Self:
        """Choose another law of those that the search has found.

        Parameters
        ----------
        criterion : str or callable, optional
            As the parameter of that name, whose value is taken unless given.
        index : int, optional
            The law with this number in `equations_` or `equations_.top()` instead. Laws keep
            their numbers, whichever is chosen.

        Returns
        -------
        GSRRegressor
            The estimator itself, with the law as `equation_`. A law that was not in the table is
            then, and those that it beats are not.
        """
        chosen = self._entry(index)
        if index is not None:
            if criterion is not None:
                raise GSRError("give either a criterion or an index, not both")
            self._present(chosen, choice.BY_INDEX)
            return self
        asked = self.criterion if criterion is None else criterion
        criteria.check(asked)
        self._check_known(asked)
        entries = [*self.front_, *self._others]
        n_rows = getattr(self, "n_rows_", 0)
        self._present(selection.best(entries, n_rows, asked, self.poles), asked)
        return self

    @property
    def why_(self) -> str:
        """Why the chosen law was chosen, in one line."""
        chosen = self._entry(None)
        compared = [*self.front_, *self._others]
        with one_thread():
            return choice.why(
                chosen,
                compared,
                getattr(self, "n_rows_", 0),
                getattr(self, "criterion_", "mdl"),
                getattr(self, "criterion_value_", None),
            )

    def get_best(self) -> FrontEntry:
        """Return the chosen entry of the front."""
        return self._entry(None)

    @property
    def level_(self) -> str:
        """What the chosen law leaves: rounding, noise, or more; or that it is one of several."""
        return kinds.determined(str(self._entry(None).level), getattr(self, "support_", 1.0))

    @property
    def noise_(self) -> str:
        """How measurements scatter around the chosen law, in one line."""
        entry = self._entry(None)
        if entry.exact:
            return "scatter is rounding"
        try:
            known = entry.uncertainty
        except FAILURES:
            return "scatter is not known"
        return known.noise.describe(entry.equation.target_name, known.sigma)

    @property
    def rounded_equation_(self) -> Equation:
        """The chosen law with constants near simple numbers rounded, where the data agree."""
        return self._entry(None).rounded_equation

    def sympy(self, index: int | None = None) -> Any:
        """Return a law as a SymPy equation of g(y) and f(x)."""
        return self._entry(index).equation.sympy()

    def explicit(self, index: int | None = None) -> list[Any]:
        """Return y as SymPy expressions, one per branch of g; none if g has no closed inverse."""
        return self._entry(index).equation.explicit()

    def latex(self, index: int | None = None) -> str:
        """Return a law as LaTeX."""
        return self._entry(index).equation.latex()

    def latex_table(self, **options: Any) -> str:
        """Return the front as a LaTeX table; see `gsr.table.EquationTable.latex`."""
        return self.equations_.latex(**options)

    # ---- groups ------------------------------------------------------------------------------

    @property
    def groups_(self) -> GroupTable:
        """The constants of the chosen law in each group, if groups were given to `fit`."""
        return self._grouped().table

    def add_group(
        self: Self, X: npt.ArrayLike, y: npt.ArrayLike, label: Any, sample_weight: Any = None
    ) -> Self:
        """Fit the constants of a new group; structure and shared constants do not change.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features of the group.
        y : array of shape (n_samples,)
            Target of the group.
        label : str or int
            Label of the group.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        GSRRegressor
            The estimator itself.
        """
        equation = self._grouped()
        table = validate_data(self, X, dtype=np.float64, reset=False)
        target = validation.as_numbers(y, table)
        validation.check_finite(target[:, None], ["y"])
        weights = validation.as_weights(sample_weight, table)
        rows = Training(
            equation.library, equation.target_library, np.asfortranarray(table), target, weights
        )
        groups = equation.table.with_group(label_of(label), rows)
        entry = self._entry(None)
        entry.__dict__["equation"] = self.equation_ = replace(equation, groups=groups)
        return self

    def share(self: Self, *names: str) -> Self:
        """Fit the chosen law again with some constants the same in all groups.

        Parameters
        ----------
        *names : str
            Letters of the constants in the equation. After ``fit(..., shared="none")``, all
            constants differ between groups.

        Returns
        -------
        GSRRegressor
            The estimator itself, with the law as `equation_`.
        """
        from gsr.groups.law import with_shared

        self._grouped()
        if self._group_rows is None:
            raise GSRError("the model was loaded without its training data; fit it again")
        made = with_shared(self._entry(None), names, self._group_rows)
        self._others = [*self._others, made]
        self._present(made, choice.BY_INDEX)
        return self

    def _grouped(self) -> GroupedEquation:
        equation = self._entry(None).equation
        if not isinstance(equation, GroupedEquation):
            raise GSRError("the model was fitted without groups")
        return equation

    # ---- trust -------------------------------------------------------------------------------

    def intervals(
        self, level: float = 0.95, index: int | None = None
    ) -> dict[str, tuple[float, float, float]]:
        """Return each constant of a law with its confidence interval.

        Parameters
        ----------
        level : float
            Confidence, between 0 and 1.
        index : int, optional
            Number of the law in `equations_`.

        Returns
        -------
        dict
            Name of the constant to (value, lower end, upper end), in the order of the formula. A
            coefficient is named by its term, ``"coefficient of sin(c1 x1)"``, a constant inside a
            term by a letter that stands for it there, ``"c1"``, and the constant term is
            ``"constant"``. The printed formula may combine terms further.
        """
        return self._entry(index).intervals(level)

    def predict_interval(
        self,
        X: npt.ArrayLike,
        level: float = 0.95,
        index: int | None = None,
        *,
        kind: str = "prediction",
        sigma: npt.ArrayLike | None = None,
        groups: Any = None,
    ) -> Array:
        """Return intervals for y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Features.
        level : float
            Probability, between 0 and 1, that an interval holds y, if the law is right.
        index : int, optional
            Number of the law in `equations_`.
        kind : {"prediction", "mean"}
            For a new measurement, noise included, or for the law's value.
        sigma : array of shape (n_samples,), or float, optional
            Standard deviations of the new measurements, if the model was fitted with `sigma`;
            interpolated from those of the training rows unless given.
        groups : array of shape (n_samples,), or str, optional
            As for `predict`.

        Returns
        -------
        array of shape (n_samples, 2)
            Lower and upper ends.
        """
        from gsr.selection.uncertainty import prediction_interval

        entry = self._entry(index)
        table, complete = self._table(X, entry, groups)
        ends = np.full((len(table), 2), np.nan)
        errors = validation.as_sigma(sigma, table[:, 0])
        errors = None if errors is None else errors[complete]
        ends[complete] = prediction_interval(entry, table[complete], level, kind, errors)
        return ends

    # ---- files and pictures ------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a readable file; `gsr.load` gives it back.

        Parameters
        ----------
        path : str or path
            The file, JSON. One that exists is replaced, in one step.
        """
        from gsr import saving

        check_is_fitted(self)
        saving.save(self, path)

    def export(
        self,
        language: str,
        path: str | PathLike[str] | None = None,
        *,
        index: int | None = None,
        name: str = "law",
    ) -> str:
        """Return source code of a law that needs no gsr.

        Parameters
        ----------
        language : {"python", "numpy", "c", "torch", "jax"}
            What to write.
        path : str or path, optional
            A file to write it to, too.
        index : int, optional
            Number of the law in `equations_`.
        name : str
            Of the function.

        Returns
        -------
        str
            The source.
        """
        from gsr import export

        source = export.source(self._entry(index).equation, language, name)
        if path is not None:
            write_whole(source, path)
        return source

    def plot(self, kind: str = "summary", **options: Any) -> Any:
        """Draw the law with the data, the front, fit, residuals, convergence or terms.

        Parameters
        ----------
        kind : {"summary", "law", "front", "fit", "residuals", "convergence", "terms"}
            What to draw; ``"law"`` shows data, curve and band against the features.
        **options
            See `gsr.plotting`: `X`, `y`, `index`, `ax`.

        Returns
        -------
        matplotlib Figure, or Axes if `ax` was given
        """
        from gsr import plotting

        check_is_fitted(self)
        self._check_single()
        return plotting.plot(self, kind, **options)

    # ---- helpers -----------------------------------------------------------------------------

    def _present(
        self, chosen: FrontEntry, criterion: Criterion, until: float | None = None
    ) -> None:
        """Make a law the chosen one; one from beside the front joins it."""
        entries, self._numbered = [*self.front_, *self._others], self._laws
        if chosen not in self.front_:
            self.front_ = selection.pareto(entries, chosen)
            self._others = [entry for entry in entries if entry not in self.front_]
        self.best_index_ = self.front_.index(chosen)
        with one_thread():
            self.support_ = kinds.support(chosen, entries, until)
        self.equation_ = chosen.label(self.level_)
        self.criterion_, self.criterion_value_ = choice.name_of(criterion), None
        if criterion != choice.BY_INDEX:
            n_rows = getattr(self, "n_rows_", 0)
            self.criterion_value_ = choice.value_of(chosen, entries, n_rows, criterion)

    def _check_known(self, criterion: Criterion) -> None:
        """Raise if a model that was read lacks what a criterion needs."""
        entries = [*self.front_, *self._others]
        needed = {"mdl": "length", "held_out": "left_out"}.get(str(criterion))
        if criterion in ("bic", "aicc") and not hasattr(self, "n_rows_"):
            raise GSRError(f"the model does not say on how many rows it was fitted: no {criterion}")
        if needed and any(e.data is None and needed not in vars(e) for e in entries):
            raise GSRError(f"the model was saved without what {criterion!r} needs; fit it again")

    def _table(
        self, X: Any, entry: FrontEntry, groups: Any = None
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Return the checked columns of a law, and which rows have no missing value."""
        equation = entry.equation
        if groups is not None or isinstance(equation, GroupedEquation):
            X, groups = labels_for(X, groups, equation)
        table = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=False)
        complete = np.ones(len(table), dtype=bool)
        if self.missing == "drop":
            complete = ~np.isnan(table).any(axis=1)
        validation.check_finite(table[complete], [f"X, column {name}," for name in self._names])
        if isinstance(equation, GroupedEquation):
            table = equation.augmented(table, groups)
        return table, complete

    def _entry(self, index: int | None) -> FrontEntry:
        check_is_fitted(self)
        self._check_single()
        if index is None:
            return self.front_[self.best_index_]
        whole = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
        if not whole or not -len(self.front_) <= index < len(self._laws):
            raise GSRError(f"index must be from 0 to {len(self._laws) - 1}, got {index!r}")
        return self.front_[index] if index < 0 else self._laws[index]

    @property
    def _laws(self) -> Sequence[FrontEntry]:
        """All laws in the order of their numbers: the front as it was found, then the others."""
        now, kept = [*self.front_, *self._others], self._numbered
        return kept if len(kept) == len(now) and set(kept) == set(now) else now

    def _check_single(self) -> None:
        """Raise if there are several targets: one of them has to be meant."""
        models: Mapping[str, Any] | None = getattr(self, "models_", None)
        if models:
            names = ", ".join(map(repr, models))
            raise SeveralTargetsError(
                f"there are several targets: choose one of models_[...]: {names}"
            )
