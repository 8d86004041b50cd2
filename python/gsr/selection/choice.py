"""Which law of the front to present, and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from threadpoolctl import threadpool_limits

from gsr.encoding.rows import is_constant
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.prediction.explicit import exponent
from gsr.selection import target_scale
from gsr.selection.criteria import (
    BITS_OF_POLE,
    BITS_PER_NODE,
    Criterion,
    description_length,
    ranking,
)
from gsr.selection.fitted import FittedLaw, LawLike, Training, constants, weights
from gsr.selection.poles import Poles, poles
from gsr.selection.refine import refine
from gsr.selection.refit import confirm, refit
from gsr.selection.residuals import Level, leave_one_out, residual_level
from gsr.selection.rounding import Rounded, rounded
from gsr.selection.simplify import duplicates
from gsr.selection.uncertainty import Uncertainty, uncertainty
from gsr.transformation import Array

#: Nodes of y = c.
CONSTANT_LAW = 3

#: Laws that are refined at most, and how far behind the best they may be, in bits.
MOST_REFINED = 24
LEAST_REFINED = 6
REFINED_ROWS = 12_000
HOPE_BITS = 25.0
HOPE_BITS_PER_ROW = 0.5

PolePolicy = Literal["avoid", "forbid", "allow"]
POLE_POLICIES = ("avoid", "forbid", "allow")


@dataclass(frozen=True, eq=False)
class FrontEntry:
    """A law on the Pareto front.

    Parameters
    ----------
    complexity : int
        Nodes of the expression.
    rmse : float
        Error on the training rows, on the scale of y.
    exact : bool
        Whether the residual is at rounding level and the law short to describe.
    n_constants : int
        Coefficients, and constants inside arguments.
    bits : float
        Description length of an exact law.
    make : callable
        Makes the equation of a law.
    law : LawLike
        The law, with its constants.
    data : Training, optional
        The rows that it is judged by.
    held_out : float, optional
        Error on rows that were held out of the search, on the scale of y.
    accepts : callable, optional
        Whether an equation has the shape that was asked for; rounding must keep it.
    """

    complexity: int
    rmse: float
    exact: bool
    n_constants: int
    bits: float
    make: Callable[[Any], Equation] = field(repr=False)
    law: LawLike = field(repr=False)
    data: Training | None = field(default=None, repr=False)
    held_out: float | None = None
    accepts: Callable[[Equation], bool] | None = field(default=None, repr=False)

    @cached_property
    def equation(self) -> Equation:
        """The law itself."""
        return self.make(self.law)

    @cached_property
    def level(self) -> Level:
        """Where the residual is.

        ``"rounding"``: the law is exact. ``"noise"``: the residuals have no structure that the
        tests see. ``"above"``: they have, so the law is an approximation. ``"unknown"``: there
        are too few rows to tell.
        """
        if self.data is None:
            return "rounding" if self.exact else "unknown"
        with threadpool_limits(1):
            return residual_level(self.law, self.data)

    @cached_property
    def poles(self) -> Poles:
        """Whether the law is defined and bounded in the box of the training data."""
        if self.data is None:
            return Poles("unknown", "there are no training data")
        return poles(self.law, self.data.library, self.data.target_library, self.data.X)

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """Standard errors and intervals of the constants."""
        return uncertainty(*self._fitted())

    @cached_property
    def rounded(self) -> Rounded:
        """The law with constants near simple numbers rounded, where the data agree."""
        found = rounded(*self._fitted())
        if self.accepts is None or self.accepts(self.make(found.law)):
            return found
        kept = FittedLaw.of(self.law)  # what is known of the law forbids the simple numbers
        return Rounded(kept, (None,) * self.n_constants, found.bits)

    @cached_property
    def rounded_equation(self) -> Equation:
        """The equation of `rounded`."""
        return self.make(self.rounded.law)

    @cached_property
    def left_out(self) -> float:
        """The error on held-out rows, or leave-one-out (to first order) if there are none."""
        return self.held_out if self.held_out is not None else leave_one_out(*self._fitted())

    def label(self) -> Equation:
        """Let the equation say what it leaves, and return it."""
        self.__dict__["equation"] = replace(self.equation, level=self.level)
        return self.equation

    @property
    def uses_features(self) -> bool:
        """Whether the law is more than a constant."""
        if self.data is None:
            return len(self.law.phi) > 0 and self.complexity > CONSTANT_LAW
        return not all(is_constant(matrix, self.data.library) for matrix in self.law.phi)

    @property
    def transformed(self) -> bool:
        """Whether the target is transformed."""
        library = (self.equation if self.data is None else self.data).target_library
        return len(self.law.psi) != 1 or exponent(self.law.psi[0], library) != 1

    def _fitted(self) -> tuple[LawLike, Training]:
        if self.data is None:
            raise GSRError("the law was read without its training data")
        return self.law, self.data

    def __getstate__(self) -> dict[str, Any]:
        # All is made now: what would make it later holds the training data.
        made: dict[str, Any] = {"equation": self.equation, "level": self.level, "poles": self.poles}
        if self.data is not None:
            made |= {"uncertainty": self.uncertainty, "rounded": self.rounded}
            made |= {"left_out": self.left_out}
            made |= {"rounded_equation": self.rounded_equation}
        law = FittedLaw.of(self.law)
        return {**self.__dict__, **made, "make": None, "data": None, "law": law, "accepts": None}

    def __str__(self) -> str:
        return f"{self.complexity:4d}  {self.rmse:10.3e}  {self.equation}"


def front(
    laws: Sequence[LawLike],
    equation: Callable[[Any], Equation],
    data: Training | None = None,
    everything: Training | None = None,
) -> list[FrontEntry]:
    """Return the core's laws as front entries, simplest first.

    Parameters
    ----------
    laws : sequence
        Laws of the core.
    equation : callable
        Makes the equation of a law.
    data : Training, optional
        The rows of the search. Unless there is an exact law, constants are refined on them.
    everything : Training, optional
        All rows, if the search has seen only some: exact laws must be exact there too.

    Returns
    -------
    list of FrontEntry
    """
    if data is None:
        return [_entry(law, equation, None) for law in laws]
    # Matrices are narrow: to start threads for them costs more than they save.
    with threadpool_limits(1):
        checked = [_confirmed(law, everything) if everything and law.exact else law for law in laws]
        if not any(law.exact for law in checked):
            checked = _refined(checked, data)
    return [_entry(law, equation, data) for law in checked]


def _refined(laws: Sequence[LawLike], data: Training) -> list[LawLike]:
    """Refine the laws that could be the choice; it is slow work.

    What is not refined is kept if it is a law for y itself, where the fit was on the scale of y
    already; others are given up, since their errors may be flattered.
    """
    n_rows = len(data.y)
    lengths = [
        n_rows * math.log2(max(law.rmse, 1e-300)) + BITS_PER_NODE * law.complexity for law in laws
    ]
    order = sorted(range(len(laws)), key=lambda i: lengths[i])
    limit = lengths[order[0]] + HOPE_BITS + HOPE_BITS_PER_ROW * n_rows if order else 0.0
    most = max(LEAST_REFINED, min(MOST_REFINED, REFINED_ROWS // n_rows))
    hopeful = {i for i in order[:most] if lengths[i] <= limit}
    plain = [_for_y_itself(law, data) for law in laws]
    return [
        refine(law, data) if i in hopeful else law
        for i, law in enumerate(laws)
        if i in hopeful or plain[i]
    ]


def _for_y_itself(law: LawLike, data: Training) -> bool:
    entry = target_scale.TargetScale(law, data).entry
    return entry is not None and entry.name == "identity"


def finish(
    entry: FrontEntry, equation: Callable[[Any], Equation], everything: Training
) -> FrontEntry:
    """Return an entry whose constants are fitted on all rows; an exact one is so already."""
    if entry.exact:
        return entry
    law = refine(refit(entry.law, everything), everything)
    # A law that has no solution on some row keeps the constants of the rows that it has seen.
    fitted = law if math.isfinite(law.rmse) else FittedLaw.of(entry.law, rmse=law.rmse)
    finished = _entry(fitted, equation, everything)
    return replace(finished, held_out=entry.held_out, accepts=entry.accepts)


def _confirmed(law: LawLike, everything: Training) -> FittedLaw:
    """Return an exact law as it is on all rows; weights may have more digits to gain there."""
    fitted = refit(law, everything)
    if fitted.exact or not weights(law):
        return fitted
    refined = confirm(FittedLaw.of(refine(fitted, everything), exact=True), everything)
    return refined if refined.exact else fitted


def _entry(law: LawLike, equation: Callable[[Any], Equation], data: Training | None) -> FrontEntry:
    return FrontEntry(
        law.complexity,
        law.rmse,
        law.exact,
        len(constants(law)),
        law.bits,
        equation,
        law,
        data,
    )


# ---- the choice --------------------------------------------------------------------------------


def best(
    entries: Sequence[FrontEntry],
    n_rows: int,
    criterion: Criterion = "mdl",
    poles: PolePolicy = "avoid",
) -> int:
    """Return the index of the law to present.

    Parameters
    ----------
    entries : sequence of FrontEntry
        The front, simplest first.
    n_rows : int
        Training rows.
    criterion : str or callable
        ``"mdl"``: the shortest description of law and data together. ``"bic"``, ``"aicc"``:
        the information criteria. ``"held_out"``: the least error on held-out rows, or leaving
        out one row at a time. ``"rmse"``: the least error. ``"simplest within 0.1"``: the
        simplest law whose error is at most 10 % above the least. A callable takes an entry and
        returns what is to be least.
    poles : {"avoid", "forbid", "allow"}
        What happens to laws with poles or undefined points between the samples, exact laws
        apart: ``"forbid"`` passes over them, ``"avoid"`` too unless they make the description
        much shorter (by `BITS_OF_POLE`).

    Returns
    -------
    int
        The exact law of the fewest bits if there is one, unless the criterion is a callable.
    """
    if not entries:
        raise GSRError(
            "no law with a finite error was found; allow more time, add 'identity' to "
            "target_library, or check that units and other constraints leave room for one"
        )
    exact = [i for i, entry in enumerate(entries) if entry.exact]
    if exact and not callable(criterion):
        return min(exact, key=lambda i: (entries[i].bits, entries[i].transformed))
    with threadpool_limits(1):
        ranked = ranking(entries, n_rows, criterion)
        return ranked[0] if poles == "allow" else _without_poles(entries, ranked, n_rows, poles)


def _without_poles(
    entries: Sequence[FrontEntry], ranked: Sequence[int], n_rows: int, policy: str
) -> int:
    if policy not in ("avoid", "forbid"):
        raise GSRError(f"poles must be 'avoid', 'forbid' or 'allow', got {policy!r}")
    defined = (i for i in ranked if entries[i].poles.verdict != "unsafe")
    chosen = next(defined, ranked[0])
    if policy == "forbid" or chosen == ranked[0]:
        return chosen
    lengths = [description_length(entries[i], n_rows) for i in (ranked[0], chosen)]
    return ranked[0] if lengths[0] + BITS_OF_POLE < lengths[1] else chosen


def pareto(entries: Sequence[FrontEntry], chosen: FrontEntry) -> tuple[list[FrontEntry], int]:
    """Return the entries that no simpler one beats, with the chosen one, and where that is."""
    kept: list[FrontEntry] = []
    others = [each for each in entries if each.law is not chosen.law and math.isfinite(each.rmse)]
    for entry in sorted([*others, chosen], key=lambda each: (each.complexity, _error(each))):
        if entry is chosen:
            kept = [each for each in kept if each.complexity < entry.complexity]
            kept.append(entry)
        elif not kept or (
            entry.complexity > kept[-1].complexity and _error(entry) < _error(kept[-1])
        ):
            kept.append(entry)
    return kept, kept.index(chosen)


def without_copies(entries: Sequence[FrontEntry], chosen: FrontEntry, X: Array) -> list[FrontEntry]:
    """Leave out laws that are another one in other words; the chosen one stays."""
    same = duplicates([entry.equation for entry in entries], X)
    return [entry for k, entry in enumerate(entries) if k not in same or entry is chosen]


def _error(entry: FrontEntry) -> float:
    return 0.0 if entry.exact else entry.rmse
