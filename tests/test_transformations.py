"""Built-in transformations against mpmath, and that a value depends on its argument alone."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gsr import _core

BUILTINS = {t.name: t for t in _core.builtin_transformations()}
ULPS = 4.0

EXACT = {
    "one": lambda t: mpmath.mpf(1),
    "identity": lambda t: t,
    "inverse": lambda t: 1 / t,
    "square": lambda t: t * t,
    "cube": lambda t: t**3,
    "sqrt": mpmath.sqrt,
    "cos": mpmath.cos,
    "sin": mpmath.sin,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
    "exp": mpmath.exp,
    "ln": lambda t: mpmath.log(abs(t)),
    "exp_neg": lambda t: mpmath.exp(-t),
    "cbrt": lambda t: mpmath.sign(t) * mpmath.cbrt(abs(t)),
    "abs": abs,
    "arctan": mpmath.atan,
}
# Values at 0, inf and -inf.
AT_LIMITS = {
    "one": (1, 1, 1),
    "identity": (0, np.inf, -np.inf),
    "inverse": (np.inf, 0, 0),
    "square": (0, np.inf, np.inf),
    "cube": (0, np.inf, -np.inf),
    "sqrt": (0, np.inf, np.nan),
    "cos": (1, np.nan, np.nan),
    "sin": (0, np.nan, np.nan),
    "tan": (0, np.nan, np.nan),
    "tanh": (0, 1, -1),
    "exp": (1, np.inf, 0),
    "ln": (-np.inf, np.inf, np.inf),
    "exp_neg": (1, 0, np.inf),
    "cbrt": (0, np.inf, -np.inf),
    "abs": (0, np.inf, np.inf),
    "arctan": (0, np.pi / 2, -np.pi / 2),
}
every = pytest.mark.parametrize("name", BUILTINS)


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


def signed(rng, low, high, n):
    return rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(low, high, n)


def arguments(kind):
    rng = np.random.default_rng(7)
    return {
        "ordinary": lambda: rng.uniform(-10, 10, 203),
        "near one": lambda: 1 + rng.uniform(-1e-3, 1e-3, 101),
        "tiny": lambda: signed(rng, -307, -3, 101),
        "subnormal": lambda: signed(rng, -323, -308, 31),
        "large": lambda: signed(rng, 1, 6, 101),
        "huge": lambda: signed(rng, 6, 308, 61),
        "near zeros and poles": lambda: np.pi / 2 * np.arange(-40, 41),
        "near overflow": lambda: rng.uniform(700, 750, 61) * rng.choice([-1, 1], 61),
    }[kind]()


def on_domain(name, x):
    return np.abs(x) if name == "sqrt" else x[x != 0] if name in ("inverse", "ln") else x


def ulps(value, exact):
    """Distance in units of the last place of the double nearest to the exact value."""
    nearest = float(exact)
    if not np.isfinite(nearest) or not np.isfinite(value):
        return 0.0 if value == nearest else np.inf
    return float(
        abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(np.spacing(abs(nearest))))
    )


def test_every_transformation_has_an_oracle():
    assert set(EXACT) == set(AT_LIMITS) == set(BUILTINS)


@every
@pytest.mark.parametrize(
    "kind",
    [
        "ordinary",
        "near one",
        "tiny",
        "subnormal",
        "large",
        "huge",
        "near zeros and poles",
        "near overflow",
    ],
)
def test_value_is_within_a_few_ulp(name, kind):
    x = on_domain(name, arguments(kind))
    values = BUILTINS[name].value(x)
    worst = max(
        (ulps(v, EXACT[name](mpmath.mpf(t))), t) for t, v in zip(x.tolist(), values, strict=True)
    )
    assert worst[0] <= ULPS, f"{name}({worst[1]!r}) is {worst[0]:.3g} ulp off"


@every
def test_value_at_limits(name):
    values = BUILTINS[name].value([0.0, np.inf, -np.inf])
    np.testing.assert_array_equal(values, AT_LIMITS[name])


@every
def test_nan_stays_nan(name):
    value = BUILTINS[name].value([np.nan])[0]
    assert value == 1.0 if name == "one" else np.isnan(value)


def test_outside_its_domain_a_value_is_not_finite():
    assert np.isnan(BUILTINS["sqrt"].value([-1.0, -1e-300])).all()
    assert not np.isfinite(BUILTINS["inverse"].value([0.0, -0.0])).any()
    assert not np.isfinite(BUILTINS["ln"].value([0.0, -0.0])).any()


def test_ln_is_that_of_the_absolute_value():
    x = np.array([0.3, 2.0, 1e300, 5e-324])
    assert (BUILTINS["ln"].value(-x) == BUILTINS["ln"].value(x)).all()


# ---- derivatives -----------------------------------------------------------------------------


@every
def test_derivative_is_that_of_mpmath(name):
    rng = np.random.default_rng(3)
    x = on_domain(name, np.concatenate([rng.uniform(-8, 8, 60), signed(rng, -4, 1, 30)]))
    found = BUILTINS[name].derivative(x)
    for t, d in zip(x.tolist(), found.tolist(), strict=True):
        # tanh' = 1 - tanh^2 is known to a rounding of 1 only.
        exact = float(mpmath.diff(EXACT[name], mpmath.mpf(t)))
        near = 1e-15 if name == "tanh" else 0.0
        assert d == pytest.approx(exact, rel=4e-15, abs=near), f"{name}'({t!r})"


# ---- inverses --------------------------------------------------------------------------------

# Where the principal branch lives, and how much the inverse magnifies a rounding of the value.
PRINCIPAL = {
    "identity": (-50, 50),
    "inverse": (0.01, 50),
    "square": (0, 50),
    "cube": (-50, 50),
    "sqrt": (0, 50),
    "cos": (0.05, 3.09),
    "sin": (-1.52, 1.52),
    "tan": (-1.52, 1.52),
    "tanh": (-3, 3),
    "exp": (-30, 30),
    "ln": (0.01, 50),
    "exp_neg": (-30, 30),
    "cbrt": (-50, 50),
    "abs": (0.01, 50),
    "arctan": (-30, 30),
}
with_inverse = pytest.mark.parametrize("name", PRINCIPAL)


def principal(name, n=101):
    return np.random.default_rng(5).uniform(*PRINCIPAL[name], n)


def test_all_but_one_have_an_inverse():
    assert {name for name, t in BUILTINS.items() if t.has_inverse} == set(PRINCIPAL)
    with pytest.raises(ValueError, match="one has no inverse"):
        BUILTINS["one"].inverse([1.0])


@with_inverse
def test_inverse_undoes_the_value_on_the_principal_branch(name):
    t = BUILTINS[name]
    x = principal(name)
    v = t.value(x)
    magnified = np.abs(v / t.derivative(x))
    assert (np.abs(t.inverse(v) - x) <= 8 * 2.0**-52 * (np.abs(x) + magnified)).all()


@with_inverse
def test_inverse_is_that_of_mpmath(name):
    t = BUILTINS[name]
    exact = {
        "identity": lambda v: v,
        "inverse": lambda v: 1 / v,
        "square": mpmath.sqrt,
        "cube": lambda v: mpmath.sign(v) * mpmath.cbrt(abs(v)),
        "sqrt": lambda v: v * v,
        "cos": mpmath.acos,
        "sin": mpmath.asin,
        "tan": mpmath.atan,
        "tanh": mpmath.atanh,
        "exp": mpmath.log,
        "ln": mpmath.exp,
        "exp_neg": lambda v: -mpmath.log(v),
        "cbrt": lambda v: v**3,
        "abs": lambda v: v,
        "arctan": mpmath.tan,
    }[name]
    v = t.value(principal(name))
    for value, back in zip(v.tolist(), t.inverse(v), strict=True):
        assert ulps(back, exact(mpmath.mpf(value))) <= ULPS


@with_inverse
def test_mirror_gives_the_other_solution(name):
    t = BUILTINS[name]
    x = principal(name)
    if np.isnan(t.mirror):
        # Strictly monotonic over the branch: there is no other solution in it.
        steps = np.diff(t.value(np.sort(x)))
        assert (steps > 0).all() or (steps < 0).all()
        return
    other = t.mirror - x
    assert np.abs(other - x).max() > 0.1
    scale = 8 * 2.0**-52 * (1 + np.abs(t.value(x)) + np.abs(x * t.derivative(x)))
    assert (np.abs(t.value(other) - t.value(x)) <= scale).all()


def test_mirrors_and_periods_are_those_of_the_functions():
    mirrors = {n: t.mirror for n, t in BUILTINS.items() if not np.isnan(t.mirror)}
    assert mirrors == {"square": 0.0, "abs": 0.0, "cos": 0.0, "ln": 0.0, "sin": np.pi}
    periods = {n: t.period for n, t in BUILTINS.items() if t.period != 0.0}
    assert periods == {"cos": 2 * np.pi, "sin": 2 * np.pi, "tan": np.pi}


@pytest.mark.parametrize("name", ["cos", "sin", "tan"])
@pytest.mark.parametrize("k", [-7, -1, 1, 2, 9])
def test_values_repeat_with_the_period_and_not_before(name, k):
    t = BUILTINS[name]
    x = principal(name)
    moved = t.value(x + k * t.period)
    slack = 2.0**-50 * (1 + np.abs(t.derivative(x)) * (np.abs(x) + abs(k) * t.period))
    assert (np.abs(moved - t.value(x)) <= slack).all()
    assert np.abs(t.value(x + t.period / 2) - t.value(x)).min() > 0.01


def test_principal_inverse_of_a_value_out_of_range_is_nan():
    for name, outside in [("cos", 1.1), ("sin", -1.1), ("tanh", 1.5), ("square", -1.0),
                          ("sqrt", -1.0), ("abs", -1.0), ("arctan", 1.6), ("exp", -1.0),
                          ("exp_neg", -1.0)]:  # fmt: skip
        assert np.isnan(BUILTINS[name].inverse([outside])).all(), name


# ---- position --------------------------------------------------------------------------------

doubles = st.one_of(
    st.floats(-20, 20, allow_nan=False),
    st.floats(allow_nan=False),  # tiny, huge, infinite lanes beside ordinary ones
)


def bits(values):
    return np.asarray(values).view(np.uint64).tolist()


def functions(name):
    t = BUILTINS[name]
    return [
        t.value,
        *([t.derivative] if t.has_derivative else []),
        *([t.inverse] if t.has_inverse else []),
    ]


@every
@given(
    x=st.lists(doubles, min_size=1, max_size=40),
    start=st.integers(0, 39),
    length=st.integers(1, 40),
    offset=st.integers(0, 7),
    seed=st.integers(0, 2**32 - 1),
)
@example(x=[0.5] * 3 + [1e300] + [0.5] * 36, start=1, length=2, offset=3, seed=1)
def test_value_does_not_depend_on_its_position(name, x, start, length, offset, seed):
    x = np.array(x)
    order = np.random.default_rng(seed).permutation(len(x))
    start %= len(x)
    part = slice(start, start + length)
    shifted = np.empty(len(x) + offset)[offset:]
    shifted[:] = x
    for function in functions(name):
        whole = function(x)
        alone = np.concatenate([function(x[i : i + 1]) for i in range(len(x))])
        assert bits(alone) == bits(whole)
        assert bits(function(x[part].copy())) == bits(whole[part])
        assert bits(function(x[order])) == bits(whole[order])
        assert bits(function(shifted)) == bits(whole)


@every
def test_every_length_gives_the_same_bits(name):
    x = np.random.default_rng(11).uniform(0.1, 9, 40)
    for function in functions(name):
        whole = function(x)
        for n in range(1, 41):
            assert bits(function(x[:n])) == bits(whole[:n]), n


# ---- custom ----------------------------------------------------------------------------------


def test_custom_transformation_uses_the_functions_given():
    t = _core.Transformation.custom(
        "arctan",
        "arctan({})",
        "atan({})",
        np.arctan,
        lambda x: 1 / (1 + x**2),
        np.tan,
        "tan({})",
        2,
    )
    x = np.linspace(-3, 3, 7)
    np.testing.assert_array_equal(t.value(x), np.arctan(x))
    np.testing.assert_array_equal(t.derivative(x), 1 / (1 + x**2))
    np.testing.assert_array_equal(t.inverse(x), np.tan(x))
    assert (t.name, t.cost, t.family, t.inverse_sympy) == ("arctan", 2, "other", "tan({})")


def test_custom_transformation_without_inverse_or_derivative_says_so():
    t = _core.Transformation.custom("floor", "floor({})", "floor({})", np.floor)
    assert not t.has_inverse
    assert not t.has_derivative
    for function in (t.inverse, t.derivative):
        with pytest.raises(ValueError, match="floor"):
            function([1.0])


def test_custom_transformation_of_the_wrong_length_is_named():
    t = _core.Transformation.custom("total", "total({})", "{}", lambda x: x.sum(keepdims=True))
    with pytest.raises(ValueError, match="'total' did not return one value per row"):
        t.value([1.0, 2.0])


def test_custom_transformation_does_not_see_the_callers_array():
    def spoil(x):
        x[:] = 0
        return x

    x = np.ones(3)
    _core.Transformation.custom("spoil", "s({})", "{}", spoil).value(x)
    assert (x == 1).all()


# ---- table -----------------------------------------------------------------------------------


def table(*names):
    return _core.Table([BUILTINS[n] for n in names])


def test_table_needs_one():
    with pytest.raises(ValueError, match="'one'"):
        table("identity", "cos")


def test_table_is_indexed_by_code():
    t = table("one", "cos", "ln")
    assert [t[k].name for k in range(len(t))] == ["one", "cos", "ln"]
    for code in (3, -1):
        with pytest.raises(IndexError):
            t[code]


def test_sublibraries_are_those_of_the_paper():
    t = table("one", "identity", "cos", "sin", "exp", "ln", "square", "cube", "inverse")
    assert t.polynomial() == [0, 1, 6, 7]
    assert t.trigonometric() == [0, 1, 2, 3, 6, 7]


def test_sublibrary_that_would_be_empty_is_the_whole_table():
    assert table("one", "exp", "ln").polynomial() == [0, 1, 2]
    assert table("one", "identity", "exp").trigonometric() == [0, 1, 2]
