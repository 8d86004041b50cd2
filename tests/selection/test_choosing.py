"""Choosing another law after the fit, why a law was chosen, and laws of other kinds."""

import copy
import json
import math
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import gsr
from drawn_laws import ALL
from fitted_laws import ONE, front, sample
from gsr import GSRRegressor
from gsr.cli import main
from gsr.encoding import encode, encode_target
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.selection import choice, criteria, kinds
from gsr.selection.poles import Poles
from gsr.table import EquationTable

RNG = np.random.default_rng(0)
X = np.geomspace(0.3, 60, 40)[:, None]
Y = 1.7 * X[:, 0] ** 0.725 + 0.2 * RNG.standard_normal(40)
X1, SQUARE, CUBE = [[1, 0, 1]], [[3, 0, 1]], [[4, 0, 1]]


@pytest.fixture(scope="module")
def fitted():
    return GSRRegressor(max_evals=3000, max_time=120, errors="constant", random_state=0).fit(X, Y)


@pytest.fixture
def model(fitted):
    return pickle.loads(pickle.dumps(fitted))


@pytest.fixture(params=["fitted", "loaded"])
def any_model(request, fitted, tmp_path):
    if request.param == "fitted":
        return pickle.loads(pickle.dumps(fitted))
    fitted.save(tmp_path / "model.json")
    return gsr.load(tmp_path / "model.json")


def known(model):
    return [*model.front_, *model._others]


# ---- choose ----------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["bic", "aicc", "held_out", "rmse", "elbow"])
def test_a_criterion_chooses_the_best_law_that_is_defined(any_model, criterion):
    assert any_model.choose(criterion) is any_model
    entries = known(any_model)
    chosen = any_model.get_best()
    assert any_model.equation_ is chosen.equation
    ranked = criteria.ranking(entries, any_model.n_rows_, criterion)
    defined = [entry for entry in ranked if entry.poles.verdict != "unsafe"]
    assert defined[0] is chosen
    assert any_model.criterion_ == criterion
    assert chosen in any_model.front_
    assert any_model.equations_[any_model.best_index_].pick


def test_the_criterion_of_the_fit_gives_back_its_law(any_model):
    law = str(any_model.equation_)
    any_model.choose("rmse")
    assert str(any_model.equation_) != law
    assert str(any_model.choose().equation_) == law
    assert any_model.criterion_ == "mdl"


def test_callables_and_tolerances_choose(any_model):
    assert any_model.choose(lambda entry: entry.complexity).get_best().complexity == min(
        entry.complexity for entry in known(any_model)
    )
    any_model.choose("simplest within 100%")
    least = min(entry.rmse for entry in known(any_model))
    assert any_model.get_best().rmse <= 2 * least


def test_a_row_of_the_table_is_chosen(any_model):
    table = list(any_model.front_)
    any_model.choose(index=1)
    assert any_model.best_index_ == 1
    assert any_model.front_ == table
    np.testing.assert_array_equal(any_model.predict(X), table[1].equation.predict(X))
    assert "chosen by its number" in any_model.why_


def test_a_law_from_beside_the_front_joins_it(model):
    other = model._others[0]
    model.choose(lambda entry: entry is not other)
    assert model.get_best() is other
    assert other in model.front_
    assert other not in model._others
    assert all(a.complexity <= b.complexity for a, b in pairwise(model.front_))


def test_every_law_that_is_shown_can_be_chosen_by_its_number(any_model):
    top = any_model.equations_.top(8)
    assert any(row.index >= len(any_model.front_) for row in top)
    for row in [*any_model.equations_, *top]:
        law = any_model._entry(row.index)
        assert law is row.entry
        np.testing.assert_array_equal(any_model.predict(X, row.index), law.equation.predict(X))
        assert any_model.export("python", index=row.index)
        assert any_model.intervals(index=row.index)


def test_numbers_stay_when_another_law_is_chosen(any_model):
    before = {row.index: row.entry for row in any_model.equations_.top(8)}
    front = list(any_model.front_)
    for index, entry in before.items():
        assert any_model.choose(index=index).get_best() is entry
        assert any_model.equations_[any_model.best_index_].index == index
    assert {row.index for row in any_model.equations_.top(8)} <= set(range(len(known(any_model))))
    for k, entry in enumerate(front):
        assert any_model.choose(index=k).get_best() is entry


def test_pictures_of_laws_beside_the_front(model):
    index = len(model.front_)
    assert model.plot("front", index=index, ax=None) is not None
    assert model.plot("terms", X=X, index=index) is not None


def test_wrong_choices_are_refused(model):
    with pytest.raises(GSRError, match="criterion must be one of"):
        model.choose("best")
    with pytest.raises(GSRError, match="index must be from 0 to"):
        model.choose(index=99)
    with pytest.raises(GSRError, match="either a criterion or an index"):
        model.choose("bic", index=0)


def test_files_without_what_a_criterion_needs(fitted, tmp_path):
    path = tmp_path / "model.json"
    fitted.save(path)
    content = json.loads(path.read_text())
    content["checksum"] = None
    del content["model"]["others"], content["model"]["attributes"]["n_rows_"]
    for entry in content["model"]["front"]:
        del entry["length"]
    path.write_text(json.dumps(content))
    old = gsr.load(path)
    assert old.why_ == "short description"
    assert len(old.equations_.top()) > 1
    with pytest.raises(GSRError, match="on how many rows"):
        old.choose("bic")
    with pytest.raises(GSRError, match="saved without what 'mdl' needs"):
        old.choose("mdl")
    assert str(old.choose("rmse").equation_)


# ---- why -------------------------------------------------------------------------------------


def test_why_compares_description_lengths(any_model):
    chosen, other = any_model.equations_.top(2)
    more = other.entry.length - chosen.entry.length
    assert any_model.why_.startswith("shortest description; the next best of another kind, ")
    assert any_model.why_.endswith(f"takes {more:.1f} bits more")


def test_why_names_the_criterion_and_its_value(any_model):
    any_model.choose("bic")
    entries = known(any_model)
    value = criteria.criterion_value(any_model.get_best(), entries, any_model.n_rows_, "bic")
    assert any_model.criterion_value_ == value
    assert any_model.why_.startswith(f"least BIC: {value:.4g}")


def test_an_exact_law_is_called_so():
    x = np.linspace(1, 4, 20)[:, None]
    model = GSRRegressor(random_state=0).fit(x, 2 * x[:, 0])
    assert model.why_ == "exact to rounding"


def test_a_law_that_was_passed_over_for_a_pole_is_named():
    data = sample(lambda x: x + 0.2 * x**2, n=30, noise=0.05)
    chosen, shorter = front([[X1, SQUARE], [CUBE, ONE]], data)
    vars(chosen)["length"], vars(shorter)["length"] = -10.0, -14.0
    vars(shorter)["poles"] = Poles("unsafe", "division by 0", np.array([0.3]))
    told = choice.why(chosen, [chosen, shorter], 30, "mdl", -10.0)
    assert told.startswith("shortest description without a pole; ")
    assert "is 4.0 bits shorter but has a pole at x1 = 0.3" in told


# ---- kinds -----------------------------------------------------------------------------------


def test_top_lists_different_kinds_by_length(any_model):
    top = any_model.equations_.top(5)
    assert 2 <= len(top) <= 5
    assert top[0].pick
    bits = [row.bits for row in top]
    assert bits[1:] == sorted(bits[1:])
    assert min(bits) == 0.0
    best = min(row.entry.length for row in top)
    assert bits == pytest.approx([row.entry.length - best for row in top])
    spelled = [kinds.spellings(row.entry.equation) for row in top]
    for k, own in enumerate(spelled):
        for earlier in spelled[:k]:
            assert not any(a.covers(b) for a in earlier for b in own)
    assert all(row.equation in str(top) and row.verdict in str(top) for row in top)


def test_saved_models_list_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model.json")
    loaded = gsr.load(tmp_path / "model.json")
    for one, other in zip(fitted.equations_.top(), loaded.equations_.top(), strict=True):
        assert str(one.entry.equation) == str(other.entry.equation)
        assert (one.bits, one.verdict) == (other.bits, other.verdict)


def test_added_terms_and_copies_are_no_other_kind():
    data = sample(lambda x: x + 0.2 * x**2, n=30, low=1.0, high=2.0, noise=0.05)
    laws = front([[X1], [X1, ONE], [X1, SQUARE], [SQUARE], [SQUARE, CUBE], [SQUARE]], data)
    by_terms = sorted(laws, key=lambda entry: len(entry.law.phi))
    found = kinds.of_different_kinds(by_terms, 5)
    assert [str(entry.equation).split(" ", 3)[-1] for entry in found] == ["x1", "x1^2"]


def test_the_constant_does_not_stand_for_all_sums():
    data = sample(lambda x: x, n=30, noise=0.5)
    found = kinds.of_different_kinds(front([[ONE], [X1, ONE]], data), 5)
    assert len(found) == 2


def test_a_law_multiplied_out_is_no_other_kind():
    """1/y = a/x1^2 + b (x2 - 1)/x1^2 is 1/y = c/x1^2 + b x2/x1^2."""
    laws = {
        "bracket": ("1/y", ["1/x1**2", "(x2 - 1)/x1**2"]),
        "plain": ("1/y", ["1/x1**2", "x2/x1**2"]),
        "solved": ("y", ["x1**2/(1 + x2)"]),
        "other": ("1/y", ["1/x1**2", "x2/x1"]),
    }
    X = np.random.default_rng(0).uniform(1, 3, (20, 2))
    bracket, plain, solved, other = (
        kinds.spellings(Equation.from_data(
            ALL, ALL, [encode_target(left, ALL)], [1.0], [encode(t, ALL, 2) for t in terms],
            [2.0] * len(terms), X, X[:, 0],
        ))
        for left, terms in laws.values()
    )  # fmt: skip
    assert bracket & plain
    assert any(a.covers(b) for a in solved for b in bracket)
    assert not any(a.covers(b) for a in bracket for b in other)


def test_a_power_law_is_one_kind_in_all_spellings():
    x = X[:, 0]
    rng = np.random.default_rng(1)
    noise = np.exp(0.02 * rng.standard_normal(40))
    formulas = ("y = a*x1^b", "ln(y) = a + b*ln(x1)", "y^2 = a*x1^b + c")
    laws = [gsr.fit_formula(formula, X, 1.7 * x**0.7 * noise) for formula in formulas]
    first, second, added = map(kinds.spellings, laws)
    assert any(a.covers(b) for a in first for b in second)
    assert any(a.covers(b) for a in second for b in first)
    assert any(a.covers(b) for a in second for b in added)
    assert not any(a.covers(b) for a in added for b in second)


def test_a_freed_constant_is_no_other_kind():
    listed = kinds.Kind("x1^1", frozenset({"x1^2"}))
    assert listed.covers(kinds.Kind("x1^1", frozenset({"x1^#"})))
    assert listed.covers(kinds.Kind("x1^1", frozenset({"x1^#", "1"})))
    assert not kinds.Kind("x1^1", frozenset({"x1^#"})).covers(listed)
    assert not listed.covers(kinds.Kind("x1^1", frozenset({"x1^3"})))
    assert not listed.covers(kinds.Kind("x1^2", frozenset({"x1^2"})))


def test_bits_beside_an_exact_law_are_infinite():
    x = np.linspace(1, 4, 20)[:, None]
    top = GSRRegressor(random_state=0).fit(x, 2 * x[:, 0] + x[:, 0] ** 2).equations_.top()
    assert (top[0].bits, top[0].verdict) == (0.0, "exact")
    assert all(math.isinf(row.bits) for row in top[1:] if not row.entry.exact)
    with pytest.raises(GSRError, match="count must be"):
        EquationTable([top[0].entry], 0).top(0)


def test_a_pole_is_part_of_the_verdict(model):
    row = model.equations_[model.best_index_]
    bare = row.verdict
    unsafe = replace(row.entry)
    vars(unsafe).update(level=row.level, poles=Poles("unsafe", "division by 0", np.array([1.0])))
    assert EquationTable([unsafe], 0)[0].verdict == f"{bare}, pole"


# ---- the command line ------------------------------------------------------------------------


HEADINGS = ["#", "bits", "RMSE", "verdict", "law"]


def test_fit_and_show_print_them(tmp_path, capsys):
    table = tmp_path / "data.csv"
    np.savetxt(table, np.c_[X, Y], "%.17g", ",", header="x,y", comments="")
    run = tmp_path / "run"
    options = ["fit", str(table), "--max-evals", "1500", "--seed", "0", "--errors", "constant"]
    assert main([*options, "-o", str(run)]) == 0
    told = capsys.readouterr().out
    assert HEADINGS in [line.split() for line in told.splitlines()]
    assert "chosen    shortest description; the next best of another kind" in told
    result = json.loads((run / "result.json").read_text())
    assert result["why"] == gsr.load(run / "model.json").why_
    assert result["top"][0]["chosen"] and result["top"][0]["bits"] == 0.0
    assert result["noise"].startswith("scatter is the same everywhere")
    assert all(each["equation"] in told for each in result["top"])
    assert main(["show", str(run)]) == 0
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if line.startswith("chosen  ")]
    assert HEADINGS in [line.split() for line in shown.splitlines()]
    other = next(each for each in result["top"] if each["index"] >= len(result["front"]))
    assert f" {other['index']} " in next(x for x in shown.splitlines() if other["equation"] in x)
    capsys.readouterr()
    assert main(["predict", str(run), str(table), "--index", str(other["index"])]) == 0
    law = gsr.load(run / "model.json")._others[other["index"] - len(result["front"])]
    rows = capsys.readouterr().out.splitlines()[1:]
    values = np.array([row.split(",")[-1] for row in rows], dtype=float)
    np.testing.assert_allclose(values, law.equation.predict(X), rtol=1e-12)
    assert str(law.equation) == other["equation"]
    assert main(["export", str(run), "--index", str(other["index"])]) == 0


def test_weighted_errors_are_called_so_everywhere(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from gsr import report

    table, run = tmp_path / "data.csv", tmp_path / "run"
    x, noise = X[:, 0], np.random.default_rng(3).standard_normal(len(X))
    rows = np.c_[X, 1.7 * x + 0.05 * x * noise, 0.05 * x]
    np.savetxt(table, rows, "%.17g", ",", header="x,y,sigma", comments="")
    options = ["--target", "y", "--errors", "sigma", "--max-evals", "300", "--seed", "0"]
    assert main(["fit", str(table), *options, "-o", str(run)]) == 0
    told = capsys.readouterr().out
    assert main(["show", str(run)]) == 0
    for shown in (told, capsys.readouterr().out):
        line = next(each for each in shown.splitlines() if each.startswith("RMSE "))
        assert line.endswith("weighted: rows with less noise or more weight count more")
    model = gsr.load(run / "model.json")
    assert model.get_best().is_weighted
    assert "rmse is weighted" in str(model.equations_)
    assert model.plot("front").axes[0].get_ylabel() == "weighted RMSE of y"
    page = report.page(run)
    assert page.count("weighted RMSE") > 1 and "Errors are weighted: rows" in page
    assert json.loads((run / "result.json").read_text())["weighted"] is True


# ---- laws that the rows do not determine ---------------------------------------------------------


def test_a_law_that_is_one_of_several_is_called_ambiguous(model, tmp_path):
    model.support_ = 0.97
    assert model.level_ == "noise"
    model.support_ = 0.6
    assert model.level_ == "ambiguous"
    model.save(tmp_path / "law.json")
    loaded = gsr.load(tmp_path / "law.json")
    assert (loaded.support_, loaded.level_) == (0.6, "ambiguous")


def test_support_follows_from_description_lengths(fitted, monkeypatch):
    monkeypatch.setattr(kinds, "FAR_BEHIND", 40.0)
    chosen = fitted.get_best()
    entries = [*fitted.front_, *fitted._others]
    assert kinds.support(chosen, [chosen]) == 1.0
    rivals = kinds.of_different_kinds([chosen, *kinds.shortest_first(entries)], 2)[1:]
    (rival,) = rivals
    bits = kinds.bits_above(rival, chosen)
    assert 0.0 < bits < kinds.FAR_BEHIND
    assert kinds.support(chosen, rivals) == pytest.approx(2**bits / (1 + 2**bits))
    assert kinds.support(chosen, entries) <= kinds.support(chosen, rivals) < 1.0


def test_few_noisy_rows_do_not_determine_a_law():
    """Twelve rows on a gentle curve: straight line, root, logarithm and power law all fit."""
    x = np.linspace(4.0, 6.0, 12)
    y = 3.0 * x**0.8 + 0.05 * np.random.default_rng(1).standard_normal(12)
    model = GSRRegressor(max_evals=4000, max_time=120, random_state=0).fit(x[:, None], y)
    assert model.support_ < 0.95
    assert model.level_ == model.equation_.level == "ambiguous"
    assert "noise" not in model.equations_["level"]
    assert model.equations_.top()[0].verdict == "one of several"
    unlikely = next(row for row in model.equations_.top() if row.bits > 2)
    model.choose(index=unlikely.index)
    assert model.level_ == "ambiguous"


def test_a_law_that_the_rows_determine_is_no_less_so_beside_another(fitted):
    """Another law that is chosen by hand is ambiguous, the best one is not."""
    model = copy.deepcopy(fitted)
    model.support_ = 0.99
    best = model.get_best()
    worse = next(  # one that `best` does not dominate
        row
        for row in reversed(model.equations_.top())
        if row.bits > 7 and row.level == "noise" and row.rmse < best.rmse
    )
    model.choose(index=worse.index)
    levels = {row.entry: row.level for row in model.equations_}
    assert model.level_ == levels[worse.entry] == "ambiguous"
    assert levels[best] == "noise"


def test_the_plainest_words_are_chosen():
    """The third power of a constant has fewer digits, which is no reason to write y^3."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0.1, 2.0, 40)
    y = 475.0 * x * (1.0 + 0.2 * rng.standard_normal(40))
    model = GSRRegressor(max_evals=6000, random_state=0).fit(x[:, None], y)
    assert str(model.equation_).startswith("y = ")
    assert model.get_best().n_constants == 1
