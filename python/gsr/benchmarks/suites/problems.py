"""The 67 problems: Nguyen, Jin, Neat, Livermore and SymSet (appendix C of the paper).

The printed libraries name arithmetic operators, constants and functions. Only the functions
are transformations: sums and products are part of the encoding, coefficients are real and
division is not in the method. So L_x is {1, identity} and the printed functions, and L_y is
L_x without the trigonometric ones.
"""

from __future__ import annotations

import re

from gsr.benchmarks.suites.problem import Problem
from gsr.benchmarks.suites.sampling import Grid, Lattice, Sampling, Uniform

SUITES = ("nguyen", "jin", "neat", "livermore", "symset")

ORDER = (
    "one",
    "identity",
    "inverse",
    "square",
    "cube",
    "sqrt",
    "cos",
    "sin",
    "tan",
    "tanh",
    "exp",
    "exp_neg",
    "ln",
)
TRIGONOMETRIC = {"cos", "sin", "tan"}

L0 = {"cos", "sin", "exp", "ln"}
JIN = L0 - {"ln"} | {"square", "cube"}


def _problem(
    name: str,
    expression: str,
    sampling: Sampling,
    functions: set[str] = L0,
    *,
    n_psi: int = 1,
    note: str = "",
    test: Sampling | None = None,
) -> Problem:
    allowed = {"one", "identity"} | functions
    library = tuple(each for each in ORDER if each in allowed)
    return Problem(
        suite=name.partition("-")[0].lower(),
        name=name,
        expression=expression,
        variables=tuple(sorted(set(re.findall(r"x\d", expression)))),
        sampling=sampling,
        library=library,
        target_library=tuple(each for each in library if each not in TRIGONOMETRIC),
        n_psi=n_psi,
        note=note,
        test_sampling=test,
    )


def _polynomial(degree: int) -> str:
    return " + ".join(f"x1**{power}" for power in range(degree, 1, -1)) + " + x1"


U1 = Uniform(-1, 1, 20)
U01 = Uniform(0, 1, 20)
U02 = Uniform(0, 2, 20)
U04 = Uniform(0, 4, 20)

NGUYEN_12 = "x1**4 - x1**3 + Rational(1,2)*x2**2 - x2"

NGUYEN = (
    _problem("Nguyen-1", _polynomial(3), U1),
    _problem("Nguyen-2", _polynomial(4), U1),
    _problem("Nguyen-3", _polynomial(5), U1),
    _problem("Nguyen-4", _polynomial(6), U1),
    _problem("Nguyen-5", "sin(x1**2)*cos(x1) - 1", U1),
    _problem("Nguyen-6", "sin(x1) + sin(x1 + x1**2)", U1),
    _problem("Nguyen-7", "log(x1 + 1) + log(x1**2 + 1)", U02),
    _problem("Nguyen-8", "sqrt(x1)", U04),
    _problem("Nguyen-9", "sin(x1) + sin(x2**2)", U01),
    _problem("Nguyen-10", "2*sin(x1)*cos(x2)", U01),
    _problem("Nguyen-11", "x1**x2", U01),
    _problem("Nguyen-12", NGUYEN_12, U01),
    _problem("Nguyen-12*", NGUYEN_12, Uniform(0, 10, 20)),
)


def _jin(number: int, expression: str) -> Problem:
    return _problem(f"Jin-{number}", expression, Uniform(-3, 3, 100), JIN, test=Uniform(-3, 3, 30))


JIN_PROBLEMS = (
    _jin(
        1,
        "Rational(5,2)*x1**4 - Rational(13,10)*x1**3 + Rational(1,2)*x2**2 - Rational(17,10)*x2",
    ),
    _jin(2, "8*x1**2 + 8*x2**3 - 15"),
    _jin(
        3,
        "Rational(1,5)*x1**3 + Rational(1,2)*x2**3 - Rational(6,5)*x2 - Rational(1,2)*x1",
    ),
    _jin(4, "Rational(3,2)*exp(x1) + 5*cos(x2)"),
    _jin(5, "6*sin(x1)*cos(x2)"),
    _jin(6, "Rational(27,20)*x1*x2 + Rational(11,2)*sin((x1 - 1)*(x2 - 1))"),
)

NEAT = (
    _problem("Neat-1", _polynomial(4), U1),
    _problem("Neat-2", _polynomial(5), U1),
    _problem("Neat-3", "sin(x1**2)*cos(x1) - 1", U1),
    _problem("Neat-4", "log(x1 + 1) + log(x1**2 + 1)", U02),
    _problem("Neat-5", "2*sin(x1)*cos(x2)", Uniform(-1, 1, 100)),
    _problem(
        "Neat-6",
        "harmonic(x1)",
        Grid(1, 50, 50),
        {"inverse", "sqrt"},
        test=Grid(1, 120, 120),
        note="The printed negation adds nothing: coefficients have a sign.",
    ),
    _problem(
        "Neat-7",
        "2 - Rational(21,10)*cos(Rational(49,5)*x1)*sin(Rational(13,10)*x2)",
        Lattice(-50, 50, 100_000),
        L0 | {"tan", "tanh", "square", "cube", "sqrt"},
        note=(
            "E(-50,50,1e5) for each of two variables would be 1e10 rows: taken as 1e5 rows"
            " in which each variable takes each of its 1e5 values once."
        ),
    ),
    _problem(
        "Neat-8",
        "exp(-(x1 - 1)**2)/(Rational(6,5) + (x2 - Rational(5,2))**2)",
        Uniform(0.3, 4, 100),
        {"exp", "exp_neg", "square"},
    ),
    _problem(
        "Neat-9",
        "x1**4/(x1**4 + 1) + x2**4/(x2**4 + 1)",
        Grid(-5, 5, 21),
        note=(
            "Printed as 1/(1+x^-4), which is undefined at 0: written as x^4/(x^4+1), its limit."
            " E(-5,5,21) is taken as the full grid of 21 x 21 rows."
        ),
    ),
)

LIVERMORE = (
    _problem(
        "Livermore-1",
        "Rational(1,3) + x1 + sin(x1**2)",
        Uniform(-10, 10, 1000),
        note="The library is the printed one; the paper left exp out of it in its own runs.",
    ),
    _problem("Livermore-2", "sin(x1**2)*cos(x1) - 2", U1),
    _problem("Livermore-3", "sin(x1**3)*cos(x1**2) - 1", U1),
    _problem("Livermore-4", "log(x1 + 1) + log(x1**2 + 1) + log(x1)", U02),
    _problem("Livermore-5", "x1**4 - x1**3 + x1**2 - x2", U01),
    _problem("Livermore-6", "4*x1**4 + 3*x1**3 + 2*x1**2 + x1", U1),
    _problem("Livermore-7", "sinh(x1)", U1),
    _problem("Livermore-8", "cosh(x1)", U1),
    _problem("Livermore-9", _polynomial(9), U1),
    _problem("Livermore-10", "6*sin(x1)*cos(x2)", U01),
    _problem("Livermore-11", "x1**2*x1**2/(x1 + x2)", Uniform(-1, 1, 50)),
    _problem("Livermore-12", "x1**5/x2**3", Uniform(-1, 1, 50)),
    _problem("Livermore-13", "x1**Rational(1,3)", U04),
    _problem("Livermore-14", "x1**3 + x1**2 + x1 + sin(x1) + sin(x1**2)", U1),
    _problem("Livermore-15", "x1**Rational(1,5)", U04),
    _problem("Livermore-16", "x1**Rational(2,5)", U04),
    _problem("Livermore-17", "4*sin(x1)*cos(x2)", U01),
    _problem("Livermore-18", "sin(x1**2)*cos(x1) - 5", U1),
    _problem("Livermore-19", "x1**5 + x1**4 + x1**2 + x1", U1),
    _problem("Livermore-20", "exp(-x1**2)", U1),
    _problem("Livermore-21", _polynomial(8), U1),
    _problem("Livermore-22", "exp(-Rational(1,2)*x1**2)", U1),
)

SYMSET = (
    _problem("SymSet-1", "x1*sinh(x1) - Rational(4,5)", U1, L0 - {"ln"} | {"exp_neg"}),
    _problem("SymSet-2", "1/(x1**5 - 3*x1**4 - Rational(14,5)*x1 + 5)", U1, L0 | {"inverse"}),
    _problem(
        "SymSet-3",
        "(x1**4 - Rational(6,5)*x1**2 + Rational(23,2))**Rational(1,3)",
        U1,
        L0 | {"square", "cube"},
    ),
    _problem(
        "SymSet-4",
        "Rational(4,5) - cos(x1) + Rational(21,5)*exp(x1)*sin(x1**2)",
        Uniform(-3, 3, 20),
    ),
    _problem(
        "SymSet-5",
        "Rational(9,2)*x1**2 + x1*x2**3 - Rational(17,10)*x2 - Rational(31,10)",
        U1,
    ),
    _problem("SymSet-6", "5/(3*x1 - x2**3)", U1, L0 | {"inverse"}),
    _problem("SymSet-7", "log(x1**3 + 4*x1*x2)", U02),
    _problem(
        "SymSet-8",
        "sqrt(5*x1**5 + 14*x1**3*x2**4 - 2*x2 + 7)",
        U1,
        L0 | {"square", "cube"},
        note="Rows where the root would be of a negative number are drawn again.",
    ),
    _problem("SymSet-9", "(2*x1 + x2)**Rational(-2,3)", U02),
    _problem("SymSet-10", "Rational(3,2)*cos(x1)*log(x1*x2) - Rational(5,2)", U01),
    _problem(
        "SymSet-11",
        "sqrt(2*cos(x1) + 30*exp(x2)) + 4",
        U1,
        L0 | {"square"},
        n_psi=2,
        note="The only problem with two basis functions of y.",
    ),
    _problem(
        "SymSet-12",
        "Rational(2,5)*x1**4 + Rational(31,5)*x2 - Rational(7,2)*x1*x3 - Rational(9,2)",
        U1,
    ),
    _problem("SymSet-13", "2*x2/(x1 + x3)", U01),
    _problem("SymSet-14", "x1*x2*x3/(x1 + x2 + x3)", U02),
    _problem("SymSet-15", "(x1 + x2)**x3", U01),
    _problem("SymSet-16", "exp(Rational(13,5)*x1 - log(x2) + Rational(49,5)*cos(x3))", U01),
    _problem("SymSet-17", "log(Rational(1,5)*exp(x1 + x2) + Rational(1,2)*cos(x3**2))", U01),
)

PROBLEMS: tuple[Problem, ...] = NGUYEN + JIN_PROBLEMS + NEAT + LIVERMORE + SYMSET
