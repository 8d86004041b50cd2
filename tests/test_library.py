import copy
import pickle

import numpy as np
import pytest
import sympy

from gsr import GSRRegressor, _core
from gsr.library import PRESETS, TABLE_2, TABLE_13, Library, Transformation, resolve

X = np.linspace(0.5, 2.0, 12).reshape(6, 2)


def softplus(**changes):
    form = {
        "name": "softplus",
        "function": lambda t: np.log1p(np.exp(t)),
        "sympy": "log(1 + exp({}))",
        "inverse": lambda v: np.log(np.expm1(v)),
    }
    return Transformation(**(form | changes))


def test_presets_are_the_papers_tables():
    assert TABLE_2.names == ("one", "identity", "cos", "sin", "exp", "ln")
    assert [TABLE_13.code(n) for n in ("one", "inverse", "square", "cube", "ln", "sqrt")] == [
        0, 2, 3, 4, 8, 9,
    ]  # fmt: skip
    assert PRESETS["all"].names == tuple(t.name for t in _core.builtin_transformations())


def test_one_is_put_first_only_if_absent():
    assert Library(["cos"]).names == ("one", "cos")
    assert Library(["cos", "one"]).names == ("cos", "one")


@pytest.mark.parametrize("code", range(1, len(PRESETS["all"])))
def test_sympy_form_has_the_value_of_the_core(code):
    library = PRESETS["all"]
    t = np.array([0.3, 0.8])
    x = sympy.Symbol("x", real=True)
    form = sympy.lambdify(x, library.sympy(code, x), "numpy")
    np.testing.assert_allclose(form(t), library.table[code].value(t), rtol=1e-12)


def test_text_and_sympy_of_a_callable_form():
    library = Library([softplus(sympy=lambda t: sympy.log(1 + sympy.exp(t)))])
    x = sympy.Symbol("x")
    assert library.sympy(1, x) == sympy.log(1 + sympy.exp(x))
    assert library.text(1, "x") == "softplus(x)"


def test_unknown_names_get_near_matches():
    with pytest.raises(ValueError, match=r"'coss'.*did you mean 'cos'"):
        Library(["coss"])
    with pytest.raises(ValueError, match=r"'tabel2' is not a preset.*'table2'"):
        resolve("tabel2")
    with pytest.raises(ValueError, match="'sqrt' is not in this library"):
        TABLE_2.code("sqrt")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "a b"}, "identifier"),
        ({"name": "cos"}, "built-in"),
        ({"sympy": "log"}, "sympy has no {}"),
        ({"function": 3}, "callable"),
    ],
)
def test_bad_transformations_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        softplus(**changes)


def test_a_transformation_stands_once():
    with pytest.raises(ValueError, match="'cos' is twice"):
        Library(["cos", "cos"])


def fails(_):
    raise RuntimeError("no luck")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"function": lambda t: t[:-1]}, r"one value per row of data.*\(6,\), not \(5,\)"),
        ({"function": np.sum}, "one value per row"),
        ({"function": fails}, "fails on data: RuntimeError: no luck"),
        ({"function": lambda t: t * np.nan}, "no finite value on data"),
        ({"sympy": "exp({})"}, "and its SymPy form differ at t = 0.5"),
        ({"sympy": "log(-{})"}, "SymPy form differ"),
        ({"inverse": lambda v: v}, "does not undo it"),
    ],
)
def test_check_names_the_transformation_and_its_fault(changes, message):
    with pytest.raises(ValueError, match=f"softplus.*{message}"):
        Library(["cos", softplus(**changes)]).check(X, "data")


def test_check_passes_good_transformations_and_single_columns():
    Library(["cos", softplus()]).check(X)
    Library([softplus()]).check(X[:, 0], "y")


def test_a_function_that_is_finite_on_one_column_will_do():
    Library([softplus(function=np.sqrt, sympy="sqrt({})", inverse=np.square)]).check(
        np.c_[-X[:, 0], X[:, 1]]
    )


def test_resolve():
    assert resolve("table2") is TABLE_2
    assert resolve(TABLE_13) is TABLE_13
    assert resolve(["cos", softplus()]).names == ("one", "cos", "softplus")


def test_libraries_survive_copying_and_pickling():
    TABLE_13.table  # noqa: B018  built, and must not be in the way
    for same in (pickle.loads(pickle.dumps(TABLE_13)), copy.deepcopy(TABLE_13)):
        assert same == TABLE_13
        assert len(same.table) == 10


def test_repr_shows_codes_names_and_forms():
    lines = repr(TABLE_13).splitlines()
    assert lines[0] == "Library table13"
    assert lines[1].split() == ["code", *map(str, range(10))]
    assert lines[3].split()[4:6] == ["•^2", "•^3"]


def test_custom_value_reaches_the_core():
    library = Library(["identity", softplus()])
    values = _core.evaluate_bases(library.table, [[[2, 0, 1]]], X)
    np.testing.assert_allclose(values[:, 0], np.log1p(np.exp(X[:, 0])))


def test_a_library_without_the_identity_is_searched():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, (100, 2))
    y = 2.5 * np.cos(X[:, 1]) + np.exp(X[:, 0]) / 5 + 0.01 * rng.normal(size=100)
    library = ["cos", "exp", "sin", "inverse"]
    model = GSRRegressor(library=library, random_state=0, max_evals=1500, max_time=None).fit(X, y)
    assert model.score(X, y) > 0.99
