"""Criteria by which laws are compared; each is to be least."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gsr.encoding.rows import ONE, Row, factors
from gsr.exceptions import GSRError, suggestion
from gsr.selection import target_scale

if TYPE_CHECKING:
    from gsr.library import Library
    from gsr.selection.choice import FrontEntry

#: Bits of a node for one feature, and for each doubling of the features. The basis functions of c
#: nodes are about 2^(1.4 c) for one feature and 2^(1.7 c) for two, which with the nodes of a term
#: and the digits of its constant these bits cover: so many were candidates.
BITS_PER_NODE = 1.25
BITS_PER_DOUBLING = 0.35
#: Bits to say which transformation of y is meant, besides its node.
BITS_OF_TARGET = 1.5
#: Bits that a law with a pole must save to be taken all the same.
BITS_OF_POLE = 16.0
#: Nodes of a coefficient and its product.
UNIT_NODES = 2
#: Bits of the constant 1.
SHORTEST_CONSTANT = 2.0
#: Bits by which a law must beat the constant: data without a law must not get one.
BITS_OF_LAW = 5.0
#: Laws whose description differs by less are equally good.
EQUAL_BITS = 1.0
CRITERIA = ("mdl", "bic", "aicc", "held_out", "rmse", "simplest within x")
Criterion = str | Callable[["FrontEntry"], float]


_WITHIN = re.compile(r"simplest within ([0-9.eE+-]+)( ?%)?")


def check(criterion: Criterion) -> None:
    """Raise unless the criterion is known."""
    if callable(criterion) or criterion in CRITERIA[:-1] or _WITHIN.fullmatch(str(criterion)):
        return
    hint = suggestion(criterion, CRITERIA)
    raise GSRError(f"criterion must be one of {CRITERIA} or a callable, got {criterion!r}{hint}")


#: Bits that a function takes beyond those of its node: what seldom comes up in laws costs more.
RARE = {"tan": 4.0, "tanh": 4.0, "sin": 0.5, "cos": 0.5, "exp": 0.5, "exp_neg": 0.5, "ln": 0.5}
#: Powers are what arguments are made of; a function inside a function is rare, as are 1/cos(x) and
#: sin(1 + x).
PLAIN = ("one", "identity", "inverse", "square", "cube", "sqrt")
WAVES = ("sin", "cos", "tan")
#: Hundreds of frequencies are tried, and among them is one that follows any noise.
BITS_OF_FREQUENCY = 7.0
BITS_OF_NESTING = 4.0
BITS_OF_RECIPROCAL = 1.5
BITS_OF_SHIFT = 2.0
RARE_FOR_TARGETS = {"tan": 4.0, "tanh": 4.0, "sin": 4.0, "cos": 4.0, "cube": 1.0}


def ranking(entries: Sequence[FrontEntry], n_rows: int, criterion: Criterion = "mdl") -> list[int]:
    """Return the indices of the entries by a criterion, best first.

    Of laws that are equally good one for y itself comes before one for a transformed y, then the
    simpler.
    """
    if criterion == "mdl":
        values = _lengths(entries, n_rows)
    else:
        values = [_value(entries, i, n_rows, criterion) for i in range(len(entries))]
    least = min(values)
    slack = EQUAL_BITS if criterion == "mdl" else 1e-9 * abs(least)
    equal = [value <= least + slack for value in values]

    def key(i: int) -> tuple[float, bool, int]:
        entry = entries[i]
        return (least if equal[i] else values[i], entry.transformed, entry.complexity)

    return sorted(range(len(entries)), key=key)


def _lengths(entries: Sequence[FrontEntry], n_rows: int) -> list[float]:
    """Return the description lengths; for laws far behind the best a lower bound will do."""
    lengths = [_least_length(entry, n_rows) for entry in entries]
    least = math.inf
    for i in sorted(range(len(entries)), key=lambda i: lengths[i]):
        if lengths[i] > least + BITS_OF_POLE + EQUAL_BITS:
            break
        lengths[i] = description_length(entries[i], n_rows)
        least = min(least, lengths[i])
    return lengths


def _least_length(entry: FrontEntry, n_rows: int) -> float:
    data = n_rows * math.log2(max(entry.rmse, 1e-300))
    shortest = SHORTEST_CONSTANT - UNIT_NODES * BITS_PER_NODE
    return data + structure_bits(entry) + shortest * entry.n_constants


def _value(entries: Sequence[FrontEntry], i: int, n_rows: int, criterion: Criterion) -> float:
    entry = entries[i]
    if callable(criterion):
        return float(criterion(entry))
    if criterion == "rmse":
        return entry.rmse
    if criterion == "held_out":
        return entry.left_out
    if criterion in ("bic", "aicc"):
        return _information(entry, n_rows, criterion)
    check(criterion)
    found = _WITHIN.fullmatch(criterion)
    assert found is not None
    share = float(found[1]) / (100.0 if found[2] else 1.0)
    enough = (1.0 + share) * min(other.rmse for other in entries)
    return float(entry.complexity) if entry.rmse <= enough else math.inf


def _information(entry: FrontEntry, n_rows: int, criterion: str) -> float:
    # The noise level is a parameter too.
    k = entry.n_constants + 1
    left = n_rows - k - 1
    if left <= 0:
        return math.inf
    data = 2.0 * n_rows * math.log(max(entry.rmse, 1e-300))
    if criterion == "bic":
        return data + k * math.log(n_rows)
    return data + 2.0 * k * n_rows / left


def description_length(entry: FrontEntry, n_rows: int) -> float:
    """Return the bits of law and data together, up to what is the same for all laws.

    Structure takes some bits for each node. A constant takes those of a simple number if the data
    agree with one (`gsr.selection.rounding`), else those of the digits that the data determine. The
    residuals take N/2 log2 of their variance, which is corrected for the constants that are
    fitted.
    """
    structure = structure_bits(entry)
    if entry.data is None:
        fitted, error = entry.n_constants, entry.rmse
        digits = 0.5 * math.log2(n_rows) * entry.n_constants
    else:
        shown = entry.rounded
        fitted, error = sum(text is None for text in shown.texts), shown.law.rmse
        digits = shown.bits
        # A coefficient of 1 is not written.
        of_terms = shown.texts[: len(entry.law.phi)]
        structure -= UNIT_NODES * BITS_PER_NODE * sum(text in ("1", "-1") for text in of_terms)
    left = n_rows - fitted
    if left <= 0 or n_rows <= entry.n_constants or not math.isfinite(error):
        return math.inf
    deviation = max(error, 1e-300) * math.sqrt(n_rows / left)
    return n_rows * math.log2(deviation) + structure + digits


def structure_bits(entry: FrontEntry) -> float:
    """Return the bits of a law's expression without its constants, and of what it leaves open."""
    features = 1 if entry.data is None else entry.data.X.shape[1]
    per_node = BITS_PER_NODE + BITS_PER_DOUBLING * math.log2(features)
    bits = per_node * entry.complexity + BITS_OF_TARGET * entry.transformed + _rarity(entry)
    return bits + BITS_OF_LAW * entry.uses_features + _branch_bits(entry)


def _rarity(entry: FrontEntry) -> float:
    """Return what functions that laws seldom have take beyond their node."""
    if entry.data is None:
        return 0.0
    sides = (
        (entry.law.phi, entry.data.library, RARE),
        (entry.law.psi, entry.data.target_library, RARE_FOR_TARGETS),
    )
    return sum(
        _rare_bits(row, library, rare, inside=False)
        for matrices, library, rare in sides
        for matrix in matrices
        for row in factors(matrix, library)
    )


def _rare_bits(row: Row, library: Library, rare: Mapping[str, float], inside: bool) -> float:
    name = library.names[row.code]
    plain = name in PLAIN
    bits = rare.get(name, 0.0)
    if not plain:
        bits += BITS_OF_NESTING * inside + BITS_OF_RECIPROCAL * row.reciprocal
        waves = name in WAVES and any(isinstance(part.times, float) for part in row.argument.parts)
        bits += BITS_OF_FREQUENCY * waves
        bits += BITS_OF_SHIFT * any(part.base == ONE for part in row.argument.parts)
    inner = (part.base for part in row.argument.parts if isinstance(part.base, Row))
    return bits + sum(_rare_bits(each, library, rare, inside or not plain) for each in inner)


def _branch_bits(entry: FrontEntry) -> float:
    """Return what it takes to say which solution for y is meant, if no rule of the law says so.

    That is one bit for each row, or the greater residuals if one side is meant for all.
    """
    if entry.data is None or not entry.transformed:
        return 0.0
    if entry.equation.inversion.branches.neighbours is None:
        return 0.0
    n_rows = len(entry.data.y)
    nearest, confined = target_scale.errors_on_one_side(entry.law, entry.data)
    if not 0.0 < nearest <= confined < math.inf:
        return float(n_rows)
    return min(float(n_rows), 0.5 * n_rows * math.log2(confined / nearest))
