"""One structure for several groups of rows, with constants of each group."""

import numpy as np
import pandas as pd
import pytest

import gsr
from gsr import GSRRegressor
from gsr.exceptions import GSRError

LABELS = [f"site {k}" for k in range(6)]
SCALES = np.array([1.5, 2.0, 2.7, 3.1, 3.8, 4.4])
OFFSETS = np.array([0.2, 2.0, -1.0, 0.7, 3.0, -2.0])
RATE = 0.7
SEARCH = {"max_evals": 4000, "max_time": None, "random_state": 0, "n_jobs": 1}
QUICK = {"library": ["identity", "exp_neg"], "transform_target": False, **SEARCH}


def rows(noise=0.01, n=10, seed=0):
    """Return rows of y = scale x1 exp(-0.7 x2) + offset, ten of each group."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(range(len(LABELS)), n)
    X = pd.DataFrame(rng.uniform(0.3, 4, (len(codes), 2)), columns=["x1", "x2"])
    y = SCALES[codes] * X["x1"] * np.exp(-RATE * X["x2"]) + OFFSETS[codes]
    return X, (y + noise * rng.normal(size=len(y))).rename("y"), np.array(LABELS)[codes]


@pytest.fixture(scope="module")
def fitted():
    X, y, groups = rows()
    return GSRRegressor(**QUICK).fit(X.assign(site=groups), y, groups="site")


def copy_of(model, folder):
    model.save(folder / "model.json")
    return gsr.load(folder / "model.json")


@pytest.mark.slow
def test_a_law_is_found_where_no_group_suffices(fitted):
    table = fitted.groups_
    assert fitted.level_ == "noise"
    assert table.column == "site" and table.labels == tuple(LABELS)
    assert sorted(table.differing) == sorted(table.letters) and len(table.letters) == 2
    scale = int(np.argmin(np.abs(table.values - SCALES[:, None]).sum(axis=0)))
    assert table.values[:, scale] == pytest.approx(SCALES, abs=0.05)
    assert table.values[:, 1 - scale] == pytest.approx(OFFSETS, abs=0.05)
    assert (np.abs(table.values[:, scale] - SCALES) < 4 * table.errors[:, scale]).all()
    (shared,) = table.constants[0, ~table.local]
    assert abs(shared) == pytest.approx(RATE, abs=0.02)


@pytest.mark.slow
def test_predictions_need_the_groups(fitted):
    X, y, groups = rows(noise=0.0, seed=1)
    values = fitted.predict(X, groups=groups)
    assert values == pytest.approx(y, abs=0.05)
    assert fitted.predict(X.assign(site=groups)).tolist() == values.tolist()
    assert fitted.score(X, y, groups=groups) > 0.999
    ends = fitted.predict_interval(X, groups=groups)
    assert ((ends[:, 0] < y) & (y < ends[:, 1])).mean() > 0.8
    with pytest.raises(GSRError, match="pass groups"):
        fitted.predict(X)
    with pytest.raises(GSRError, match=r"'site 9' was not fitted.*add_group"):
        fitted.predict(X, groups=["site 9"] * len(X))
    with pytest.raises(GSRError, match="2 labels for"):
        fitted.predict(X, groups=["site 1"] * 2)


@pytest.mark.slow
def test_what_is_printed_names_the_constants(fitted):
    table = str(fitted.groups_)
    assert all(label in table for label in LABELS)
    assert "differ by more than their errors: a, b" in table
    assert "shared: c1 = " in table
    names = fitted.intervals()
    assert "a[site 3]" in names and len(names) == 2 * len(LABELS) + 1
    assert {str(each) for each in fitted.sympy().free_symbols} == {"x1", "x2", "y", "a", "b"}


@pytest.mark.slow
def test_a_new_group_is_fitted_with_the_structure_kept(fitted, tmp_path):
    model = copy_of(fitted, tmp_path)
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.uniform(0.3, 4, (6, 2)), columns=["x1", "x2"])
    y = 7.0 * X["x1"] * np.exp(-RATE * X["x2"]) - 4.0
    before = model.groups_.values.copy()
    assert model.add_group(X, y, "new") is model
    assert model.groups_.labels == (*LABELS, "new")
    assert model.groups_.values[:-1].tolist() == before.tolist()
    assert model.predict(X, groups=["new"] * 6) == pytest.approx(y, abs=0.1)
    with pytest.raises(GSRError, match="'new' has already been fitted"):
        model.add_group(X, y, "new")
    with pytest.raises(GSRError, match="1 rows, too few for its 2 constants"):
        model.add_group(X[:1], y[:1], "short")


@pytest.mark.slow
def test_a_model_read_from_a_file_is_the_same(fitted, tmp_path):
    model = copy_of(fitted, tmp_path)
    X, _, groups = rows(seed=2)
    assert model.predict(X, groups=groups).tolist() == fitted.predict(X, groups=groups).tolist()
    assert str(model.groups_) == str(fitted.groups_)
    assert str(model.equation_) == str(fitted.equation_)
    assert model.intervals().keys() == fitted.intervals().keys()


@pytest.mark.slow
def test_source_code_has_the_constants_as_arguments(fitted):
    source = fitted.export("python")
    assert "site 3" in source
    names = {}
    exec(source, names)
    X, _, groups = rows(seed=3)
    own = fitted.groups_.values[fitted.groups_.codes(groups[:1])[0]]
    value = names["law"](*X.iloc[0], *own)
    assert value == pytest.approx(fitted.predict(X[:1], groups=groups[:1])[0], rel=1e-9)


@pytest.mark.slow
def test_constants_are_shared_on_demand():
    X, y, groups = rows()
    model = GSRRegressor(**QUICK).fit(X, y, groups=groups, shared="none")
    table = model.groups_
    assert table.local.all()
    same = [name for name in table.letters if name not in table.differing]
    assert len(same) == 1
    model.share(*same)
    assert model.groups_.local.sum() == 2
    assert model.predict(X, groups=groups) == pytest.approx(y, abs=0.1)
    with pytest.raises(GSRError, match="'zz' is not a group constant"):
        model.share("zz")


@pytest.mark.slow
def test_exact_laws_with_exponents_of_groups():
    rng = np.random.default_rng(0)
    codes = np.repeat(range(5), 8)
    x = rng.uniform(0.5, 4, (40, 1))
    powers, scales = np.array([0.5, 0.8, 1.3, 1.7, 2.2]), np.array([1.0, 2.0, 1.5, 3.0, 2.5])
    y = scales[codes] * x[:, 0] ** powers[codes]
    model = GSRRegressor(**SEARCH).fit(x, y, groups=codes)
    assert model.level_ == "rounding"
    assert model.groups_.labels == tuple("01234")
    assert model.predict(x, groups=codes) == pytest.approx(y, rel=1e-7)


def test_groups_that_differ_in_nothing_share_all_constants():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, (40, 1))
    y = 2.0 * x[:, 0] + 1.0 + 0.05 * rng.normal(size=40)
    model = GSRRegressor(library=["identity"], transform_target=False, **SEARCH)
    model.fit(x, y, groups=np.repeat(["a", "b", "c", "d"], 10))
    assert model.groups_.letters == () and model.groups_.differing == []
    assert "all constants are shared" in str(model.groups_)
    assert str(model.equation_).startswith("y = 2.")


BAD = {
    "labels for 60 rows": {"groups": ["a", "b"]},
    "only one group, 'a'": {"groups": ["a"] * 60},
    "at least 2 rows.*fewer: 'z'": {"groups": ["z", *["a"] * 30, *["b"] * 29]},
    "no label in row 1": {"groups": ["a", None, *["b"] * 58]},
    "X has no such column; did you mean": {"groups": "x"},
    "one label for each row": {"groups": np.zeros((60, 2))},
    "shared must be one of": {"groups": LABELS * 10, "shared": "some"},
    "cannot be combined with x_sigma": {"groups": LABELS * 10, "x_sigma": 0.1},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_groups_are_named(message):
    X, y, _ = rows()
    with pytest.raises(GSRError, match=message):
        GSRRegressor(**QUICK).fit(X, y, **BAD[message])


def test_a_model_without_groups_has_none():
    X, y, _ = rows()
    model = GSRRegressor(library=["identity"], max_evals=50, random_state=0, n_jobs=1).fit(X, y)
    with pytest.raises(GSRError, match="without groups"):
        model.predict(X, groups=["a"] * len(X))
    with pytest.raises(GSRError, match="without groups"):
        _ = model.groups_
