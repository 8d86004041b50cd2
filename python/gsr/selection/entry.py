"""A law of the front, with the properties that are computed on demand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gsr.encoding.rows import is_constant
from gsr.encoding.writing import text
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.prediction.chain import exponent
from gsr.selection.criteria import description_length, structure_bits
from gsr.selection.fitted import (
    FAILURES,
    FittedLaw,
    LawLike,
    Training,
    constants,
    weights,
    with_constants,
)
from gsr.selection.poles import Poles, excursion, poles
from gsr.selection.residuals import MOST_ROWS, Level, residual_level
from gsr.selection.rounding import Rounded, rounded
from gsr.selection.simplify import some_rows
from gsr.selection.uncertainty import Uncertainty, leave_one_out, lives_on_few_rows, uncertainty
from gsr.threads import one_thread

#: Nodes of y = c.
CONSTANT_LAW = 3
#: Predictions a little outside of the data may leave the range of y by so many of its ranges.
MOST_EXCURSION = 10.0
#: Errors that differ by less are the same.
AS_GOOD = 1e-6
#: What it means that errors are weighted.
WEIGHTED = "weighted: rows with less noise or more weight count more"


@dataclass(frozen=True, eq=False)
class FrontEntry:
    """A law on the Pareto front.

    Parameters
    ----------
    complexity : int
        Nodes of the expression.
    rmse : float
        Error on the training rows, on the scale of y; see `is_weighted`.
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
    held_error : callable, optional
        Measures that error of an equation.
    accepts : callable, optional
        Whether an equation has the shape that was asked for; rounding must keep it.
    outdone : bool
        Whether another law describes the rows so much better that what this one leaves cannot be
        noise alone, whatever the tests of a few residuals say.
    verdict_rows : int
        Rows whose residuals are tested for structure, at most.
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
    held_error: Callable[[Equation], float] | None = field(default=None, repr=False)
    accepts: Callable[[Equation], bool] | None = field(default=None, repr=False)
    outdone: bool = False
    verdict_rows: int = MOST_ROWS

    def __post_init__(self) -> None:
        if self.held_error is not None:  # also if the entry was made from another form of the law
            object.__setattr__(self, "held_out", self.held_error(self.equation))

    @classmethod
    def of(
        cls, law: LawLike, make: Callable[[Any], Equation], data: Training | None = None
    ) -> FrontEntry:
        """Make an entry of a law."""
        n_constants = len(constants(law))
        return cls(law.complexity, law.rmse, law.exact, n_constants, law.bits, make, law, data)

    def with_law(self, law: LawLike) -> FrontEntry:
        """Return the entry with another form of its law."""
        return replace(
            self, law=law, complexity=law.complexity, rmse=law.rmse, n_constants=len(constants(law))
        )

    @cached_property
    def equation(self) -> Equation:
        """The law itself."""
        return self._written(self.law)

    @cached_property
    def level(self) -> Level:
        """Where the residual is.

        ``"rounding"``: the law is exact. ``"noise"``: the residuals have no structure that the
        tests see. ``"above"``: they have, so the law is an approximation. ``"unknown"``: there
        are too few rows to tell.
        """
        if self.data is None:
            return "rounding" if self.exact else "unknown"
        if self.outdone:
            return "above"
        with one_thread():
            return residual_level(self.law, self.data, self.verdict_rows)

    @cached_property
    def structure(self) -> float:
        """Bits of the law's expression without its constants."""
        return structure_bits(self)

    @cached_property
    def length(self) -> float:
        """Bits of law and data together, up to what is the same for all laws of these rows."""
        try:
            return description_length(self, 0 if self.data is None else len(self.data.y))
        except FAILURES:
            return math.inf

    @property
    def libraries(self) -> tuple[Library, Library]:
        """Mapping tables of the features and of the target."""
        known = self.equation if self.data is None else self.data
        return known.library, known.target_library

    @property
    def n_features(self) -> int:
        """Features of the table."""
        return len(self.equation.feature_names) if self.data is None else self.data.X.shape[1]

    @cached_property
    def poles(self) -> Poles:
        """Whether the law is defined and bounded in the box of the training data."""
        if self.data is None:
            return Poles("unknown", "there are no training data")
        return poles(self.law, self.data.library, self.data.target_library, self.data.X)

    @cached_property
    def excursion(self) -> float:
        """How far predictions leave the range of y in a box a little larger than that of the data.

        In units of that range; infinite where the law has a pole or is undefined.
        """
        if (data := self.data) is None:
            return 0.0
        return excursion(self.law, data.library, data.target_library, data.X, data.y)

    @property
    def is_tame(self) -> bool:
        """Whether the law is defined between the training rows, and stays near their range."""
        return self.poles.verdict != "unsafe" and self.excursion <= MOST_EXCURSION

    @cached_property
    def lives_on_few_rows(self) -> bool:
        """Whether a term of the law matters in one or two rows only."""
        return self.data is not None and not self.exact and lives_on_few_rows(*self._fitted())

    @property
    def is_sound(self) -> bool:
        """Whether every term matters in many rows, and the law determines which y is meant."""
        return not self.lives_on_few_rows and not self.leaves_branch_open

    @property
    def leaves_branch_open(self) -> bool:
        """Whether several y solve an inexact law, and the nearest training row has to decide."""
        return not self.exact and self.equation.inversion.branches.neighbours is not None

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """Standard errors and intervals of the constants."""
        return uncertainty(*self._fitted())

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float, float]]:
        """Return (value, lower end, upper end) of each constant by its name.

        Parameters
        ----------
        level : float
            Confidence, between 0 and 1.
        """
        groups = getattr(self.equation, "groups", None)
        if groups is not None:
            found: dict[str, tuple[float, float, float]] = groups.intervals(
                self.uncertainty.degrees_of_freedom, level
            )
            return found
        values, ends = self.uncertainty.values, self.uncertainty.intervals(level)
        found = {}
        for place, name, shift in constant_names(self.law, self.equation):
            low, high = ends[place] + shift
            found[name] = (float(values[place] + shift), float(low), float(high))
        return found

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
        return self._written(self.rounded.law)

    def _written(self, law: LawLike) -> Equation:
        """Return the equation of a law, which is written as short as the training rows allow."""
        made = self.make(law)
        return made if self.data is None else replace(made, sample=some_rows(self.data.X))

    @cached_property
    def left_out(self) -> float:
        """The error on held-out rows, or leave-one-out (to first order) if there are none."""
        return self.held_out if self.held_out is not None else leave_one_out(*self._fitted())

    def label(self, level: str) -> Equation:
        """Set the verdict on the residuals in the equation, and return it."""
        self.__dict__["equation"] = replace(self.equation, level=level)
        return self.equation

    @cached_property
    def is_weighted(self) -> bool:
        """Whether rows with less noise, or more weight, count more in the error."""
        if self.data is not None:
            return self.data.weights is not None
        known = vars(self).get("uncertainty")
        return known is not None and known.noise.kind != "constant"

    @property
    def error_name(self) -> str:
        """What the error is called where it is shown."""
        return "weighted RMSE" if self.is_weighted else "RMSE"

    @property
    def uses_features(self) -> bool:
        """Whether the law is more than a constant."""
        if self.data is None:
            return len(self.law.phi) > 0 and self.complexity > CONSTANT_LAW
        return not all(is_constant(matrix, self.data.library) for matrix in self.law.phi)

    @property
    def transformed(self) -> bool:
        """Whether the target is transformed."""
        library = self.libraries[1]
        return len(self.law.psi) != 1 or exponent(self.law.psi[0], library) != 1

    @property
    def left_nodes(self) -> int:
        """How much there is on the left side; 1 for y itself."""
        return int(self.transformed) + sum(len(matrix) for matrix in self.law.psi)

    def _fitted(self) -> tuple[LawLike, Training]:
        if self.data is None:
            raise GSRError("the law was read without its training data")
        return self.law, self.data

    def __getstate__(self) -> dict[str, Any]:
        # Everything is computed now: later the training data are not there.
        made: dict[str, Any] = {"equation": self.equation, "level": self.level, "poles": self.poles}
        made |= {"is_weighted": self.is_weighted}
        if self.data is not None:
            made |= {"uncertainty": self.uncertainty, "rounded": self.rounded}
            made |= {"left_out": self.left_out, "length": self.length}
            made |= {"rounded_equation": self.rounded_equation}
        law = FittedLaw.of(self.law)
        gone = dict.fromkeys(("make", "data", "accepts", "held_error"))
        return {**self.__dict__, **made, **gone, "law": law}

    def __str__(self) -> str:
        return f"{self.complexity:4d}  {self.rmse:10.3e}  {self.equation}"


# ---- names of constants --------------------------------------------------------------------------

# A coefficient is named by the term that it multiplies, and a constant inside a term by a letter,
# with which the term is written: "coefficient of sin(c1 x1 + c2)", "c1" and "c2".

CONSTANT = "constant"
#: Letters for constants inside terms; the first is used that no numbered variable has.
LETTERS = ("c", "k", "p", "q", "constant_")
#: Marks that stand for constants while terms are written. They are whole numbers of six digits,
#: and further apart than the whole powers that are added to an exponent: x1 x1^0.7 is x1^1.7.
FIRST, STEP = 200_000, 1_000
MARK = re.compile(r"`[^`]*`|(?<![\w.])\d{6}(?![\w.])")


class ConstantName(NamedTuple):
    """How a constant is called, and what is added to it where it stands."""

    place: int  # its place among `constants` of the law
    name: str  # the name
    #: The whole power that an exponent is written with: 1 for x1 exp(0.7 ln(x1)) = x1^1.7.
    shift: float = 0.0


def constant_names(law: LawLike, equation: Equation) -> list[ConstantName]:
    """Return the names of a law's constants, in the order in which they are written."""
    places = weights(law)
    letters = _Letters(equation, len(places))
    first = len(constants(law)) - len(places)
    marks = FIRST + STEP * np.arange(len(places), dtype=float)
    marked = with_constants(law, np.concatenate([constants(law)[:first], marks]))
    n_phi = len(law.phi)
    written = sorted(range(n_phi), key=lambda k: is_constant(law.phi[k], equation.library))
    found: list[ConstantName] = []
    for side, k in [("psi", k) for k in range(len(law.psi))] + [("phi", k) for k in written]:
        plain, lettered = (_term(each, equation, side, k) for each in (law, marked))
        inside = [j for j, place in enumerate(places) if (place.side, place.term) == (side, k)]
        term, held = letters.write(lettered, plain, inside)
        if side == "phi":
            name = CONSTANT if plain == "1" else f"coefficient of {term}"
            found.append(ConstantName(k, name))
        elif k:
            found.append(ConstantName(n_phi + k - 1, f"coefficient of {term}"))
        is_named = side == "phi" or k > 0
        for j, letter, shift, is_seen in held:
            name = letter if is_named and is_seen else f"{letter} in {term}"
            found.append(ConstantName(first + j, name, shift))
    return found


class _Letters:
    """Gives letters to constants as they come in the text."""

    def __init__(self, equation: Equation, n_constants: int) -> None:
        names = (*equation.feature_names, equation.target_name)
        taken = {match[1] for name in names if (match := re.fullmatch(r"(.*?)\d+", name))}
        self.letter = next((letter for letter in LETTERS if letter not in taken), LETTERS[-1])
        self.n_constants, self.count = n_constants, 0
        self.seen: dict[int, tuple[str, float]] = {}

    def write(
        self, marked: str, plain: str, inside: Sequence[int]
    ) -> tuple[str, list[tuple[int, str, float, bool]]]:
        """Return a term with letters, and (constant, letter, shift, whether it is in the text)."""
        before = self.count
        term = MARK.sub(self._letter, marked)
        if not all(j in self.seen for j in inside):  # some are added up, as in x1^p x1^q
            self.count = before
            return plain, [(j, self._next(), 0.0, False) for j in inside]
        return term, [(j, *found, True) for j, found in self.seen.items() if j in inside]

    def _letter(self, match: re.Match[str]) -> str:
        if match[0].startswith("`"):
            return match[0]
        j, shift = divmod(int(match[0]) - FIRST + STEP // 2, STEP)
        if not 0 <= j < self.n_constants:
            return match[0]
        if j not in self.seen:
            self.seen[j] = (self._next(), float(shift - STEP // 2))
        return self.seen[j][0]

    def _next(self) -> str:
        self.count += 1
        return f"{self.letter}{self.count}"


def _term(law: LawLike, equation: Equation, side: str, k: int) -> str:
    library, names, bars = equation.library, equation.feature_names, equation.absolute_features
    if side == "psi":
        library, names = equation.target_library, (equation.target_name,)
        bars = equation.absolute_target
    matrices: Any = getattr(law, side)
    if is_constant(matrices[k], library):
        return "1"
    absolute = bars[k] if len(bars) == len(matrices) else False
    return text(matrices[k], library, names, absolute=absolute)
