"""What is done, and left out, when the time is up."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from fitted_laws import CUBE, INVERSE, ONE, SQUARE, X1, front, sample
from gsr import problem as problems
from gsr import selection
from gsr.deadline import GRACE, in_time
from gsr.problem import Problem
from gsr.selection import criteria, entry, kinds, variants
from gsr.selection.fitted import FittedLaw
from gsr.selection.target_scale import refine

LONG_AGO = -1e6


def test_items_until_the_time_is_up():
    assert list(in_time(range(5), None)) == list(range(5))
    assert list(in_time(range(5), time.perf_counter() + 60)) == list(range(5))
    assert list(in_time(range(5), LONG_AGO, 0)) == []
    assert list(in_time(range(5), LONG_AGO, 3)) == [0]


def test_a_few_items_more_while_it_is_little_late():
    assert list(in_time(range(5), time.perf_counter(), 3)) == [0, 1, 2]
    slow = (time.sleep(GRACE / 2) or k for k in range(100))
    assert len(list(in_time(slow, time.perf_counter(), 50))) <= 3


@pytest.fixture
def entries():
    data = sample(lambda x: 2 * x + 1, 40, 0.5, 2.0)
    return front([[ONE], [X1, ONE], [SQUARE, ONE], [CUBE], [INVERSE, X1, ONE], [X1, CUBE]], data)


@pytest.fixture
def counted(monkeypatch):
    """Count the description lengths that are worked out."""
    calls = []

    def count(entry, n_rows):
        calls.append(entry)
        return description_length(entry, n_rows)

    description_length = entry.description_length
    monkeypatch.setattr(entry, "description_length", count)
    return calls


def test_the_likeliest_law_is_compared_with_the_constant_when_it_is_late(entries, counted):
    best = selection.best(entries, 40, until=LONG_AGO)
    assert best.uses_features
    assert len(counted) <= 2


def test_laws_are_compared_until_one_is_shorter_than_the_constant(entries, monkeypatch):
    likeliest = min(entries, key=lambda each: each.rmse)
    lengths = {each: each.length for each in entries}

    def length(each, n_rows):
        return 1e6 if each is likeliest else lengths[each]

    monkeypatch.setattr(criteria, "_normal_bits", lambda each, *_: -1e9 * (each is likeliest))
    monkeypatch.setattr(entry, "description_length", length)
    for each in entries:
        del vars(each)["length"]
    best = selection.best(entries, 40, until=LONG_AGO)
    assert best.uses_features
    assert best is not likeliest


def test_laws_beside_the_front_are_not_worked_out_when_it_is_late(entries, counted):
    chosen = entries[1]
    _ = chosen.length
    kept = kinds.beside_front(entries, chosen, [chosen], LONG_AGO)
    assert len(kept) > 2
    assert 0.0 < kinds.support(chosen, entries, LONG_AGO) <= 1.0
    assert len(counted) <= 2


def test_no_constant_is_freed_when_it_is_late(entries, monkeypatch):
    monkeypatch.setattr(variants, "attempted", None)
    laws = [entry.law for entry in entries]
    found = variants.with_freed_constants(
        laws, entries[0].data, lambda _: True, shifts=True, nested=True, until=LONG_AGO
    )
    assert found == []


def test_constants_of_long_tables_stay_where_they_are_when_it_is_late(entries):
    law, data = entries[1].law, entries[1].data
    moved = FittedLaw.of(law, alpha=1.1 * np.asarray(law.alpha))
    data.__dict__["fitter"] = None
    np.testing.assert_array_equal(refine(moved, data, until=LONG_AGO).alpha, moved.alpha)
    np.testing.assert_allclose(refine(moved, data).alpha, law.alpha)


@pytest.mark.parametrize(
    ("max_time", "rows"),
    [(None, 50_000), (1000.0, 50_000), (4.0, 17_857), (0.01, problems.LEAST_VERDICT_ROWS)],
)
def test_the_verdict_looks_at_as_many_rows_as_there_is_time_for(max_time, rows):
    table = SimpleNamespace(X=np.broadcast_to(0.0, (200_000, 28)))
    blueprint = SimpleNamespace(names=["x"] * 28)
    problem = Problem({"max_time": max_time}, blueprint, table)
    assert problem.verdict_rows == rows
    assert problem.verdict_seconds <= problems.LONGEST_VERDICT * (max_time or np.inf)
