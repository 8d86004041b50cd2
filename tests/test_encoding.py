import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gsr._text import number, weighted_sum
from gsr.encoding import canonical, complexity, decode, encode, encode_target, evaluate, text
from gsr.library import PRESETS, TABLE_2, TABLE_13, Library, Transformation

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
    (TABLE_13, [[4], [9]], "y**3*sqrt(y)", "y^3 sqrt(y)"),
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


@pytest.mark.parametrize(
    ("formula", "culprit"),
    [
        ("x1*tan(x2)", r"tan\(x2\)"),
        ("cos(2*x1*x2)", r"cos\(2\*x1\*x2\)"),
        ("x1*sin(x1 + 1)", r"sin\(x1 \+ 1\)"),
        ("1/cos(x1)", r"1/cos\(x1\)"),
        ("exp(x1/2)", r"exp\(x1/2\)"),
        ("x1**pi", r"x1\*\*pi"),
        ("exp(-x1)", r"exp\(-x1\)"),
        ("-x1", "-1"),
        ("2", "2"),
    ],
)
def test_what_cannot_be_encoded_is_named(formula, culprit):
    with pytest.raises(ValueError, match=f"the factor {culprit} cannot be encoded"):
        encode(formula, TABLE_13, D)


def test_unknown_variables_and_missing_transformations():
    with pytest.raises(ValueError, match="'x4' is not one of the variables"):
        encode("x1*x4", TABLE_2, D)
    with pytest.raises(ValueError, match=r"x1\^-1"):
        encode("1/x1", TABLE_2, D)
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


def values(expression, X):
    columns = [sympy.Symbol(f"x{v + 1}", real=True) for v in range(D)]
    with np.errstate(all="ignore"):
        found = sympy.lambdify(columns, expression, "numpy")(*X.T.astype(complex))
    return np.broadcast_to(found, len(X))


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
    written = text(matrix, library)
    parsed = sympy.parse_expr(
        written,
        {f"x{v + 1}": sympy.Symbol(f"x{v + 1}", real=True) for v in range(D)},
        (
            *sympy.parsing.sympy_parser.standard_transformations,
            sympy.parsing.sympy_parser.convert_xor,
            sympy.parsing.sympy_parser.implicit_multiplication,
        ),
    )
    expected = evaluate([matrix], library, POSITIVE)[:, 0]
    np.testing.assert_allclose(values(parsed, POSITIVE), expected, rtol=1e-9)
