"""Units of measurement: from text to exponents of base dimensions, and whether a law obeys them.

Only dimensions count. Numbers are never converted: ``"km"`` and ``"m"`` are both lengths, and a law
is found in whatever the columns hold.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from numbers import Rational, Real
from typing import Any, NamedTuple

import numpy as np

from gsr.encoding.fold import Algebra, fold
from gsr.encoding.rows import Argument, Matrix, Row, factors
from gsr.encoding.writing import Writer
from gsr.equation import Equation
from gsr.exceptions import GSRError, suggestion
from gsr.formula import Grammar, Node
from gsr.formula import parse as parse_text
from gsr.library import Library
from gsr.transformation import POWERS, Array
from gsr.value_types import shown as shown_value

#: Base dimensions, in the order in which they are written.
BASES = ("kg", "m", "s", "A", "K", "mol", "cd")
#: Prefixes of short names, and of long ones.
PREFIXES = (*"QRYZEPTGMkhdcmuµμnpfazyrq", "da")
LONG_PREFIXES = (
    "quetta", "ronna", "yotta", "zetta", "exa", "peta", "tera", "giga", "mega", "kilo", "hecto",
    "deca", "deka", "deci", "centi", "milli", "micro", "nano", "pico", "femto", "atto", "zepto",
    "yocto", "ronto", "quecto",
)  # fmt: skip


def _by_name(units: str) -> dict[str, str]:
    """Return the definition of each name, from definitions with the names that share them."""
    pairs = (each.split(" = ") for each in units.split(";"))
    return {name: unit.strip() for unit, names in pairs for name in names.split()}


#: Short names that take a prefix, by what they are.
PREFIXED = _by_name(
    """
    m = m pc; kg = g t Da; s = s; A = A; K = K; mol = mol; cd = cd lm; 1 = rad sr B;
    1/s = Hz Bq Ci; kg m/s^2 = N; N/m^2 = Pa; N m = J; J/s = W; A s = C; W/A = V; C/V = F;
    V/A = Ω Ohm ohm; A/V = S; V s = Wb; Wb/m^2 = T; Wb/A = H; cd/m^2 = lx; J/kg = Gy Sv;
    mol/s = kat; m^3 = L l; Pa = bar Torr; J = eV cal Wh erg; C = Ah; mol/m^3 = M; T = G;
    m/s^2 = Gal; N = dyn; Pa s = P; m^2/s = St; W/(m^2 Hz) = Jy
    """
)
#: Names that take no prefix.
PLAIN = _by_name(
    """
    N m = Nm; s = min h hr hour d day week month yr year minute sec;
    m = au AU ly Å angstrom inch in ft foot feet yd yard mi mile nmi; m^2 = ha acre barn;
    m^3 = gallon cc; m/s = mph knot kn; kg = lb oz u; N = lbf kgf; Pa = atm mmHg psi; J = BTU;
    W = hp; 1/s = rpm; K = degC °C celsius degF °F fahrenheit;
    1 = % ‰ percent ppm ppb deg ° degree arcmin arcsec mas mag rev turn cycle count dimensionless
    """
)
#: Long names of short ones; they take a long prefix, and all may end in an s.
LONG = _by_name(
    """
    m = meter metre; g = gram; s = second; A = ampere amp; K = kelvin; mol = mole; cd = candela;
    rad = radian; sr = steradian; Hz = hertz; N = newton; Pa = pascal; J = joule; W = watt;
    C = coulomb; V = volt; F = farad; S = siemens; Wb = weber; T = tesla; H = henry; lm = lumen;
    lx = lux; Bq = becquerel; Gy = gray; Sv = sievert; L = liter litre; t = tonne ton;
    cal = calorie; eV = electronvolt; pc = parsec; Da = dalton; M = molar; G = gauss; P = poise
    """
)

#: Exponents beyond this are taken for a mistake, and so are more characters in one.
MOST = 100
LONGEST_EXPONENT = 8
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<name>\[[^\[\]]*\]|°[CF]?|[%‰]|[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹][^\W⁰¹²³⁴⁵⁶⁷⁸⁹]*)"
    r"|(?P<sign>\*\*|[-+*/^()·⋅×]))"
)
GRAMMAR = Grammar(what="unit", token=TOKEN)


class Dimension(Mapping[str, Fraction]):
    """Exponents of base dimensions by name, such as kg m s^-2; immutable.

    >>> parse("N") / parse("kg") == parse("m/s^2")
    True
    """

    __slots__ = ("_exponents",)

    def __init__(self, exponents: Mapping[str, Any] | None = None) -> None:
        found = {base: Fraction(n) for base, n in (exponents or {}).items() if n}
        self._exponents = dict(sorted(found.items(), key=lambda item: _place(item[0])))

    def __getitem__(self, base: str) -> Fraction:
        return self._exponents[base]

    def __iter__(self) -> Iterator[str]:
        return iter(self._exponents)

    def __len__(self) -> int:
        return len(self._exponents)

    def __hash__(self) -> int:
        return hash(tuple(self._exponents.items()))

    def __mul__(self, other: Dimension) -> Dimension:
        bases = {**self, **other}
        return Dimension({b: self.get(b, 0) + other.get(b, 0) for b in bases})

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other**-1

    def __pow__(self, power: Any) -> Dimension:
        return Dimension({base: n * Fraction(power) for base, n in self.items()})

    def __str__(self) -> str:
        return " ".join(_raised(base, n) for base, n in self.items()) or "1"

    def __repr__(self) -> str:
        return f"Dimension({str(self)!r})"


NONE = Dimension()


def _place(base: str) -> tuple[int, str]:
    """Return what base units are sorted by."""
    return (BASES.index(base) if base in BASES else len(BASES), base)


def _raised(base: str, n: Fraction) -> str:
    if n == 1:
        return base
    return f"{base}^{n}" if n.denominator == 1 else f"{base}^({n})"


# ---- reading ---------------------------------------------------------------------------------


def parse(unit: str | Mapping[str, Any] | Dimension) -> Dimension:
    """Return the dimension of a unit, without factors: ``parse("km") == parse("m")``.

    Units are text such as ``"kg*m/s^2"``, ``"m s^-2"``, ``"J/(mol K)"``, ``"km/h"``, ``"m**0.5"``;
    ``""``, ``"1"``, ``"%"`` and ``"deg"`` have no dimension. A name in brackets, ``"[apple]"``, is
    a base unit of one's own. A mapping gives exponents: ``{"kg": 1, "m": -2}``.
    """
    if isinstance(unit, Dimension):
        return unit
    if isinstance(unit, Mapping):
        found = NONE
        for name, power in unit.items():
            found = found * parse(name) ** _number(power)
    elif isinstance(unit, str):
        found = _read(unit)
    else:
        raise GSRError(f"a unit is text such as 'kg m/s^2' or a mapping, got {unit!r}")
    large = [base for base, n in found.items() if abs(n) > MOST]
    if large:
        raise GSRError(f"the unit {shown_value(unit)} has an exponent above {MOST}, of {large[0]}")
    return found


@lru_cache(maxsize=1024)
def _read(text: str) -> Dimension:
    if text.strip() == "?":
        raise GSRError("a unit of '?' is not supported: every variable needs a unit")
    return _dimension(parse_text(text, GRAMMAR), text) if text.strip() else NONE


def _dimension(node: Node, text: str) -> Dimension:
    """Return the dimension of a syntax tree of units."""
    if node.kind == "number":
        return NONE
    if node.kind == "name":
        return _named(node.text, text)
    if node.kind in ("+", "-", "neg"):
        raise GSRError(f"the unit {text!r} cannot be read: a unit is a product of powers, no sum")
    base = _dimension(node.parts[0], text)
    if node.kind == "^":
        return base ** _exponent(node.parts[1], text)
    other = _dimension(node.parts[1], text)
    return base * other if node.kind == "*" else base / other


def _exponent(node: Node, text: str) -> Fraction:
    if node.kind == "neg":
        return -_exponent(node.parts[0], text)
    if node.kind == "/":
        above, below = (_exponent(part, text) for part in node.parts)
        if below == 0:
            raise GSRError(f"the unit {text!r} cannot be read: an exponent is divided by 0")
        return above / below
    shown = text[slice(*node.span)]
    if node.kind != "number" or len(node.text) > LONGEST_EXPONENT or "e" in node.text.lower():
        raise GSRError(f"the unit {text!r}: an exponent must be a short number, not {shown!r}")
    return Fraction(node.text)


def _number(value: Any) -> Fraction:
    """Return an exponent of a mapping."""
    is_text = isinstance(value, str) and len(value) <= LONGEST_EXPONENT and "e" not in value.lower()
    with suppress(ValueError, ArithmeticError):
        if is_text or (isinstance(value, Rational) and not isinstance(value, bool)):
            return Fraction(value)
        if isinstance(value, Real) and not isinstance(value, bool):
            return Fraction(float(value)).limit_denominator(1000)
    raise GSRError(f"the exponents of a unit are numbers, got {reprlib.repr(value)}")


@lru_cache(maxsize=1024)
def _known(name: str) -> Dimension | None:
    """Return the dimension of a name: as it is, with a prefix, or a long name in the plural."""
    if name in BASES:
        return Dimension({name: 1})
    for table in (PREFIXED, PLAIN, LONG):
        if name in table:
            return _read(table[name])
    for prefixes, table in ((PREFIXES, PREFIXED), (LONG_PREFIXES, LONG)):
        for prefix in prefixes:
            rest = name.removeprefix(prefix)
            if rest != name and rest in table:
                return _known(rest)
    singular = name.removesuffix("s")
    return _known(singular) if singular != name and len(singular) > 2 else None


def _named(name: str, text: str) -> Dimension:
    if name.startswith("["):
        own = name[1:-1].strip()
        if not own:
            raise GSRError(f"the unit {text!r} has brackets without a name")
        return Dimension({f"[{own}]": 1})
    found = _known(name)
    if found is None:
        raise GSRError(f"{name!r} in the unit {text!r} is not known; {_hint(name)}")
    return found


def _hint(name: str) -> str:
    letters = name.rstrip("0123456789")
    if letters != name and _known(letters) is not None:
        return f"did you mean {letters}^{name[len(letters) :]}?"
    known = [*PREFIXED, *PLAIN, *LONG, "kg", "km", "cm", "mm", "ms", "kHz", "MHz", "kPa", "kJ"]
    near = [each for each in known if each.lower() == name.lower()]
    near = near or get_close_matches(name, known, n=3, cutoff=0.6)
    meant = f"did you mean {' or '.join(map(repr, near))}? A" if near else "a"
    return f"{meant} unit of your own is written [{name}]"


# ---- the variables ----------------------------------------------------------------------------


def dimensions(
    units: Mapping[str, Any], feature_names: Sequence[str], target_name: str
) -> dict[str, Dimension]:
    """Return the dimension of each feature and of the target, which must all have a unit."""
    if not isinstance(units, Mapping):
        raise GSRError(f"units must be a mapping such as {{'x1': 'm', 'y': 's'}}, got {units!r}")
    names = [*feature_names, target_name]
    for name in units:
        if name not in names:
            hint = suggestion(name, names, otherwise_list=True)
            raise GSRError(f"units has {name!r}, which is no feature and not the target{hint}")
    missing = [name for name in names if name not in units]
    if missing:
        raise GSRError(
            f"every variable needs a unit ('1' if it has none), but units has none for"
            f" {', '.join(map(repr, missing))}"
        )
    found = {}
    for name in names:
        try:
            found[name] = parse(units[name])
        except GSRError as error:
            raise GSRError(f"units[{name!r}]: {error}") from None
    return found


def exponent_table(
    units: Mapping[str, Any], feature_names: Sequence[str], target_name: str
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the exponents of all variables over the base dimensions that they use."""
    found = dimensions(units, feature_names, target_name)
    bases = tuple(sorted({base for each in found.values() for base in each}, key=_place))
    table = np.array([[float(each.get(b, 0)) for b in bases] for each in found.values()])
    table = table.reshape(len(found), len(bases))
    return table[:-1], table[-1], bases


# ---- laws ------------------------------------------------------------------------------------


def check(
    equation: Equation, units: Mapping[str, Any], constants_with_units: bool = True
) -> list[str]:
    """Return where a law breaks its units, in words; nothing if it is consistent.

    Fitted constants (coefficients, and weights inside arguments other than 1) may have any unit;
    without `constants_with_units` they have none, and all terms must have the same unit.
    """
    known = dimensions(units, equation.feature_names, equation.target_name)
    sides = (
        (equation.psi, equation.beta, equation.target_library, (equation.target_name,)),
        (equation.phi, equation.alpha, equation.library, equation.feature_names),
    )
    broken: list[str] = []
    terms: list[tuple[str, Dimension]] = []
    for matrices, coefficients, library, given in sides:
        algebra = _Dimensions(library, {name: known[name] for name in given}, constants_with_units)
        for matrix in (m for m, c in zip(matrices, coefficients, strict=True) if c):
            shown, found = algebra.term(matrix)
            terms += [(shown, found)] if found is not None else []
        broken += algebra.broken
    others = [] if constants_with_units else [t for t in terms if t[1] != terms[0][1]]
    broken += [_differ("", _Clash(terms[0], other)) for other in others]
    return list(dict.fromkeys(broken))


class _Clash(NamedTuple):
    """Two parts of a sum, as text, whose dimensions differ."""

    first: tuple[str, Dimension]
    other: tuple[str, Dimension]


def _differ(where: str, clash: _Clash) -> str:
    first, other = (f"{shown} has {_of(dimension)}" for shown, dimension in clash)
    return f"{where}{first}, but {other}"


def _of(dimension: Dimension) -> str:
    return f"the unit {dimension}" if dimension else "no unit"


#: None: the value may have any dimension. A clash is named by the row that its sum is in.
_Found = Dimension | _Clash | None


class _Dimensions(Algebra[_Found]):
    """Finds the dimensions of one side's terms, and what is `broken` on the way to them."""

    def __init__(
        self, library: Library, given: Mapping[str, Dimension], free_constants: bool
    ) -> None:
        names, self.given = [*given], [*given.values()]
        self.library, self.free_constants = library, free_constants
        self.writer = Writer(library, lambda v: names[v - 1], ())
        self.broken: list[str] = []

    def term(self, matrix: Matrix) -> tuple[str, Dimension | None]:
        """Return a basis function as text, and its dimension."""
        product = factors(matrix, self.library)
        shown = self.writer.basis_function(product) if product else "1"
        return shown, _product([(fold(row, self), 1) for row in product])

    def variable(self, v: int) -> Dimension:
        return self.given[v - 1]

    def one(self) -> Dimension:
        return NONE

    def product(self, argument: Argument, parts: Sequence[_Found]) -> Dimension | None:
        times = (int(times) for _, times in argument.parts)
        return _product(list(zip(parts, times, strict=True)))

    def total(self, argument: Argument, parts: Sequence[_Found]) -> _Found:
        fixed = None
        for part, (base, times) in zip(parts, argument.parts, strict=True):
            weighted = isinstance(times, float) and times != 1.0
            if not isinstance(part, Dimension) or (weighted and self.free_constants):
                continue
            mine = (self.writer.operand(base), part)
            fixed = fixed or mine
            if part != fixed[1]:
                return _Clash(fixed, mine)
        return fixed[1] if fixed else None

    def call(self, row: Row, argument: _Found) -> Dimension | None:
        if isinstance(argument, _Clash):
            self.broken.append(_differ(f"{self.writer.basis_function([row])}: ", argument))
            argument = None
        power = POWERS.get(self.library.names[row.code])
        if self.library.traits[row.code].keeps_unit:
            power = Fraction(1)
        if power is not None:
            return None if argument is None else argument ** (-power if row.reciprocal else power)
        if argument:
            shown = self.writer.basis_function([Row(row.code, row.argument)])
            self.broken.append(f"{shown}: the argument has {_of(argument)}")
        return NONE


def _product(parts: Sequence[tuple[_Found, int]]) -> Dimension | None:
    """Return the dimension of a product of powers."""
    total = NONE
    for part, times in parts:
        if not isinstance(part, Dimension):
            return None
        total = total * part**times
    return total
