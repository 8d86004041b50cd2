"""Criteria by which laws are compared; each is to be least."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr.deadline import GRACE, is_late
from gsr.encoding.rows import factors, is_constant
from gsr.exceptions import GSRError, suggestion
from gsr.selection.fitted import LawLike, Training, constants, inner_constants, structure
from gsr.selection.grammar import NO_SIGNS, law_structure_bits, simple_fraction
from gsr.selection.target_scale import TargetScale, errors_on_one_side, residuals
from gsr.transformation import Array

if TYPE_CHECKING:
    from gsr.library import Library
    from gsr.selection.entry import FrontEntry

# ---- heavy tails ---------------------------------------------------------------------------------

#: Degrees of freedom of Student's t.
FREEDOM = 3.0
#: Bits to say that the tails are heavy.
BITS_OF_TAILS = 3.0
ROUNDS = 50
CONVERGED = 1e-6
#: Bits of a standard normal residual.
NORMAL_BITS = 0.5 * math.log2(2.0 * math.pi * math.e)
_LOG_NORM = (
    math.lgamma((FREEDOM + 1.0) / 2.0)
    - math.lgamma(FREEDOM / 2.0)
    - 0.5 * math.log(FREEDOM * math.pi)
)


def heavy_tailed_bits(residuals: Array) -> float:
    """Return the bits of residuals under Student's t of the likeliest scale.

    Without it a few outliers would be worth a law that follows them. The bits are those beyond as
    many normal residuals of variance 1, so that they compare with N log2 of a standard deviation.
    """
    largest = float(np.abs(residuals).max(initial=0.0))
    if not math.isfinite(largest):
        return math.inf
    if largest == 0.0:
        return -math.inf
    squares = (residuals / largest) ** 2
    scale = _likeliest_scale(squares)
    if scale == 0.0:
        return -math.inf
    tails = 0.5 * (FREEDOM + 1.0) * float(np.log1p(squares / (FREEDOM * scale)).sum())
    n = len(residuals)
    nats = tails + n * (0.5 * math.log(scale) + math.log(largest) - _LOG_NORM)
    return BITS_OF_TAILS + nats / math.log(2.0) - n * NORMAL_BITS


def _likeliest_scale(squares: Array) -> float:
    """Return the square of the scale, by the EM algorithm."""
    scale = float(np.median(squares)) or float(squares.mean())
    for _ in range(ROUNDS):
        last = scale
        scale = float(((FREEDOM + 1.0) * squares / (FREEDOM + squares / last)).mean())
        if abs(scale - last) <= CONVERGED * last or scale == 0.0:
            break
    return scale


# ---- criteria ------------------------------------------------------------------------------------

#: Bits of a node, where a law is compared roughly.
BITS_PER_NODE = 1.25
#: Bits that a law with a pole must save to be taken all the same.
BITS_OF_POLE = 16.0
#: Bits by which a law must beat the constant: data without a law must not get one.
BITS_OF_LAW = 10.0
#: Laws whose description differs by less are equally good.
EQUAL_BITS = 0.5
#: So many laws, the best by a rough count, are looked at closely.
CLOSELY = 150
#: The same, however little time is left.
LEAST_CLOSELY = 30
#: Nodes that a transformed y counts beyond its own among equally good laws.
NODES_OF_TARGET = 4
#: Hundreds of frequencies are tried, and among them is one that follows any noise.
BITS_OF_FREQUENCY = 5.0
#: A constant may be rounded to sqrt(12) of its standard errors before the data notice
#: (Bartlett, Desmond and Ferreira 2023): so much less than its digits it takes.
BITS_OF_PRECISION = 0.5 * math.log2(12.0)
CRITERIA = ("mdl", "bic", "aicc", "elbow", "held_out", "rmse", "simplest within x")
Criterion = str | Callable[["FrontEntry"], float]
_WITHIN = re.compile(r"simplest within ([0-9.eE+-]+)( ?%)?")


def check(criterion: Criterion) -> None:
    """Raise unless the criterion is known."""
    if callable(criterion) or is_known(criterion):
        return
    hint = suggestion(criterion, CRITERIA)
    raise GSRError(
        f"criterion must be one of {CRITERIA} or a callable, got {criterion!r}{hint}", "criterion"
    )


def is_known(name: str) -> bool:
    """Return whether this is the name of a criterion."""
    return name in CRITERIA[:-1] or _WITHIN.fullmatch(str(name)) is not None


def ranking(
    entries: Sequence[FrontEntry],
    n_rows: int,
    criterion: Criterion = "mdl",
    until: float | None = None,
) -> list[FrontEntry]:
    """Return the entries by a criterion, best first.

    Of equally good laws the one with fewer constants comes first, then that of the simpler left
    side, then the one with the smaller error; by other criteria than the description length, the
    simpler. When the time is up, description lengths are counted roughly.
    """
    if criterion == "mdl":
        values = _lengths(entries, n_rows, until)
    else:
        values = {each: criterion_value(each, entries, n_rows, criterion) for each in entries}
    least = min(values.values())
    slack = EQUAL_BITS if criterion == "mdl" else 1e-9 * abs(least)

    def key(entry: FrontEntry) -> tuple[float, ...]:
        value, nodes = values[entry], entry.complexity + NODES_OF_TARGET * entry.transformed
        if not value <= least + slack:
            return value, nodes
        if criterion != "mdl":
            return least, nodes
        # Structure has its price in the bits already.
        return least, entry.n_constants, entry.left_nodes, float(f"{entry.rmse:.4g}"), nodes

    return sorted(entries, key=key)


def _lengths(
    entries: Sequence[FrontEntry], n_rows: int, until: float | None
) -> dict[FrontEntry, float]:
    """Return the description lengths; laws far behind the best by a rough count come last."""
    if all("length" in vars(entry) for entry in entries):
        return {entry: entry.length for entry in entries}
    rough = {
        entry: _normal_bits(entry, entry.rmse, entry.n_constants, n_rows)
        + (BITS_PER_NODE * entry.complexity + rough_digits(n_rows) * entry.n_constants)
        for entry in entries
    }
    order = sorted(entries, key=rough.__getitem__)
    constant = [entry for entry in order if not entry.uses_features]
    lengths = {entry: entry.length for entry in constant}
    least = without_features = min(lengths.values(), default=math.inf)
    for k, entry in enumerate(entry for entry in order[:CLOSELY] if entry.uses_features):
        # However little time is left, the laws are compared with the constant until one is shorter.
        is_settled = least < without_features or k >= LEAST_CLOSELY
        if is_settled and is_late(until if until is None or k >= LEAST_CLOSELY else until + GRACE):
            break
        bound = _least_length(entry, n_rows, least + BITS_OF_POLE + EQUAL_BITS)
        if bound is None:
            lengths[entry] = entry.length
            least = min(least, entry.length)
        else:  # more than constants take as a rule
            lengths[entry] = bound + 2.0 * rough_digits(n_rows) * entry.n_constants
    # A rough count may be far below the real one, so the two are not compared.
    last = max(lengths.values())
    return {each: lengths.get(each, last + rough[each] - rough[order[0]]) for each in entries}


def _least_length(entry: FrontEntry, n_rows: int, most: float) -> float | None:
    """Return the bits of a law without those of its constants, if they are more than `most`."""
    if _normal_bits(entry, entry.rmse, 0, n_rows) + entry.structure <= most:
        return None
    bits = data_bits(entry, entry.law, 0, n_rows) + entry.structure
    return bits if bits > most else None


def criterion_value(
    entry: FrontEntry, entries: Sequence[FrontEntry], n_rows: int, criterion: Criterion
) -> float:
    """Return what a criterion other than ``"mdl"`` gives a law among others."""
    if callable(criterion):
        return float(criterion(entry))
    if criterion == "rmse":
        return entry.rmse
    if criterion == "held_out":
        return entry.left_out
    if criterion in ("bic", "aicc"):
        return _information(entry, n_rows, criterion)
    if criterion == "elbow":
        return -_elbow(entry, entries)
    check(criterion)
    found = _WITHIN.fullmatch(criterion)
    assert found is not None
    share = float(found[1]) / (100.0 if found[2] else 1.0)
    enough = (1.0 + share) * min(other.rmse for other in entries)
    return float(entry.complexity) if entry.rmse <= enough else math.inf


def _elbow(here: FrontEntry, entries: Sequence[FrontEntry]) -> float:
    """Return how far a law lies below the line from the simplest to the best, in ln(error)."""
    finite = [entry for entry in entries if math.isfinite(entry.rmse)]
    first = min(finite, key=lambda entry: (entry.complexity, entry.rmse))
    last = min(finite, key=lambda entry: (entry.rmse, entry.complexity))
    logs = [math.log(max(entry.rmse, 1e-300)) for entry in (first, last)]
    if not math.isfinite(here.rmse) or last.complexity == first.complexity:
        return -math.inf if here is not last else 0.0
    share = (here.complexity - first.complexity) / (last.complexity - first.complexity)
    line = logs[0] + share * (logs[1] - logs[0])
    return line - math.log(max(here.rmse, 1e-300))


def _information(entry: FrontEntry, n_rows: int, criterion: str) -> float:
    # The noise level is a parameter too.
    k = entry.n_constants + 1
    left = n_rows - k - 1
    if left <= 0:
        return math.inf
    # -2 ln of the likelihood, up to what all laws have in common
    data = 2.0 * math.log(2.0) * _normal_bits(entry, entry.rmse, 0, n_rows)
    if criterion == "bic":
        return data + k * math.log(n_rows)
    return data + 2.0 * k * n_rows / left


def description_length(entry: FrontEntry, n_rows: int) -> float:
    """Return the bits of law and data together, up to what is the same for all laws.

    Structure is priced by how science writes (`gsr.selection.grammar`). A constant takes the bits
    of a simple number if the data agree with one (`gsr.selection.rounding`), else those of the
    digits that the data determine, by their Fisher information. The residuals take what their
    likelihood says under the variance function of the noise.
    """
    law, structure = entry.law, entry.structure
    if entry.data is None:
        fitted = entry.n_constants
        digits = 0.5 * math.log2(n_rows) * entry.n_constants
    else:
        shown = entry.rounded
        law, fitted = shown.law, sum(text is None for text in shown.texts)
        digits = shown.bits - BITS_OF_PRECISION * fitted
        coefficients = shown.texts[: len(entry.law.phi)]
        signs = {j: int(text) for j, text in enumerate(coefficients) if text in ("1", "-1")}
        structure = structure_bits(entry, signs) if signs else entry.structure
    if n_rows <= entry.n_constants or not math.isfinite(law.rmse):
        return math.inf
    return data_bits(entry, law, fitted, n_rows) + structure + max(digits, float(fitted))


def data_bits(entry: FrontEntry, law: LawLike, fitted: int, n_rows: int) -> float:
    """Return the bits of a law's residuals, up to what is the same for all laws of the same rows.

    With unknown noise they are N/2 log2 of its variance, corrected for the constants that are
    fitted, or fewer if its tails are heavy; with known standard deviations half of chi-square.
    """
    bits = _normal_bits(entry, law.rmse, fitted, n_rows)
    data = entry.data
    if data is None or data.dispersion is not None or not data.loss.is_squared or n_rows <= fitted:
        return bits
    correction = 0.5 * n_rows * math.log2(n_rows / (n_rows - fitted))
    heavy = heavy_tailed_bits(residuals(law, data)) + correction
    return min(bits, heavy) if math.isfinite(heavy) else bits


def _normal_bits(entry: FrontEntry, error: float, fitted: int, n_rows: int) -> float:
    if entry.data is not None and entry.data.dispersion is not None:
        chi_square = n_rows * error**2 * entry.data.noise.precision
        return 0.5 * chi_square / entry.data.dispersion / math.log(2.0)
    left = n_rows - fitted
    if left <= 0:
        return math.inf
    return n_rows * math.log2(max(error, 1e-300) * math.sqrt(n_rows / left))


def structure_bits(entry: FrontEntry, signs: Mapping[int, int] = NO_SIGNS) -> float:
    """Return the bits of a law's expression without its constants, and of a choice of branch.

    `signs` maps the terms whose coefficient is 1 or -1, and so is not written, to it.
    """
    bits = expression_bits(entry.law, *entry.libraries, entry.n_features, signs)
    return bits + _branch_bits(entry)


def expression_bits(
    law: LawLike,
    library: Library,
    target_library: Library,
    n_features: int,
    signs: Mapping[int, int] = NO_SIGNS,
) -> float:
    """Return the bits of a law's expression without its constants."""
    bits = law_structure_bits(law.psi, law.phi, library, target_library, n_features, signs)
    rows = (each for matrix in law.phi for row in factors(matrix, library) for each in row.walk())
    # Oscillations whose frequency is fitted.
    waves = sum(
        bool(library.table[row.code].period)
        and any(isinstance(part.times, float) for part in row.argument.parts)
        for row in rows
    )
    uses_features = not all(is_constant(matrix, library) for matrix in law.phi)
    return bits + BITS_OF_FREQUENCY * waves + BITS_OF_LAW * uses_features


def rough_digits(n_rows: int) -> float:
    """Return about as many bits as a constant takes that so many rows determine."""
    return 0.5 * math.log2(n_rows) + 1.0


def rough_length(law: LawLike, data: Training) -> float:
    """Return about as many bits as law and data take together; infinite without a fit."""
    n, k = len(data.y), len(constants(law))
    if not math.isfinite(law.rmse) or n <= k + 1:
        return math.inf
    deviation = max(law.rmse, 1e-300) * math.sqrt(n / (n - k))
    return n * math.log2(deviation) + (BITS_PER_NODE * law.complexity + rough_digits(n) * k)


def priced_length(law: LawLike, data: Training) -> float:
    """Return the bits of law and data with structure priced as in the choice, constants roughly."""
    rough = rough_length(law, data)
    if not math.isfinite(rough):
        return math.inf
    libraries = (data.library, data.target_library)
    fractions = tuple(map(simple_fraction, inner_constants(law).tolist()))
    written = _Written((structure(law), fractions), data.X.shape[1], *libraries, law)
    return rough - BITS_PER_NODE * law.complexity + _price(written)


@dataclass(frozen=True)
class _Written:
    """A law and all that its price depends on."""

    terms: tuple[Any, ...]
    n_features: int
    library: Library
    target_library: Library
    law: LawLike = field(compare=False)


@lru_cache(maxsize=4096)
def _price(law: _Written) -> float:
    return expression_bits(law.law, law.library, law.target_library, law.n_features)


def _branch_bits(entry: FrontEntry) -> float:
    """Return the bits that select the solution for y, where no rule of the law selects it.

    That is one bit for each row, or the greater residuals if one side is meant for all.
    """
    if entry.data is None or not entry.transformed or _on_one_branch(entry):
        return 0.0
    if entry.equation.inversion.branches.neighbours is None:
        return 0.0
    n_rows = len(entry.data.y)
    nearest, confined = errors_on_one_side(entry.law, entry.data)
    if not 0.0 < nearest <= confined < math.inf:
        return float(n_rows)
    return min(float(n_rows), 0.5 * n_rows * math.log2(confined / nearest))


def _on_one_branch(entry: FrontEntry) -> bool:
    """Return whether g does not repeat, and all measured y lie on one side of its mirror."""
    assert entry.data is not None
    known = TargetScale(entry.law, entry.data).entry
    if known is None or known.period or not known.has_inverse:
        return False
    if math.isnan(known.mirror):
        return True
    above = entry.data.y > known.mirror / 2.0
    return bool(above.all() or not above.any())
