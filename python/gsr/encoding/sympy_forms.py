"""SymPy expressions: cube roots of real numbers as one function, and text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from gsr.encoding.writing import (
    fraction,
    is_closed,
    is_number,
    number,
    positive_first,
    shown_name,
    weighted_sum,
)
from gsr.lazy import sympy
from gsr.transformation import BUILTINS, apply_symbolic

#: What the table calls functions that SymPy calls otherwise.
NAMES = {
    t.sympy.removesuffix("({})"): t.text.removesuffix("({})")
    for t in BUILTINS.values()
    if t.sympy.count("(") == 1 and t.sympy.endswith("({})") and t.sympy != t.text
}
Terms = list[tuple[float, Callable[[str], str]]]


@cache
def cube_root() -> Any:
    """Return the real cube root as one SymPy function, which is not taken apart."""

    class cbrt(sympy.Function):  # type: ignore[misc]  # noqa: N801
        nargs = 1
        is_real = True

        def _latex(self, printer: Any, exp: str | None = None) -> str:
            root = rf"\sqrt[3]{{{printer._print(self.args[0])}}}"
            return root if exp is None else rf"\left({root}\right)^{{{exp}}}"

    return cbrt


def with_cube_roots(expression: Any) -> Any:
    """Return an expression with each sign(t) |t|^(1/3) as one function."""
    if not expression.has(sympy.sign):
        return expression
    roots = sympy.Integer(1)
    if expression.is_Mul or expression.is_Pow:
        roots, expression = _split_roots(expression)
    args = tuple(map(with_cube_roots, expression.args))
    return roots * (expression.func(*args) if args != expression.args else expression)


def without_cube_roots(expression: Any) -> Any:
    """Return an expression with each cube root as the table has it."""
    return expression.replace(cube_root(), of_reals)


def of_reals(argument: Any) -> Any:
    """Return the real cube root of an expression in plain SymPy functions."""
    return apply_symbolic(BUILTINS["cbrt"].sympy, argument)


def _split_roots(product: Any) -> tuple[Any, Any]:
    """Return the cube roots in a product, and the rest; no roots unless the signs go away."""
    roots, rest = sympy.Integer(1), product
    while signs := _signs(rest):
        # The longest: others may be what is left of roots inside it.
        sign, power = max(signs, key=lambda each: each[0].count_ops())
        (inside,) = sign.args if isinstance(sign, sympy.sign) else sign.args[0].args
        # The same for sign(t) and |sign(t)|.
        root, form = (
            sign.xreplace({sympy.sign(inside): value})
            for value in (cube_root()(with_cube_roots(inside)), of_reals(inside))
        )
        roots *= root**power
        rest /= form**power
    if _thirds(rest) - _thirds(product):
        return sympy.Integer(1), product
    return roots, rest


def _signs(product: Any) -> list[tuple[Any, Any]]:
    """Return the powers of sign(t) and |sign(t)| in a product, if SymPy leaves them as they are."""
    found = []
    for factor in sympy.Mul.make_args(product):
        base, power = factor.as_base_exp()
        sign = base.args[0] if isinstance(base, sympy.Abs) else base
        if isinstance(sign, sympy.sign) and sympy.sign(sign.args[0]) == sign and power.is_Rational:
            found.append((base, power))
    return found


def _thirds(product: Any) -> set[Any]:
    """Return the powers of |t| in a product whose exponents have denominators divisible by 3."""
    return {
        factor
        for factor in sympy.Mul.make_args(product)
        if factor.is_Pow
        and isinstance(factor.base, sympy.Abs)
        and factor.exp.is_Rational
        and factor.exp.q % 3 == 0
    }


def without_bars(expression: Any) -> Any:
    """Return an argument of ln|t|, which has bars of its own."""
    powers = [factor.as_base_exp() for factor in sympy.Mul.make_args(expression)]
    bases = [base.args[0] if isinstance(base, sympy.Abs) else base for base, _ in powers]
    return sympy.Mul(*(base**power for base, (_, power) in zip(bases, powers, strict=True)))


def number_and_rest(expression: Any, variables: set[Any] | None = None) -> tuple[Any, Any]:
    """Return the number in front of an expression, and the rest; other symbols are numbers too."""
    symbols = expression.free_symbols
    symbols = symbols if variables is None else symbols & variables
    if not symbols:
        return expression, expression**0
    found: tuple[Any, Any] = expression.as_independent(*symbols, as_Add=False)
    return found


# ---- text --------------------------------------------------------------------------------------


def written(expression: Any) -> str:
    """Return an expression as text, such as ``2.5 x1^2/(x2 + 1)``, with six digits."""
    return _sum(sympy.Add.make_args(with_cube_roots(expression)))


def _sum(terms: Sequence[Any]) -> str:
    """Join terms; those of the same coefficient share it, and the constant stands last."""
    shared: dict[float, list[tuple[float, Any]]] = {}
    for term in sorted(terms, key=_place):
        value, rest = _split(term)
        size = abs(value)
        # Alone are whole numbers, and the constant.
        key = size if size % 1 and rest != 1 else -float(len(shared) + 1)
        shared.setdefault(key, []).append((value, rest))
    parts: Terms = [_part(group) for group in shared.values()]
    return weighted_sum(positive_first(parts, [value for value, _ in parts]))


def _part(group: Sequence[tuple[float, Any]]) -> tuple[float, Callable[[str], str]]:
    value, rest = group[0]
    if len(group) == 1:
        return value, partial(_product, rest)
    sign = 1.0 if any(each > 0 for each, _ in group) else -1.0
    ordered = sorted(group, key=lambda each: sign * each[0] < 0)
    inside: Terms = [(sign * each / abs(each), partial(_product, rest)) for each, rest in ordered]
    return sign * abs(value), partial(_bracketed, weighted_sum(inside))


def _bracketed(shown: str, size: str) -> str:
    return f"{size} ({shown})".strip()


def _place(term: Any) -> tuple[bool, int, str]:
    """Return where a term stands: long ones after short ones, constants at the end."""
    return term.is_number, term.count_ops(), str(term)


def _split(term: Any) -> tuple[float, Any]:
    """Return a number and what it multiplies; fractions are left to the product."""
    value, rest = term.as_coeff_Mul()
    if value.is_Rational and value.q != 1 and _endless(value.q):
        return float(value.p), rest * sympy.Rational(1, value.q)
    return float(value), rest


def _endless(denominator: int) -> bool:
    """Return whether a fraction has no short decimal form."""
    return 10**4 % int(denominator) != 0


def _product(expression: Any, size: str) -> str:
    above: list[tuple[bool, str]] = []
    below: list[str] = []
    if expression == 1:
        return size or "1"
    for factor in sympy.Mul.make_args(expression):
        if factor.is_Rational:
            above += [] if factor.p == 1 else [(False, str(factor.p))]
            below.append(str(factor.q))
            continue
        base, power = _base_and_power(factor)
        if power.is_number and power < 0:
            below.append(_power(base, -power))
        else:
            above.append((not (base.is_Symbol or base.is_Add), _power(base, power)))
    shown = [text for _, text in sorted(above, key=lambda each: each[0])]
    return fraction([size, *shown], below, any(map(_is_raised, below)))


def _is_raised(shown: str) -> bool:
    base, _, power = shown.rpartition("^")
    return bool(base) and is_closed(base) and (is_closed(power) or is_number(power))


def _base_and_power(factor: Any) -> tuple[Any, Any]:
    if isinstance(factor, sympy.exp):
        return factor, sympy.Integer(1)
    base, power = factor.as_base_exp()
    if base.is_Rational and base.p == 1 and base.q != 1:  # SymPy takes 2^-x for (1/2)^x
        return 1 / base, -power
    return base, power


def _power(base: Any, power: Any) -> str:
    if power == sympy.Rational(1, 2):
        return f"sqrt({written(base)})"
    shown = _factor(base)
    if power == 1:
        return shown
    exponent = _exponent(power)
    is_size = isinstance(base, sympy.Abs) and shown.count("|") == 2
    return f"{shown}^{exponent}" if is_closed(shown) or is_size else f"({shown})^{exponent}"


def _exponent(power: Any) -> str:
    if power.is_Rational:
        whole = power.q == 1 or not _endless(power.q)
        return number(float(power)) if whole and power > 0 else f"({power})"
    shown = number(float(power)) if power.is_Float else written(power)
    return shown if shown.isidentifier() or is_number(shown) else f"({shown})"


def _factor(base: Any) -> str:
    if base.is_Symbol:
        return shown_name(base.name)
    if base.is_Float or base.is_Integer:
        shown = number(float(base))
        return shown if is_number(shown) else f"({shown})"
    if isinstance(base, sympy.Abs):
        return _between_bars("", base.args[0])
    if isinstance(base, sympy.log) and isinstance(base.args[0], sympy.Abs):
        return _between_bars("ln", base.args[0].args[0])
    if base.is_Function:
        inside = ", ".join(written(argument) for argument in base.args)
        return f"{NAMES.get(base.func.__name__, base.func.__name__)}({inside})"
    return f"({written(base)})" if base.args else str(base)


def _between_bars(name: str, argument: Any) -> str:
    inside = written(argument)
    if "|" in inside:
        return f"{name or 'abs'}({'abs(' if name else ''}{inside}{')' if name else ''})"
    return f"{name}|{inside}|"
