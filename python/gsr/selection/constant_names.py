"""Names of a law's constants that say where they stand in it.

A coefficient is named by the term that it multiplies, and a constant inside a term by a letter,
with which the term is written: "coefficient of sin(c1 x1 + c2)", "c1" and "c2".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gsr.encoding.rows import is_constant
from gsr.encoding.writing import text
from gsr.selection.fitted import LawLike, Weight, constants, weights, with_constants

if TYPE_CHECKING:
    from gsr.equation import Equation

CONSTANT = "constant"
#: What constants inside terms are called; the first that is no name of a variable with a number.
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
    names = (*equation.feature_names, equation.target_name)
    letters = _Letters(_free_letter(names), weights(law))
    places = letters.places
    first = len(constants(law)) - len(places)
    marks = FIRST + STEP * np.arange(len(places), dtype=float)
    marked = with_constants(law, np.concatenate([constants(law)[:first], marks]))
    n_phi = len(law.phi)
    found: list[ConstantName] = []
    for side, k in [("psi", k) for k in range(len(law.psi))] + _order(law, equation):
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

    def __init__(self, letter: str, places: Sequence[Weight]) -> None:
        self.letter, self.places = letter, places
        self.seen: dict[int, tuple[str, float]] = {}
        self.count = 0

    def write(
        self, marked: str, plain: str, inside: Sequence[int]
    ) -> tuple[str, list[tuple[int, str, float, bool]]]:
        """Return a term with letters, and (constant, letter, shift, whether it is in the text)."""
        before = self.count
        term = MARK.sub(self._letter, marked)
        if not all(j in self.seen for j in inside):  # some are added up, as in x1^p x1^q
            self.count = before
            lone = [(j, self._next(), 0.0, False) for j in inside]
            return plain, lone
        return term, [(j, *found, True) for j, found in self.seen.items() if j in inside]

    def _letter(self, match: re.Match[str]) -> str:
        if match[0].startswith("`"):
            return match[0]
        j, shift = divmod(int(match[0]) - FIRST + STEP // 2, STEP)
        if not 0 <= j < len(self.places):
            return match[0]
        if j not in self.seen:
            self.seen[j] = (self._next(), float(shift - STEP // 2))
        return self.seen[j][0]

    def _next(self) -> str:
        self.count += 1
        return f"{self.letter}{self.count}"


def _free_letter(names: Sequence[str]) -> str:
    taken = {match[1] for name in names if (match := re.fullmatch(r"(.*?)\d+", name))}
    return next((letter for letter in LETTERS if letter not in taken), LETTERS[-1])


def _order(law: LawLike, equation: Equation) -> list[tuple[str, int]]:
    """Return the terms of f(x) as they are written: the constant last."""
    terms = range(len(law.phi))
    return [
        ("phi", k) for k in sorted(terms, key=lambda k: is_constant(law.phi[k], equation.library))
    ]


def _term(law: LawLike, equation: Equation, side: str, k: int) -> str:
    library, names, bars = _reading(equation, side)
    matrix: Any = getattr(law, side)[k]
    if is_constant(matrix, library):
        return "1"
    known = len(bars) == len(getattr(law, side))
    return text(matrix, library, names, absolute=bars[k] if known else False)


def _reading(equation: Equation, side: str) -> tuple[Any, tuple[str, ...], Any]:
    """Return library, names and bars of a side."""
    if side == "phi":
        return equation.library, equation.feature_names, equation.absolute_features
    return equation.target_library, (equation.target_name,), equation.absolute_target
