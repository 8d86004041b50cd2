"""Prior knowledge: what is known before the search holds for every law that it returns."""

import gc
import re
import weakref

import numpy as np
import pytest

from gsr import Equation, GSRError, GSRRegressor, _core
from gsr.encoding.rows import ROW, factors
from gsr.library import PRESETS
from gsr.prior import units

RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 2.0, (60, 3))
MASS, SPEED, ANGLE = X.T
Y = MASS * SPEED**2 / ANGLE + 0.5 * MASS


def search(X=X, y=Y, **options):
    """Return a model fitted with a counted effort."""
    known = {"random_state": 0, "n_jobs": 1, "max_time": None, "max_evals": 8000}
    return GSRRegressor(**known | options).fit(X, y)


def texts(model):
    return [str(entry.equation) for entry in model.front_]


# ---- transformations of single variables -----------------------------------------------------


def names_around(row, feature, library, above=()):
    """Yield the transformations that a feature stands in, in one row and its inner rows."""
    here = (*above, library.names[row.code], *(["inverse"] if row.reciprocal else []))
    for base, times in row.argument.parts:
        if base == feature:
            yield from here
            if row.argument.is_product and times < 0:
                yield "inverse"
            if row.argument.is_product and abs(times) > 1:
                yield {2: "square"}.get(abs(times), "cube")
        elif not isinstance(base, int):
            yield from names_around(base, feature, library, here)


def transformations_of(model, feature):
    found = set()
    for entry in model.front_:
        library = entry.equation.library
        for matrix in entry.equation.phi:
            for row in factors(matrix, library):
                found |= set(names_around(row, feature, library))
    return found


def test_forbidden_transformations_are_in_no_law():
    free = search(max_evals=25_000)
    assert free.status_ == "exact"
    assert "inverse" in transformations_of(free, 3)
    held = search(forbid={"x3": ["inverse", "sin"], "*": ["tan"]})
    assert held.status_ != "exact"
    assert len(held.front_) > 2
    assert not transformations_of(held, 3) & {"inverse", "sin", "tan"}
    assert not transformations_of(held, 1) & {"tan"}


def test_only_allowed_transformations_are_in_laws():
    y = np.sin(X[:, 0]) * X[:, 1] ** 2 + np.exp(X[:, 2])
    model = search(y=y, allow={"x1": ["sin"], "x2": ["square"], "x3": ["exp"]})
    assert model.status_ == "exact"
    assert transformations_of(model, 1) <= {"sin", "identity"}
    assert transformations_of(model, 2) <= {"square", "identity"}
    assert transformations_of(model, 3) <= {"exp", "identity"}


def test_the_targets_transformations_are_held_to_it():
    y = np.sqrt(X[:, 0] + X[:, 1])
    model = search(y=y, allow={"y": ["square"]})
    assert set(model.equation_.target_library.names) == {"one", "identity", "square"}
    assert model.status_ == "exact"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allow": {"x9": ["sin"]}}, "allow has 'x9', which is no variable; there are x1"),
        ({"forbid": {"x1": ["sine"]}}, r"forbid\['x1'\] has 'sine'.*did you mean 'sin'"),
        ({"forbid": {"x1": "sin"}}, "must be a list of names"),
        ({"allow": ["sin"]}, "must be a mapping"),
        ({"forbid": {"y": [*PRESETS["all"].names]}}, "leave no transformation of the target"),
        ({"units": {"x1": "m"}}, "every variable needs a unit.*'x2', 'x3', 'y'"),
        ({"required_terms": ["x1 + x2"]}, "2 terms; list each term by itself"),
        ({"required_terms": ["x1 x5"]}, "x5"),
        ({"start": "y = x1 +"}, "start|formula|read"),
        ({"constraints": {"x1": "rising"}}, "rising"),
        ({"max_terms": 0}, "max_terms must be a whole number of at least 1"),
    ],
)
def test_bad_knowledge_is_named_before_the_search(options, message):
    with pytest.raises(GSRError, match=message):
        search(**options)


# ---- units -----------------------------------------------------------------------------------

UNITS = {"x1": "kg", "x2": "m/s", "x3": "1", "y": "J"}


@pytest.mark.parametrize("with_units", [True, False])
def test_no_law_breaks_its_units(with_units):
    y = 0.5 * MASS * SPEED**2 * np.tanh(ANGLE) + 0.1 * RNG.normal(size=60)
    model = search(y=y, units=UNITS, constants_with_units=with_units)
    assert len(model.front_) > 1
    for entry in model.front_:
        assert units.check(entry.equation, UNITS, with_units) == []


def test_units_find_the_law_among_many_variables():
    """Force between charges beside variables that do not matter."""
    rng = np.random.default_rng(1)
    table = rng.uniform(1, 3, (40, 6))
    q1, q2, r, epsilon = table.T[:4]
    given = {"x1": "C", "x2": "C", "x3": "m", "x4": "F/m", "x5": "s", "x6": "K", "y": "N"}
    y = q1 * q2 / (12.566370614359172 * epsilon * r**2)
    model = search(table, y, units=given, constants_with_units=False)
    assert model.status_ == "exact"
    assert units.check(model.equation_, given, False) == []
    assert not re.search("x[56]", str(model.equation_))


def random_matrix(rng, library, n_features):
    """Two or three rows; the first may use the last."""
    matrix = []
    for _ in range(rng.integers(1, 4)):
        code = int(rng.integers(1, len(library))) * int(rng.choice([1, 1, -1]))
        kind = int(rng.integers(0, 3))
        operands = [int(v) for v in rng.integers(1, n_features + 1, rng.integers(1, 4))]
        # Operands that cancel are refused by the core if they could not be added.
        signs = [1 if operands.count(o) > 1 or not kind else rng.choice([1, -1]) for o in operands]
        matrix.append([code, kind, *(o * int(t) for o, t in zip(operands, signs, strict=True))])
    if len(matrix) > 1 and rng.random() < 0.5:
        matrix[0][2] = ROW + len(matrix)
    longest = max(map(len, matrix))
    return [row + [0] * (longest - len(row)) for row in matrix]


@pytest.mark.parametrize("with_units", [True, False])
def test_core_and_reference_agree_on_units(with_units):
    """Random basis functions are consistent for both or for neither."""
    library, names = PRESETS["all"], ["x1", "x2", "x3"]
    rng = np.random.default_rng(3)
    given = {"x1": "m", "x2": "m", "x3": "s", "y": "1"}
    exponents, target, _ = units.exponent_table(given, names, "y")
    known = _core.Constraints()
    known.set_units(exponents.tolist(), target.tolist(), with_units)
    verdicts = []
    for _ in range(300):
        matrix = random_matrix(rng, library, 3)
        alone = Equation.from_data(
            library, library, [[[library.code("identity")]]], [1.0], [matrix], [1.0],
            X, Y, feature_names=names,
        )  # fmt: skip
        broken = units.check(alone, given, True)
        verdicts.append(known.admits(matrix, library.table, 3))
        assert verdicts[-1] == (not broken), matrix
    assert 30 < sum(verdicts) < 270


# ---- terms, formulas, shapes -----------------------------------------------------------------


def test_required_terms_are_in_every_law():
    model = search(y=Y + 0.3 * X[:, 1] * X[:, 2], required_terms=["x2*x3"], max_evals=20_000)
    assert model.status_ == "exact"
    assert all("x2 x3" in text for text in texts(model))


def test_a_required_term_may_turn_out_to_be_useless():
    model = search(required_terms=["sin(x2)"])
    for entry in model.front_:  # a coefficient of 0 drops it from the exact law
        assert "sin(x2)" in str(entry.equation) or entry.level == "rounding"


@pytest.mark.parametrize("most", [1, 2])
def test_no_law_has_more_terms(most):
    model = search(max_terms=most, max_evals=25_000, constants=False)  # one term with (0.5 + ...)
    assert max(len(e.equation.phi) for e in model.front_) <= most + 1  # and the constant
    assert (model.status_ == "exact") == (most == 2)


def test_no_law_is_more_complex():
    assert max(e.complexity for e in search(max_complexity=9).front_) <= 9


def test_a_search_goes_on_from_a_known_formula():
    rng = np.random.default_rng(2)
    table = rng.uniform(0.5, 2, (80, 2))
    y = 2.5 * np.exp(-1.3 * table[:, 0]) * np.cos(2.2 * table[:, 1]) + table[:, 1]
    formula = "y = a*exp(-b*x1)*cos(w*x2) + c*x2"
    model = search(table, y, start=formula, max_evals=1)
    np.testing.assert_allclose(model.predict(table), y, rtol=1e-7)


def test_a_formula_that_breaks_a_constraint_is_refused():
    with pytest.raises(GSRError, match="breaks a constraint"):
        search(start="y = a*tan(x1)", forbid={"x1": ["tan"]})


@pytest.mark.parametrize("shape", ["increasing", "decreasing"])
def test_laws_have_the_shape_that_is_asked_for(shape):
    rng = np.random.default_rng(4)
    table = rng.uniform(0, 6, (60, 1))
    y = np.sin(table[:, 0]) + 0.3 * table[:, 0] * (1 if shape == "increasing" else -1)
    model = search(table, y, constraints={"x1": shape}, max_evals=1000)
    grid = np.linspace(table.min(), table.max(), 200)[:, None]
    sign = 1 if shape == "increasing" else -1
    for k in range(len(model.front_)):
        assert (sign * np.diff(model.predict(grid, index=k)) >= -1e-9).all()
    assert len(model.front_) > 1


def test_an_own_condition_is_asked():
    model = search(constraints=lambda equation: "x3" not in str(equation), max_evals=1000)
    assert all("x3" not in text for text in texts(model))
    assert len(model.front_) > 2


# ---- what reviews found ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_terms_too_small_for_the_lasso_count_too(preset, seed):
    y = 10 * X[:, 0] + 1e-3 * np.exp(X[:, 1]) + 1e-3 * np.sin(X[:, 2])
    model = search(y=y, preset=preset, max_terms=1, random_state=seed, max_evals=1500)
    assert max(len(e.equation.phi) for e in model.front_) <= 2


def test_required_terms_need_the_targets_unit():
    given = {"x1": "m", "x2": "m", "x3": "s", "y": "m"}
    options = {"units": given, "constants_with_units": False, "max_evals": 1500}
    model = search(y=np.hypot(MASS, SPEED), required_terms=["x1"], **options)
    assert all(re.search(r"(^| )x1( |$)", text) for text in texts(model))
    with pytest.raises(GSRError, match="no law"):
        search(y=2 * MASS, required_terms=["x3"], **options)


@pytest.mark.parametrize("known", [{"forbid": {"y": ["inverse"]}}, {"allow": {"y": []}}])
def test_reciprocals_of_the_target_are_forbidden_too(known):
    model = search(y=1 / (MASS + SPEED**2), max_evals=1500, **known)
    assert not any(text.startswith("1/") for text in texts(model))


@pytest.mark.parametrize(
    ("formula", "forbidden"),
    [
        ("x2/(x1 + 1)", "inverse"),
        ("exp(x2/(1 + x1))", "inverse"),
        ("x1^3*(1/x1)", "square"),
        ("sqrt(x1^4)", "square"),
        ("(1 + x1)*(x2 + x1)", "square"),
        ("x2*x1^5", "cube"),
    ],
)
def test_powers_are_recognised_in_any_writing(formula, forbidden):
    y = np.exp(X[:, 0])
    search(y=y, start=f"y = a*{formula}", max_evals=1)
    with pytest.raises(GSRError, match="breaks a constraint"):
        search(y=y, start=f"y = a*{formula}", forbid={"x1": [forbidden]}, max_evals=1)


def test_laws_are_not_multiplied_out_into_what_is_forbidden():
    table = np.random.default_rng(0).uniform(-2, 2, (40, 1))
    y = 1.5 * table[:, 0] ** 2 - 0.5
    model = search(table, y, forbid={"x1": ["square", "cube"]}, max_evals=3000)
    assert not any("x1^2" in text for text in texts(model))


def test_shapes_hold_after_the_last_fit_and_after_rounding():
    rng = np.random.default_rng(7)
    table = rng.uniform(0.01, 2, (600, 1))
    y = table[:, 0] + 0.05 * rng.normal(size=600)

    def positive_at_zero(equation):
        return bool(equation.predict([[0.0]])[0] > 0)

    for seed in range(3):
        model = search(
            table, y, constraints=positive_at_zero, max_rows=30, random_state=seed, max_evals=400
        )
        assert positive_at_zero(model.equation_)
        assert all(positive_at_zero(entry.rounded_equation) for entry in model.front_)


def test_a_start_may_name_a_required_term():
    model = search(start="y = a*x1*x2 + b*x1 + c", required_terms=["x1*x2"], max_evals=1)
    assert all("x1 x2" in text for text in texts(model))


def test_constants_inside_a_start_with_a_constant_are_fitted():
    x = np.linspace(0, 3, 50)[:, None]
    y = 2 * np.sin(1.3 * x[:, 0]) + 0.7
    first = search(x, y, start="y = a*sin(1.2*x1) + b", max_evals=1)
    np.testing.assert_allclose(first.predict(x), y, atol=1e-7)


def test_problems_with_shapes_are_freed():
    """The core asks Python about shapes, which must not keep both alive for ever."""
    model = search(constraints=lambda equation: True, max_evals=50)
    rows = weakref.ref(model.front_[0].data)
    del model
    gc.collect()
    assert rows() is None


def test_the_printed_solver_knows_nothing_of_it():
    with pytest.raises(GSRError, match="'printed' cannot be combined with max_terms"):
        search(max_terms=1, hyperparameters={"solver": "printed"})
    with pytest.raises(GSRError, match="'printed' cannot be combined with sample_weight"):
        GSRRegressor(hyperparameters={"solver": "printed"}).fit(X, Y, np.arange(1.0, 61.0))


def test_several_targets_have_their_own_knowledge():
    both = np.column_stack([MASS * SPEED, MASS * SPEED**2])
    model = search(
        y=both,
        units={"x1": "kg", "x2": "m/s", "x3": "1", "y1": "N s", "y2": "J"},
        constants_with_units=False,
        start=["y1 = a*x1*x2", "y2 = a*x1*x2^2"],
        constraints={"y2": "positive"},
    )
    np.testing.assert_allclose(model.predict(X), both, rtol=1e-9)


def test_relative_weights_do_not_make_a_law_exact():
    rng = np.random.default_rng(8)
    x = 10 ** rng.uniform(0, 4, (60, 1))
    y = 3 * x[:, 0] ** 2 * (1 + 1e-9 * rng.normal(size=60))
    model = GSRRegressor(random_state=0, max_time=None, max_evals=500).fit(x, y, 1 / y**2)
    assert model.status_ != "exact"
    assert str(model.equation_) == "y = 3 x1^2"


@pytest.mark.parametrize("seed", range(6))
def test_random_combinations_of_knowledge_hold(seed):
    """Front, choice and rounded laws keep to forbid, units and limits at once."""
    rng = np.random.default_rng(seed)
    given = {"x1": "kg", "x2": "m/s", "x3": "1", "y": "J"}
    names = rng.choice(["sin", "cos", "exp", "ln", "tan", "sqrt", "inverse", "square"], 3, False)
    feature = int(rng.integers(1, 4))
    known = {
        "forbid": {f"x{feature}": list(names)},
        "max_terms": int(rng.integers(1, 4)),
        "max_complexity": int(rng.integers(12, 30)),
    }
    if seed % 2:
        known["units"] = given
    y = 0.5 * MASS * SPEED**2 * np.cos(ANGLE) * (1 + 0.05 * rng.normal(size=60))
    model = search(y=y, max_evals=1200, random_state=seed, **known)
    assert not transformations_of(model, feature) & set(names)
    for entry in model.front_:
        for equation in (entry.equation, entry.rounded_equation):
            assert len(equation.phi) <= known["max_terms"] + 1
            assert equation.complexity <= known["max_complexity"]
            if "units" in known:
                assert units.check(equation, given, True) == []
