import numpy as np
import pytest

from gsr.encoding import encode, encode_target
from gsr.library import PRESETS
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.residuals import residual_level, structure_probability

ALL = PRESETS["all"]


@pytest.mark.parametrize("coefficient", [1e-300, 1e-160, -1e-12])
def test_predictions_with_hardly_any_spread(coefficient):
    X = np.random.default_rng(0).uniform(-2, 2, (40, 2))
    law = FittedLaw(
        (encode("x1**2", ALL, 2),), (encode_target("y", ALL),), np.array([coefficient]),
        np.ones(1), 5, 1.0, 1.0, False, 0.0,
    )  # fmt: skip
    assert residual_level(law, Training(ALL, ALL, X, X[:, 1])) == "above"
    noise = np.random.default_rng(1).normal(size=40)
    assert residual_level(law, Training(ALL, ALL, X, noise)) == "noise"


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e170, 1e300])
@pytest.mark.parametrize("what", range(3))
def test_units_do_not_matter(unit, what):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (60, 2))
    parts = [rng.normal(size=60) + 1.6 * X[:, 0] ** 2, X[:, 0] + 3.0, X]
    wanted = structure_probability(*parts, 1)
    parts[what] = parts[what] * unit
    assert structure_probability(*parts, 1) == pytest.approx(wanted, rel=1e-6)
    assert 0 < wanted < 1
