"""Which law of the front to present, and how far to trust it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from gsr.deadline import in_time
from gsr.encoding.rows import is_constant
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.prediction.explicit import exponent
from gsr.selection.bounds import excursion
from gsr.selection.constant_names import constant_names
from gsr.selection.criteria import (
    BITS_OF_POLE,
    EQUAL_BITS,
    Criterion,
    description_length,
    ranking,
    rough_digits,
    rough_length,
    structure_bits,
)
from gsr.selection.fitted import (
    FAILURES,
    FittedLaw,
    LawLike,
    Training,
    constants,
    weights,
)
from gsr.selection.leverage import lives_on_few_rows
from gsr.selection.loss import Loss
from gsr.selection.plainer import plainer
from gsr.selection.poles import Poles, poles
from gsr.selection.refine import refine, with_loss
from gsr.selection.refit import confirm, refit
from gsr.selection.residuals import MOST_ROWS, Level, leave_one_out, residual_level
from gsr.selection.rounding import Rounded, rounded, simplest
from gsr.selection.simplify import duplicates, some_rows
from gsr.selection.target_scale import rmse
from gsr.selection.uncertainty import Uncertainty, uncertainty
from gsr.threads import one_thread
from gsr.transformation import Array

#: Nodes of y = c.
CONSTANT_LAW = 3

#: A law with more constants for each row than this goes through the rows, whatever they are.
MOST_CONSTANTS = 0.5
#: Predictions a little outside of the data may leave the range of y by so many of its ranges.
MOST_EXCURSION = 10.0
#: Laws whose constants are refined under another loss than squares, which takes longer.
MOST_WITH_LOSS = 60
#: Laws of a rough ranking whose description lengths are compared.
FEW = 6
#: Laws that are looked at for poles however little time is left.
LEAST_LOOKED_AT = 30
#: A law that is beaten in complexity and error is given up for one that takes so many bits more.
BITS_OF_DOMINATION = 3.0
#: Laws whose predictions differ by less than this part of the error are one law in other words.
SAME_WORDS = 1e-3
#: Bits that a better law must save the residuals, beyond its constants, so that those of another
#: are not noise.
OUTDONE_BITS = 12.0
#: Errors that differ by less are the same.
AS_GOOD = 1e-6
#: An error below this part of the spread of y may be rounding; the core's bits of an exact law.
NEARLY_EXACT = 1e-9
EXACT_BITS_PER_NODE, BITS_OF_DOUBLE, MOST_EXACT_BITS = 3.0, 52.0, 650.0
EXACT_DIGITS = 1e-9

#: What it means that errors are weighted.
WEIGHTED = "weighted: rows with less noise or more weight count more"

PolePolicy = Literal["avoid", "forbid", "allow"]


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
    accepts: Callable[[Equation], bool] | None = field(default=None, repr=False)
    outdone: bool = False
    verdict_rows: int = MOST_ROWS

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
        if self.data is None:
            return 0.0
        data = self.data
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
        """Whether no term lives on few rows, and the law says which y is meant."""
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
        """Let the equation say what it leaves, and return it."""
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
        # All is made now: what would make it later holds the training data.
        made: dict[str, Any] = {"equation": self.equation, "level": self.level, "poles": self.poles}
        made |= {"is_weighted": self.is_weighted}
        if self.data is not None:
            made |= {"uncertainty": self.uncertainty, "rounded": self.rounded}
            made |= {"left_out": self.left_out, "length": self.length}
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
    until: float | None = None,
    admits: Callable[[LawLike], bool] = lambda _: True,
) -> list[FrontEntry]:
    """Return laws as front entries, simplest first, with converged constants."""
    if data is None:
        return [_entry(law, equation, None) for law in laws]
    # Matrices are narrow: to start threads for them costs more than they save.
    with one_thread():
        found = _fitted(laws, data, everything, until, admits)
        if data.noise.absolute:
            data = replace(data, dispersion=dispersion(found, data))
    entries = [_entry(law, equation, data) for law in found]
    return sorted(entries, key=lambda entry: (entry.complexity, entry.rmse))


def _fitted(
    laws: Sequence[LawLike],
    data: Training,
    everything: Training | None,
    until: float | None,
    admits: Callable[[LawLike], bool],
) -> list[LawLike]:
    """Return the laws with converged constants, the most promising ones first."""
    found: list[LawLike] = []
    most = max(MOST_CONSTANTS * len(data.y), 2.0)
    laws = [law for law in laws if law.exact or len(constants(law)) <= most]
    laws = [law for law in laws if _says_something(law, data)]
    if not data.loss.is_squared:  # errors of the search are those of squares
        laws = [law if law.exact else with_loss(law, data) for law in laws]
    for k, law in enumerate(sorted(laws, key=lambda law: rough_length(law, data))):
        late = until is not None and time.perf_counter() > until and len(found) > 0
        late = late or (k >= MOST_WITH_LOSS and not data.loss.is_squared)
        try:
            fitted = law if late else _converged(law, data, everything, admits)
        except FAILURES as error:
            warnings.warn(f"a law was left out: {error}", RuntimeWarning, stacklevel=2)
            continue
        if math.isfinite(fitted.rmse):
            found.append(fitted)
    return found


def _says_something(law: LawLike, data: Training) -> bool:
    """Tell whether a law uses features, or is the constant y = c: g(y) = c is the same."""
    constant = all(is_constant(matrix, data.library) for matrix in law.phi)
    return not constant or law.complexity <= CONSTANT_LAW


def dispersion(laws: Sequence[LawLike], data: Training) -> float:
    """Return the least reduced chi-square of laws under given standard deviations, at least 1."""
    n_rows = len(data.y)
    least = math.inf
    for law in laws:
        freedom = n_rows - len(constants(law))
        if freedom > 0:
            least = min(least, n_rows * law.rmse**2 * data.noise.precision / freedom)
    return max(least, 1.0) if math.isfinite(least) else 1.0


def _converged(
    law: LawLike,
    data: Training,
    everything: Training | None,
    admits: Callable[[LawLike], bool],
) -> LawLike:
    """Return a law with all its constants refined, in plain words; exact if it is so then."""
    if law.exact:
        plain = plainer(FittedLaw.of(law), data)
        if plain.complexity < law.complexity and admits(plain):
            plain = confirm(refine(plain, data), data)
            law = plain if plain.exact else law
        return _confirmed(law, everything) if everything is not None else law
    refined = refine(law, data)
    plain = plainer(refined, data)
    if plain is not refined and admits(plain):
        plain = refine(plain, data)
        refined = plain if plain.rmse <= refined.rmse * (1.0 + AS_GOOD) else refined
    if refined.rmse > NEARLY_EXACT * data.spread:
        return refined
    claimed = FittedLaw.of(refined, exact=True, bits=exact_bits(refined))
    if claimed.bits >= MOST_EXACT_BITS:
        return refined
    exact = _confirmed(claimed, everything or data)
    return exact if exact.exact else refined


def exact_bits(law: LawLike) -> float:
    """Return the description length of a law that turned out exact, as the core counts it."""
    bits = EXACT_BITS_PER_NODE * law.complexity
    for value in constants(law):
        simple = simplest(float(value), EXACT_DIGITS * abs(float(value)))
        bits += BITS_OF_DOUBLE if simple is None else simple.bits
    return bits


def without_failures(entries: Sequence[FrontEntry]) -> list[FrontEntry]:
    """Return the entries whose equations can be made."""
    made = []
    for entry in entries:
        try:
            _ = entry.equation
        except FAILURES as error:
            warnings.warn(f"a law was left out: {error}", RuntimeWarning, stacklevel=3)
            continue
        made.append(entry)
    return made


def with_squared_error(entry: FrontEntry) -> FrontEntry:
    """Return an entry whose error is the root mean square, whatever loss it was chosen by."""
    if entry.data is None or entry.data.loss.is_squared or entry.exact:
        return entry
    return replace(entry, rmse=rmse(entry.law, replace(entry.data, loss=Loss())))


def finish(
    entry: FrontEntry,
    equation: Callable[[Any], Equation],
    everything: Training,
    until: float | None = None,
) -> FrontEntry:
    """Return an entry whose constants are fitted on all rows; an exact one is so already.

    The fit is as good as it is when the time is up (`until`, on the clock of `time.perf_counter`).
    """
    if entry.exact:
        return entry
    start = refit(entry.law, everything) if everything.loss.is_squared else entry.law
    law = refine(start, everything, until=until)
    # A law that has no solution on some row keeps the constants of the rows that it has seen.
    fitted = law if math.isfinite(law.rmse) else FittedLaw.of(entry.law, rmse=law.rmse)
    finished = _entry(fitted, equation, everything)
    return replace(
        finished,
        held_out=entry.held_out,
        accepts=entry.accepts,
        verdict_rows=entry.verdict_rows,
    )


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
    until: float | None = None,
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
        out one row at a time. ``"elbow"``: the law farthest below the line from the simplest to
        the most accurate, in the logarithm of the error. ``"rmse"``: the least error.
        ``"simplest within 0.1"``: the simplest law whose error is at most 10 % above the least.
        A callable takes an entry and returns what is to be least.
    poles : {"avoid", "forbid", "allow"}
        What happens to laws with poles or undefined points between the samples, exact laws
        apart: ``"forbid"`` passes over them, ``"avoid"`` too unless they make the description
        much shorter (by `BITS_OF_POLE`).
    until : float, optional
        When to end, on the clock of `time.perf_counter`; fewer laws are looked at closely then.

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
    with one_thread():
        ranked = ranking(entries, n_rows, criterion, until)
        if poles == "allow":
            return ranked[0]
        return _safest(entries, ranked, poles, criterion == "mdl", until)


def _safest(
    entries: Sequence[FrontEntry],
    ranked: Sequence[int],
    policy: str,
    by_length: bool,
    until: float | None,
) -> int:
    """Return the best law that is tame, or a wild one that describes the data much better.

    A term that lives on one or two rows is fitted to their noise, and the error of a law with
    several solutions for y is that of the nearest one, which new rows do not tell: such laws are
    chosen only if there is no other.
    """
    if policy not in ("avoid", "forbid"):
        raise GSRError(f"poles must be 'avoid', 'forbid' or 'allow', got {policy!r}")
    lasting = (i for i in ranked if entries[i].length < math.inf and entries[i].is_sound)
    first = next(lasting, ranked[0])
    candidates = in_time(chain([first], lasting), until, LEAST_LOOKED_AT)
    tame = list(islice((i for i in candidates if entries[i].is_tame), FEW)) or [first]
    # The ranking may be rough for lack of time.
    shortest = min(tame, key=lambda i: entries[i].length)
    is_shorter = entries[shortest].length < entries[tame[0]].length - EQUAL_BITS
    chosen = shortest if is_shorter and by_length else tame[0]
    if by_length:
        chosen = _plainest(entries, ranked, _undominated(entries, tame, chosen))
    if policy == "forbid" or chosen == first:
        return chosen
    return first if entries[first].length + BITS_OF_POLE < entries[chosen].length else chosen


def _undominated(entries: Sequence[FrontEntry], among: Sequence[int], chosen: int) -> int:
    """Return the chosen law, or one about as short that is simpler and has a smaller error."""
    here = entries[chosen]
    better = (
        i
        for i in among
        if entries[i].complexity < here.complexity
        and entries[i].n_constants <= here.n_constants
        and _error(entries[i]) < _error(here) * (1.0 - AS_GOOD)
        and entries[i].length <= here.length + BITS_OF_DOMINATION
    )
    return min(better, key=lambda i: entries[i].length, default=chosen)


def _plainest(entries: Sequence[FrontEntry], ranked: Sequence[int], chosen: int) -> int:
    """Return the chosen law in its plainest words: y = 475 x, not y^3 = 1.07e8 x^3."""
    here = entries[chosen]
    if here.data is None:
        return chosen
    for i in ranked[:LEAST_LOOKED_AT]:
        entry = entries[i]
        plainer = entry.left_nodes <= here.left_nodes and entry.complexity < here.complexity
        near = abs(_error(entry) - _error(here)) <= AS_GOOD * _error(here)
        if plainer and near and _say_the_same(entry, here):
            return i
    return chosen


def _say_the_same(one: FrontEntry, other: FrontEntry) -> bool:
    """Tell whether the predictions of two laws differ by less than their errors could show."""
    assert other.data is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = [each.equation.predict(other.data.X) for each in (one, other)]
    difference = np.abs(values[0] - values[1])
    return bool(np.isfinite(difference).all() and difference.max() <= SAME_WORDS * other.rmse)


def pareto(entries: Sequence[FrontEntry], chosen: FrontEntry) -> tuple[list[FrontEntry], int]:
    """Return the entries that no other beats in both complexity and error, and the chosen one.

    Laws that would beat the chosen one by a little, with a longer description, are left out.
    """
    others = [each for each in entries if each is not chosen and math.isfinite(each.rmse)]
    kept: list[FrontEntry] = []
    for entry in sorted(others, key=lambda each: (each.complexity, _error(each))):
        if (not kept or _error(entry) < _error(kept[-1])) and not _dominates(entry, chosen):
            kept.append(entry)
    kept = [each for each in kept if not _dominates(chosen, each)]
    table = sorted([*kept, chosen], key=lambda each: each.complexity)
    return table, table.index(chosen)


def _dominates(one: FrontEntry, other: FrontEntry) -> bool:
    """Tell whether a law is no more complex than another, and has no larger error."""
    return one.complexity <= other.complexity and _error(one) <= _error(other)


def marked(entry: FrontEntry, chosen: FrontEntry) -> FrontEntry:
    """Return an entry that knows whether the chosen law outdoes it."""
    if entry is chosen or entry.exact or entry.data is None or not entry.rmse > chosen.rmse:
        return entry
    n_rows = len(entry.data.y)
    price = rough_digits(n_rows) * max(chosen.n_constants - entry.n_constants, 0)
    saved = n_rows * math.log2(entry.rmse / max(chosen.rmse, 1e-300))
    return replace(entry, outdone=saved > OUTDONE_BITS + price)


def with_least_complexity(chosen: FrontEntry, entries: Sequence[FrontEntry]) -> FrontEntry:
    """Return an entry with the complexity of the simplest law that is the same in other words."""
    if chosen.data is None:
        return chosen
    near = (
        entry
        for entry in sorted(entries, key=lambda each: each.complexity)
        if entry.complexity < chosen.complexity
        and abs(_error(entry) - _error(chosen)) <= AS_GOOD * _error(chosen)
    )
    for entry in near:
        if _say_the_same(entry, chosen):
            return replace(chosen, complexity=entry.complexity)
    return chosen


def without_copies(entries: Sequence[FrontEntry], chosen: FrontEntry, X: Array) -> list[FrontEntry]:
    """Leave out laws that are another one in other words; the chosen one stays."""
    same = duplicates([entry.equation for entry in entries], X)
    return [entry for k, entry in enumerate(entries) if k not in same or entry is chosen]


def _error(entry: FrontEntry) -> float:
    return 0.0 if entry.exact else entry.rmse
