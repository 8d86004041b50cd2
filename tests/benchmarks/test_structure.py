"""Whether a law that was fitted to noisy data has the structure of the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import sympy

from gsr.benchmarks import structure
from gsr.benchmarks.suites import get

Y, X1, X2, X3 = SYMBOLS = sympy.symbols("y x1:4", real=True)
sin, cos, exp, log = sympy.sin, sympy.cos, sympy.exp, sympy.log


@dataclass
class Law:
    target: list[tuple[float, Any]]
    features: list[tuple[float, Any]]

    def terms(self) -> tuple[Any, Any]:
        return self.target, self.features


def verdict(name: str, target: Any, *features: tuple[float, Any]) -> str:
    sides = target if isinstance(target, list) else [(1.0, target)]
    return structure.compare(Law(sides, list(features)), get(name)).verdict


CUBIC = ((1.02, X1**3), (0.97, X1**2), (1.01, X1))


def test_coefficients_may_be_off() -> None:
    assert verdict("Nguyen-1", Y, *CUBIC) == "same"
    assert structure.compare(Law([(2.0, Y)], list(CUBIC)), get("Nguyen-1")).same


@pytest.mark.parametrize(
    ("extra", "expected"),
    [((0.01, sympy.Integer(1)), "superfluous"), ((-1e-3, sin(X1)), "superfluous")],
)
def test_a_term_too_many_is_superfluous(extra: tuple[float, Any], expected: str) -> None:
    assert verdict("Nguyen-1", Y, *CUBIC, extra) == expected


def test_a_term_missing_is_inexact() -> None:
    assert verdict("Nguyen-1", Y, *CUBIC[:2]) == "inexact"


def test_a_good_approximation_is_inexact() -> None:
    terms = [(1.0, X1**k) for k in (1, 3, 5, 7)]
    assert verdict("Livermore-7", Y, *terms) == "inexact"


@pytest.mark.parametrize(
    ("name", "target", "features"),
    [
        ("Nguyen-7", exp(Y), [(1.1, sympy.Integer(1)), *CUBIC]),
        ("SymSet-11", [(1.0, Y**2), (-8.1, Y)],
         [(2.0, cos(X1)), (30.5, exp(X2)), (-16.0, sympy.Integer(1))]),
        ("SymSet-14", log(sympy.Abs(Y)),
         [(1.01, log(sympy.Abs(X1 * X2 * X3))), (-0.99, log(X1 + X2 + X3))]),
    ],
)  # fmt: skip
def test_transformed_targets(name: str, target: Any, features: Any) -> None:
    assert verdict(name, target, *features) == "same"


def test_constants_inside_arguments_are_fitted_again() -> None:
    wave = cos(sympy.Float(9.8004) * X1) * sin(sympy.Float(1.2997) * X2)
    assert verdict("Neat-7", Y, (2.1, sympy.Integer(1)), (-2.0, wave)) == "same"
    bell = exp(-((X1 - sympy.Float(1.1)) ** 2)) / (1.3 + (X2 - sympy.Float(2.4)) ** 2)
    assert verdict("Neat-8", Y, (1.02, bell)) == "same"


def test_a_constant_inside_that_should_not_be_there_is_superfluous() -> None:
    shifted = sin(sympy.Float(1.01) * X1 + sympy.Float(0.02))
    terms = (1.0, shifted), (1.0, sin(X2**2))
    assert verdict("Nguyen-9", Y, *terms) == "superfluous"


def test_a_law_without_values_is_undefined() -> None:
    assert verdict("Nguyen-9", Y, (1.0, log(X1 - 2))) == "undefined"


def test_exact_in_double_precision_only_is_accidental() -> None:
    terms = [(1.0, X1**k) for k in range(1, 16, 2)]
    assert verdict("Livermore-7", Y, *terms) in ("accidental", "superfluous")
