"""Rows to search on: few, spread, and the same for the same seed."""

import numpy as np
import pytest

from gsr.exceptions import GSRError
from gsr.rows import choose_subset


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.standard_normal((5000, 4)), rng.standard_normal(5000)


def test_small_tables_are_taken_whole(table):
    X, y = table
    assert np.array_equal(choose_subset(X[:100], y[:100], 100), np.arange(100))


def test_rows_are_distinct_sorted_and_as_many_as_asked(table):
    rows = choose_subset(*table, max_rows=300)
    assert len(rows) == 300
    assert (np.diff(rows) > 0).all()


def test_the_chosen_rows_span_the_box(table):
    X, y = table
    rows = choose_subset(X, y, max_rows=20)
    for column in (y, *X.T):
        assert column[rows].min() == column.min()
        assert column[rows].max() == column.max()


def test_the_seed_decides(table):
    first, second = (choose_subset(*table, max_rows=300, seed=seed) for seed in (1, 1))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, choose_subset(*table, max_rows=300, seed=2))


def test_the_others_are_spread_over_the_table(table):
    rows = choose_subset(*table, max_rows=1000, seed=0)
    counts, _ = np.histogram(rows, bins=10, range=(0, 5000))
    assert counts.min() > 60


def test_fewer_rows_than_extremes(table):
    assert len(choose_subset(*table, max_rows=3)) == 3


def test_no_rows_are_refused(table):
    with pytest.raises(GSRError, match="max_rows must be at least 1, got 0"):
        choose_subset(*table, max_rows=0)
