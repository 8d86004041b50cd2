"""Laws with group constants, written as laws in which these constants are additional columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr.encoding import encode, evaluate
from gsr.encoding.fold import fold
from gsr.encoding.matrices import Decoder
from gsr.encoding.rows import factors, is_constant
from gsr.equation import Equation
from gsr.exceptions import GSRError, suggestion
from gsr.groups.fitting import GroupedFit, GroupedRows, Mask
from gsr.groups.fitting import fit as fit_groups
from gsr.groups.labels import label_of
from gsr.lazy import sympy
from gsr.library import Library
from gsr.selection.entry import CONSTANT_LAW, FrontEntry, constant_names
from gsr.selection.fitted import (
    FAILURES,
    FittedLaw,
    Training,
    constants,
    recounted,
    weights,
    with_constants,
)
from gsr.selection.target_scale import refine
from gsr.selection.uncertainty import uncertainty
from gsr.transformation import Array

#: Names of group constants; names of variables are skipped.
LETTERS = "abckpqrsuvw"
#: Significance level of the test whether constants differ between groups.
BY_CHANCE = 0.01
#: Relative tolerance in the comparison of two forms of one law.
SAME = 1e-6
#: Numbers that replace group constants inside functions during decoding.
FIRST_MARK = 1_000_000.5


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The constants of a law in each group, with their standard errors.

    Parameters
    ----------
    column : str
        Name of the groups.
    labels : tuple of str
        The groups.
    law : FittedLaw
        The law without columns for constants.
    constants, deviations : array of shape (n_groups, n_constants)
        All constants of the law in each group, and their standard errors.
    local : array of bool
        Which constants differ from group to group.
    descriptions : tuple of str
        Description of each constant: ``"coefficient of sin(c1 x)"``, ``"c1"`` or ``"constant"``.
    letters : tuple of str
        Names of the group constants in the equation.
    chances : array
        For each constant, the probability that its values differ this much between groups by
        chance.
    """

    column: str
    labels: tuple[str, ...]
    law: FittedLaw = field(repr=False)
    constants: Array
    deviations: Array
    local: Mask
    descriptions: tuple[str, ...]
    letters: tuple[str, ...]
    chances: Array

    @property
    def values(self) -> Array:
        """The constants that differ from group to group, in the order of `letters`."""
        return self.constants[:, self.local]

    @property
    def errors(self) -> Array:
        """Standard errors of `values`."""
        return self.deviations[:, self.local]

    @property
    def differing(self) -> list[str]:
        """Names of the constants that differ between groups by more than their errors."""
        return [name for name, p in zip(self.names, self.chances, strict=True) if p < BY_CHANCE]

    @property
    def names(self) -> list[str]:
        """Names of all constants: letters of group constants, descriptions of shared ones."""
        letters = iter(self.letters)
        pairs = zip(self.local, self.descriptions, strict=True)
        return [next(letters) if own else name for own, name in pairs]

    def codes(self, groups: Iterable[Any]) -> npt.NDArray[np.intp]:
        """Return the numbers of the groups of some rows."""
        numbers = {label: k for k, label in enumerate(self.labels)}
        wanted = [label_of(each) for each in groups]
        unknown = next((each for each in wanted if each not in numbers), None)
        if unknown is not None:
            raise GSRError(
                f"the group {unknown!r} was not fitted{suggestion(unknown, self.labels)}; fit its "
                "constants with add_group"
            )
        return np.array([numbers[each] for each in wanted], dtype=np.intp)

    def with_group(self, label: str, rows: Training) -> GroupTable:
        """Return the table with another group, whose constants are fitted to its rows."""
        if label in self.labels:
            raise GSRError(f"the group {label!r} has already been fitted")
        n_local = int(self.local.sum())
        if len(rows.y) < max(n_local, 1):
            raise GSRError(
                f"group {label!r} has {len(rows.y)} rows, too few for its {n_local} constants"
            )
        starts = [*self.constants, np.median(self.constants, axis=0)]
        laws = [refine(with_constants(self.law, each), rows, self.local) for each in starts]
        best = min(laws, key=lambda each: each.rmse)
        if not math.isfinite(best.rmse):
            raise GSRError(f"the law is undefined in some rows of group {label!r}")
        errors = self.deviations[0].copy()
        if n_local:
            alone = uncertainty(best, rows).errors
            errors[self.local] = alone[self.local]
        return replace(
            self,
            labels=(*self.labels, label),
            constants=np.vstack([self.constants, constants(best)]),
            deviations=np.vstack([self.deviations, errors]),
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.letters:
            cells = [(self.column, *self.letters), *self._rows()]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for row in cells:
                padded = (c.ljust(w) for c, w in zip(row, widths, strict=True))
                yield "  ".join(padded).rstrip()
        else:
            yield f"{len(self.labels)} groups of {self.column}: all constants are shared"
        yield f"differ by more than their errors: {', '.join(self.differing) or 'none'}"
        shared = [
            f"{name} = {value:.5g} ± {error:.1g}"
            for name, own, value, error in zip(
                self.names, self.local, self.constants[0], self.deviations[0], strict=True
            )
            if not own
        ]
        if shared:
            yield f"shared: {', '.join(shared)}"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for label, values, errors in zip(self.labels, self.values, self.errors, strict=True):
            numbers = zip(values, errors, strict=True)
            yield (label, *(f"{value:.5g} ± {error:.1g}" for value, error in numbers))

    def intervals(self, freedom: int, level: float) -> dict[str, tuple[float, float, float]]:
        """Return each constant with its interval; group constants are named ``"a[label]"``."""
        from scipy.special import stdtrit

        reach = float(stdtrit(max(freedom, 1), 0.5 + level / 2.0))
        found = {}
        for k, (name, own) in enumerate(zip(self.names, self.local, strict=True)):
            for j, label in enumerate(self.labels if own else self.labels[:1]):
                value, half = float(self.constants[j, k]), reach * float(self.deviations[j, k])
                found[f"{name}[{label}]" if own else name] = (value, value - half, value + half)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class GroupedEquation(Equation):
    """A law in which the group constants are columns after the features."""

    groups: GroupTable | None = None

    @property
    def table(self) -> GroupTable:
        """The constants of each group."""
        assert self.groups is not None, "it is set when the equation is made"
        return self.groups

    @property
    def n_features(self) -> int:
        """The number of feature columns, without those of constants."""
        return len(self.feature_names) - len(self.table.letters)

    def augmented(self, X: Array, groups: Iterable[Any]) -> Array:
        """Return rows of features with the constants of their groups."""
        codes = self.table.codes(groups)
        if len(codes) != len(X):
            raise GSRError(f"groups has {len(codes)} labels for {len(X)} rows")
        return np.column_stack([X, self.table.values[codes]])


# ---- from a fit to an entry of the front -------------------------------------------------------


def entry_of(
    fit: GroupedFit, names: Sequence[str], target_name: str, column: str, labels: Sequence[str]
) -> FrontEntry | None:
    """Return a fit as an entry; None if the law cannot be written with columns for constants."""
    try:
        return _entry_of(fit, names, target_name, column, labels)
    except FAILURES:
        return None


def with_shared(entry: FrontEntry, names: Iterable[str], rows: GroupedRows) -> FrontEntry:
    """Return a law fitted again with some of its group constants shared by all groups."""
    equation = entry.equation
    assert isinstance(equation, GroupedEquation), "it is a law with groups"
    table, local = equation.table, equation.table.local.copy()
    for name in names:
        if name not in table.letters:
            hint = suggestion(name, table.letters, otherwise_list=True)
            raise GSRError(f"{name!r} is not a group constant{hint}")
        local[table.names.index(name)] = False
    known = table.constants[: rows.n_groups]
    fitted = fit_groups(table.law, known, local, rows)
    features = equation.feature_names[: equation.n_features]
    labels = table.labels[: rows.n_groups]
    made = fitted and entry_of(fitted, features, equation.target_name, table.column, labels)
    if not isinstance(made, FrontEntry):
        raise GSRError(f"the law cannot be fitted with {', '.join(names)} shared")
    return made


def _entry_of(
    fit: GroupedFit, names: Sequence[str], target_name: str, column: str, labels: Sequence[str]
) -> FrontEntry | None:
    data = fit.rows.data
    law, letters = _with_columns(fit, names, target_name, column)
    rows = replace(data, X=_augmented(fit))
    law = recounted(law, rows)
    table = _table(fit, names, target_name, column, labels, letters)
    if not _is_same(law, rows, fit):
        return None

    def make(law: Any) -> Equation:
        made: Any = GroupedEquation.from_data(
            data.library, data.target_library, law.psi, law.beta, law.phi, law.alpha,
            rows.X, rows.y, feature_names=(*names, *letters), target_name=target_name,
        )  # fmt: skip
        found: Equation = replace(made, groups=table)
        return found

    entry = replace(FrontEntry.of(law, make, rows), n_constants=fit.n_constants)
    known = uncertainty(law, rows)
    ratio = (len(rows.y) - len(constants(law))) / max(fit.freedom, 1)
    vars(entry).update(
        length=fit.bits,
        uncertainty=replace(
            known,
            covariance=known.covariance * ratio,
            sigma=known.sigma * math.sqrt(ratio),
            degrees_of_freedom=max(fit.freedom, 0),
        ),
    )
    return entry


def _augmented(fit: GroupedFit) -> Array:
    columns = fit.values[fit.rows.codes][:, fit.local]
    return np.asfortranarray(np.column_stack([fit.rows.data.X, columns]))


def _is_same(law: FittedLaw, rows: Training, fit: GroupedFit) -> bool:
    """Whether the law with columns for constants has the same values as the law itself."""
    found = evaluate(law.phi, rows.library, rows.X) @ law.alpha
    wanted = np.empty_like(found)
    for k, part in enumerate(fit.rows.parts):
        each = with_constants(fit.law, fit.values[k])
        wanted[fit.rows.codes == k] = part.features(each, part.X) @ each.alpha
    return bool(np.allclose(found, wanted, rtol=SAME, atol=SAME * float(np.abs(wanted).max())))


def _table(
    fit: GroupedFit,
    names: Sequence[str],
    target_name: str,
    column: str,
    labels: Sequence[str],
    letters: tuple[str, ...],
) -> GroupTable:
    data, law = fit.rows.data, with_constants(fit.law, fit.values[0])
    equation = Equation.from_data(
        data.library, data.target_library, law.psi, law.beta, law.phi, law.alpha, data.X, data.y,
        feature_names=names, target_name=target_name,
    )  # fmt: skip
    named = {place: name for place, name, _ in constant_names(law, equation)}
    n = len(fit.local)
    return GroupTable(
        column, tuple(labels), law, fit.values, fit.errors, fit.local,
        tuple(named[k] for k in range(n)), letters, np.array([fit.chance(k) for k in range(n)]),
    )  # fmt: skip


class _Symbols(Decoder):
    """Decodes rows in which marked weights are group constants."""

    marks: dict[float, Any]

    def scale(self, value: Any, factor: float) -> Any:
        symbol = self.marks.get(float(factor))
        return super().scale(value, factor) if symbol is None else symbol * value


def _with_columns(
    fit: GroupedFit, names: Sequence[str], target_name: str, column: str
) -> tuple[FittedLaw, tuple[str, ...]]:
    """Return the law with a column for each group constant, and the names of the columns."""
    data, values = fit.rows.data, fit.values[0].copy()
    d, n_phi = len(names), len(fit.law.phi)
    own = np.flatnonzero(fit.local)
    columns = {int(k): sympy.Symbol(f"x{d + j + 1}", real=True) for j, k in enumerate(own)}
    marks = {FIRST_MARK + k: symbol for k, symbol in columns.items() if k >= n_phi}
    values[[int(mark - FIRST_MARK) for mark in marks]] = list(marks)
    marked = with_constants(fit.law, values)
    decoder = _Symbols(data.library, lambda v: f"x{v}")
    decoder.marks = marks
    phi, alpha = [], []
    for k, matrix in enumerate(marked.phi):
        form = sympy.Mul(*(fold(row, decoder) for row in factors(matrix, data.library)))
        phi.append(encode(form * columns.get(k, 1), data.library, d + len(own)))
        alpha.append(1.0 if k in columns else marked.alpha[k])
    law = FittedLaw.of(
        marked, phi=tuple(phi), alpha=np.array(alpha), rmse=fit.rmse, exact=fit.is_exact
    )
    return law, tuple(_letters(len(own), {*names, target_name, column}))


def _letters(count: int, taken: set[str]) -> list[str]:
    free = [letter for letter in LETTERS if letter not in taken]
    more = (name for k in range(1, 10_000) if (name := f"a{k}") not in taken)
    return [*free, *(next(more) for _ in range(count))][:count]


def can_be_local(law: FittedLaw, library: Library) -> bool:
    """Whether the constants of a law may differ between groups: they must all be in f."""
    in_target = any(place.side == "psi" for place in weights(law))
    is_law = law.complexity <= CONSTANT_LAW or not all(is_constant(m, library) for m in law.phi)
    return len(law.psi) == 1 and not in_target and len(law.phi) > 0 and is_law
