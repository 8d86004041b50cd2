"""Units: what text means, and which laws obey them."""

import contextlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from drawn_laws import ALL, CODE, ROW, drawn_laws
from gsr.encoding import encode, encode_target
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library, Transformation
from gsr.prior import units
from gsr.prior.units import Dimension, parse

FORCE = {"kg": 1, "m": 1, "s": -2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m", {"m": 1}),
        ("", {}),
        ("1", {}),
        ("%", {}),
        ("deg", {}),
        ("rad/s", {"s": -1}),
        ("kg*m/s^2", FORCE),
        ("kg·m·s⁻²", FORCE),
        ("N", FORCE),
        ("kN", FORCE),
        ("kilonewtons", FORCE),
        ("m s^-2", {"m": 1, "s": -2}),
        ("J/(mol K)", {"kg": 1, "m": 2, "s": -2, "mol": -1, "K": -1}),
        ("J/mol/K", {"kg": 1, "m": 2, "s": -2, "mol": -1, "K": -1}),
        ("km/h", {"m": 1, "s": -1}),
        ("m**0.5", {"m": 0.5}),
        ("m^(1/3)", {"m": Fraction(1, 3)}),
        ("1/s", {"s": -1}),
        ("µm", {"m": 1}),
        ("μm", {"m": 1}),
        ("eV", {"kg": 1, "m": 2, "s": -2}),
        ("°C", {"K": 1}),
        ("min", {"s": 1}),
        ("cd", {"cd": 1}),
        ("T", {"kg": 1, "s": -2, "A": -1}),
        ("mT", {"kg": 1, "s": -2, "A": -1}),
        ("[apple]/m^2", {"[apple]": 1, "m": -2}),
        ({"kg": 1, "m": -2}, {"kg": 1, "m": -2}),
        ({"N": 0.5}, {"kg": 0.5, "m": 0.5, "s": -1}),
        (99 * "(" + "m", "nested more than"),
        ("foo", "unit of your own is written"),
        ("KM", "did you mean 'km'"),
        ("hz", "did you mean 'Hz'"),
        ("m2", r"did you mean m\^2"),
        ("J/mol K", "either way"),
        ("m^", "ends too early"),
        ("(m", r"a \) is missing"),
        ("m)", "has no meaning"),
        ("m^x", "short number"),
        ("m^(1/0)", "divided by 0"),
        ("m^101", "above 100"),
        ("?", "not supported"),
        ("[]", "without a name"),
        ("__import__", "column 1: '_' has no meaning"),
        ("m + s", "no sum"),
        ("-m", "no sum"),
        (3, "a unit is text"),
        ({"m": "two"}, "exponents of a unit are numbers"),
    ],
)
def test_text(text, expected):
    if isinstance(expected, dict):
        assert parse(text) == Dimension(expected)
    else:
        with pytest.raises(GSRError, match=expected):
            parse(text)


def test_dimensions_are_values():
    force, mass = parse("N"), parse("kg")
    assert force / mass == parse("m/s^2") and hash(force / mass) == hash(parse("m/s^2"))
    assert (force**2) ** 0.5 == force
    assert str(force / mass**2) == "kg^-1 m s^-2"
    assert not force / force
    assert {force: 1}[parse("J/m")] == 1


exponents = st.fractions(-9, 9, max_denominator=4)
bases = st.sampled_from(["kg", "m", "s", "A", "K", "mol", "cd", "[apple]"])


@given(st.dictionaries(bases, exponents))
def test_what_is_printed_is_read_again(exponents):
    assert parse(str(Dimension(exponents))) == Dimension(exponents)


@given(st.text("mskgN²⁻ 1.2/^*()[]-%°e", max_size=12))
def test_any_text_is_a_unit_or_an_error(text):
    with contextlib.suppress(GSRError):
        assert isinstance(parse(text), Dimension)


def test_exponent_table():
    table, target, bases = units.exponent_table(
        {"a": "N", "b": "1", "y": "[apple]/s"}, ["a", "b"], "y"
    )
    assert bases == ("kg", "m", "s", "[apple]")
    np.testing.assert_array_equal(table, [[1, 1, -2, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(target, [0, 0, -1, 1])
    table, target, bases = units.exponent_table({"a": "1", "y": "%"}, ["a"], "y")
    assert (table.shape, target.shape, bases) == ((1, 0), (0,), ())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"length": "m"}, "none for 'time', 'y'"),
        ({"length": "m", "tme": "s", "y": "1"}, "did you mean 'time'"),
        ({"length": "m", "time": "ss", "y": "1"}, r"units\['time'\]: 'ss'"),
        ("m", "must be a mapping"),
    ],
)
def test_bad_tables(given, message):
    with pytest.raises(GSRError, match=message):
        units.exponent_table(given, ["length", "time"], "y")


# ---- laws ------------------------------------------------------------------------------------


def equation(phi, psi="y", library=ALL, d=3, alpha=None):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(1, 2, (9, d)), rng.uniform(1, 2, 9)
    terms = [encode(t, library, d) if isinstance(t, str) else t for t in phi]
    left = [encode_target(t, library) for t in psi.split(" + ")]
    alpha = np.arange(2, 2 + len(terms)) if alpha is None else alpha
    return Equation.from_data(library, library, left, np.ones(len(left)), terms, alpha, X, y)


UNITS = {"x1": "m", "x2": "s", "x3": "m", "y": "m/s"}
SHARED = [[CODE["identity"], 2, ROW + 2, -2], [CODE["sqrt"], 1, ROW + 3, ROW + 4]] + [
    [CODE["square"], 0, v, 0] for v in (1, 3)
]


@pytest.mark.parametrize(
    ("phi", "psi", "free", "fixed"),
    [
        (["x1/x2"], "y", None, None),
        (["x1/x2", "x3"], "y", None, "y has the unit m s^-1, but x3 has the unit m"),
        (["x1**2/x2**2"], "y**2", None, None),
        (["sqrt(x1*x3)/x2"], "y", None, None),
        ([SHARED], "y", None, None),
        (["x1/x2", "1"], "y", None, "but 1 has no unit"),
        (["sin(x1)"], "y", "sin(x1): the argument has the unit m", "sin(x1): the arg"),
        (["sin(x1/x3)*x1/x2"], "y", None, None),
        (["(x1 + x2)/x2"], "y", "x1 has the unit m, but x2 has the unit s", "x1 has the unit m"),
        (["(x1 + 2*x3)/x2"], "y", None, None),
        (["(x1 - x3)/x2"], "y", None, None),
        (["1/(x1 + 1)"], "y", "x1 has the unit m, but 1 has no unit", "x1 has the unit m"),
        (["log(x1) + 1"], "y", "ln(x1): the argument", "ln(x1): the argument"),
        (["(x1 + 2.5*x3)/x2"], "y", None, None),
        (["(x1 + 2.5*x2)/x2"], "y", None, "x1 has the unit m, but x2 has the unit s"),
        (["(x1 + 2.5)/x2"], "y", None, "x1 has the unit m, but 1 has no unit"),
        (["sin(2.5*x1)*x1/x2"], "y", None, "the argument has the unit m"),
        (["sin(x2/x1 + 2.5*x1)"], "y", "the argument has the unit m^-1 s", "x1 has"),
        (["exp(1/(1.5*x1 + 2.5*x2))"], "y", None, "x1 has the unit m, but x2 has the unit s"),
        (["cbrt(x1**2*x3)/x2"], "y", None, None),
        (["cbrt(x1)"], "y", None, "y has the unit m s^-1, but cbrt(x1) has the unit m^(1/3)"),
        (["x1/x2"], "cbrt(y)", None, "cbrt(y) has the unit m^(1/3) s^(-1/3), but"),
        (["arctan(x1)"], "y", "arctan(x1): the argument has the unit m", "arctan(x1): the arg"),
        (["abs(x1 - x3)/x2"], "y", None, None),
        (["abs(x1 - x2)"], "y", "x1 has the unit m, but x2 has the unit s", "x1 has the unit m"),
        (["abs(x1 - x3)"], "y", None, "y has the unit m s^-1, but abs(x1 - x3) has the unit m"),
        (["x1/x2"], "log(y)", "ln(y): the argument has the unit m s^-1", "ln(y)"),
        (["x1/x2"], "y + y**2", None, "y has the unit m s^-1, but y^2 has"),
    ],
)
def test_laws(phi, psi, free, fixed):
    law = equation(phi, psi)
    for expected, constants_with_units in ((free, True), (fixed, False)):
        found = units.check(law, UNITS, constants_with_units)
        assert (expected is None and not found) or (expected and expected in found[0]), found


def test_terms_with_coefficient_0_do_not_count():
    law = equation(["x1/x2", "x3"], alpha=[1, 0])
    assert units.check(law, UNITS, False) == []


def test_own_transformations_have_no_units():
    own = Transformation("arcsinh", np.arcsinh, "asinh({})")
    library = Library(["identity", "inverse", own])
    law = equation(["asinh(x1)"], library=library)
    assert units.check(law, UNITS) == ["arcsinh(x1): the argument has the unit m"]
    assert units.check(law, {**UNITS, "x1": "1"}) == []


def test_agrees_with_a_change_of_units():
    """A term obeys its units just if it goes over to other units as its dimension says."""
    rng = np.random.default_rng(1)
    verdicts = []
    for law in drawn_laws(150, seed=3):
        X = law.rows(30, 0)
        dims = rng.choice([-1, 0, 1], size=law.n_features)
        factor = 1.37
        for phi in law.phi:
            values, changed = (
                reference.evaluate(phi, ALL, X * scale)
                for scale in (1.0, factor ** dims.astype(float))
            )
            power = np.log(np.abs(changed / values)) / np.log(factor)
            covariant = np.ptp(power) < 1e-9
            unit = np.round(2 * np.median(power)) / 2 if covariant else 0
            given = {f"x{v + 1}": {"m": int(n)} for v, n in enumerate(dims)}
            found = units.check(
                equation([phi], d=law.n_features), {**given, "y": {"m": unit}}, False
            )
            assert (not found) == covariant, (str(law), dims, found)
            verdicts.append(covariant)
    assert 30 < sum(verdicts) < len(verdicts) - 30


def test_a_huge_exponent_is_refused():
    with pytest.raises(GSRError, match="has an exponent above 100"):
        parse({"m": 10**5000})
