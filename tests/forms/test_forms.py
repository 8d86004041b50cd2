"""Laws of a known form whose unknown functions are searched."""

import re

import numpy as np
import pandas as pd
import pytest
import sympy

import gsr
from gsr import GSRForm, GSRRegressor
from gsr.exceptions import GSRError, PredictionWarning
from gsr.forms import reading

QUICK = {"max_time": None, "random_state": 0}


def searching(max_evals=1500, **options):
    return GSRRegressor(max_evals=max_evals, max_time=None, n_jobs=1, **options)


def columns(n=150, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.uniform(0.5, 2.5, (n, 3)), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def fitted():
    X = columns()
    y = (np.sin(0.5 * X.a * X.b) + 0.8 * X.c**2).rename("signal")
    y += 0.005 * np.random.default_rng(1).normal(size=len(X))
    regressor = searching(library=["identity", "exp"])
    return GSRForm("sin(f(a, b)) + g(c)", regressor=regressor, **QUICK).fit(X, y)


@pytest.mark.slow
def test_two_parts_are_found(fitted):
    X = columns(50, seed=3)
    assert fitted.predict(X) == pytest.approx(np.sin(0.5 * X.a * X.b) + 0.8 * X.c**2, abs=0.01)
    assert {str(each) for each in fitted.parts_["f"].free_symbols} == {"a", "b"}
    assert {str(each) for each in fitted.parts_["g"].free_symbols} == {"c"}
    assert fitted.score(X, np.sin(0.5 * X.a * X.b) + 0.8 * X.c**2) > 0.999


@pytest.mark.slow
def test_the_whole_is_printed_written_and_exported(fitted, capsys):
    fitted.print()
    told = capsys.readouterr().out
    assert told.startswith("signal = ") and "sin(" in told and "\n  f = " in told
    assert "\\sin" in fitted.latex()
    equation = fitted.sympy()
    assert isinstance(equation, sympy.Eq) and equation.rhs == fitted.expression_
    X = columns(3)
    value = eval(
        fitted.export("python"),
        {"math": __import__("math")},
        dict(zip(["x1", "x2", "x3"], X.iloc[0], strict=True)),
    )
    assert value == pytest.approx(fitted.predict(X)[0], rel=1e-12)
    assert "pow(" in fitted.export("c")
    with pytest.raises(GSRError, match="language must be one of"):
        fitted.export("cobol")


@pytest.mark.slow
def test_a_model_read_from_a_file_predicts_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "form.json")
    model = gsr.load(tmp_path / "form.json")
    X = columns(20, seed=4)
    assert model.predict(X).tolist() == fitted.predict(X).tolist()
    assert str(model) == str(fitted)
    assert model.parts_.keys() == fitted.parts_.keys()
    text = (tmp_path / "form.json").read_text()
    text = re.sub(r'"checksum": "[^"]*"', '"checksum": null', text)
    (tmp_path / "bad.json").write_text(text.replace('"values"', '"other"'))
    with pytest.raises(GSRError, match=r"bad\.json.*damaged"):
        gsr.load(tmp_path / "bad.json")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "truth"),
    [
        ("exp(f(a, b))", lambda X: np.exp(X.a / X.b)),
        ("c * f(a)", lambda X: X.c * (1 + X.a**2)),
        ("f(a) + 2*c", lambda X: np.sqrt(X.a) + 2 * X.c),
    ],
)
def test_forms_that_a_transformation_opens_are_searched_as_they_are(form, truth):
    X = columns(60)
    model = GSRForm(form, regressor=searching(), **QUICK).fit(X, truth(X))
    fresh = columns(30, seed=5)
    assert model.predict(fresh) == pytest.approx(truth(fresh), rel=1e-6)
    assert reading.inverse(model.form_) is not None


@pytest.mark.slow
def test_constants_of_the_form_are_fitted_with_errors():
    X = columns()
    noise = 0.01 * np.random.default_rng(2).normal(size=len(X))
    regressor = searching(library=["identity", "square"])
    model = GSRForm("f(a) + p*exp(-q*c)", regressor=regressor, **QUICK)
    model.fit(X, 2 * X.a**2 + 3 * np.exp(-0.7 * X.c) + noise)
    X = columns(30, seed=6)
    truth = 2 * X.a**2 + 3 * np.exp(-0.7 * X.c)
    assert model.predict(X) == pytest.approx(truth, abs=0.02)
    value, error = model.constants_["q"]
    assert abs(value - 0.7) < max(4 * error, 0.05)


@pytest.mark.slow
def test_units_of_parts_guide_their_search():
    X = columns(60)
    units = {"a": "m", "b": "s", "f": "m/s"}
    model = GSRForm("f(a, b) + g(c)", units=units, regressor=searching(), **QUICK)
    model.fit(X, 3 * X.a / X.b + X.c**2)
    ratio = model.parts_["f"] / (sympy.Symbol("a", real=True) / sympy.Symbol("b", real=True))
    assert "a" in str(model.parts_["f"]) and "b" in str(model.parts_["f"])
    assert sympy.simplify(ratio).subs({"a": 2.0, "b": 2.0}) != 0


BAD = {
    "f(a) + g(z)": "unknown function 'g' must be columns, got 'z'",
    "a + p*b": "has no unknown function.*gsr.fit_formula",
    "f(a) + f(b)": "'f' is used with different columns",
    "f(a, a)": "'f' has the same column twice",
    "f(a + b)": "'f' must be columns",
    "f(a) + f": "'f' is both an unknown function and a constant",
    "a(b)": "'a' is a column: give the unknown function another name",
    "signal(a)": "'signal' has the name of the target",
    "f(a) + signal": "contains the target 'signal'",
    "f(a) - f(a)": "does not depend on the function 'f'",
    "f(a": "is missing",
    "log(-1 - f(a)^2)": "is defined on all rows",
}


@pytest.mark.parametrize("form", BAD)
def test_bad_forms_are_named(form):
    X = columns(30)
    with pytest.raises(GSRError, match=BAD[form]):
        GSRForm(form, **QUICK).fit(X, X.a.rename("signal"))


def test_bad_input_is_named():
    X = columns(30)
    with pytest.raises(GSRError, match="units has 'z'"):
        GSRForm("f(a)", units={"z": "m"}).fit(X, X.b.to_numpy())
    with pytest.raises(GSRError, match="form must be text"):
        GSRForm(3).fit(X, X.b.to_numpy())
    with pytest.raises(GSRError, match="all the same"):
        GSRForm("f(a)").fit(X, np.ones(30))


@pytest.mark.slow
def test_a_prediction_that_is_undefined_is_nan():
    X = columns(40)
    model = GSRForm("sqrt(f(a))", regressor=searching(library=["identity"]), **QUICK)
    model.fit(X, np.sqrt(3.0 - X.a))
    X.loc[0, "a"] = 10.0
    with pytest.warns(PredictionWarning, match="1 of 40 predictions"):
        assert np.isnan(model.predict(X)[0])
