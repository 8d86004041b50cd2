"""What users pass as trajectories, and the messages about mistakes."""

import numpy as np
import pandas as pd
import pytest

from gsr.dynamics.trajectories import names_of, read
from gsr.exceptions import GSRError

T = np.linspace(0, 1, 20)
X = np.column_stack([np.sin(T), np.cos(T)])


def test_one_trajectory():
    (found,) = read(X, T)
    np.testing.assert_array_equal(found.x, X)
    assert found.u.shape == (20, 0)
    assert found.x_dot is None


def test_a_step_of_time_and_one_state():
    (found,) = read(np.sin(T), 0.5)
    np.testing.assert_allclose(found.t, 0.5 * np.arange(20))
    assert found.x.shape == (20, 1)


def test_several_trajectories_of_different_lengths():
    first, second = read([X, X[:9]], [T, T[:9]], u=[T, T[:9]])
    assert (len(first.t), len(second.t)) == (20, 9)
    assert second.u.shape == (9, 1)


def test_missing_rows_are_left_out():
    holes = X.copy()
    holes[3, 1] = np.nan
    (found,) = read(holes, T)
    assert len(found.t) == 19


def test_long_gaps_separate_trajectories():
    t = np.concatenate([T, T + 50.0])
    parts = read(np.concatenate([X, X]), t)
    assert [len(part.t) for part in parts] == [20, 20]


def test_names():
    frame = pd.DataFrame(X, columns=["hare", "lynx"])
    assert names_of(frame, 2, None) == ["hare", "lynx"]
    assert names_of(X, 2, None) == ["x0", "x1"]
    assert names_of(X, 2, ["a", "b", "input"]) == ["a", "b", "input"]


@pytest.mark.parametrize(
    ("x", "t", "more", "message"),
    [
        (X, T[::-1], {}, "t must increase"),
        (X, np.concatenate([T[:10], T[9:-1]]), {}, "repeated measurements"),
        (X, T[:-1], {}, "t must have 20 values"),
        (X, 0.0, {}, "must be positive"),
        (X[:3], T[:3], {}, "at least 6 rows"),
        ([X, X], [T], {}, "2 trajectories in x, but 1 in t"),
        ([X, X[:, :1]], [T, T], {}, "same number of columns"),
        (X, T, {"u": T[:5]}, "u must have 20 rows"),
        (X, T, {"x_dot": X[:, :1]}, "shape of x"),
        (np.full((20, 2), "a"), T, {}, "x must hold numbers"),
        (np.full((20, 2), np.nan), T, {}, "at least 6 rows"),
    ],
)
def test_mistakes_are_named(x, t, more, message):
    with pytest.raises(GSRError, match=message):
        read(x, t, **more)
