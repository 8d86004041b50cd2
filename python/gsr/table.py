"""The front as a table of equations, with the chosen one marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from gsr import _table_forms
from gsr._table_forms import (
    COLUMNS,
    DIGITS,
    IN_FILES,
    IN_LATEX,
    PYTHON,
    PYTHON_RANKED,
    RANKED,
    READ,
    SHOWN,
    VERDICTS,
)
from gsr.encoding import latex
from gsr.exceptions import GSRError
from gsr.selection import FrontEntry, kinds, simplify
from gsr.selection.fitted import FAILURES
from gsr.threads import one_thread
from gsr.transformation import Array


@dataclass(frozen=True, eq=False, repr=False)
class EquationRow:
    """A law of the table, with what is known of it."""

    #: The entry of the front, and whether it is the chosen law.
    entry: FrontEntry
    pick: bool
    #: By how much ln of the squared error falls per node, from the row above; NaN beside the front.
    score: float = math.nan
    #: Bits above the shortest description; NaN but for rows of `EquationTable.top`.
    bits: float = math.nan
    #: The number by which the model's methods know the law, as `choose(index=...)`.
    index: int = 0
    #: Its probability among the kinds of laws that were found, or more.
    support: float = 1.0

    @property
    def verdict(self) -> str:
        """What to think of the law: exact, within noise, structure left, too few rows; a pole."""
        pole = ", pole" if self.entry.poles.verdict == "unsafe" else ""
        return VERDICTS[self.level] + pole

    @property
    def complexity(self) -> int:
        """Nodes of the expression."""
        return self.entry.complexity

    @property
    def rmse(self) -> float:
        """Error on the training rows, on the scale of y; weighted if the noise is not constant."""
        return self.entry.rmse

    @cached_property
    def held_out(self) -> float:
        """Error on held-out rows, or leaving out one row at a time; NaN if it is not known."""
        entry = self.entry
        if entry.held_out is not None:
            return float(entry.held_out)
        try:
            return float(entry.left_out)
        except FAILURES:
            return math.nan

    @property
    def level(self) -> str:
        """What the law leaves, as `gsr.GSRRegressor.level_` says of the chosen one."""
        return kinds.determined(str(self.entry.level), self.support)

    @cached_property
    def equation(self) -> str:
        """The law g(y) = f(x) as text."""
        return str(self.entry.equation)

    @cached_property
    def explicit(self) -> str:
        """The law as y = ...; empty without a closed form."""
        return simplify.explicit(self.entry.equation, self._sample)

    @property
    def forms(self) -> list[str]:
        """The law as text and, if that is different, solved for y."""
        return [form for form in dict.fromkeys([self.equation, self.explicit]) if form]

    @cached_property
    def sympy(self) -> Any:
        """The law as a SymPy equation, with all digits."""
        return self.entry.equation.sympy()

    def latex(self, digits: int = 6) -> str:
        """Return the law as LaTeX, with so many significant digits."""
        sides = self.entry.equation.terms()
        return " = ".join(latex.side(terms, digits) for terms in sides)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Solve the law for y; see `gsr.equation.Equation.predict`."""
        return self.entry.equation.predict(X)

    @property
    def _sample(self) -> Array | None:
        return None if self.entry.data is None else self.entry.data.X

    def __str__(self) -> str:
        return f"{PYTHON.cell(self, 'pick'):3}  {self.entry}"

    def __repr__(self) -> str:
        shown = f"complexity={self.complexity}, rmse={self.rmse:.4g}, pick={self.pick}"
        return f"EquationRow({self.equation!r}, {shown})"


class EquationTable(Sequence[EquationRow]):
    """The front as a sequence of rows, simplest first; a column is had by its name.

    Columns are `pick`, `index` (the number for `choose`), `complexity`, `rmse` (on the training
    rows), `held_out` (the error on held-out rows, or leaving out one row at a time), `score`,
    `level` (what the law leaves), `equation` (the law as text), `explicit` (y = ... as text, empty
    without a closed form), `sympy` and `predict` (a callable). Each is computed when asked for.

    The score is PySR's: minus the change of ln(mean squared error) per change of complexity, from
    the row above; it is 0 in the first row. The error of an exact law is counted as the rounding
    of the largest error in the table, so that its score is finite and large.

    Parameters
    ----------
    entries : sequence of FrontEntry
        The front, simplest first.
    best_index : int
        The chosen one.
    others : sequence of FrontEntry
        Laws beside the front, for `top`.
    numbered : sequence of FrontEntry, optional
        All laws in the order of their numbers; the front and the others unless given.
    support : float
        Probability of the chosen law among the kinds of laws that were found.

    Examples
    --------
    >>> import numpy as np
    >>> from gsr import GSRRegressor
    >>> x = np.linspace(1, 4, 20)[:, None]
    >>> table = GSRRegressor(random_state=0).fit(x, 2 * x[:, 0]).equations_
    >>> [row.equation for row in table if row.pick]
    ['y = 2 x1']

    As text and in a notebook, it shows the rows that `short` returns.
    """

    def __init__(
        self,
        entries: Sequence[FrontEntry],
        best_index: int,
        others: Sequence[FrontEntry] = (),
        numbered: Sequence[FrontEntry] | None = None,
        support: float = 1.0,
    ) -> None:
        if not 0 <= best_index < max(len(entries), 1):
            raise GSRError(f"best_index must be from 0 to {len(entries) - 1}, got {best_index!r}")
        scores = _scores(entries)
        laws = [*entries, *others] if numbered is None else numbered
        self._numbers = {entry: k for k, entry in enumerate(laws)}
        self._best_index, self._support = best_index, support
        self._entries, self._others = tuple(entries), tuple(others)
        self._rows = tuple(
            self._row(entry, score) for entry, score in zip(entries, scores, strict=True)
        )

    def _row(
        self, entry: FrontEntry, score: float = math.nan, bits: float = math.nan
    ) -> EquationRow:
        chosen, support = self._entries[self._best_index], self._support
        if support < 1.0 and kinds.is_known(entry):
            support *= max(kinds.odds(kinds.bits_above(entry, chosen)), 1.0)
        return EquationRow(entry, entry is chosen, score, bits, self._numbers[entry], support)

    # ---- a sequence --------------------------------------------------------------------------

    @property
    def best_index(self) -> int:
        """Where the chosen law is."""
        return self._best_index

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; `held_out` is one if it is known of every law."""
        return self._known(COLUMNS)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[EquationRow]:
        return iter(self._rows)

    @overload
    def __getitem__(self, key: int) -> EquationRow: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[EquationRow, ...]: ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    def __getitem__(self, key: int | slice | str) -> Any:
        if isinstance(key, str):
            return [getattr(row, _table_forms.column(key)) for row in _with(self, [key])]
        try:
            return self._rows[key]
        except IndexError:
            message = f"row must be from 0 to {len(self) - 1}, got {key}"
            raise IndexError(message) from None

    # ---- alternatives ------------------------------------------------------------------------

    def top(self, count: int = 5) -> TopLaws:
        """Return the laws that are worth a look: the chosen one, and the next best.

        These have the shortest descriptions of law and data, of the front and beside it, and
        differ in kind: a law that is an earlier one with other constants or with terms added is
        left out, and so is one that predicts the same.

        Parameters
        ----------
        count : int
            How many at most.

        Returns
        -------
        TopLaws
            Rows with their `bits` above the shortest, a `verdict`, and the `index` by which
            `choose` knows them. Bits beside an exact law are infinite.
        """
        if not isinstance(count, int) or count < 1:
            raise GSRError(f"count must be a whole number of at least 1, got {count!r}")
        chosen = self._rows[self._best_index].entry
        with one_thread():
            known = [row.entry for row in self._rows if not row.pick]
            ranked = kinds.shortest_first([*known, *self._others])
            entries = kinds.of_different_kinds([chosen, *ranked], count)
            best = kinds.shortest_first(entries)[0]
            above = {entry: kinds.bits_above(entry, best) for entry in entries}
            return TopLaws(self._row(entry, bits=bits) for entry, bits in above.items())

    # ---- forms -------------------------------------------------------------------------------

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame, with all columns."""
        return self._frame(self.columns)

    def _frame(self, names: Sequence[str]) -> Any:
        import pandas as pd

        # What SymPy and callables are, pandas need not know.
        dtypes = {name: object for name in ("sympy", "predict")}
        return pd.DataFrame({name: pd.Series(self[name], dtype=dtypes.get(name)) for name in names})

    def to_csv(self, path: str | PathLike[str] | None = None) -> str | None:
        """Write the table as comma-separated values, with all digits.

        Parameters
        ----------
        path : str or path, optional
            The file; the text is returned unless given.

        Returns
        -------
        str or None
        """
        text: str = self._frame(self._known(IN_FILES)).to_csv(index=False, lineterminator="\n")
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8", newline="")
        return None

    def latex(self, columns: Sequence[str] | None = None, digits: int = DIGITS) -> str:
        r"""Return the table as LaTeX for the package booktabs.

        Parameters
        ----------
        columns : sequence of str, optional
            What to show, such as ``("complexity", "rmse", "equation")``.
        digits : int
            Significant digits of all numbers.

        Returns
        -------
        str
            A tabular; the chosen law is marked if ``"pick"`` is a column.
        """
        names = self._known(IN_LATEX) if columns is None else columns
        return _table_forms.as_latex(_with(self, names), names, digits)

    def short(self, count: int = READ) -> tuple[EquationRow, ...]:
        """Return the most relevant rows: the chosen law, its neighbours, and the elbows.

        Elbows are the laws that gain most for their complexity: those with the highest score.

        Parameters
        ----------
        count : int
            Maximal number of rows.

        Returns
        -------
        tuple of EquationRow
            The rows, simplest first.
        """
        near = [self._best_index + step for step in (0, -1, 1)]
        elbows = sorted(range(len(self)), key=lambda k: -self._rows[k].score)
        ranked = [k for k in dict.fromkeys([*near, *elbows]) if 0 <= k < len(self)]
        return tuple(self._rows[k] for k in sorted(ranked[:count]))

    def __str__(self) -> str:
        rows = self.short()
        names, room = self._known(SHOWN, rows), _table_forms.terminal_width()
        text = _table_forms.as_text(_with(rows, names), names, PYTHON, room)
        return "\n".join([_table_forms.noted(text, rows), *self._more(rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = self.short()
        names = self._known(SHOWN, rows)
        table = _table_forms.as_html(_with(rows, names), names)
        return table + "".join(f"<p>{line}</p>" for line in self._more(rows))

    def _more(self, rows: Sequence[EquationRow]) -> list[str]:
        left = len(self) - len(rows)
        return [f"and {left} more; to_pandas() returns all"] if left else []

    def _known(
        self, columns: tuple[str, ...], rows: Sequence[EquationRow] | None = None
    ) -> tuple[str, ...]:
        """Leave out the held-out errors if they are not known of every law."""
        if not any(math.isnan(row.held_out) for row in rows or self):
            return columns
        return tuple(name for name in columns if name != "held_out")


class TopLaws(tuple[EquationRow, ...]):
    """Laws of different kinds, the chosen one first; as text a table."""

    __slots__ = ()

    def __str__(self) -> str:
        with one_thread():
            return _table_forms.noted(_table_forms.as_text(self, RANKED, PYTHON_RANKED), self)

    __repr__ = __str__


def _with(rows: Sequence[EquationRow], columns: Sequence[str]) -> Sequence[EquationRow]:
    """Compute the slow values in these columns, and return the rows.

    One thread is used, since the matrices are too narrow for several.
    """
    slow = [name for name in ("level", "held_out") if name in columns]
    with one_thread() if slow else nullcontext():
        for row in rows:
            for name in slow:
                getattr(row, name)
    return rows


def _scores(entries: Sequence[FrontEntry]) -> list[float]:
    errors = np.array([entry.rmse for entry in entries], dtype=float)
    finite = errors[np.isfinite(errors)]
    floor = max(float(np.finfo(float).eps) * finite.max(initial=0.0), float(np.finfo(float).tiny))
    logarithms = 2.0 * np.log(np.maximum(errors, floor))
    nodes = np.diff([entry.complexity for entry in entries])
    with np.errstate(all="ignore"):
        falls = -np.diff(logarithms)
        scores = np.where((nodes > 0) & np.isfinite(falls), falls / nodes, math.nan)
    return [0.0, *scores.tolist()][: len(entries)]
