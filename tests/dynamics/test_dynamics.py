"""`GSRDynamics`: equations of motion from series."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import gsr
from gsr import GSRDynamics, GSRRegressor
from gsr.exceptions import GSRError, PredictionWarning

#: Searches end by counted work.
REGRESSOR = GSRRegressor(max_evals=4000, max_time=None, n_jobs=1)


def solved(motion, x0, t):
    return solve_ivp(motion, (t[0], t[-1]), x0, t_eval=t, rtol=1e-10, atol=1e-12).y.T


def oscillator(t, x):
    return [x[1], -2.5 * x[0] - 0.3 * x[1]]


def rates(t, x):
    """Michaelis-Menten kinetics: a rational right-hand side."""
    return [0.6 - 1.4 * x[0] / (0.4 + x[0])]


def dynamics(**options):
    return GSRDynamics(regressor=REGRESSOR, max_time=None, random_state=0, **options)


def assert_same_motion(model, motion, x, tolerance):
    truth = np.array([motion(0.0, row) for row in x])
    error = np.abs(model.predict(x) - truth).max(axis=0)
    assert (error <= tolerance * np.ptp(truth, axis=0)).all()


def test_exact_equations_of_a_clean_series():
    t = np.linspace(0, 8, 120)
    x = solved(oscillator, [1.0, 0.5], t)
    model = dynamics(refine=False).fit(x, t)
    first, second = model.equations()
    assert first == "x0' = x1"
    assert second in ("x1' = -2.5 x0 - 0.3 x1", "x1' = -0.3 x1 - 2.5 x0")
    other = np.random.default_rng(0).uniform(-2, 2, (50, 2))
    assert_same_motion(model, oscillator, other, 1e-5)
    simulated = model.simulate([-1.0, 2.0], t)
    assert np.abs(simulated - solved(oscillator, [-1.0, 2.0], t)).max() < 1e-4


@pytest.mark.slow
def test_noise_and_standard_errors():
    t = np.linspace(0, 10, 150)
    rng = np.random.default_rng(3)
    x = solved(oscillator, [1.0, 0.5], t)
    noise = 0.02 * x.std(axis=0)
    model = dynamics().fit(x + noise * rng.normal(size=x.shape), t)
    assert_same_motion(model, oscillator, x, 0.05)
    assert model.noise_["x0"] == pytest.approx(noise[0], rel=0.3)
    assert model.simulation_error_["x0"] == pytest.approx(noise[0], rel=0.3)
    speed = model.standard_errors_["x0"][0]
    assert 0.0 < speed < 0.05
    (_, low, high), *_ = model.models_["x0"].intervals().values()
    assert (high - low) / 2 == pytest.approx(1.98 * speed, rel=0.02)
    assert abs(model.models_["x0"].get_best().law.alpha[0] - 1.0) < 4 * speed


@pytest.mark.slow
def test_a_rational_law_from_two_trajectories():
    t = np.linspace(0, 6, 60)
    starts = [[3.0], [0.05]]
    model = dynamics(refine=False).fit([solved(rates, x0, t) for x0 in starts], [t, t])
    inside = np.linspace(0.1, 2.9, 40)[:, None]
    assert_same_motion(model, rates, inside, 1e-4)


def test_inputs_and_time_as_a_feature():
    t = np.linspace(0, 6, 100)
    push = np.sin(2 * t)
    x = solved(lambda now, x: [-0.8 * x[0] + 1.5 * np.sin(2 * now)], [0.3], t)
    model = dynamics(refine=False).fit(x, t, u=push, feature_names=["speed", "push"])
    assert model.models_["speed"].get_best().complexity == 9
    slopes = model.predict([[1.0], [0.0]], u=[0.0, 1.0])
    np.testing.assert_allclose(slopes[:, 0], [-0.8, 1.5], rtol=1e-5)
    again = model.simulate([0.3], t, u=lambda now: np.sin(2 * now))
    assert np.abs(again - x).max() < 1e-3
    timed = dynamics(refine=False, time_feature=True).fit(x, t)
    assert timed.feature_names_ == ["x0", "t"]
    assert np.abs(timed.predict(x, t=t)[:, 0] - (1.5 * push - 0.8 * x[:, 0])).max() < 1e-3


def test_maps():
    x = np.empty(60)
    x[0] = 0.3
    for k in range(59):
        x[k + 1] = 3.7 * x[k] * (1 - x[k])
    model = dynamics(discrete_time=True).fit(x)
    states = np.linspace(0.05, 0.95, 30)[:, None]
    np.testing.assert_allclose(model.predict(states), 3.7 * states * (1 - states), rtol=1e-6)
    np.testing.assert_allclose(model.simulate([0.3], 10)[:, 0], x[:10], rtol=1e-5)
    assert model.score(x) > 0.999999


def test_measured_derivatives_are_used():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (80, 2))
    t = np.arange(80.0)
    x_dot = np.column_stack([x[:, 0] * x[:, 1], 1 / x[:, 0]])
    model = dynamics(refine=False).fit(x, t, x_dot=x_dot)
    np.testing.assert_allclose(model.predict(x), x_dot, rtol=1e-6)
    assert model.score(x, t, x_dot=x_dot) > 0.999999


def test_second_order_equations_of_measured_positions():
    t = np.linspace(0, 8, 120)
    x = solved(oscillator, [1.0, 0.5], t)
    model = dynamics(order=2).fit(x[:, :1], t, feature_names=["angle"])
    assert model.feature_names_ == ["angle", "angle'"]
    assert str(model) == model.equations()[0] and str(dynamics()).startswith("GSRDynamics(")
    np.testing.assert_allclose(model.predict([[1, 0], [0, 1]])[:, 0], [-2.5, -0.3], rtol=1e-6)
    assert np.abs(model.simulate([1.0, 0.5], t) - x).max() < 1e-5
    assert model.score(x[:, :1], t) > 0.9999
    assert model.simulation_error_["angle"] < 1e-7


def test_trajectories_of_different_length_with_gaps():
    times = [np.linspace(0, 4, 50), np.cumsum(np.full(30, 0.1))]
    parts = [
        solved(oscillator, x0, t) for x0, t in zip([[1.0, 0.5], [0.0, -1.0]], times, strict=True)
    ]
    parts[0][20:23] = np.nan
    model = dynamics(refine=False).fit(parts, times)
    assert [len(each.t) for each in model.trajectories_] == [47, 30]
    assert_same_motion(model, oscillator, parts[1], 1e-3)


def test_a_saved_model_simulates_alike(tmp_path):
    t = np.linspace(0, 4, 60)
    model = dynamics(time_feature=True).fit(3 * np.exp(-0.7 * t), t)
    model.save(tmp_path / "model.json")
    again = gsr.load(tmp_path / "model.json")
    assert isinstance(again, GSRDynamics)
    assert again.to_dict() == model.to_dict()
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert again.regressor.max_evals == REGRESSOR.max_evals
    np.testing.assert_array_equal(again.simulate([1.0], t), model.simulate([1.0], t))
    with pytest.raises(GSRError, match="without its series"):
        again.plot()


@pytest.mark.parametrize("language", ["python", "numpy"])
def test_exported_right_hand_sides(language):
    t = np.linspace(0, 6, 80)
    model = dynamics(order=2, refine=False).fit(np.cos(2 * t), t, u=np.sin(t))
    namespace = {}
    exec(model.export(language, name="swing"), namespace)
    np.testing.assert_allclose(namespace["swing"](0.0, [1.0, 0.5], [0.3]), [0.5, -4.0], rtol=1e-6)
    assert "void motion(double t, const double *x, const double *u, double *dx)" in model.export(
        "c"
    )


def test_pictures_of_series_and_phase():
    pytest.importorskip("matplotlib")
    t = np.linspace(0, 4, 60)
    model = dynamics(refine=False).fit(np.column_stack([np.exp(-t), np.exp(-2 * t)]), t)
    axes = model.plot("series").axes
    assert [ax.get_ylabel() for ax in axes] == ["x0", "x1"]
    measured, simulated = axes[0].lines
    np.testing.assert_allclose(measured.get_ydata(), np.exp(-t))
    np.testing.assert_allclose(simulated.get_ydata(), np.exp(-simulated.get_xdata()), atol=1e-5)
    assert model.plot("phase").axes[0].get_xlabel() == "x0"
    with pytest.raises(GSRError, match="kind must be one of"):
        model.plot("summary")


def test_a_stiff_simulation_ends():
    from gsr.dynamics.simulation import integrate

    t = np.linspace(0, 3, 50)
    stiff = integrate(lambda now, x: -1e6 * (x - np.cos(now)), np.zeros(1), t, largest=1e6)
    np.testing.assert_allclose(stiff[1:, 0], np.cos(t[1:]), atol=1e-4)
    calls = []
    wild = integrate(
        lambda now, x: calls.append(now) or np.sin(1e12 * x + 1e9 * now) * 1e5,
        np.array([0.1]), t, largest=1e6,
    )  # fmt: skip
    assert len(calls) < 500_000
    assert np.isfinite(wild[0]).all()


def test_a_simulation_that_leaves_the_finite_range_ends_with_a_warning():
    t = np.linspace(0, 1, 50)
    x = 1 / (1.25 - t)  # x' = x^2, which ends at t = 1.25
    model = dynamics(refine=False).fit(x, t)
    with pytest.warns(PredictionWarning, match="the simulation ends at t ="):
        states = model.simulate([x[0]], np.linspace(0, 3, 100))
    assert np.isfinite(states[0]).all()
    assert np.isnan(states[-1]).all()


def test_mistakes():
    t = np.linspace(0, 4, 40)
    model = dynamics(refine=False).fit(np.exp(-t), t)
    with pytest.raises(GSRError, match="x0 must have 1 values"):
        model.simulate([1.0, 2.0], t)
    with pytest.raises(GSRError, match="x must have 1 columns"):
        model.predict(np.ones((3, 2)))
    with pytest.raises(GSRError, match="t must hold increasing times"):
        model.simulate([1.0], t[::-1])
    with pytest.raises(GSRError, match="2 states, but 1 feature_names"):
        dynamics().fit(np.ones((30, 2)), 1.0, feature_names=["a"])
    with pytest.raises(GSRError, match="order must be 1 or 2"):
        dynamics(order=3).fit(np.exp(-t), t)
    with pytest.raises(GSRError, match="leave out discrete_time"):
        dynamics(order=2, discrete_time=True).fit(np.exp(-t), t)
    for names in (["a", "a"], ["a", "a'"]):
        with pytest.raises(GSRError, match="names must differ"):
            dynamics().fit(np.random.default_rng(0).normal(size=(40, 2)), t, feature_names=names)
    with pytest.raises(GSRError, match="the state 'b' is the same in every row"):
        dynamics().fit(np.column_stack([t, np.ones(40)]), t, feature_names=["a", "b"])
    with pytest.raises(GSRError, match="at least 6 rows"):
        dynamics().fit([[1.0]], [0.0])
