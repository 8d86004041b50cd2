"""Formulas given as text, whose constants can be fitted again in double precision."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

EVALUATIONS = 25
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "exp", "log", "sqrt", "square")},
    "abs": np.abs,
}


class Formula:
    """An expression in columns X1, X2, ... with the numbers in it as parameters.

    Parameters
    ----------
    text : str
        In Python's notation or with ``^`` for powers. Whole exponents are not parameters.
    """

    def __init__(self, text: str) -> None:
        tree = ast.parse(text.replace("^", "**"), mode="eval")
        collector = _Numbers()
        self._code = compile(ast.fix_missing_locations(collector.visit(tree)), "<formula>", "eval")
        self.parameters: Array = np.array(collector.values)

    def __call__(self, X: Array, parameters: Array | None = None) -> Array:
        """Evaluate the formula."""
        columns = {f"X{k + 1}": column for k, column in enumerate(X.T)}
        chosen = self.parameters if parameters is None else parameters
        with np.errstate(all="ignore"):
            values = eval(self._code, {"__builtins__": {}, **FUNCTIONS, **columns, "p": chosen})
        return np.asarray(np.broadcast_to(values, len(X)), dtype=float)

    def fitted(self, X: Array, y: Array) -> Callable[[Array], Array]:
        """Return the formula with slope, intercept and parameters fitted to data."""
        from scipy.optimize import least_squares

        def scaled(values: Array, line: Array) -> Array:
            return np.asarray(line[0] + line[1] * values, dtype=float)

        def line(values: Array) -> Array:
            table = np.column_stack([np.ones(len(values)), values])
            return np.asarray(np.linalg.lstsq(table, y, rcond=None)[0])

        def residuals(parameters: Array) -> Array:
            values = np.nan_to_num(self(X, parameters), posinf=1e6, neginf=-1e6)
            return scaled(values, line(values)) - y

        chosen = self.parameters
        if 0 < len(chosen) <= len(y):
            tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
            calls = EVALUATIONS * (len(chosen) + 1)
            found = least_squares(residuals, chosen, method="lm", max_nfev=calls, **tight)
            chosen = np.asarray(found.x)
        final = line(np.nan_to_num(self(X, chosen)))
        return lambda table: scaled(self(table, chosen), final)


class _Numbers(ast.NodeTransformer):
    """Replaces the numbers of an expression by p[0], p[1], ..."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant):
            node.left = self.visit(node.left)
            return node
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> Any:
        self.values.append(float(ast.literal_eval(node)))
        return ast.parse(f"p[{len(self.values) - 1}]", mode="eval").body
