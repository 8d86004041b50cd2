import random
import re

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
from drawn_laws import wider_matrix
from gsr import _core
from gsr.encoding import canonical, complexity, decode, encode, encode_target, evaluate, text
from gsr.encoding.fold import negative_arguments
from gsr.encoding.rows import (
    ONE,
    ROW,
    WEIGHTED,
    factors,
    integers,
    matrix_of,
    rows,
)
from gsr.encoding.writing import number, weighted_sum
from gsr.exceptions import GSRError
from gsr.library import PRESETS, TABLE_2, TABLE_13, Library, Transformation, resolve
from sympy_values import parsed_text, values

D = 3
ALL = PRESETS["all"]
POSITIVE = np.random.default_rng(1).uniform(0.4, 1.6, (6, D))
SIGNED = np.random.default_rng(2).uniform(-1.5, 1.5, (6, D))

EXAMPLES = [
    (
        TABLE_2,
        [[1, 0, 2, None, None], [2, 2, 1, 1, 2], [5, 1, 1, 3, 0], [0, None, None, None, None]],
        "x2*cos(x1**2*x2)*log(x1 + x3)",
        "x2 cos(x1^2 x2) ln(x1 + x3)",
    ),
    (TABLE_13, [[3, 0, 1, None], [7, 2, 1, 2]], "x1**2*exp(x1*x2)", "x1^2 exp(x1 x2)"),
    (
        TABLE_13,
        [
            [2, 1, 1, 1, 2],
            [4, 0, 2, None, None],
            [6, 2, 2, 3, None],
            [9, 1, 2, 3, 3],
            [0, None, None, None, None],
        ],
        "x2**3*sin(x2*x3)*sqrt(x2 + 2*x3)/(2*x1 + x2)",
        "x2^3 sin(x2 x3) sqrt(x2 + 2 x3)/(2 x1 + x2)",
    ),
    (TABLE_13, [[4], [9]], "y**3*sqrt(y)", "y^3.5"),
    (TABLE_13, [[0], [8], [0]], "log(y)", "ln(y)"),
    (TABLE_13, [[7]], "exp(y)", "exp(y)"),
]


def symbols(expression):
    return {s: sympy.Symbol(s.name, real=True) for s in expression.free_symbols}


@pytest.mark.parametrize(("library", "matrix", "formula", "written"), EXAMPLES)
def test_examples_of_the_paper(library, matrix, formula, written):
    truth = sympy.sympify(formula)
    truth = truth.xreplace(symbols(truth))
    assert sympy.expand(decode(matrix, library) - truth) == 0
    assert text(matrix, library) == written
    target = len(matrix[0]) == 1
    for source in (truth, formula, written):
        found = encode_target(source, library) if target else encode(source, library, D)
        assert found == canonical(matrix, library, D)


def test_entries_without_meaning_do_not_matter():
    clean = [[1, 0, 2, 0, 0], [0, 0, 0, 0, 0]]
    dirty = [[1, 0, 2, 99, -7], [0, 55, -1, 3, 3]]
    assert decode(clean, TABLE_2) == decode(dirty, TABLE_2)
    assert canonical(clean, TABLE_2, D) == canonical(dirty, TABLE_2, D) == [[1, 0, 2]]


@pytest.mark.parametrize(
    ("formula", "written"),
    [
        ("2*x1 + x2", "(2 x1 + x2)"),
        ("1/(2*x1 + x2)", "1/(2 x1 + x2)"),
        ("exp(-x1)", "exp(-x1)"),
        ("exp(-x1 - x2)", "exp(-(x1 + x2))"),
        ("exp(-x1*x2)", "exp(-x1 x2)"),
        ("x1**4", "x1^4"),
        ("(x1 + x2)**2", "(x1 + x2)^2"),
        ("x1/(x2*(x1 + x3))", "x1/(x2 (x1 + x3))"),
        ("cos(x1)**2", "cos(x1)^2"),
        ("sqrt(x1*x2)", "sqrt(x1 x2)"),
        ("1/(x1*x2)", "1/(x1 x2)"),
        ("1", "1"),
    ],
)
def test_text(formula, written):
    assert text(encode(formula, ALL, D), ALL) == written


def test_bars_of_ln():
    matrix = [[5, 1, 1, 3], [5, 1, 1, 3]]
    assert text(matrix, TABLE_2, absolute=True) == "(ln|x1 + x3|)^2"
    assert text(matrix, TABLE_2, absolute={0}) == "ln|x1 + x3| ln(x1 + x3)"
    x1, x3 = sympy.symbols("x1 x3", real=True)
    bars, plain = sympy.log(sympy.Abs(x1 + x3)), sympy.log(x1 + x3)
    assert decode(matrix, TABLE_2, absolute={0}) == bars * plain
    assert encode(decode(matrix, TABLE_2, absolute=True), TABLE_2, D) == matrix


def test_names_are_quoted_where_they_could_be_misread_and_never_parsed():
    names = ["body mass", "lambda", "ln"]
    matrix = [[1, 2, 1, 2], [2, 0, 3, 0]]
    assert text(matrix, TABLE_2, names) == "`body mass` lambda cos(`ln`)"
    found = decode(matrix, TABLE_2, names)
    assert {s.name for s in found.free_symbols} == set(names)
    with pytest.raises(ValueError, match="variable 2 has no name"):
        decode(matrix, TABLE_2, ["a"])


def test_unknown_variables_and_missing_transformations():
    with pytest.raises(ValueError, match="'x4' is not one of the variables"):
        encode("x1*x4", TABLE_2, D)
    with pytest.raises(ValueError, match="more than 8 factors"):
        encode("*".join(f"cos({k}*x1)" for k in range(1, 4)) + "*cos(x2)**7", TABLE_2, D)


def test_n_v_limits_and_pads():
    assert encode("x1**4", TABLE_2, 1, n_v=3) == [[1, 0, 1, 0, 0], [1, 2, 1, 1, 1]]
    assert encode("x1", TABLE_2, 1, n_v=3) == [[1, 0, 1, 0, 0]]
    with pytest.raises(ValueError, match="cannot be encoded"):
        encode("cos(x1 + x2 + x3)", TABLE_2, D, n_v=2)


@pytest.mark.parametrize(
    "matrix",
    [
        [[4, 1, 1, 1, 1]] * 3,  # 19683 x1^9: nine identity rows would be too many
        [[9, 0, 2, 0], [9, 1, 2, 2]],  # sqrt(x2) sqrt(2 x2) = sqrt(2) x2
        [[3, 0, 3, 0], [2, 1, 3, 3]],  # x3^2/(2 x3) = x3/2
        [[9, 1, 1, 1], [2, 1, 2, 2]],  # sqrt(2 x1)/(2 x2)
    ],
)
def test_numbers_that_sympy_pulled_out_go_back_into_arguments(matrix):
    found = encode(decode(matrix, TABLE_13), TABLE_13, D)
    expected, values = evaluate([matrix, found], TABLE_13, POSITIVE).T
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_own_transformations_are_recognised():
    library = Library(
        [
            "identity",
            Transformation("ricker", lambda t: t * np.exp(-t), lambda t: t * sympy.exp(-t)),
            Transformation("bell", lambda t: 1 / (1 + t**2), "1/(1 + {}**2)"),
        ]
    )
    matrix = [[1, 0, 1, 0], [2, 1, 1, 2], [3, 2, 1, 2]]
    assert encode(decode(matrix, library), library, D) == matrix
    assert text(matrix, library) == "x1 ricker(x1 + x2) bell(x1 x2)"


def test_bad_matrices_are_refused():
    for matrix in ([[9, 0, 1]], [[1, 3, 1]], [[1, 0]], [[1, 0, 0]], [[1, 1, 0, 0]]):
        with pytest.raises(ValueError, match="basis matrix, row 1"):
            decode(matrix, TABLE_2)


def test_numbers_and_sums():
    shown = [number(v) for v in (0.49999999999, 2.0, 1234567.0, 1e-7, -0.1234567, 100000.0)]
    assert shown == ["0.5", "2", "1.23457e6", "1e-7", "-0.123457", "100000"]
    parts = [(-1.0, "a"), (2.5, "b"), (0.0, "c"), (-0.99999999, "d")]
    joined = weighted_sum([(c, lambda n, t=t: f"{n} {t}".strip()) for c, t in parts])
    assert joined == "-a + 2.5 b - d"
    assert weighted_sum([]) == "0"


# ---- beyond the paper ------------------------------------------------------------------------

# Matrix, text, formula.
WIDER = [
    ([[1, 0, 1, 0], [-1, 1, 2, -3]], "x1/(x2 - x3)", "x1/(x2 - x3)"),
    ([[1, 2, 1, 2, -3, -3]], "x1 x2/x3^2", "x1*x2/x3**2"),
    ([[5, 1, ONE, ROW + 2], [3, 0, 1, 0]], "sqrt(1 + x1^2)", "sqrt(1 + x1**2)"),
    ([[10, 0, ROW + 2], [6, 0, 1]], "exp(cos(x1))", "exp(cos(x1))"),
    ([[7, 3, 1, 9.8]], "sin(9.8 x1)", "sin(9.8*x1)"),
    ([[3, 3, 1, ONE, 1.0, -1.0]], "(x1 - 1)^2", "(x1 - 1)**2"),
    ([[-1, 3, ONE, ROW + 2, 1.0, 0.5], [3, 0, 1, 0]], "1/(1 + 0.5 x1^2)", "1/(1 + 0.5*x1**2)"),
    ([[-6, 0, 1], [-6, 0, 1]], "1/cos(x1)^2", "1/cos(x1)**2"),
    ([[12, 3, ROW + 2, 0.25], [3, 1, 1, -2]], "exp(-0.25 (x1 - x2)^2)", "exp(-0.25*(x1 - x2)**2)"),
    ([[12, 1, 1, -2]], "exp(-(x1 - x2))", "exp(-(x1 - x2))"),
    ([[10, 1, -1, 2]], "exp(x2 - x1)", "exp(x2 - x1)"),
    ([[6, 0, -1]], "cos(-x1)", "cos(x1)"),
    ([[1, 0, -1]], "(-x1)", "-x1"),
    ([[8, 1, ONE, ONE, -1]], "tan(2 - x1)", "tan(2 - x1)"),
    ([[1, 0, 2], [1, 3, 1, 0.5]], "x2 (0.5 x1)", "0.5*x1*x2"),
    ([[-11, 2, 1, -2]], "1/ln(x1/x2)", "1/log(x1/x2)"),
    ([[13, 1, 1, -2]], "cbrt(x1 - x2)", "sign(x1 - x2)*Abs(x1 - x2)**Rational(1, 3)"),
    ([[-13, 2, 1, -2]], "1/cbrt(x1/x2)", "1/(sign(x1/x2)*Abs(x1/x2)**Rational(1, 3))"),
    ([[14, 1, 1, -2]], "abs(x1 - x2)", "Abs(x1 - x2)"),
    ([[5, 0, ROW + 2, 0], [14, 1, 1, -2]], "sqrt(abs(x1 - x2))", "sqrt(Abs(x1 - x2))"),
    ([[-15, 3, 1, 9.8]], "1/arctan(9.8 x1)", "1/atan(9.8*x1)"),
    ([[9, 1, 1, ROW + 2], [-1, 1, ONE, ROW + 3], [10, 0, 2, 0]], "tanh(x1 + 1/(1 + exp(x2)))",
     "tanh(x1 + 1/(1 + exp(x2)))"),
]  # fmt: skip


@pytest.mark.parametrize(("matrix", "written", "formula"), WIDER)
def test_wider_matrices_read_well_and_come_back(matrix, written, formula):
    truth = sympy.sympify(formula)
    truth = truth.xreplace(symbols(truth))
    assert text(matrix, ALL) == written
    assert sympy.simplify(decode(matrix, ALL) - truth) == 0
    expected = evaluate([matrix], ALL, POSITIVE)[:, 0]
    assert np.ptp(expected) > 0
    np.testing.assert_allclose(values(truth, POSITIVE), expected, rtol=1e-12)
    for source in (formula, written, truth):
        found = encode(source, ALL, D)
        assert sympy.simplify(decode(found, ALL) - truth) == 0
        np.testing.assert_allclose(evaluate([found], ALL, POSITIVE)[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("formula", "written", "columns"),
    [
        ("log(1 + 1/y)", "ln(1 + 1/y)", 4),
        ("1/(y - 1)", "1/(y - 1)", 4),
        ("log(y^2 - 1)", "ln(y^2 - 1)", 4),
        ("log(sin(y))", "ln(sin(y))", 3),
        ("exp(y) - 1", "(exp(y) - 1)", 4),
        ("sin(y)", "sin(y)", 1),
        ("1/cos(y)", "1/cos(y)", 1),
        ("tanh(0.5*y)", "tanh(0.5 y)", 4),
    ],
)
def test_wider_targets(formula, written, columns):
    found = encode_target(formula, ALL)
    assert text(found, ALL, ["y"]) == written
    assert len(found[0]) == columns
    y = np.linspace(1.1, 2, 7)
    truth = sympy.lambdify(sympy.Symbol("y"), sympy.sympify(formula.replace("^", "**")), "numpy")(y)
    np.testing.assert_allclose(evaluate([found], ALL, y[:, None])[:, 0], truth, rtol=1e-12)


def test_bars_stand_in_inner_rows_too():
    matrix = [[11, 1, ONE, ROW + 2], [11, 0, 1, 0]]
    assert text(matrix, ALL, absolute={1}) == "ln(1 + ln|x1|)"
    assert text([[-11, 0, 1]], ALL, absolute=True) == "1/ln|x1|"
    x1 = sympy.Symbol("x1", real=True)
    assert decode(matrix, ALL, absolute={1}) == sympy.log(1 + sympy.log(sympy.Abs(x1)))


def test_plain_matrices_are_preferred():
    for formula, matrix in {
        "x1*x2/x3**2": [[1, 2, 1, 2], [2, 2, 3, 3]],
        "1/x1": [[2, 0, 1]],
        "2*x1 + x2": [[1, 1, 1, 1, 2]],
        "exp(-x1)": [[12, 0, 1]],
        "4*x1**2": [[3, 1, 1, 1]],
    }.items():
        assert encode(formula, ALL, D) == matrix
    assert encode("x1/2", ALL, D) == [[1, WEIGHTED, 1, 0.5]]  # rather than x1^2/(2 x1)
    assert encode_target("y^2/y^3", ALL) == [[2]]


def test_libraries_without_identity_or_square():
    x = POSITIVE[:, 0]
    for library, formula, truth in (
        (Library(["cos"]), "1/cos(x1)", 1 / np.cos(x)),
        (Library(["inverse", "cos"]), "cos(1 + 1/x1)", np.cos(1 + 1 / x)),
        (TABLE_2, "cos((1 + x1)^2)", np.cos((1 + x) ** 2)),
        (TABLE_2, "cos(abs(x1))", np.cos(x)),
        (TABLE_13, "exp(-(1 + x1)^6)", np.exp(-((1 + x) ** 6))),
        (TABLE_13, "sin(x1^(1/4))", np.sin(x**0.25)),
        (TABLE_13, "2^x1", 2**x),
    ):
        found = encode(formula, library, 1)
        np.testing.assert_allclose(evaluate([found], library, POSITIVE)[:, 0], truth, rtol=1e-12)


@pytest.mark.parametrize(
    ("formula", "culprit"),
    [
        ("x1*tan(x2)", r"tan\(x2\)"),
        ("x1**pi", r"x1\*\*pi"),
        ("x1**(1/3)", r"x1\*\*\(1/3\)"),
        ("2", "2"),
        ("cos(asin(x1))", r"asin\(x1\)|sqrt"),
        (sympy.I * sympy.Symbol("x1"), "I"),
        ("cos(x1 + gamma(x2))", r"gamma\(x2\)"),
    ],
)
def test_what_no_matrix_can_hold_is_named(formula, culprit):
    library = Library(["identity", "cos", "sin", "exp", "ln"])
    with pytest.raises(ValueError, match=f"the factor ({culprit}).* cannot be encoded"):
        encode(formula, library, D)


def test_own_transformations_inside_others():
    library = Library(
        [
            "identity",
            "cos",
            Transformation("bell", lambda t: 1 / (1 + t**2), "1/(1 + {}**2)"),
            Transformation("atan", np.arctan, "atan({})", text="atan {}"),
        ]
    )
    matrix = [[-2, 1, 1, ROW + 2], [3, 1, ONE, -2, 0]]
    matrix = [row + [0] * (5 - len(row)) for row in matrix]
    assert text(matrix, library) == "1/cos(x1 + bell(1 - x2))"
    found = encode(decode(matrix, library), library, D)
    expected, again = evaluate([matrix, found], library, POSITIVE).T
    np.testing.assert_allclose(again, expected, rtol=1e-12)
    assert text([[4, 0, ROW + 2], [-4, 0, 1]], library) == "atan (1/(atan x1))"


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        ([[6, 0, ROW + 1]], "row 1: operand 1 is 30001, but a row may refer to rows below it only"),
        ([[1, 0, 1], [6, 0, ROW + 1]], "row 2: operand 1 is 30001, but a row may refer"),
        ([[6, 1, 1, -ROW - 3], [1, 0, 1, 0]], "row 1: operand 2 is -30003, but there is no row 3"),
        ([[6, 3, 1, 2, 0.5]], "row 1: a weighted sum needs one weight for each operand"),
        ([[6, 3, -1, 0.5]], "row 1: weights must be finite, and hold the signs"),
        ([[6, 3, 1, np.nan]], "row 1: weights must be finite"),
        ([[6, 1, 1, 0.5]], "row 1: entry 4 is 0.5, but only weights may be no integers"),
        ([[1, 0, 1], [-16, 0, 1]], "row 2: no transformation of the library"),
        ([[6, 4, 1]], "row 1: no argument type"),
    ],
)
def test_bad_wider_matrices_are_refused(matrix, complaint):
    with pytest.raises(ValueError, match=f"basis matrix, {complaint}"):
        decode(matrix, ALL)


def test_rows_as_a_tree():
    assert ONE == ROW == _core.ONE
    matrix = [[5, 3, ONE, ROW + 3, 2, 1.0, 0.5, -3.0], [-7, 2, 1, 1, -2], [3, 0, 1, None, 99]]
    outer = factors(matrix, ALL)
    assert [row.number for row in outer] == [0, 1]
    assert [part.times for part in outer[0].argument.parts] == [-3.0, 1.0, 0.5]
    inner = outer[0].argument.parts[2].base
    assert inner == rows(matrix, ALL)[2]
    assert inner.argument.lone == 1
    assert outer[1].reciprocal
    assert outer[1].argument.is_product
    assert outer[1].argument.parts == ((1, 2), (2, -1))
    again = matrix_of(outer, 8)
    assert factors(again, ALL) == outer
    assert [type(entry) for entry in integers(matrix)[0]] == [int] * 5 + [float] * 3


def test_rows_of_one_may_be_operands_and_cancelling_parts_vanish():
    assert text([[6, 1, 1, ROW + 2], [0, 5, None, 7]], ALL) == "cos(1 + x1)"
    assert text([[6, 1, 1, 2, -1]], ALL) == "cos(x2)"
    assert decode([[6, 1, 1, -1]], ALL) == 1


def wider_matrices(count):
    rng = random.Random(7)
    for _ in range(count):
        library = rng.choice([TABLE_2, TABLE_13, ALL])
        yield library, wider_matrix(rng, library)


def tame(numbers):
    """Tell which values are neither undefined nor the remains of a cancellation."""
    return np.isfinite(numbers) & (np.abs(numbers) < 1e8) & (np.abs(numbers) > 1e-8)


def test_wider_values_are_those_of_numpy():
    compared = 0
    for library, matrix in wider_matrices(1000):
        for X in (POSITIVE, SIGNED):
            with np.errstate(all="ignore"):
                expected = reference.evaluate(matrix, library, X)
            found = evaluate([matrix], library, X)[:, 0]
            known = tame(expected)
            np.testing.assert_allclose(found[known], expected[known], rtol=1e-7, err_msg=matrix)
            compared += known.sum()
    assert compared > 8000


def test_wider_canonical_forms_keep_values():
    changed = 0
    for library, matrix in wider_matrices(1000):
        form = canonical(matrix, library, D)
        changed += form != matrix
        assert canonical(form, library, D) == form
        assert complexity(form, library, D) == complexity(matrix, library, D)
        expected, found = evaluate([matrix, form], library, POSITIVE).T
        known = tame(expected)
        np.testing.assert_allclose(found[known], expected[known], rtol=1e-7, err_msg=matrix)
    assert changed > 300


@pytest.mark.parametrize(
    "matrix",
    [
        [[6, 1, 1, ROW + 2], [1, 2, -2, 0]],  # cos(x1 + 1/x2) is not cos(x1 - x2)
        [[6, 0, ROW + 2], [1, 2, -2]],
        [[6, 3, ROW + 2, 2.0], [1, 0, -2]],  # the sign goes to the weight
    ],
)
def test_inner_identities_keep_their_meaning_in_canonical_form(matrix):
    expected, found = evaluate([matrix, canonical(matrix, ALL, D)], ALL, POSITIVE).T
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_wider_matrices_decode_print_and_encode():
    compared = encoded = parsed = 0
    for library, matrix in wider_matrices(250):
        expected = evaluate([matrix], library, POSITIVE)[:, 0]
        known = tame(expected)
        expression = decode(matrix, library, absolute=True)
        if not known.any() or not expression.free_symbols or expression.has(sympy.zoo, sympy.nan):
            continue
        compared += 1
        found = values(expression, POSITIVE)[known]
        np.testing.assert_allclose(found, expected[known], rtol=1e-6, err_msg=matrix)
        if not negative_arguments(matrix, library, POSITIVE):
            parsed += 1
            again = values(parsed_text(text(matrix, library)), POSITIVE)[known]
            np.testing.assert_allclose(again, expected[known], rtol=1e-4, err_msg=matrix)
        try:
            form = encode(expression, library, D)
        except ValueError as error:
            assert re.search("more than (8|6)", str(error)) or expression.has(sympy.I)
            continue
        encoded += 1
        again = evaluate([form], library, POSITIVE)[known, 0]
        np.testing.assert_allclose(again, expected[known], rtol=1e-6, err_msg=matrix)
    assert compared > 200
    assert parsed > 100
    assert encoded > 0.97 * compared


# ---- any matrix ------------------------------------------------------------------------------

LIBRARIES = st.sampled_from([TABLE_2, TABLE_13, ALL])


@st.composite
def bases(draw):
    library = draw(LIBRARIES)
    n_v = draw(st.integers(1, 4))
    row = st.tuples(
        st.integers(0, len(library) - 1),
        st.integers(0, 2),
        st.integers(1, D),
        *[st.integers(0, D)] * (n_v - 1),
    ).map(list)
    return library, draw(st.lists(row, min_size=1, max_size=4))


@given(bases(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_decoded_values_are_those_of_the_core(basis, signed):
    library, matrix = basis
    X = SIGNED if signed else POSITIVE
    expected = evaluate([matrix], library, X)[:, 0]
    found = values(decode(matrix, library, absolute=True), X)
    known = np.isfinite(expected)
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-9, atol=1e-12)


@given(bases())
@settings(max_examples=150, deadline=None)
def test_canonical_keeps_values_and_is_idempotent(basis):
    library, matrix = basis
    form = canonical(matrix, library, D)
    assert canonical(form, library, D) == form
    expected, found = evaluate([matrix, form], library, POSITIVE).T
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert complexity(matrix, library, D) == complexity(form, library, D) > 0


@given(bases(), st.randoms())
@settings(max_examples=150, deadline=None)
def test_canonical_is_one_form_for_remark_3(basis, random):
    library, matrix = basis
    other = []
    for code, kind, first, *rest in random.sample(matrix, len(matrix)):
        if code == library.code("one"):
            rest = [random.randint(-9, 9) for _ in rest]
            kind, first = random.randint(-9, 9), random.randint(-9, 9)
        elif kind == 0:
            rest = [random.randint(-9, 9) for _ in rest]
        else:
            first, *rest = random.sample([first, *rest], 1 + len(rest))
            if first == 0:  # the core wants a variable in the third column
                at = next(i for i, v in enumerate(rest) if v)
                first, rest[at] = rest[at], first
        other.append([code, kind, first, *rest])
    assert canonical(other, library, D) == canonical(matrix, library, D)


@given(bases())
@settings(max_examples=200, deadline=None)
def test_encode_undoes_decode(basis):
    library, matrix = basis
    expression = decode(matrix, library, absolute=True)
    left = sympy.Mul.make_args(expression)
    # What SymPy cancels may leave a number and nothing to carry it: x1/(2 x1) cos(x2).
    assume(any(f.is_number for f in left) <= any(f.as_base_exp()[0].is_Symbol for f in left))
    expected = evaluate([matrix], library, POSITIVE)[:, 0]
    found = evaluate([encode(expression, library, D)], library, POSITIVE)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@given(bases())
@settings(max_examples=100, deadline=None)
def test_text_is_unambiguous(basis):
    library, matrix = basis
    parsed = parsed_text(text(matrix, library))
    expected = evaluate([matrix], library, POSITIVE)[:, 0]
    np.testing.assert_allclose(values(parsed, POSITIVE), expected, rtol=1e-9)


LN = [11, 0, 1, 0]


@pytest.mark.parametrize(
    ("matrix", "shown"),
    [
        ([[10, 3, 30002, 1.7], LN], "x1^1.7"),
        ([[-10, 3, 30002, 1.7], LN], "1/x1^1.7"),
        ([[12, 3, 30002, 1.7], LN], "1/x1^1.7"),
        ([[10, 3, 30002, -0.3], LN], "1/x1^0.3"),
        ([[1, 0, 1, 0], [10, 3, 30003, 0.7], LN], "x1^1.7"),
        ([[10, 3, 30002, 1e-7], LN], "x1^(1e-7)"),
        ([[10, 3, 30002, 1.7], [11, 1, 1, 2]], "(x1 + x2)^1.7"),
        ([[10, 3, 30002, 1.7], [11, 2, 1, 2]], "(x1 x2)^1.7"),
        ([[10, 3, 30002, 1.7], [11, 0, 30003, 0], [7, 0, 1, 0]], "sin(x1)^1.7"),
        ([[10, 3, 30002, 2, 1.7, -3.0], LN], "x1^1.7 exp(-3 x2)"),
        ([[7, 0, 30002, 0], [10, 3, 30003, 1.7], LN], "sin(x1^1.7)"),
        ([[-1, 3, 30000, 30002, 1.0, 2.5], [10, 3, 30003, 0, 1.7, 0], LN], "1/(1 + 2.5 x1^1.7)"),
    ],
)
def test_real_powers(matrix, shown):
    assert text(matrix, ALL) == shown


def test_real_powers_of_what_changes_its_sign():
    matrix = [[10, 3, 30002, 1.7], LN]
    assert text(matrix, ALL, absolute=True) == "|x1|^1.7"
    of_sum = [[10, 3, 30002, 1.7], [11, 1, 1, -2]]
    assert text(of_sum, ALL, absolute={1}) == "|x1 - x2|^1.7"
    nested = [[10, 3, 30002, 1.7], [11, 0, 30003, 0], LN]
    assert text(nested, ALL, absolute=True) == "abs(ln|x1|)^1.7"


@pytest.mark.parametrize("formula", ["exp(987696 x2)", "exp(-1e6 x1) exp(12345 x1 x2)"])
def test_huge_exponents_are_weights_at_once(formula):
    matrix = encode(formula, resolve("all"), 2)
    assert len(matrix) < 10


def test_conditions_cannot_be_encoded():
    with pytest.raises(GSRError):
        encode("Piecewise((x1, x2 < 0), (1, True))", resolve("all"), 2)
