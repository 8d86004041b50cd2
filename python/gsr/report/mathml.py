"""Laws as MathML, which browsers typeset without help."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from gsr.encoding.sympy_forms import NAMES, with_cube_roots
from gsr.encoding.writing import number as shortened

if TYPE_CHECKING:
    from gsr.equation import Equation

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
MINUS = "\N{MINUS SIGN}"
#: Between factors: nothing is seen but a thin space, or a dot before a digit.
TIMES = '<mo lspace="0.14em" rspace="0.14em">\N{INVISIBLE TIMES}</mo>'
DOT = "<mo>\N{DOT OPERATOR}</mo>"
APPLY = "<mo>\N{FUNCTION APPLICATION}</mo>"
#: What SymPy calls otherwise than books do.
FUNCTIONS = NAMES | {
    "asin": "arcsin", "acos": "arccos", "asinh": "arsinh", "acosh": "arcosh", "atanh": "artanh",
    "sign": "sgn", "Max": "max", "Min": "min",
}  # fmt: skip
CONSTANTS = {"Pi": "π", "Exp1": "e", "ImaginaryUnit": "i"}
INDEXED = re.compile(r"([A-Za-z])([0-9]+)")


def lines(equation: Equation) -> list[str]:
    """Return a law as formulas, one for each term, between which a line may be broken."""
    left, right = (side(terms) for terms in equation.terms())
    return _broken(left, right)


def solved(name: str, expression: Any) -> list[str]:
    """Return name = expression likewise; the expression is SymPy's."""
    terms = [(1.0, term) for term in _terms(with_cube_roots(expression))]
    return _broken([symbol(name)], side(terms))


def term(expression: Any) -> str:
    """Return a SymPy expression as a formula."""
    return _formula(_any(with_cube_roots(expression)))


def side(terms: Iterable[tuple[float, Any]]) -> list[str]:
    """Return a sum of (coefficient, SymPy expression), each with its sign."""
    written: list[str] = []
    for coefficient, expression in terms:
        expression = with_cube_roots(expression)
        factor, rest = expression.as_coeff_Mul()
        value = coefficient
        if factor.is_Float:
            value, expression = coefficient * float(factor), rest
        elif factor.is_negative:
            value, expression = -coefficient, -expression
        size = shortened(abs(value))
        if size == "0":
            continue
        form = "infix" if written else "prefix"
        sign = MINUS if value < 0 else "+" if written else ""
        operator = f'<mo form="{form}">{sign}</mo>' if sign else ""
        written.append(operator + _product("" if size == "1" else size, expression))
    return written or ["<mn>0</mn>"]


def symbol(name: str) -> str:
    """Return a name: a letter as a variable, one with digits indexed, others upright.

    Names that could be misread in a formula are of the class ``odd``, for a page to set apart.
    """
    clean = "".join("\N{REPLACEMENT CHARACTER}" if _unseen(letter) else letter for letter in name)
    indexed = INDEXED.fullmatch(clean)
    if indexed:
        return f"<msub><mi>{indexed[1]}</mi><mn>{indexed[2]}</mn></msub>"
    if len(clean) == 1 and clean.isalpha():
        return f"<mi>{clean}</mi>"
    odd = "" if clean.isidentifier() else ' class="odd"'
    return f'<mi mathvariant="normal"{odd}>{escape(clean)}</mi>'


def _unseen(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _broken(left: Sequence[str], right: Sequence[str]) -> list[str]:
    *before, last = left
    first, *after = right
    return [_formula(part) for part in (*before, f'{last}<mo form="infix">=</mo>', first, *after)]


def _formula(content: str) -> str:
    return f'<math xmlns="{NAMESPACE}" displaystyle="true">{content}</math>'


# ---- expressions -------------------------------------------------------------------------------


def _any(e: Any) -> str:
    """Return an expression; what is not known is written as SymPy's text."""
    kind = type(e).__name__
    if e.is_Symbol:
        return symbol(e.name)
    if e.is_Rational or e.is_Float:
        return _number(e)
    if e.is_Add:
        return "".join(side((1.0, each) for each in _terms(e)))
    if e.is_Mul or e.is_Pow:
        return "".join(side([(1.0, e)]))
    if kind in CONSTANTS:
        return f"<mi>{CONSTANTS[kind]}</mi>"
    if kind == "exp":
        if _has_fraction(e.args[0]):  # too small to read above the line
            return _call(e)
        return f"<msup><mi>e</mi>{_row(_any(e.args[0]))}</msup>"
    if kind == "cbrt":
        return _root(e.args[0], 3)
    if kind == "Abs":
        return _fenced(_any(e.args[0]), "||")
    if e.is_Function:
        return _call(e)
    return f"<mtext>{escape(str(e))}</mtext>"


def _terms(e: Any) -> list[Any]:
    return list(e.as_ordered_terms()) if e.is_Add else [e]


def _number(value: Any) -> str:
    """Return a number with six digits at most, or a fraction."""
    sign = f"<mo>{MINUS}</mo>" if value.is_negative else ""
    if value.is_Rational and not value.is_Integer:
        return f"{sign}<mfrac><mn>{abs(value.p)}</mn><mn>{value.q}</mn></mfrac>"
    return sign + _digits(str(abs(value)) if value.is_Integer else shortened(abs(float(value))))


def _digits(shown: str) -> str:
    mantissa, _, exponent = shown.partition("e")
    if not exponent:
        return f"<mn>{mantissa}</mn>"
    sign = f"<mo>{MINUS}</mo>" if exponent.startswith("-") else ""
    power = _row(f"{sign}<mn>{exponent.lstrip('-')}</mn>")
    return f"<mn>{mantissa}</mn><mo>×</mo><msup><mn>10</mn>{power}</msup>"


def _product(size: str, e: Any) -> str:
    """Return a number times an expression, as a fraction where something is divided by."""
    above: list[Any] = [_digits(size)] if size else []
    below: list[Any] = []
    for factor in e.as_ordered_factors():
        if factor.is_Rational:
            above += [_digits(str(factor.p))] if factor.p != 1 else []
            below += [_digits(str(factor.q))] if factor.q != 1 else []
        elif factor.is_Float:
            above += [_number(factor)] if shortened(float(factor)) != "1" else []
        elif factor.is_Pow and factor.exp.is_number and factor.exp.is_negative:
            below.append(factor.base**-factor.exp)
        else:
            above.append(factor)
    if not below:
        return _factors(above) if above else "<mn>1</mn>"
    parts = (_row(_lone(part[0]) if len(part) == 1 else _factors(part)) for part in (above, below))
    return f"<mfrac>{''.join(parts)}</mfrac>".replace("<mfrac><mrow></mrow>", "<mfrac><mn>1</mn>")


def _factors(factors: Sequence[Any]) -> str:
    """Return a product; sums are put in brackets."""
    joined = ""
    for factor in factors:
        is_sum = not isinstance(factor, str) and factor.is_Add
        shown = _fenced(_any(factor), "()") if is_sum else _lone(factor)
        between = DOT if re.match(r"(<mrow>|<msup>)*<mn>", shown) else TIMES
        joined += (between if joined else "") + shown
    return joined


def _lone(factor: Any) -> str:
    """Return what stands alone between brackets, or needs none."""
    if isinstance(factor, str):
        return factor
    return _power(factor.base, factor.exp) if factor.is_Pow else _any(factor)


def _power(base: Any, exponent: Any) -> str:
    if exponent.is_Rational and exponent.p == 1:
        return _root(base, exponent.q)
    raised = _row(_raised(exponent))
    called = base.is_Function and type(base).__name__ not in ("exp", "Abs", "cbrt")
    if called and exponent.is_Integer and exponent > 1:
        return _call(base, raised)
    if base.is_Symbol and INDEXED.fullmatch(base.name):
        return (
            symbol(base.name)
            .replace("msub>", "msubsup>")
            .replace("</msubsup>", f"{raised}</msubsup>")
        )
    closed = base.is_Symbol or type(base).__name__ == "Abs" or _is_plain_number(base)
    shown = _row(_any(base)) if closed else _fenced(_any(base), "()")
    return f"<msup>{shown}{raised}</msup>"


def _root(inside: Any, n: int) -> str:
    shown = _row(_any(inside))
    return f"<msqrt>{shown}</msqrt>" if n == 2 else f"<mroot>{shown}<mn>{n}</mn></mroot>"


def _raised(exponent: Any) -> str:
    """Return an exponent; a fraction is written in one line."""
    if exponent.is_Rational and not exponent.is_Integer:
        slash = '<mo lspace="0" rspace="0">/</mo>'
        sign = f"<mo>{MINUS}</mo>" if exponent.is_negative else ""
        return f"{sign}<mn>{abs(exponent.p)}</mn>{slash}<mn>{exponent.q}</mn>"
    return _any(exponent)


def _has_fraction(e: Any) -> bool:
    return any(
        (part.is_Rational and part.q != 1) or (part.is_Pow and part.exp.is_negative)
        for part in (e, *e.args, *(inner for each in e.args for inner in each.args))
    )


def _is_plain_number(e: Any) -> bool:
    return bool(e.is_Integer and e.is_nonnegative) or type(e).__name__ in CONSTANTS


def _call(e: Any, raised: str = "") -> str:
    """Return a function of its arguments; ln|t| has bars for brackets."""
    written = type(e).__name__
    name = f'<mi mathvariant="normal">{escape(FUNCTIONS.get(written, written))}</mi>'
    if raised:
        name = f"<msup>{name}{raised}</msup>"
    if written == "log" and type(e.args[0]).__name__ == "Abs":
        return f"{name}{APPLY}{_any(e.args[0])}"
    return f"{name}{APPLY}{_fenced('<mo>,</mo>'.join(map(_any, e.args)), '()')}"


def _fenced(content: str, ends: str) -> str:
    left, right = (f'<mo fence="true" form="{f}">' for f in ("prefix", "postfix"))
    return f"<mrow>{left}{ends[0]}</mo>{_row(content)}{right}{ends[1]}</mo></mrow>"


def _row(content: str) -> str:
    return f"<mrow>{content}</mrow>"
