"""Coverage of prediction intervals."""

import pytest

from benchmarks import coverage


@pytest.mark.slow
def test_coverage_of_a_line(monkeypatch):
    name = "line, constant"
    monkeypatch.setattr(coverage, "CASES", {name: coverage.CASES[name]})
    known, searched = coverage.run(
        options={"max_time": None, "max_evals": 20}, replications=4, progress=False
    )
    assert (known.way, searched.way) == ("known", "searched")
    assert known.replications == 4 and not known.error
    assert 0.7 < known.whole_90 <= known.whole_95 <= 1.0
    assert len(known.quarters_95) == 4 and 0.7 < known.width < 1.5
    titles, *_ = coverage.tables([known, searched]).columns[0].cells
    assert titles == "line, constant, known"


def test_coverage_far_from_its_level_is_not_found():
    good = [0.9, 0.95]
    assert coverage._near(good, [[0.9] * 4, [0.95] * 4])
    assert not coverage._near(good, [[0.9] * 4, [0.95, 0.95, 0.95, 0.4]])
    assert not coverage._near([0.8, 0.95], [[0.9] * 4, [0.95] * 4])
