import copy
import json
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gsr
from gsr import GSRError, GSRRegressor, PredictionWarning, Transformation, saving
from gsr.encoding import encode, encode_target
from gsr.equation import Equation
from gsr.library import PRESETS, Library
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.selection.fitted import FittedLaw, Training

ALL = PRESETS["all"]
ARCSINH = Transformation(
    "arcsinh", np.arcsinh, "asinh({})", inverse=np.sinh, inverse_sympy="sinh({})"
)
CRITERION_RAN = []


def fitted(laws, X, y, library=ALL, **parameters):
    """A model whose front has laws (target terms, feature terms), as if a search had found them."""
    names = [f"x{j + 1}" for j in range(X.shape[1])]

    def equation(law):
        return Equation.from_data(
            library, library, law.psi, law.beta, law.phi, law.alpha, X, y, feature_names=names
        )

    data = Training(library, library, np.asfortranarray(X), y)
    model = GSRRegressor(library=library, **parameters)
    model.front_ = [
        FrontEntry.of(_law(target, features, library, X.shape[1], rank), equation, data)
        for rank, (target, features) in enumerate(laws)
    ]
    model.best_index_ = len(laws) - 1
    model.equation_ = model.front_[-1].label(model.front_[-1].level)
    model.n_features_in_, model._names, model._target_name = X.shape[1], names, "y"
    model.status_, model.fit_time_ = "max_time", 0.25
    model.n_generations_, model.n_evaluations_, model.n_unconverged_ = 3, 400, 0
    model.history_ = [Progress(0.1, None, 1, 200, np.inf, "running")]
    return model


def _law(target, features, library, d, rank):
    return FittedLaw(
        tuple(encode(formula, library, d) for _, formula in features),
        tuple(encode_target(formula, library) for _, formula in target),
        np.array([c for c, _ in features]),
        np.array([c for c, _ in target]),
        5 + 4 * rank, 1.0 / (rank + 1), 0.5, False, 0.0,
    )  # fmt: skip


RNG = np.random.default_rng(0)
WIDE = RNG.uniform(-2, 2, (40, 2))
POSITIVE = RNG.uniform(0.5, 2, (40, 2))
COIN = np.where(RNG.uniform(size=40) < 0.5, -1.0, 1.0)
PLAIN = ([(1.0, "y")], [(0.1, "x1*x2"), (1 / 3, "1")])
LAWS = {
    "one branch": (
        ([(1.0, "y**2")], [(2.0, "x1"), (1.0, "x2**3")]),
        POSITIVE,
        np.sqrt(2 * POSITIVE[:, 0] + POSITIVE[:, 1] ** 3),
    ),
    "sign of features": (
        ([(1.0, "y**2")], [(1.0, "x1**2"), (1.0, "1")]),
        WIDE,
        np.sign(WIDE[:, 0] * WIDE[:, 1]) * np.sqrt(WIDE[:, 0] ** 2 + 1),
    ),
    "sign of inner rows": (
        ([(1.0, "log(y)")], [(1.0, "log(x1 + sin(x2))"), (2.0, "log(x2)")]),
        WIDE,
        (WIDE[:, 0] + np.sin(WIDE[:, 1])) * WIDE[:, 1] ** 2,
    ),
    "neighbours": (
        ([(1.0, "y**2")], [(1.0, "x1**2"), (1.0, "1")]),
        WIDE,
        COIN * np.sqrt(WIDE[:, 0] ** 2 + 1),
    ),
    "periods": (([(1.0, "cos(y)")], [(0.5, "x1")]), WIDE, 3 + np.arccos(0.5 * WIDE[:, 0])),
    "no closed form": (
        ([(1.0, "y"), (0.25, "y**3")], [(1.0, "x1"), (0.5, "x2")]),
        WIDE,
        np.sinh(WIDE[:, 0] + 0.5 * WIDE[:, 1]),
    ),
    "constants inside": (([(1.0, "y")], [(2.0, "sin(9.8*x1 + x2)")]), WIDE, COIN + WIDE[:, 0]),
    "a term of coefficient 0": (
        ([(1.0, "y")], [(0.0, "x1"), (-0.0, "x2"), (0.1, "x1**2")]),
        WIDE,
        COIN + WIDE[:, 1],
    ),
}


@pytest.fixture(params=LAWS)
def model(request):
    law, X, y = LAWS[request.param]
    return fitted([PLAIN, law], X, y)


def quiet_predict(model, X, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionWarning)
        return model.predict(X, index=k)


def bits(values):
    return np.asarray(values, dtype=float).view(np.uint64).tolist()


def saved(model, path):
    saving.save(model, path)
    return path


# ---- the same model comes back -----------------------------------------------------------------


def test_every_law_predicts_the_same_bit_for_bit(model, tmp_path):
    back = gsr.load(saved(model, tmp_path / "model.json"))
    X = np.random.default_rng(1).uniform(-4, 4, (300, 2))
    for k in range(len(model.front_)):
        assert bits(quiet_predict(model, X, k)) == bits(quiet_predict(back, X, k))


def test_what_is_known_about_a_law_comes_back_without_training_data(model, tmp_path):
    back = gsr.load(saved(model, tmp_path / "model.json"))
    assert str(back.equation_) == str(model.equation_) and back.level_ == model.level_
    assert str(back.equations_) == str(model.equations_)
    assert back.latex() == model.latex() and back.explicit() == model.explicit()
    assert back.equation_.level == model.equation_.level
    for old, new in zip(model.front_, back.front_, strict=True):
        assert new.data is None
        for name in ("complexity", "rmse", "exact", "n_constants", "bits", "held_out", "level"):
            assert getattr(new, name) == getattr(old, name)
        assert new.poles.verdict == old.poles.verdict and new.poles.reason == old.poles.reason
        assert new.uncertainty.names == old.uncertainty.names
        assert bits(new.uncertainty.covariance) == bits(old.uncertainty.covariance)
        assert bits(new.uncertainty.intervals(0.9)) == bits(old.uncertainty.intervals(0.9))
        assert bits(new.left_out) == bits(old.left_out)
        assert new.rounded.texts == old.rounded.texts
        assert str(new.rounded_equation) == str(old.rounded_equation)
        assert new.equation.inversion.branches.sign == old.equation.inversion.branches.sign


def test_laws_are_written_as_before(tmp_path):
    """A shorter form was checked on training rows, which the file does not have."""
    X = np.linspace(1.0, 4.0, 30)[:, None]
    right = [(0.5, "1 + x1^2"), (-1.5, "1"), (2.0, "exp(ln(x1)/2)")]
    model = fitted([([(1, "y")], right)], X, X[:, 0] ** 2)
    model.save(tmp_path / "model.json")
    again = gsr.load(tmp_path / "model.json")
    assert str(again.equation_) == str(model.equation_) != model.equation_.as_encoded()
    assert again.equations_["equation"] == model.equations_["equation"]


def test_saving_again_gives_the_same_file(model, tmp_path):
    first = saved(model, tmp_path / "a.json")
    second = saved(gsr.load(first), tmp_path / "b.json")
    documents = [json.loads(path.read_text()) for path in (first, second)]
    for document in documents:
        del document["created"], document["checksum"]
    assert documents[0] == documents[1]


def test_nothing_is_learnt_while_loading(model, tmp_path, monkeypatch):
    path = saved(model, tmp_path / "model.json")
    for owner, name in ((gsr.prediction.inversion.Inversion, "learn"), (Equation, "from_data")):
        monkeypatch.setattr(owner, name, None)
    assert quiet_predict(gsr.load(path), WIDE[:3], 1).shape == (3,)


def test_laws_share_their_training_rows(tmp_path):
    law, X, y = LAWS["neighbours"]
    document = json.loads(saved(fitted([law, law], X, y), tmp_path / "m.json").read_text())
    (rows,) = document["training_rows"]
    assert rows["X"] == X.tolist() and rows["y"] == y.tolist()


def test_the_file_is_strict_json_with_one_line_for_a_row(tmp_path):
    law, X, y = LAWS["neighbours"]
    model = fitted([law], X, y, max_time=np.inf, max_rows=np.int64(50))
    model._names[0] = "β \u2028"  # a line separator
    text = saved(model, tmp_path / "m.json").read_text(encoding="utf-8")
    document = json.loads(text, parse_constant=pytest.fail)
    assert (document["format"], document["format_version"]) == ("gsr model", 1)
    assert json.dumps(X[0].tolist()) + "," in [line.strip() for line in text.split("\n")]
    back = gsr.load(tmp_path / "m.json")
    assert (back.max_time, back.max_rows, back._names) == (np.inf, 50, model._names)
    assert back.history_ == model.history_ and back.status_ == "max_time"


def test_a_real_fit_with_odd_names_in_another_process(tmp_path):
    X = pd.DataFrame(POSITIVE, columns=["flow rate %", "λ"])
    y = pd.Series(2 * POSITIVE[:, 0] / POSITIVE[:, 1] + 0.01 * WIDE[:, 0], name="class")
    model = GSRRegressor(random_state=0, max_time=0.3, criterion="bic").fit(X, y)
    model.save(tmp_path / "m.json")
    code = (
        "import sys, gsr, pandas as pd; m = gsr.load(sys.argv[1]);"
        "X = pd.read_json(sys.argv[2], orient='split', precise_float=True);"
        "print([[v.hex() for v in m.predict(X, index=k)] for k in range(len(m.front_))]);"
        "print(m.equation_, m.get_params()['criterion'], m.feature_names_in_)"
    )
    few = pd.DataFrame([[0.75, 1.5], [1.25, 0.5]], columns=X.columns)
    few.to_json(tmp_path / "X.json", orient="split")
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.json"), str(tmp_path / "X.json")],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONUTF8": "1"},
    ).stdout.splitlines()  # fmt: skip
    here = [[v.hex() for v in model.predict(few, index=k)] for k in range(len(model.front_))]
    assert told == [str(here), f"{model.equation_} bic ['flow rate %' 'λ']"]


def test_several_targets(tmp_path):
    law, X, y = LAWS["one branch"]
    model = GSRRegressor(random_state=3)
    model.models_ = {"a": fitted([PLAIN], X, y), "b": fitted([PLAIN, law], X, y)}
    model.n_features_in_ = 2
    back = gsr.load(saved(model, tmp_path / "m.json"))
    assert list(back.models_) == ["a", "b"] and back.n_features_in_ == 2 and back.random_state == 3
    assert bits(back.models_["b"].predict(X)) == bits(model.models_["b"].predict(X))


# ---- files of earlier versions -----------------------------------------------------------------

STORED = Path(__file__).parents[1] / "saved_models"
KNOWN = json.loads((STORED / "known.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "rows"])
def test_a_file_of_version_0_1_gives_the_same_model(name, tmp_path):
    model = gsr.load(STORED / f"{name}.json", [ARCSINH])
    models = getattr(model, "models_", None) or {"": model}
    assert list(models) == list(KNOWN[name])
    for key, known in KNOWN[name].items():
        found = models[key]
        assert str(found.equation_) == known["equation"]
        assert found.equations_.to_csv() == known["table"]
        columns = getattr(found, "feature_names_in_", None)
        rows = np.array(KNOWN["rows"])
        X = rows if columns is None else pd.DataFrame(rows, columns=columns)
        for k, values in enumerate(known["predictions"]):
            expected = [float.fromhex(value) for value in values]
            np.testing.assert_allclose(quiet_predict(found, X, k), expected, rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "rows"])
def test_a_file_of_version_0_1_is_written_as_before(name, tmp_path):
    gsr.load(STORED / f"{name}.json", [ARCSINH]).save(tmp_path / "again.json")
    before, after = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (STORED / f"{name}.json", tmp_path / "again.json")
    )
    for document in (before, after):
        for key in ("created", "checksum", "gsr_version"):
            del document[key]
    assert after == before
    assert json.dumps(after) == json.dumps(before), "the keys have their order"


# ---- code is not stored ------------------------------------------------------------------------


def own_model(**parameters):
    library = Library(["identity", "sin", ARCSINH])
    law = ([(1.0, "y")], [(3.0, "asinh(x1*x2)"), (-1.0, "x2")])
    y = 3 * np.arcsinh(WIDE[:, 0] * WIDE[:, 1]) - WIDE[:, 1]
    return fitted([law], WIDE, y, library, **parameters)


def test_own_transformations_are_given_when_loading(tmp_path):
    model = own_model(target_library=["identity", ARCSINH])
    path = saved(model, tmp_path / "m.json")
    back = gsr.load(path, [ARCSINH])
    assert bits(back.predict(WIDE)) == bits(model.predict(WIDE))
    assert back.library == model.library and back.target_library == ["identity", ARCSINH]
    with pytest.raises(GSRError, match=r"m\.json.*arcsinh \(asinh\(\{\}\)\).*transformations=\["):
        gsr.load(path)
    other = Transformation("arcsinh", np.tanh, "tanh({})", inverse=np.arctanh)
    with pytest.raises(GSRError, match="'arcsinh' is not the one of the file: its sympy is 'tanh"):
        gsr.load(path, [other])
    with pytest.raises(GSRError, match=r"must hold gsr\.Transformation objects, not 'arcsinh'"):
        gsr.load(path, ["arcsinh"])


def test_parameters_come_back(tmp_path):
    parameters = {
        "units": {"x1": "m/s", "x2": None},
        "hyperparameters": MappingProxyType({"population_size": 20, "epsilon": 1e-7}),
        "required_terms": ("x1*x2",),
        "forbid": {"x1": ["sin"]},
        "max_time": None,
    }
    back = gsr.load(saved(own_model(**parameters), tmp_path / "m.json"), [ARCSINH])
    wanted = {**parameters, "required_terms": ["x1*x2"]}
    assert {name: getattr(back, name) for name in wanted} == wanted


def test_callables_are_left_out_with_a_note(tmp_path):
    model = own_model(
        criterion=CRITERION_RAN.append, callback=print, random_state=np.random.RandomState(0)
    )
    path = saved(model, tmp_path / "m.json")
    stored = json.loads(path.read_text())["model"]
    assert stored["parameters"]["callback"] is None
    assert set(stored["not_stored"]) == {"criterion", "callback", "random_state"}
    back = gsr.load(path, [ARCSINH])
    assert (back.criterion, back.callback, back.random_state) == ("mdl", None, None)
    assert not CRITERION_RAN


def test_a_parameter_that_this_version_does_not_have_is_left_out(tmp_path):
    path = edited(tmp_path, lambda d: d["model"]["parameters"].update(wings=2))
    with pytest.warns(UserWarning, match="no parameter wings"):
        assert gsr.load(path).best_index_ == 1


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(GSRError, match="fit first"):
        saving.save(GSRRegressor(), tmp_path / "m.json")
    assert not list(tmp_path.iterdir())


# ---- the file is whole or not there ------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = saved(own_model(), tmp_path / "m.json")
    path.chmod(0o640)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left.*m\.json"):
            saving.save(own_model(), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    saving.save(own_model(random_state=1), path)
    assert path.read_bytes() != before and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_writing_fails_with_the_name_of_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/m\.json"):
        saving.save(own_model(), tmp_path / "nowhere" / "m.json")
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        saving.save(own_model(), tmp_path)
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"):
            saving.save(own_model(), "/dev/full")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    saved(own_model(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "real.json").is_file()


# ---- damaged files -----------------------------------------------------------------------------


LAW, TRAINING_X, TRAINING_Y = LAWS["neighbours"]
WITH_RULE = LAWS["sign of inner rows"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two files: a law that asks its neighbours, and one with a rule for signs."""
    folder = tmp_path_factory.mktemp("models")
    models = (
        fitted([PLAIN, LAW], TRAINING_X[:6], TRAINING_Y[:6]),
        fitted([WITH_RULE[0]], *WITH_RULE[1:]),
    )
    return [saved(m, folder / f"{i}.json").read_text() for i, m in enumerate(models)]


def edited(folder, edit, text=None):
    path = folder / "edited.json"
    if text is None:
        text = saved(fitted([PLAIN, LAW], TRAINING_X, TRAINING_Y), path).read_text()
    document = json.loads(text)
    document["checksum"] = None
    edit(document)
    path.write_text(json.dumps(document))
    return path


def at(document, *keys):
    for key in keys:
        document = document[key]
    return document


FRONT = ("model", "front", 1)
BRANCHES = (*FRONT, "equation", "branches")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("format",), "other", "no gsr model"),
        (("format_version",), 2, "format version 2, written by gsr .* install a newer gsr"),
        (("format_version",), "1", "format_version must be a whole number from 1 to 1"),
        (("checksum",), "sha256:0", "does not fit its checksum.*edited.*null"),
        (("libraries", 0, "entries", 1), "wings", "not built in: wings"),
        (("libraries", 0, "entries"), ["one", "one"], "'one' is twice"),
        (("model",), [], "file.model must be an object, got list"),
        (("model", "features"), ["x1"], "n_features_in_ does not fit 1 features"),
        (("model", "target"), "x1", "names must differ"),
        (("model", "best_index"), 2, "best_index must be below 2, got 2"),
        (("model", "front"), [], "front has no laws"),
        (("model", "attributes", "__class__"), 1, "no attribute of a fitted model"),
        (("model", "attributes", "equations_"), 1, "found from the laws"),
        (("model", "attributes", "fit_time_"), "soon", "fit_time_ must be a number"),
        (("model", "history", "rmse"), [], "columns must have the same length"),
        ((*FRONT, "complexity"), 1.5, r"front\[1\].complexity must be a whole number"),
        ((*FRONT, "level"), "high", "must be one of rounding, noise"),
        ((*FRONT, "law", "alpha"), [1.0], "there are 2 matrices.*but 1 coefficients"),
        ((*FRONT, "law", "alpha", 0), "nan", r"alpha\[0\] must be a finite number"),
        ((*FRONT, "law", "alpha", 0), 10**400, "within double precision"),
        ((*FRONT, "law", "beta"), [0.0], "other than 0"),
        ((*FRONT, "law", "phi", 0), [[1, 0, 3]], "variable 3 is not between 1 and 2"),
        ((*FRONT, "law", "psi", 0), [[99]], "transformation 99 is not in the table"),
        ((*FRONT, "law", "phi", 0), [[1, 1, 30001, 2]], "row"),
        ((*FRONT, "equation", "library"), 9, "library must be below"),
        ((*FRONT, "equation", "bars_features"), [[]], "must have 2 items, got 1"),
        ((*FRONT, "equation", "bars_features"), [[7], []], "names a row that is not there"),
        ((*BRANCHES, "low"), 99.0, "must not be above high"),
        ((*BRANCHES, "neighbours"), 1, "neighbours must be below 1, got 1"),
        (("training_rows", 0, "y"), [], "do not fit each other"),
        (("training_rows", 0, "X", 0), [1.0], "rows of the same length"),
        ((*FRONT, "uncertainty", "covariance"), [[1.0]], "do not fit each other"),
        ((*FRONT, "poles", "verdict"), None, "must be one of safe, unsafe, unknown"),
    ],
)
def test_what_is_wrong_is_named(place, value, message, tmp_path, texts):
    def edit(document):
        at(document, *place[:-1])[place[-1]] = value

    with pytest.raises(GSRError, match=message) as caught:
        gsr.load(edited(tmp_path, edit, texts[0]))
    assert "edited.json" in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("constant",), 0, "must be 1 or -1"),
        (("arguments", 0, "parts", 0, "base"), 3, "variable 3 is not between 1 and 2"),
        (("arguments", 0, "parts", 1, "base", "code"), 50, "no transformation of the library"),
    ],
)
def test_a_rule_for_signs_is_checked(place, value, message, tmp_path, texts):
    def edit(document):
        sign = at(document, "model", "front", 0, "equation", "branches", "sign")
        at(sign, *place[:-1])[place[-1]] = value

    with pytest.raises(GSRError, match=message):
        gsr.load(edited(tmp_path, edit, texts[1]))


def test_one_changed_digit_shows(tmp_path, texts):
    path = tmp_path / "m.json"
    path.write_text(texts[0].replace("0.333333333333333", "0.333333333333334", 1))
    with pytest.raises(GSRError, match="checksum"):
        gsr.load(path)
    path.write_text(json.dumps(json.loads(texts[0])))
    assert gsr.load(path).best_index_ == 1, "the layout may change"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no gsr model"),
        (b"\x80\x04pickle", "it is not text"),
        (b"[" * 200_000, "inside each other"),
        (b'{"format": "gsr model", "n": NaN}', "NaN is no JSON"),
        (b'{"format": "gsr model", "n": ' + b"9" * 10_000 + b"}", "no gsr model, or"),
        (b"x,y\n1,2\n", "no gsr model"),
        (b"null", "no gsr model"),
    ],
)
def test_files_of_another_kind(content, message, tmp_path):
    path = tmp_path / "some.file"
    path.write_bytes(content)
    with pytest.raises(GSRError, match=message) as caught:
        gsr.load(path)
    assert "some.file" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing", tmp_path, tmp_path / "pipe", "nul\0"):
        with pytest.raises(GSRError, match="cannot read"):
            gsr.load(path)


def load_or_refuse(path):
    """Nothing but a GSRError, or a model that can be used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = gsr.load(path)
        except GSRError as error:
            assert path.name in str(error)
            return False
        for k, entry in enumerate(model.front_):
            assert str(entry.equation)
            assert model.predict(TRAINING_X[:3], index=k).shape == (3,)
    return True


def test_a_file_cut_off_anywhere_is_refused(tmp_path, texts):
    content = texts[0].encode()
    path = tmp_path / "cut.json"
    for length in range(0, len(content.rstrip()), 97):
        path.write_bytes(content[:length])
        assert not load_or_refuse(path)


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(content):
    with pytest.raises(GSRError):
        saving._document(content)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.sampled_from(["inf", "nan", 10**30, -1, 0, 1e308, "identity"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)  # fmt: skip


def places(value, path=()):
    yield path
    keys = value if isinstance(value, dict) else range(len(value) if type(value) is list else 0)
    for key in keys:
        yield from places(value[key], (*path, key))


@settings(max_examples=300)
@given(data=st.data())
def test_any_edit_gives_an_error_or_a_model(data, tmp_path_factory, texts):
    document = json.loads(data.draw(st.sampled_from(texts)))
    document["checksum"] = None
    everywhere = [place for place in places(document) if place]
    for place in data.draw(st.lists(st.sampled_from(everywhere), min_size=1, max_size=2)):
        try:
            holder = at(document, *place[:-1])
            old = holder[place[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # the first edit has removed it
        numbers = isinstance(old, int | float) and not isinstance(old, bool)
        like = st.integers(-3, 12) | st.floats(-10, 10) if numbers else JSON_VALUES
        holder[place[-1]] = copy.deepcopy(data.draw(like | JSON_VALUES))
    path = tmp_path_factory.getbasetemp() / "fuzzed.json"
    path.write_text(json.dumps(document))
    load_or_refuse(path)


@settings(max_examples=150)
@given(data=st.data())
def test_flipped_bytes_are_refused(data, tmp_path_factory, texts):
    content = bytearray(data.draw(st.sampled_from(texts)).encode())
    k = data.draw(st.integers(0, len(content) - 1))
    content[k] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.json"
    path.write_bytes(bytes(content))
    if load_or_refuse(path):
        # Only space between the values can have changed.
        assert json.loads(bytes(content)) in [json.loads(text) for text in texts]
