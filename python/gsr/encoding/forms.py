"""SymPy forms that stand for one function: the cube root of real numbers, and bars around ln."""

from __future__ import annotations

from functools import cache
from typing import Any

from gsr.transformation import BUILTINS, apply_symbolic


@cache
def cube_root() -> Any:
    """Return the real cube root as one SymPy function, which is not taken apart."""
    import sympy

    class cbrt(sympy.Function):  # type: ignore[misc]  # noqa: N801
        nargs = 1
        is_real = True

        def _latex(self, printer: Any, exp: str | None = None) -> str:
            root = rf"\sqrt[3]{{{printer._print(self.args[0])}}}"
            return root if exp is None else rf"\left({root}\right)^{{{exp}}}"

    return cbrt


def with_cube_roots(expression: Any) -> Any:
    """Return an expression with each sign(t) |t|^(1/3) as one function."""
    import sympy

    if not expression.has(sympy.sign):
        return expression
    roots = sympy.Integer(1)
    if expression.is_Mul or expression.is_Pow:
        roots, expression = _split(expression)
    args = tuple(map(with_cube_roots, expression.args))
    return roots * (expression.func(*args) if args != expression.args else expression)


def without_cube_roots(expression: Any) -> Any:
    """Return an expression with each cube root as the table has it."""
    return expression.replace(cube_root(), of_reals)


def of_reals(argument: Any) -> Any:
    """Return the real cube root of an expression in plain SymPy functions."""
    return apply_symbolic(BUILTINS["cbrt"].sympy, argument)


def _split(product: Any) -> tuple[Any, Any]:
    """Return the cube roots in a product, and the rest; no roots unless the signs go away."""
    import sympy

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
    import sympy

    found = []
    for factor in sympy.Mul.make_args(product):
        base, power = factor.as_base_exp()
        sign = base.args[0] if isinstance(base, sympy.Abs) else base
        if isinstance(sign, sympy.sign) and sympy.sign(sign.args[0]) == sign and power.is_Rational:
            found.append((base, power))
    return found


def _thirds(product: Any) -> set[Any]:
    """Return the powers of |t| in a product whose exponents have denominators divisible by 3."""
    import sympy

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
    import sympy

    powers = [factor.as_base_exp() for factor in sympy.Mul.make_args(expression)]
    bases = [base.args[0] if isinstance(base, sympy.Abs) else base for base, _ in powers]
    return sympy.Mul(*(base**power for base, (_, power) in zip(bases, powers, strict=True)))
