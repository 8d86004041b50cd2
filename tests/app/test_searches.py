"""Searches of `gsr app` in their threads, without a browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gsr.app.questions import Question, columns_of
from gsr.app.searches import Searches, TableSearch
from gsr.cli.models import predict_table
from gsr.exceptions import GSRError


def table(folder: Path, noise: float = 0.0, rows: int = 40) -> Path:
    rng = np.random.default_rng(0)
    x, z = rng.uniform(1, 3, (2, rows))
    y = 2 * x**2 / z + noise * rng.normal(size=rows)
    lines = [f"{a:.17g},{b:.17g},{c:.17g},s{k}" for k, (a, b, c) in enumerate(np.c_[x, z, y])]
    path = folder / "data.csv"
    path.write_text("\n".join(["x,z,y,sample", *lines]))
    return path


def wait(until: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.05)


def question(**changes: object) -> Question:
    return Question(**{"target": "y", "features": ("x", "z"), **changes})  # type: ignore[arg-type]


def test_columns_that_are_no_numbers_are_left_out_with_the_reason(tmp_path: Path) -> None:
    columns = columns_of(table(tmp_path))
    assert columns.names == ("x", "z", "y")
    assert columns.left_out == {"sample": "line 2, column 'sample' (4): 's0' is not a number"}


def test_a_file_that_is_no_table_is_an_error_that_names_it(tmp_path: Path) -> None:
    searches = Searches(tmp_path)
    with pytest.raises(GSRError, match=r"^notes\.csv.* is not a number"):
        searches.add("notes.csv", b"first,second\nsome,words\nmore,words\n")
    with pytest.raises(GSRError, match=r"^empty\.csv: the file is empty"):
        searches.add("../../empty.csv", b"")
    assert not searches.known


def test_a_search_finds_the_law_and_fills_the_front(tmp_path: Path) -> None:
    search = TableSearch(1, table(tmp_path))
    assert search.laws is None and not search.can_go_on
    search.start(question())
    wait(lambda: not search.is_running)
    assert search.state == "done", search.message
    assert search.fitted.status_ == "exact" and not search.can_go_on
    assert str(search.fitted.equation_) == "y = 2 x^2/z"
    assert search.laws is not None and search.laws[search.laws.best_index].verdict == "exact"
    assert "y = 2 x^2/z" in search.report()


def test_laws_are_seen_while_it_searches_and_it_ends_when_told(tmp_path: Path) -> None:
    search = TableSearch(1, table(tmp_path, noise=0.3, rows=200))
    search.start(question(max_time=100.0))
    with pytest.raises(GSRError, match="running"):
        search.start(question())
    wait(lambda: search.laws is not None)
    assert search.is_running and search.fitted is None
    assert search.laws[search.laws.best_index].entry.rmse < np.inf  # type: ignore[index]
    search.stop()
    wait(lambda: not search.is_running)
    assert search.fitted.status_ in ("stopped", "settled")
    done = search.fitted.n_evaluations_
    search.go_on(2.0)
    wait(lambda: not search.is_running)
    assert search.fitted.n_evaluations_ > done


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    search = TableSearch(1, table(tmp_path))
    with pytest.raises(GSRError, match="max_time"):
        search.start(question(max_time=-1.0))
    search.start(question(units={"x": "kg", "z": "no unit", "y": "s"}))
    wait(lambda: not search.is_running)
    assert search.state == "failed" and "no unit" in search.message
    with pytest.raises(GSRError, match="no search to continue"):
        search.go_on(1.0)


def test_a_copy_of_the_target_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x,same,y\n" + "".join(f"{k},{2 * k},{k}\n" for k in range(1, 9)))
    search = TableSearch(1, path)
    search.start(Question("y", ("x", "same"), max_time=3.0))
    wait(lambda: not search.is_running)
    assert any("copy of the target" in note for note in search.notes)


def test_predictions_stand_beside_the_features(tmp_path: Path) -> None:
    search = TableSearch(1, table(tmp_path))
    search.start(question())
    wait(lambda: not search.is_running)
    new = tmp_path / "new.csv"
    new.write_text("z,other,x\n2,a,1\n,b,2\n4,c,3\n")
    found = predict_table(search.fitted, new, interval=0.95)
    assert list(found) == ["x", "z", "y predicted", "y lower", "y upper"]
    np.testing.assert_allclose(found["y predicted"], [1.0, np.nan, 4.5])
    new.write_text("z\n2\n")
    with pytest.raises(GSRError, match="there is no column 'x'"):
        predict_table(search.fitted, new)
