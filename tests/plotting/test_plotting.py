"""Pictures: what is drawn is what the model says, whatever the names are."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from gsr import GSRError, GSRRegressor, plotting
from gsr.plotting import MOST_POINTS, _brief
from gsr.plotting.drawing import PICK, log_heights

pytest.importorskip("matplotlib")

ODD = ["flow_rate $m^3$", "100 % & a_b$", "_hidden\n\x00{}"]
KINDS = [kind for kind in plotting.KINDS if kind != "summary"]


def table(n, columns, seed=0):
    return pd.DataFrame(
        np.random.default_rng(seed).uniform(0.2, 2, (n, len(columns))), None, columns
    )


@pytest.fixture(scope="module")
def exact():
    X = table(20, ["x1", "x2"])
    y = np.sqrt(X["x1"] ** 3 + 2 * X["x2"] + 1).rename("y")
    return GSRRegressor(random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def noisy():
    X = table(120, ODD)
    noise = 0.05 * np.random.default_rng(1).normal(size=120)
    y = (3 * np.sin(X[ODD[0]]) + X[ODD[1]] * X[ODD[2]] ** 2 + noise).rename("$y_{}$ %")
    return GSRRegressor(random_state=0, max_generations=40).fit(X, y)


@pytest.fixture(scope="module")
def loaded(noisy):
    return pickle.loads(pickle.dumps(noisy))


def drawn(figure):
    """Return the figure after it has been drawn; warnings are errors, but for missing letters."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.canvas.draw()
    return figure


def texts(figure):
    from matplotlib.text import Text

    return [found.get_text() for found in figure.findobj(Text)]


@pytest.mark.parametrize("name", ["exact", "noisy"])
@pytest.mark.parametrize("kind", plotting.KINDS)
def test_every_kind_is_drawn_without_a_window(kind, name, request):
    from matplotlib import pyplot

    drawn(request.getfixturevalue(name).plot(kind))
    assert pyplot.get_fignums() == []


def test_a_figure_shows_itself_and_is_written(exact, tmp_path):
    figure = exact.plot("front")
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure.savefig(tmp_path / "picture.svg")
    assert "Error against complexity" in (tmp_path / "picture.svg").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_axes_of_the_user_are_drawn_into(kind, noisy):
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    assert noisy.plot(kind, ax=right) is right
    assert right.get_title(loc="left")
    assert not left.lines
    drawn(right.figure)


def test_of_one_feature_the_law_is_drawn_with_data_curve_band_and_given_errors():
    x = np.linspace(1, 5, 40)[:, None]
    sigma = np.linspace(0.05, 0.2, 40)
    y = 3 * x[:, 0] + 1 + sigma * np.random.default_rng(0).normal(size=40)
    model = GSRRegressor(random_state=0, max_evals=300).fit(x, y, sigma=sigma)
    ax = drawn(model.plot("law")).axes[0]
    assert ax.get_title(loc="left") == f"$y = {model.equations_[model.best_index_].latex(4)[4:]}$"
    curve, points = ax.lines[-2:]
    np.testing.assert_allclose(curve.get_ydata(), model.predict(curve.get_xdata()[:, None]))
    np.testing.assert_array_equal(points.get_ydata(), y)
    bars, band = sorted(ax.collections, key=lambda each: not hasattr(each, "get_segments"))
    segments = np.array(bars.get_segments())
    np.testing.assert_allclose(segments[:, 1, 1] - segments[:, 0, 1], 2 * sigma, rtol=1e-9)
    low, high = model.predict_interval(curve.get_xdata()[:, None]).T
    edges = band.get_paths()[0].vertices[:, 1]
    assert edges.min() == pytest.approx(low.min()) and edges.max() == pytest.approx(high.max())


def test_of_several_features_each_that_matters_is_drawn_and_residuals_are_kept(noisy):
    figure = drawn(noisy.plot("law"))
    assert 1 < len(figure.axes) <= 4
    residual = noisy.get_best().data.y - noisy.equation_.predict(noisy.get_best().data.X)
    for ax in figure.axes:
        curve, points = ax.lines
        there = np.interp(points.get_xdata(), *curve.get_data())
        np.testing.assert_allclose(points.get_ydata() - there, residual, atol=1e-9)


def test_the_front_is_the_models_with_the_choice_marked(noisy):
    (ax,) = drawn(noisy.plot("front")).axes
    points, marked = ax.lines[1], ax.lines[2]
    assert list(points.get_xdata()) == [entry.complexity for entry in noisy.front_]
    assert list(points.get_ydata()) == [entry.rmse for entry in noisy.front_]
    chosen = noisy.front_[noisy.best_index_]
    assert (list(marked.get_xdata()), list(marked.get_ydata())) == (
        [chosen.complexity],
        [chosen.rmse],
    )
    assert marked.get_color() == PICK
    assert ax.get_yscale() == "log"


@pytest.mark.parametrize("name", ["exact", "noisy"])
def test_labels_of_the_front_cover_nothing(name, request):
    model = request.getfixturevalue(name)
    (ax,) = drawn(model.plot("front")).axes
    boxes = [label.get_window_extent() for label in ax.texts]
    assert len(boxes) >= 2
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    places = ax.transData.transform(np.column_stack(ax.lines[1].get_data()))
    assert not any(box.contains(x, y) for box in boxes for x, y in places)


@pytest.mark.parametrize(
    ("law", "label"),
    [
        ("y = 0.523456 x1 + 1.00358", "y = 0.5235 x1 + 1.004"),
        ("y = 1.00358 x1 - 81.0637", "y = 1.004 x1 - 81.06"),
        ("y = 1.47115e-8 x1^4 + 0.5", "y = 1.471e-8 x1^4 + 0.5"),
        ("y = 1.00004 x1 + 123456.7", "y = 1.000 x1 + 1.235e5"),
        ("`a 1.23456` = 2 x1.5", "`a 1.23456` = 2 x1.5"),
    ],
)
def test_coefficients_and_constants_have_the_same_digits(law, label):
    assert _brief(law) == label


def test_exact_laws_stand_below_the_others_and_say_so(exact):
    (ax,) = drawn(exact.plot("front")).axes
    heights = ax.lines[1].get_ydata()
    others = [entry.rmse for entry in exact.front_ if not entry.exact]
    low = [y for y, entry in zip(heights, exact.front_, strict=True) if entry.exact]
    assert len(low) == 1
    assert min(others) / 1e4 < low[0] < min(others)
    labels = dict(zip(ax.get_yticks(), (t.get_text() for t in ax.get_yticklabels()), strict=True))
    assert labels[low[0]] == "exact"


@pytest.mark.parametrize(
    ("errors", "low", "expected", "floor"),
    [
        ([1.0, 0.1], [False, False], [1.0, 0.1], False),
        ([1.0, 0.0], [False, False], [1.0, None], True),
        ([1e-16], [True], [None], True),
    ],
)
def test_heights_on_a_logarithmic_axis_are_positive(errors, low, expected, floor):
    heights, found = log_heights(errors, low)
    assert (heights > 0).all()
    assert (found is not None) == floor
    assert all(e is None or h == e for h, e in zip(heights, expected, strict=True))


def test_fit_and_residuals_are_those_of_the_rows(noisy):
    data = noisy.front_[noisy.best_index_].data
    prediction = noisy.equation_.predict(data.X)
    (ax,) = drawn(noisy.plot("fit")).axes
    np.testing.assert_array_equal(ax.lines[1].get_data(), [data.y, prediction])
    ax = drawn(noisy.plot("residuals")).axes[0]
    np.testing.assert_array_equal(ax.lines[1].get_data(), [prediction, data.y - prediction])
    sigma = np.sqrt(np.mean((data.y - prediction) ** 2))
    np.testing.assert_allclose(
        [line.get_ydata()[0] for line in ax.lines[2:]], [-2 * sigma, 2 * sigma]
    )


def test_another_law_of_the_front_is_drawn_if_asked_for(noisy):
    data = noisy.front_[0].data
    (ax,) = drawn(noisy.plot("fit", index=0)).axes
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), noisy.front_[0].equation.predict(data.X))


def test_terms_add_up_to_the_left_side_and_the_label_says_which(exact):
    X = exact.front_[-1].data.X
    (ax,) = drawn(exact.plot("terms")).axes
    middles = {
        line.get_ydata()[0]: line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1
    }
    expected = sorted([2 * X[:, 1], X[:, 0] ** 3, np.ones(len(X))], key=lambda c: -np.abs(c).mean())
    np.testing.assert_allclose([middles[k] for k in range(3)], [np.median(c) for c in expected])
    assert "y^2" in ax.get_xlabel()
    shares = [float(t.get_text()[:-2]) for t in ax.texts if t.get_text().endswith(" %")]
    assert sum(shares) == pytest.approx(100, abs=1)


def test_convergence_is_the_history(noisy):
    (ax,) = drawn(noisy.plot("convergence")).axes
    seconds = [each.seconds for each in noisy.history_]
    np.testing.assert_array_equal(
        ax.lines[1].get_data(), [seconds, [each.rmse for each in noisy.history_]]
    )


@pytest.mark.parametrize("kind", ["fit", "residuals"])
def test_rows_without_a_prediction_are_left_out_and_counted(kind, exact):
    X = pd.DataFrame({"x1": [1.0, -3.0, 2.0, -4.0], "x2": [1.0, 0.0, 1.0, 0.0]})
    y = np.array([2.0, 1.0, 3.3, 1.0])
    ax = drawn(exact.plot(kind, X=X, y=y)).axes[0]
    assert "2 of 4 rows" in ax.get_title(loc="left")
    assert len(ax.lines[1].get_xdata()) == 2


def test_of_many_rows_a_sample_is_drawn(exact):
    X = table(MOST_POINTS + 1, ["x1", "x2"])
    ax = drawn(exact.plot("fit", X=X, y=np.ones(len(X)))).axes[0]
    assert len(ax.lines[1].get_xdata()) == MOST_POINTS
    assert f"{len(X):,} rows" in ax.get_title(loc="left")


@pytest.mark.parametrize("kind", plotting.KINDS)
def test_names_are_written_as_they_are(kind, noisy):
    figure = drawn(noisy.plot(kind))
    assert any("$y_{}$ %" in text for text in texts(figure))
    for text in figure.findobj(lambda found: hasattr(found, "get_parse_math")):
        assert not ("$" in text.get_text() and text.get_parse_math())
        assert "\x00" not in text.get_text()


def test_a_loaded_model_draws_what_needs_no_rows_and_says_what_does(loaded, noisy):
    for kind in ("front", "convergence"):
        drawn(loaded.plot(kind))
    for kind in ("summary", "fit", "residuals", "terms"):
        with pytest.raises(GSRError, match="pass rows to draw as X and y"):
            loaded.plot(kind)
    X = pd.DataFrame(noisy.front_[0].data.X, columns=ODD)
    drawn(loaded.plot("summary", X=X, y=noisy.front_[0].data.y))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "pie"}, "kind must be one of 'summary', .*got 'pie'"),
        ({"kind": "fit", "y": [1.0]}, "X is missing"),
        ({"kind": "summary", "ax": object()}, "takes no ax"),
        ({"kind": "fit", "index": 99}, "index must be"),
    ],
)
def test_mistakes_are_told(options, message, exact):
    with pytest.raises(GSRError, match=message):
        exact.plot(**options)


def test_lengths_must_agree(exact):
    with pytest.raises(GSRError, match="X has 5 rows, but y has 4"):
        exact.plot("fit", X=table(5, ["x1", "x2"]), y=np.ones(4))


def test_without_matplotlib_the_message_names_the_package(exact, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(GSRError, match=r"plots need matplotlib: pip install matplotlib$"):
        exact.plot("front")
