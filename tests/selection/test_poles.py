"""Poles and undefined points in the box of the training data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitted_laws import LIBRARY, ONE, law
from gsr import Transformation
from gsr import intervals as iv
from gsr.library import Library
from gsr.selection.poles import poles
from gsr.traits import TRAITS
from gsr.transformation import BUILTINS

Y, Y2, LN_Y, INVERSE_Y, EXP_Y = [[1]], [[3]], [[11]], [[2]], [[10]]
X1, INVERSE, LN, TAN, SQRT = [[1, 0, 1]], [[2, 0, 1]], [[11, 0, 1]], [[8, 0, 1]], [[5, 0, 1]]


def check(phi, box, alpha=None, psi=Y, **options):
    """Return the verdict over a box, given as (low, high) for each feature."""
    X = np.array([np.linspace(low, high, 17) for low, high in box]).T
    found = law(phi, [1.0] * len(phi) if alpha is None else alpha, [psi])
    return poles(found, LIBRARY, LIBRARY, X, **options)


@pytest.mark.parametrize(
    ("phi", "box"),
    [
        ([INVERSE], [(1, 2)]),
        ([LN], [(-3, -1)]),
        ([TAN], [(-1.5, 1.5)]),
        ([SQRT], [(0, 4)]),
        ([[[-1, 1, 30000, 30002], [3, 0, 1, 0]]], [(-3, 3)]),  # 1/(1 + x1^2)
        ([[[-1, 1, 1, -2]]], [(2, 3), (0, 1)]),  # 1/(x1 - x2)
        ([[[1, 2, 1, 2, -3, -3]]], [(0, 1), (0, 1), (0.5, 1)]),  # x1 x2/x3^2
        ([[[-1, 3, 30000, 30002, 2.0, 1.0], [7, 2, 1, 2]]], [(0, 10), (0, 10)]),  # 1/(2 + sin)
        ([[[-6, 0, 1], [-6, 0, 1]]], [(-1, 1)]),  # 1/cos^2
        ([[[10, 3, 1, -1000.0]]], [(0, 1)]),
        ([ONE], [(-1, 1)]),
    ],
)
def test_safe(phi, box):
    assert check(phi, box).verdict == "safe"


@pytest.mark.parametrize(
    ("phi", "box", "reason"),
    [
        ([INVERSE], [(-1, 2)], "division by 0"),
        ([LN], [(-1, 2)], "logarithm of 0"),
        ([TAN], [(0, 3)], "pole of tan"),
        ([SQRT], [(-1, 4)], "root of a negative number"),
        ([[[-1, 1, 1, -2]]], [(0, 1), (0.6, 0.1)], "division by 0"),
        ([[[1, 2, 1, -2, -2]]], [(0, 1), (-0.51, 1)], "division by 0"),  # x1/x2^2
        ([[[10, 3, 1, 1000.0]]], [(0, 1)], "overflow"),
        ([[[11, 3, 30002, 30000, 1.0, -2.0], [4, 0, 1]]], [(0, 2)], "logarithm of 0"),
        ([[[-11, 0, 1]]], [(0.5, 1.7)], "division by 0"),  # 1/ln|x1|
        ([[[-13, 0, 1]]], [(-1, 2)], "division by 0"),
        ([[[-14, 1, 1, -2]]], [(0, 1), (0.6, 0.1)], "division by 0"),
        ([[[-15, 0, 1]]], [(-1, 2)], "division by 0"),
    ],
)
def test_unsafe(phi, box, reason):
    found = check(phi, box)
    assert (found.verdict, found.reason) == ("unsafe", reason)
    low, high = np.array([(min(b), max(b)) for b in box]).T
    assert ((found.where >= low) & (found.where <= high)).all()


def test_the_witness_is_where_it_happens():
    found = check([[[-1, 3, 1, 30000, 1.0, -0.3]]], [(0, 1)])
    assert found.where[0] == pytest.approx(0.3, abs=1e-9)


def test_a_zero_without_a_change_of_sign():
    """1/(x1^2 + x2^2), whose samples all lie away from 0."""
    found = check([[[-1, 1, 30002, 30003], [3, 0, 1, 0], [3, 0, 2, 0]]], [(-1, 1.3), (-1.1, 1)])
    assert found.verdict == "unsafe"
    np.testing.assert_allclose(found.where, 0, atol=1e-6)


def test_plain_intervals_would_overestimate():
    """x^2 - x + 0.26 is at least 0.01, but its interval over [0, 1] is [-0.74, 1.26]."""
    phi = [[[-1, 3, 30002, 1, 30000, 1.0, -1.0, 0.26], [3, 0, 1]]]
    assert check(phi, [(0, 1)]).verdict == "safe"
    assert check(phi, [(0, 1)], budget=2).verdict == "unknown"


def test_zeros_of_y_are_no_poles_of_a_law_for_its_logarithm():
    """ln|y| = 2 ln|x1| is y = x1^2; ln|y| = -ln|x1| is y = 1/x1."""
    assert check([LN], [(-1, 1)], [2.0], LN_Y).verdict == "safe"
    assert check([LN], [(-1, 1)], [-1.0], LN_Y).verdict == "unsafe"
    assert check([LN], [(-1, 1)], [2.0], Y).verdict == "unsafe"


@pytest.mark.parametrize(
    ("psi", "alpha", "verdict"),
    [
        (Y2, [1.0, 0.0], "safe"),
        (Y2, [1.0, -0.5], "unsafe"),
        (INVERSE_Y, [1.0, 0.5], "safe"),
        (INVERSE_Y, [1.0, -0.5], "unsafe"),
        (EXP_Y, [1.0, 0.5], "safe"),
        (EXP_Y, [1.0, -0.5], "unsafe"),
        (LN_Y, [1.0, 0.5], "safe"),
        (LN_Y, [1e4, 0.5], "unsafe"),
        ([[9]], [0.5, 0.4], "safe"),
        ([[9]], [0.5, 0.6], "unsafe"),
        ([[13]], [1.0, -0.5], "safe"),
        ([[14]], [1.0, 0.0], "safe"),
        ([[14]], [1.0, -0.5], "unsafe"),
        ([[15]], [1.0, 0.5], "safe"),
        ([[15]], [1.0, 0.6], "unsafe"),
        ([[15]], [1.0, 1.7], "unsafe"),
    ],
)
def test_the_inverse_of_g(psi, alpha, verdict):
    assert check([X1, ONE], [(0, 1)], alpha, psi).verdict == verdict


def test_what_is_not_known():
    own = Transformation("arcsinh", np.arcsinh, "asinh({})")
    library = Library(["identity", own])
    X = np.linspace(0, 1, 9)[:, None]
    found = poles(law([[[2, 0, 1]]], [1.0]), library, LIBRARY, X)
    assert found.verdict == "unknown"
    assert "arcsinh" in found.reason
    two = law([X1], [1.0], [[[3]], [[1]]], [1.0, -8.0])
    assert poles(two, LIBRARY, LIBRARY, X).verdict == "unknown"


def test_features_that_play_no_part():
    found = check([INVERSE], [(1, 2), (-1, 1), (5, 5)])
    assert found.verdict == "safe"


def test_every_built_in_transformation_has_an_image():
    assert list(TRAITS) == list(BUILTINS)
    assert all(traits.image is not None for traits in TRAITS.values())


@given(
    st.sampled_from(sorted(BUILTINS)),
    st.floats(-30, 30),
    st.floats(0, 10),
    st.floats(0, 1),
)
def test_images_hold_all_values(name, low, width, share):
    """A value of a point in an interval is in the interval's image."""
    high = low + width
    point = min(low + share * width, high)
    with np.errstate(all="ignore"):
        value = BUILTINS[name].value(np.array([point]))[0]
        image = TRAITS[name].image(iv.Interval(np.array([low]), np.array([high])))
    if np.isfinite(value):
        assert image.low[0] <= value <= image.high[0]


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(0, 1), st.floats(0, 1))
def test_arithmetic_holds_all_values(ends, s, t):
    a, b = (iv.Interval(*np.sort(np.array(pair))[:, None]) for pair in (ends[:2], ends[2:]))
    p, q = (float(i.low[0] + u * (i.high[0] - i.low[0])) for i, u in ((a, s), (b, t)))
    p, q = min(p, a.high[0]), min(q, b.high[0])
    results = [(iv.add(a, b), p + q), (iv.multiply(a, b), p * q)]
    results += [(iv.power(a, n), p**n) for n in (2, 3, 4)] + [(iv.scale(a, -1.7), -1.7 * p)]
    if q != 0:
        results.append((iv.reciprocal(b), 1 / q))
    for image, value in results:
        assert image.low[0] <= value <= image.high[0]


def test_a_point_where_only_a_part_is_undefined_is_no_pole():
    """The curve of Hill in a table with a dose of 0: 1/(1 + 4/x^2) is 0 there."""
    hill = [[-1, 3, 30_000, 30_002, 1.0, 4.0], [-3, 0, 1]]
    assert check([hill], [(0.0, 5.0)]).verdict == "unknown"
    assert check([INVERSE], [(0.0, 5.0)]).verdict == "unsafe"


POWER = [[10, 3, 30_002, 0.94], [11, 0, 1, 0]]  # exp(0.94 ln|x1|)
FADING = [[12, 0, 30_002], [2, 0, 1]]  # exp(-1/x1)


@pytest.mark.parametrize("term", [POWER, FADING])
@pytest.mark.parametrize("psi", [INVERSE_Y, [[-1]]])
def test_the_pole_is_reported_not_a_point_where_a_part_is_undefined(term, psi):
    """1/y = x^0.94 - 0.25 is defined at x = 0 and has its pole at 0.25^(1/0.94)."""
    found = check([term, ONE], [(0.0, 1.0)], [1.0, -0.25], psi)
    where = 0.25 ** (1 / 0.94) if term is POWER else -1.0 / np.log(0.25)
    assert (found.verdict, found.reason) == ("unsafe", "division by 0")
    assert found.where[0] == pytest.approx(where, abs=1e-9)


@pytest.mark.parametrize("psi", [INVERSE_Y, [[-1]]])
def test_a_zero_of_f_where_a_part_of_it_is_undefined_is_a_pole_of_the_inverse(psi):
    """1/y = x^0.94 has its pole at x = 0."""
    found = check([POWER], [(0.0, 1.0)], psi=psi)
    assert found.verdict == "unsafe"
    assert found.where[0] == 0.0


def test_a_pole_beside_a_point_where_only_a_part_is_undefined():
    """y = x^0.94 + 1/(x - 0.3): the logarithm of 0 comes first in the law."""
    pole = [[-1, 3, 1, 30000, 1.0, -0.3]]
    found = check([POWER, pole], [(0.0, 1.0)])
    assert found.verdict == "unsafe"
    assert found.where[0] == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize(
    ("psi", "alpha", "verdict"),
    [
        ([[-1]], [1.0, 0.5], "safe"),
        ([[-1]], [1.0, -0.5], "unsafe"),
        ([[-3]], [1.0, 0.5], "safe"),  # 1/y^2
        ([[-3]], [-1.0, -0.5], "unsafe"),
        ([[-11]], [1.0, 0.5], "safe"),  # 1/ln|y|
        ([[-11]], [1.0, 0.0], "unsafe"),
    ],
)
def test_the_inverse_of_a_reciprocal_g(psi, alpha, verdict):
    assert check([X1, ONE], [(0, 1)], alpha, psi).verdict == verdict


def test_a_pole_of_f_is_not_taken_for_the_pole_of_its_inverse():
    """1/y = x - 0.5 + 1/(1000 (x - 0.007)): y is 0 at 0.007 and has a pole near 0.5."""
    tiny = [[-1, 3, 1, 30000, 1.0, -0.007]]
    found = check([X1, tiny, ONE], [(0.0, 1.0)], [1.0, 1e-3, -0.5], INVERSE_Y)
    assert found.where[0] == pytest.approx(0.498, abs=1e-3)
