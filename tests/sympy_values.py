"""Formulas as text and as SymPy expressions, with their values over a table of three features."""

import numpy as np
import sympy

SYMBOLS = [sympy.Symbol(f"x{v}", real=True) for v in (1, 2, 3)]


def parsed_text(written):
    return sympy.parse_expr(
        written,
        {symbol.name: symbol for symbol in SYMBOLS}
        | {"arctan": sympy.atan, "cbrt": lambda t: sympy.sign(t) * sympy.cbrt(sympy.Abs(t))},
        (
            *sympy.parsing.sympy_parser.standard_transformations,
            sympy.parsing.sympy_parser.convert_xor,
            sympy.parsing.sympy_parser.implicit_multiplication,
        ),
    )


def values(expression, X):
    with np.errstate(all="ignore"):
        found = sympy.lambdify(SYMBOLS, expression, "numpy")(*X.T.astype(complex))
    return np.broadcast_to(found, len(X))
