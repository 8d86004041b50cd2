"""The verdict on a law: exact, undecided, accidental or different."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import mpmath
import pytest
import sympy

from gsr.benchmarks import recovery
from gsr.benchmarks.suites import ALL_PROBLEMS, get

SYMBOLS = {name: sympy.Symbol(name, real=True) for name in ("y", *(f"x{k}" for k in range(1, 10)))}
NAMES: dict[str, Any] = {
    **SYMBOLS,
    "x": SYMBOLS["x1"],
    "ln": lambda inside: sympy.log(sympy.Abs(inside)),
}


@dataclass
class Law:
    """An equation given as text, such as ``2*exp(y) = x1 + 3*x2``."""

    text: str

    def terms(self) -> tuple[list[tuple[float, Any]], list[tuple[float, Any]]]:
        left, right = (_terms(side) for side in self.text.split("="))
        return left, right


def _terms(side: str) -> list[tuple[float, Any]]:
    expression = sympy.expand_mul(sympy.sympify(side, locals=NAMES))
    symbols = SYMBOLS.values()
    pairs = (term.as_independent(*symbols) for term in sympy.Add.make_args(expression))
    return [(float(coefficient), basis) for coefficient, basis in pairs]


def verdict(name: str, text: str, **options: Any) -> recovery.Recovery:
    return recovery.check(Law(text), get(name), **options)


PRINTED = {
    "Nguyen-1": "-0.558*y = -0.1395*x**3 - 0.1395*x**3 - 0.2697*x - 0.1395*x**3 - 0.2697*x"
    " - 0.2697*x + 0.0651*4*x + 0.0651*4*x - 0.1395*x**3 - 0.2697*x - 0.558*x**2",
    "Nguyen-2": "-0.58554*y = -0.09759*x*2*x - 0.58554*x - 0.19518*x**3 - 0.09759*2*x*x"
    " - 0.19518*x**3 - 0.29277*x**4 - 0.29277*x**4 - 0.09759*2*x*x - 0.19518*x**3",
    "Nguyen-3": "0.5*y = 0.125*x + 0.25*x**4 + 0.125*x**2 + 0.5*x**3 + 0.125*x + 0.5*x**5"
    " + 0.125*x + 0.125*x**2 + 0.125*x + 0.125*x**2 + 0.125*x**2 + 0.25*x**4",
    "Nguyen-4": "-0.48318*y = -0.096636*x - 0.48318*x**5 - 0.16106*x**2 - 0.16106*x**2"
    " - 0.24159*x**3 - 0.096636*x - 0.48318*x**6 - 0.24159*x**3 - 0.24159*x**3*2*x"
    " - 0.096636*x - 0.096636*x - 0.096636*x - 0.16106*x**2",
    "Nguyen-5": "0.63246*y = 0.63246*cos(x)*sin(x*x) - 0.31623 - 0.31623",
    "Nguyen-6": "0.5*y = 0.5*cos(x)*sin(x*x) + 0.5*sin(x) + 0.5*cos(x*x)*sin(x)",
    "Nguyen-7": "0.70956*exp(y) = 0.1095*x**4 + 0.1095*x**4 + 0.17082*x + 0.23652 + 0.17082*x"
    " + 0.12702*x*x*2*x + 0.17082*x - 0.1095*x*2*x*x*x + 0.22776*x**3 + 0.23652"
    " + 0.22776*x**3 + 0.23652 + 0.23652*3*x*x + 0.17082*x + 0.01314*2*x",
    "Nguyen-8": "0.83654*ln(y) = -0.032175*ln(x**4) + 0.54697*ln(x)",
    "Nguyen-9": "-0.57735*y = -0.57735*sin(x1) - 0.57735*sin(x2*x2)",
    "Nguyen-10": "0.44721*y = 0.89442*sin(x1)*cos(x2)",
    "Nguyen-11": "0.70711*ln(y) = 0.70711*x2*ln(x1)",
    "Nguyen-12": "-0.4*y = -0.2*x2*x2 - 0.4*x1 - 0.4*x1 + 0.4*(x1 + x2 + x1) + 0.4*x1**3"
    " - 0.4*x1**4",
    "Nguyen-12*": "-0.6*y = -0.1*3*x2*x2 - 0.3*2*x1*x1**3 + 0.3*x1**3 + 0.3*x1**3 + 0.6*x2",
    "Jin-1": "0.30664*y = 0.15332*x2**2 - 0.398632*x1**3 - 0.260644*x2 - 0.260644*x2"
    " + 0.7666*x1*x1**3",
    "Jin-2": "0.06909*y = -0.518175 + 0.55272*x2**3 - 0.518175 + 0.27636*x1**2 + 0.27636*x1**2",
    "Jin-3": "-0.7943*y = -0.11914*x2 - 0.15886*x1**3 + 0.39715*(3*x2 + x1) - 0.11915*x2"
    " - 0.39715*x2**3",
    "Jin-4": "-0.25198*y = -0.37797*exp(x1) - 0.62995*cos(x2) - 0.62995*cos(x2)",
    "Jin-5": "0.13484*y = -0.80904*sin(x2)*cos(x1) + 0.40452*sin(x2 + x1) + 0.40452*sin(x2 + x1)",
    "Neat-1": "-0.64952*y = -0.32476*x*2*x*x*x - 0.064952*2*x + 0.082996*3*x - 0.32476*x**2"
    " - 0.2129*x - 0.32476*x**2 - 0.18764*2*x**3 - 0.064952*2*x - 0.2129*x - 0.2129*x"
    " - 0.27424*x**3",
    "Neat-2": "0.3914*y = 0.3914*x**5 + 0.18274*x + 0.27676*x*x + 0.18274*x + 0.02794*2*x"
    " + 0.3914*x**3 - 0.02702*3*x*2*x + 0.18274*x + 0.27676*x*x - 0.12682*3*x + 0.3914*x**4"
    " + 0.18274*x + 0.18274*x - 0.12682*3*x + 0.18274*x",
    "Neat-3": "-0.57735*y = -0.57735*sin(x*x)*cos(x) + 0.57735",
    "Neat-4": "-0.5*exp(y) = -0.25*x*x - 0.5 - 0.25*x - 0.25*x - 0.5*x**3 - 0.25*x*x",
    "Neat-5": "0.57735*y = 0.57735*cos(x2)*sin(x1) + 0.57735*cos(x2)*sin(x1)",
    "Livermore-1": "0.65079*y = 0.21693 + 0.65079*sin(x*x) + 0.325395*2*x",
    "Livermore-2": "-0.40825*y = -0.40825*cos(x)*sin(x*x) + 0.8165",
    "Livermore-3": "-0.57735*y = 0.57735 - 0.57735*sin(x**3)*cos(x*x)",
    "Livermore-4": "-0.50998*exp(y) = -0.25499*x*x - 0.21064*x - 0.022175*2*x - 0.21064*x"
    " - 0.25499*x*x - 0.50998*x**4 - 0.50998*x**3 - 0.022175*2*x",
    "Livermore-5": "0.44721*y = -0.44721*x2 + 0.44721*x1**2 - 0.44721*x1**3 + 0.44721*x1**4",
    "Livermore-6": "-0.15763*y = -0.26677*x - 0.26677*x - 0.093216*2*x - 0.23918*x*x"
    " - 0.03804*2*x*x - 0.63052*x**4 - 0.47289*x**3 - 0.093216*2*x + 0.253886*4*x - 0.26677*x",
    "Livermore-9": "-0.30767*y = -0.30767*x**6 - 0.30767*x**4 - 0.266671*x**2 - 0.30767*x**7"
    " - 0.153835*x - 0.30767*x**3 - 0.30767*x**9 - 0.30767*x**5 + 0.056037*16*x**2"
    " - 0.266671*x**2 - 0.153835*x - 0.30767*x**8 - 0.22364*3*x**2",
    "Livermore-10": "0.22942*y = 0.68826*cos(x2)*sin(x1) + 0.68826*sin(x1)*cos(x2)",
    "Livermore-11": "-0.40825*ln(y) = -0.8165*ln(x1*x1) + 0.40825*ln(x2 + x1)",
    "Livermore-12": "0.16903*ln(y) = 0.84515*ln(x1) - 0.50709*ln(x2)",
    "Livermore-13": "0.97332*ln(y) = 0.16222*ln(x) + 0.16222*ln(x)",
    "Livermore-14": "0.40825*y = 0.40825*x**3 + 0.40825*sin(x) + 0.40825*x*x"
    " + 0.40825*sin(x*x) + 0.40825*x",
    "Livermore-15": "0.99015*ln(y) = 0.099015*ln(x) + 0.099015*ln(x)",
    "Livermore-16": "0.99504*ln(y) = 0.099504*ln(x**4)",
    "Livermore-17": "0.17408*y = 0.69632*sin(x2 + x1) - 0.69632*cos(x1)*sin(x2)",
    "Livermore-18": "-0.19245*y = 0.96225 - 0.19245*cos(x)*sin(x*x)",
    "Livermore-19": "-0.46202*y = -0.46202*x**4 - 0.015609*3*x - 0.46202*x*x - 0.46202*x**5"
    " - 0.290313*x - 0.15297*2*x - 0.15297*2*x + 0.12175*4*x",
    "Livermore-20": "-0.89442*ln(y) = 0.44721*2*x*x",
    "Livermore-21": "-0.38914*y = -0.027357*3*x*x - 0.38914*x**5 - 0.38914*x**8"
    " + 0.0714425*x*2*x*2*x - 0.38914*x - 0.38914*x**4 - 0.22497*x**3 - 0.19457*x**4*2*x*x**2"
    " - 0.22497*x**3 - 0.027357*x*3*x - 0.22497*x**3 - 0.224998*x**2 - 0.097285*x*4*x*x**4",
    "Livermore-22": "0.8165*ln(y) = -0.40825*2*x*x + 0.40825*x*x",
    "SymSet-1": "0.70448*y = 0.35224*exp(x)*x - 0.17612*x*exp(-x) - 0.563584*exp(x)*exp(-x)"
    " - 0.17612*x*exp(-x)",
    "SymSet-2": "-0.11335/y = -0.23188*x - 0.11335*5 + 0.50651*2*x - 0.23188*x - 0.23188*x"
    " - 0.11335*x**5 + 0.34005*x**4",
    "SymSet-3": "0.1173*y**3 = 0.26576*x**2*3 + 0.44965*3 + 0.02346*5*x*x**3 - 0.23451*4*x*x",
    "SymSet-4": "0.22485*y = -0.112425*cos(x) + 0.94437*sin(x*x)*exp(x) - 0.112425*cos(x)"
    " + 0.17988",
    "SymSet-5": "-0.16964*y = -0.16964*x2**3*x1 - 0.76338*x1*x1 + 0.525884 + 0.288388*x2",
    "SymSet-6": "0.84515/y = -0.16903*x2*x2*x2 + 0.50709*x1",
    "SymSet-7": "-0.482715*exp(y) = -0.64362*3*x1*x2 + 0.21883*x2 - 0.482715*x1**3 - 0.21883*x2",
    "SymSet-8": "0.060634*y**2 = 0.30317*x1**2*x1**3 + 0.848876*x1**2*x2**3*x1*x2 + 0.424438"
    " - 0.060634*2*x2",
    "SymSet-9": "0.83205*ln(y) = -0.5547*ln(x1 + x2 + x1)",
    "SymSet-10": "0.32444*y = -0.8111 + 0.48666*ln(x1*x2)*cos(x1)",
    "SymSet-11": "-0.228568*y + 0.028571*y**2 = -0.457136 + 0.85713*exp(x2) + 0.057142*cos(x1)",
    "SymSet-12": "0.16288*y = -0.18324*4 + 0.065152*x1**4 - 0.57008*x3*x1 + 0.504928*2*x2",
    "SymSet-13": "0.57735*ln(y) = 0.57735*ln(x2 + x2) - 0.57735*ln(x1 + x3)",
    "SymSet-14": "0.57735*ln(y) = 0.57735*ln(x1*x2*x3) - 0.57735*ln(x2 + x3 + x1)",
    "SymSet-15": "0.70711*ln(y) = 0.70711*x3*ln(x1 + x2)",
    "SymSet-16": "0.098035*ln(y) = 0.960743*cos(x3) - 0.0490175*ln(x2*x2) + 0.254891*x1",
    "SymSet-17": "0.88045*exp(y) = 0.17609*exp(x1 + x2) + 0.440225*cos(x3*x3)",
}

#: Not recovered by the paper; in a form that a library with exp(-x) and products can find.
UNPRINTED = {
    "Jin-6": "y = 1.35*x1*x2 + 5.5*sin(1)*sin(x1*x2)*sin(x1 + x2)"
    " + 5.5*sin(1)*cos(x1*x2)*cos(x1 + x2) + 5.5*cos(1)*sin(x1*x2)*cos(x1 + x2)"
    " - 5.5*cos(1)*cos(x1*x2)*sin(x1 + x2)",
    "Livermore-7": "y = 0.5*exp(x) - 0.5*exp(-x)",
    "Livermore-8": "y = 0.5*exp(x) + 0.5*exp(-x)",
    "SymSet-13": "ln(y) = 0.693147180559945 + ln(x2) - ln(x1 + x3)",
    "SymSet-16": "y**2 = exp(5.2*x1)*exp(19.6*cos(x3))/x2**2",
    "Livermore-20": "1/y = exp(x**2)",
}


@pytest.mark.parametrize(("name", "text"), [*PRINTED.items(), *UNPRINTED.items()])
def test_laws_in_the_form_of_the_paper_are_proved(name: str, text: str) -> None:
    assert verdict(name, text).verdict == "proved"


@pytest.mark.parametrize(
    "problem", [p for p in ALL_PROBLEMS if p.provable], ids=lambda each: each.name
)
def test_every_truth_is_proved_against_itself(problem: Any) -> None:
    result = recovery.check(Law(f"y = {problem.expression}"), problem)
    assert result.recovered, result


DIFFERENT = {
    "Taylor of sinh": ("Livermore-7", "y = x + x**3/6 + x**5/120"),
    "long Taylor of cosh": (
        "Livermore-8",
        "y = " + " + ".join(f"x**{k}/{sympy.factorial(k)}" for k in range(0, 24, 2)),
    ),
    "a term missing": ("Nguyen-2", "y = x**4 + x**3 + x**2"),
    "wrong function": ("Nguyen-9", "y = sin(x1) + sin(x2**3)"),
    "wrong transformation of y": ("SymSet-8", "y = 5*x1**5 + 14*x1**3*x2**4 - 2*x2 + 7"),
    "right for positive x only": ("Nguyen-1", "y = x**3 + x**2 + sqrt(x**2)"),
    "the slip of Neat-7": (
        "Neat-7",
        "y = 2 - 2.1*cos(9.8)*sin(1.3)*cos(x1)*cos(x2) + 2.1*sin(9.8)*sin(1.3)*sin(x1)*cos(x2)"
        " - 2.1*cos(9.8)*cos(1.3)*cos(x1)*sin(x2) + 2.1*sin(9.8)*cos(1.3)*sin(x1)*sin(x2)",
    ),
    "no y": ("Nguyen-1", "1 = sin(x)**2 + cos(x)**2"),
    "undefined in the domain": ("Nguyen-9", "y = sqrt(-1 - x1) + sin(x1) + sin(x2**2)"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_other_laws_are_different(case: str) -> None:
    result = verdict(*DIFFERENT[case])
    assert (result.recovered, result.verdict) == (False, "different")


ACCIDENTAL = {
    "coefficient off by a thousandth": ("Nguyen-10", "y = 2.002*sin(x1)*cos(x2)"),
    "a term that should not be there": ("Nguyen-1", "y = x**3 + x**2 + x + 0.001*sin(x)"),
    "wrong sign": ("Livermore-5", "y = x1**4 - x1**3 + x1**2 + x2"),
}


@pytest.mark.parametrize("case", ACCIDENTAL)
def test_right_basis_with_other_constants_is_accidental(case: str) -> None:
    result = verdict(*ACCIDENTAL[case])
    assert (result.recovered, result.verdict) == (False, "accidental")


def test_rounding_in_the_fit_is_forgiven() -> None:
    text = "y = 1.00000001*x**3 + x**2 + 0.999999995*x + 1e-11*sin(x)"
    assert verdict("Nguyen-1", text).verdict == "proved"


def test_dependent_basis_functions_share_a_coefficient() -> None:
    shared = "y = 3*sin(x1)*cos(x2) + 1.5*sin(x1 + x2) - 1.5*cos(x1)*sin(x2) + 1.5*sin(x1)*cos(x2)"
    assert verdict("Jin-5", shared).verdict == "proved"
    wrong = shared.replace("3*sin", "3.1*sin")
    assert verdict("Jin-5", wrong).verdict == "accidental"


def test_target_terms_that_cancel_are_no_law() -> None:
    class Cancelling:
        def terms(self) -> tuple[list[tuple[float, Any]], list[tuple[float, Any]]]:
            y, x = SYMBOLS["y"], SYMBOLS["x1"]
            return [(1.0, y), (-1.0, y)], [(0.0, x)]

    assert recovery.check(Cancelling(), get("Nguyen-1")).verdict == "different"


def test_float_inside_an_argument_is_taken_as_the_fraction_it_is_near() -> None:
    text = "y = 2 - 2.1*cos(9.80000000001*x1)*sin(1.3*x2)"
    assert verdict("Neat-7", text).verdict == "proved"
    assert verdict("Neat-7", text.replace("9.80000000001", "9.8012")).verdict == "different"


def test_failure_inside_the_check_is_not_a_recovery() -> None:
    class Broken:
        def terms(self) -> Any:
            raise RuntimeError("no terms today")

    result = recovery.check(Broken(), get("Nguyen-1"))
    assert not result.recovered
    assert "no terms today" in result.detail


#: Forms that need division, composition and constants inside arguments, as fits give them.
WIDER = [
    ("Feynman-I.10.7", "ln(y) = ln(x1) - 0.5*ln(1 - 1.00000000003*x2**2/x3**2)"),
    ("Feynman-I.10.7", "ln(y) = ln(x1) + ln(x3) - 0.5*ln(x2**2 - x3**2)"),
    ("Feynman-I.6.20a", "ln(y) = -0.918938533204673 - 0.5*x1**2"),
    ("Feynman-I.9.18", "1/y = (x4 - x5)**2/(x1*x2*x3) + (x6 - x7)**2/(x1*x2*x3)"
     " + (x8 - x9)**2/(x1*x2*x3)"),
    ("Feynman-I.26.2", "sin(y) = x1*sin(x2)"),
    ("Feynman-I.30.3", "ln(y) = ln(x1) + 2*ln(sin(0.5*x2*x3)) - 2*ln(sin(0.5*x2))"),
    ("Feynman-I.30.3", "y = x1*(1 - cos(x2*x3))/(1 - cos(x2))"),
    ("Feynman-I.34.14", "ln(y) = ln(x3) + 0.5*ln(x1 + x2) - 0.5*ln(x1 - x2)"),
    ("Feynman-I.34.14", "y = x3*sqrt(x1 + x2)/sqrt(x1 - x2)"),
    ("Feynman-II.13.34", "y = x1*x2*x3/(sqrt(x3 - x2)*sqrt(x2 + x3))"),
    ("Feynman-II.11.27", "ln(y) = 1.09861228866811 + ln(x1*x2*x3*x4) - ln(x1*x2 - 3)"),
    ("Feynman-II.24.17", "ln(y) = 0.5*ln(x1/x2 - 3.14159265359/x3)"
     " + 0.5*ln(x1/x2 + 3.14159265359/x3)"),
    ("Feynman-II.35.18", "ln(y) = ln(x1) - 0.693147180559945 - ln(cosh(x4*x5/(x2*x3)))"),
    ("Feynman-III.4.32", "ln(1 + 1/y) = 0.15915494309*x1*x2/(x3*x4)"),
    ("Feynman-III.8.54", "y = 0.5 - 0.5*cos(12.56637061436*x1*x2/x3)"),
    ("Feynman-B5", "ln(y) = 1.83787706640935 + 1.5*ln(x1) - 0.5*ln(x2) - 0.5*ln(x3 + x4)"),
    ("Feynman-B7", "y**2 = 8.37758040957278*x1*x2 - x3*x4**2/x5**2"),
    ("Feynman-B16", "y = x4*x6 + x2*sqrt((x3 - x4*x5)**2 + x1**2*x2**2)"),
    ("Jin-6", "y = 1.35*x1*x2 - 5.5*sin(1.0*x1*x2 - 0.99999999998*x1 - 1.0*x2 + 4.14159265358)"),
    ("Livermore-13", "y = x**0.33333333333"),
    ("Neat-7", "y = 2 - 1.05*sin(9.8*x1 + 1.3*x2) + 1.05*sin(9.8*x1 - 1.3*x2)"),
    ("Neat-7", "y = 2 - 2.1*sin(9.8*x1 + 1.57079632679)*sin(1.3*x2)"),
    ("Neat-8", "1/y = 1.2*exp((x1 - 1.0000000001)**2) + exp((x1 - 1.0)**2)*(x2 - 2.5)**2"),
    ("Strogatz-barmag1", "y = 0.5*sin(x1 - 1.00000000002*x2) - sin(x1)"),
    ("Strogatz-predprey1", "y = 4*x1 - x1**2 - x2 + x2/(1 + x1)"),
    ("Strogatz-shearflow1", "y = cos(x1)/tan(x2)"),
    ("Strogatz-vdp2", "y = -0.1*x1 + 1e-14*x2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), WIDER)
def test_laws_in_the_wider_encoding_are_proved(name: str, text: str) -> None:
    assert verdict(name, text).verdict == "proved"


def test_the_size_of_a_fitted_sum_may_be_anything() -> None:
    a, b = 1.7320811342, 3 * 1.7320811342
    under_log = f"ln(y) = {math.log(b)} + ln(x1*x2*x3*x4) - ln({b} - {a}*x1*x2)"
    assert verdict("Feynman-II.11.27", under_log).verdict == "proved"
    divided = f"y = {a / 2}*x1/({a} + {a}*x2)"
    assert verdict("Feynman-II.38.14", divided).verdict == "proved"
    assert verdict("Feynman-II.38.14", divided.replace("x2", "1.001*x2")).verdict == "different"


@pytest.mark.parametrize("wrong", ["9.801", "9.80001", "9.800002"])
def test_a_constant_inside_an_argument_must_be_the_true_one(wrong: str) -> None:
    assert verdict("Neat-7", f"y = 2 - 2.1*cos({wrong}*x1)*sin(1.3*x2)").verdict == "different"


def test_points_come_from_the_range_of_each_variable() -> None:
    low, high = get("Feynman-I.15.3x").sampling.bounds(4)
    assert list(zip(low, high, strict=True)) == [(5, 10), (1, 2), (3, 20), (1, 2)]
    text = "y = x1/sqrt(1 - x2**2/x3**2) - x2*x4/sqrt(1 - x2**2/x3**2)"
    assert verdict("Feynman-I.15.3x", text).verdict == "proved"


def test_constant_without_closed_form_is_proved_as_a_symbol(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recovery, "_multiple", lambda constant: None)
    result = verdict("Jin-6", UNPRINTED["Jin-6"])
    assert result.verdict == "proved"
    assert "c1 = " in result.detail


def test_without_a_proof_of_the_structure_no_constant_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recovery, "_multiple", lambda constant: None)
    monkeypatch.setattr(recovery, "STRATEGIES", (lambda e: e,))
    result = verdict("Jin-6", UNPRINTED["Jin-6"])
    assert (result.recovered, result.verdict) == (False, "undecided")


def test_an_expression_vanishes_only_if_all_its_coefficients_do() -> None:
    x, c = sympy.symbols("x c", positive=True)
    with mpmath.workdps(recovery.DIGITS):
        third, near = mpmath.mpf(1) / 3, mpmath.mpf(1) / 3 + mpmath.mpf("1e-40")
        assert recovery.is_zero(3 * c * x - x, {c: third})
        assert not recovery.is_zero(3 * c * x - x, {c: near})
        assert not recovery.is_zero(c * x - sympy.sin(x), {c: third})
        assert not recovery.is_zero(x - 1, {})
        assert recovery.is_zero(sympy.log(6) - sympy.log(2) - sympy.log(3), {})


def _forever(expression: Any) -> Any:
    while True:
        time.sleep(0.001)


def test_time_limit_ends_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "STRATEGIES", (_forever,))
    result = verdict("Nguyen-1", PRINTED["Nguyen-1"], time_limit=0.3)
    assert (result.recovered, result.verdict) == (False, "undecided")
    assert "0.3 s" in result.detail


def test_time_limit_works_outside_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "STRATEGIES", (_forever,))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(verdict, "Nguyen-1", PRINTED["Nguyen-1"], time_limit=0.3)
        assert future.result(timeout=60).verdict == "undecided"


def test_time_limit_never_strikes_after_the_check() -> None:
    before = threading.active_count()
    for limit in (0.0, 0.001, 0.01, 0.02, 0.03, 0.04, 0.05):
        assert verdict("Nguyen-9", PRINTED["Nguyen-9"], time_limit=limit).verdict in (
            "proved",
            "undecided",
        )
    time.sleep(0.2)
    assert threading.active_count() <= before


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("mpf(13)/10", "13/10"),
        ("-mpf(7)", "-7"),
        ("log(mpf(3)/2)/3", "log(3/2)/3"),
        ("sqrt(mpf(5)/7)", "sqrt(5/7)"),
        ("-3*pi/4", "-3*pi/4"),
        ("2.5*exp(mpf(-1)/2)", "5*exp(-1/2)/2"),
        ("5.5*cos(1)", "11*cos(1)/2"),
        ("2/log(mpf(3)/2)", "2/log(3/2)"),
        ("1/sqrt(2*pi)", "1/sqrt(2*pi)"),
        ("-1/(6*pi)", "-1/(6*pi)"),
        ("pi**2/8", "pi**2/8"),
        ("-log(sqrt(2*pi))", "-log(2*pi)/2"),
    ],
)
def test_constants_are_identified(value: str, expected: str) -> None:
    with mpmath.workdps(recovery.DIGITS):
        number = eval(value, vars(mpmath))
        found = recovery.identify(number)
    expected = expected.replace("5/7", "Rational(5,7)").replace("3/2", "Rational(3,2)")
    assert sympy.simplify(found - sympy.sympify(expected.replace("-1/2", "-Rational(1,2)"))) == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (9.8, "49/5"),
        (-0.075, "-3/40"),
        (0.33333333333, "1/3"),
        (math.pi, "pi"),
        (0.15915494309, "1/(2*pi)"),
        (1 / math.sqrt(2), "sqrt(2)/2"),
        (1 + math.pi / 2, "1 + pi/2"),
        (3e-12, "0"),
    ],
)
def test_fitted_constants_are_read_as_what_they_are_near(value: float, expected: str) -> None:
    for noisy in (value, value * (1 + 3e-9)):
        assert sympy.simplify(recovery.guesses(noisy)[0] - sympy.sympify(expected)) == 0


def test_a_number_near_nothing_is_read_as_itself() -> None:
    (only,) = recovery.guesses(0.7346391734563)
    assert float(only) == 0.7346391734563
