"""Values of basis functions against an evaluation in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsr import _core

NAMES = ("one", "identity", "inverse", "square", "cube", "sqrt", "cos", "sin", "tan", "tanh", "exp",
         "ln", "exp_neg")  # fmt: skip
BUILTINS = {t.name: t for t in _core.builtin_transformations()}
TABLE = _core.Table([BUILTINS[n] for n in NAMES])
ONE, IDENTITY, INVERSE, COS, EXP, LN = map(
    NAMES.index, ("one", "identity", "inverse", "cos", "exp", "ln")
)
X, SUM, PRODUCT = 0, 1, 2

IN_NUMPY = {
    "one": np.ones_like,
    "identity": lambda t: t,
    "inverse": lambda t: 1 / t,
    "square": np.square,
    "cube": lambda t: t**3,
    "sqrt": np.sqrt,
    "cos": np.cos,
    "sin": np.sin,
    "tan": np.tan,
    "tanh": np.tanh,
    "exp": np.exp,
    "ln": lambda t: np.log(np.abs(t)),
    "exp_neg": lambda t: np.exp(-t),
}


def argument(kind, variables, x):
    if kind == X:
        return x[:, variables[0] - 1]
    operands = [x[:, v - 1] for v in variables if v != 0]
    return np.sum(operands, axis=0) if kind == SUM else np.prod(operands, axis=0)


def in_numpy(matrix, x, names=NAMES):
    """Product of T(argument) over the rows (paper, Table 3)."""
    value = np.ones(len(x))
    with np.errstate(all="ignore"):
        for row in matrix:
            if names[row[0]] != "one":
                t = x[:, 0] if len(row) == 1 else argument(row[1], row[2:], x)
                value = value * IN_NUMPY[names[row[0]]](t)
    return value


def random_matrix(rng, d, width, rows):
    matrix = rng.integers(0, d + 1, (rows, width + 2))
    matrix[:, 0] = rng.integers(0, len(NAMES), rows)
    matrix[:, 1] = rng.integers(0, 3, rows)
    matrix[:, 2] = rng.integers(1, d + 1, rows)
    return matrix.tolist()


def assert_close(found, expected, rtol=2e-12):
    """Equal up to the roundings of arguments, where finite; not finite in the same places."""
    assert found.shape == expected.shape
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    fine = np.isfinite(expected)
    np.testing.assert_allclose(found[fine], expected[fine], rtol=rtol, atol=1e-12)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 5),
    width=st.integers(1, _core.MAX_VARIABLES),
    rows=st.integers(1, 4),
    n=st.integers(1, 40),
)
def test_random_matrices_have_the_values_of_numpy(seed, d, width, rows, n):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.6, 1.4, (n, d))
    matrices = [random_matrix(rng, d, width, rows) for _ in range(4)]
    found = _core.evaluate_bases(TABLE, matrices, x)
    # Only tan can be ill-conditioned here; near its poles a rounding of the argument shows.
    expected = np.stack([in_numpy(m, x) for m in matrices], axis=1)
    near_pole = np.abs(expected) > 1e3
    assert_close(np.where(near_pole, 0, found), np.where(near_pole, 0, expected), rtol=1e-9)


def test_example_of_the_paper():
    """phi = x2 cos(x1^2 x2) ln(x1 + x3), Table 3; ignored entries hold anything."""
    names = ("one", "identity", "cos", "sin", "exp", "ln")
    table = _core.Table([BUILTINS[n] for n in names])
    matrix = [[1, 0, 2, 77, -4], [2, 2, 1, 1, 2], [5, 1, 1, 3, 0], [0, 9, -1, 50, 2]]
    x = np.random.default_rng(0).uniform(0.1, 2, (17, 3))
    expected = x[:, 1] * np.cos(x[:, 0] ** 2 * x[:, 1]) * np.log(x[:, 0] + x[:, 2])
    assert_close(_core.evaluate_bases(table, [matrix], x)[:, 0], expected)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[IDENTITY, X, 2, 1, 1]], lambda a, b: b),
        ([[IDENTITY, SUM, 1, 2, 1]], lambda a, b: 2 * a + b),
        ([[IDENTITY, SUM, 1, 0, 0]], lambda a, b: a),
        ([[IDENTITY, PRODUCT, 1, 2, 1]], lambda a, b: a * a * b),
        ([[IDENTITY, PRODUCT, 2, 0, 0]], lambda a, b: b),
        (
            [[COS, PRODUCT, 2, 0, 1], [EXP, SUM, 1, 0, 1]],
            lambda a, b: np.cos(a * b) * np.exp(2 * a),
        ),
        ([[ONE, X, 1, 1, 1], [LN, X, 2, 0, 0]], lambda a, b: np.log(b)),
    ],
)
def test_argument_types_and_skips(matrix, expected):
    x = np.random.default_rng(1).uniform(0.5, 3, (11, 2))
    assert_close(_core.evaluate_bases(TABLE, [matrix], x)[:, 0], expected(x[:, 0], x[:, 1]))


@pytest.mark.parametrize("matrix", [[[ONE]], [[ONE, 0, 1]], [[ONE, 5, 9, 9], [ONE, -3, 0, 7]]])
def test_constant_basis_is_one_in_every_row(matrix):
    values = _core.evaluate_bases(TABLE, [matrix], np.full((13, 2), np.nan))
    np.testing.assert_array_equal(values, np.ones((13, 1)))


def test_target_matrices_of_one_column_are_products_of_functions_of_y():
    y = np.linspace(0.2, 3, 9)
    found = _core.evaluate_bases(TABLE, [[[LN]], [[LN], [IDENTITY]]], y[:, None])
    assert_close(found, np.stack([np.log(y), np.log(y) * y], axis=1))


def test_undefined_values_are_not_finite_and_the_others_untouched():
    x = np.array([[2.0], [0.0], [-3.0], [800.0], [np.nan], [np.inf]])
    root, inverse, exp, ln = (
        _core.evaluate_bases(TABLE, [[[code, X, 1]]], x)[:, 0]
        for code in (NAMES.index("sqrt"), INVERSE, EXP, LN)
    )
    assert np.isfinite(root).tolist() == [True, True, False, True, False, False]
    assert np.isfinite(inverse).tolist() == [True, False, True, True, False, True]
    assert np.isfinite(exp).tolist() == [True, True, True, False, False, False]
    assert np.isfinite(ln).tolist() == [True, False, True, True, False, False]
    assert root[0] == np.sqrt(2.0)
    assert ln[2] == pytest.approx(np.log(3.0), rel=1e-15)


def test_zero_times_infinity_is_reported():
    x = np.array([[0.0], [2.0]])
    values = _core.evaluate_bases(TABLE, [[[IDENTITY, X, 1], [INVERSE, X, 1]]], x)[:, 0]
    assert np.isnan(values[0])
    assert values[1] == 1.0


def test_columns_do_not_depend_on_each_other_or_on_the_number_of_rows():
    rng = np.random.default_rng(4)
    x = rng.uniform(-3, 3, (37, 3))
    matrices = [random_matrix(rng, 3, 4, 3) for _ in range(60)]
    together = _core.evaluate_bases(TABLE, matrices, x)
    for j, matrix in enumerate(matrices):
        alone = _core.evaluate_bases(TABLE, [matrix], x)[:, 0]
        np.testing.assert_array_equal(alone, together[:, j])
    for n in (1, 2, 7, 8, 9, 36):
        np.testing.assert_array_equal(_core.evaluate_bases(TABLE, matrices, x[:n]), together[:n])


def test_rows_in_any_order_of_variables_are_one_function():
    x = np.random.default_rng(5).uniform(-2, 2, (23, 3))
    same = [[[COS, SUM, 1, 2, 3, 1]], [[COS, SUM, 1, 3, 1, 2]], [[COS, SUM, 2, 1, 1, 3]]]
    values = _core.evaluate_bases(TABLE, same, x)
    assert (values == values[:, :1]).all()


@pytest.mark.parametrize("layout", ["C", "F", "strided", "list", "integers"])
def test_any_layout_of_the_data_gives_the_same_values(layout):
    x = np.arange(1.0, 25.0).reshape(12, 2)
    given_as = {
        "C": np.ascontiguousarray(x),
        "F": np.asfortranarray(x),
        "strided": np.repeat(x, 2, axis=0)[::2],
        "list": x.tolist(),
        "integers": x.astype(int),
    }[layout]
    matrices = [[[LN, SUM, 1, 2]], [[IDENTITY, PRODUCT, 2, 2]]]
    expected = np.stack([np.log(x.sum(axis=1)), x[:, 1] ** 2], axis=1)
    assert_close(_core.evaluate_bases(TABLE, matrices, given_as), expected)


def test_kept_rows_beyond_the_memory_bound_are_built_anew():
    """At 560,000 rows 59 kept rows fill 256 MB: 72 do not fit."""
    n, d = 560_000, 6
    x = np.asfortranarray(np.linspace(0.5, 1.5, n)[:, None] + np.arange(d) / 10)
    codes = [code for code, name in enumerate(NAMES) if name != "one"]
    rows = [[[code, X, v]] for v in range(1, d + 1) for code in codes]
    assert len(rows) > 64
    values = _core.evaluate_bases(TABLE, [*rows, rows[0], rows[5]], x)
    np.testing.assert_array_equal(values[:, -2:], values[:, [0, 5]])
    few = slice(None, None, n // 50)
    for j, matrix in enumerate(rows):
        assert_close(values[few, j], in_numpy(matrix, x[few]))


def test_more_rows_than_are_kept_still_have_their_values():
    """With a bound of nothing rows are made again and again; the laws are the same."""
    rng = np.random.default_rng(6)
    x = np.asfortranarray(rng.uniform(0.5, 2, (25, 4)))
    y = rng.normal(size=25)

    def laws(max_bytes):
        settings_ = _core.Settings()
        settings_.max_generations = 12
        settings_.max_bytes = max_bytes
        evolution = _core.Island(x, y, TABLE, TABLE, settings_)
        evolution.run(60.0)
        return [(law.phi, law.psi, law.alpha, law.beta, law.rmse) for law in evolution.front()]

    assert laws(0) == laws(1 << 28)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[99, 0, 1]], "row 1: transformation 99 is not in the table"),
        ([[-99, 0, 1]], "transformation -99"),
        ([[IDENTITY, 0, 1], [COS, 4, 1]], "row 2: argument type 4"),
        ([[COS, 3, 1]], "one weight for each operand"),
        ([[COS, 3, -1, 2.0]], "the sign of a weighted operand"),
        ([[COS, 0, 1.5]], "is not an integer"),
        ([[COS, 0, _core.ONE + 1]], "must refer to a row below"),
        ([[COS, 0, _core.ONE + 3], [COS, 0, 1]], "must refer to a row below"),
        ([[IDENTITY, 0, 0]], "variable 0 is not between 1 and 2"),
        ([[IDENTITY, 0, 3]], "variable 3 is not between 1 and 2"),
        ([[IDENTITY, SUM, 1, 3]], "variable 3 is not between 0 and 2"),
        ([[IDENTITY, SUM, 1, -3]], "variable -3"),
        ([[IDENTITY, 0]], "needs a transformation, an argument type and a variable"),
        ([[IDENTITY, 0, 1], [COS, 0, 1, 1]], "row 2: differs in length"),
        ([[IDENTITY, 0, 1]] * (_core.MAX_ROWS + 1), "more than 8 rows"),
        ([[IDENTITY, SUM, *[1] * (_core.MAX_VARIABLES + 1)]], "more than 8 variables"),
        ([], "no rows"),
        ([[]], "row 1: is empty"),
    ],
)
def test_bad_matrix_is_named(matrix, message):
    with pytest.raises(ValueError, match=message):
        _core.evaluate_bases(TABLE, [matrix], np.ones((3, 2)))


def test_data_must_be_a_table():
    with pytest.raises(ValueError, match="rows and columns"):
        _core.evaluate_bases(TABLE, [[[IDENTITY, 0, 1]]], np.ones(3))
