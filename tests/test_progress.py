"""What is shown of a search that runs."""

import io
import re
import sys
from dataclasses import dataclass
from types import ModuleType

import pytest
from rich.console import Console

from gsr.progress import current_law, reporter
from gsr.search import Progress

ESCAPES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
LAW = "y = 2.5 x1^2/(1 + `mass [kg]`)"


class Laws:
    """Counts how often the law is asked for."""

    def __init__(self, law=LAW):
        self.law, self.n = law, 0

    def __call__(self):
        self.n += 1
        return self.law


def searched(console, laws, status="exact", max_time=10.0, callback=None, n=100):
    """Report 20 times a second for 5 seconds, as a search does."""
    returned = []
    with reporter(True, callback, console) as report:
        for k in range(n):
            last = k == n - 1 and status is not None
            seconds = 0.05 * (k + 1)
            at = (seconds, max_time, 10 * k, 1000 * k, 0.5 / (k + 1), status if last else "running")
            returned.append(report(Progress(*at, laws)))
    return returned


@dataclass
class Law:
    rmse: float
    complexity: int
    exact: bool = False


def test_the_current_law_is_the_shortest_description():
    short, long, overfit = Law(1.0, 3), Law(0.1, 20), Law(0.0999, 60)
    assert current_law([short, long, overfit], 100) is long
    assert current_law([short, long, overfit], 3) is short
    exact, longer = Law(1e-9, 30, exact=True), Law(1e-16, 31, exact=True)
    assert current_law([short, longer, exact, Law(0.0, 1)], 100) is exact
    assert current_law([], 100) is None


def test_a_terminal_has_one_block_and_keeps_one_line():
    file = io.StringIO()
    console = Console(force_terminal=True, force_jupyter=False, file=file, width=60, _environ={})
    laws = Laws(LAW + " + x2" * 30)
    searched(console, laws)
    frames = [ESCAPES.sub("", frame) for frame in file.getvalue().split("searching")[1:]]
    assert 20 < len(frames) <= 51
    middle = frames[20].splitlines()
    assert re.fullmatch(r".* 2\.\d s, [78]\.\d s left", middle[0])
    assert re.fullmatch(r"generation \d+  [\d,]+ evaluations  best rmse 0.0\d+", middle[1])
    assert middle[2].startswith(LAW)
    assert max(map(len, middle)) <= 60
    assert all(len(frame.splitlines()) in (3, 4) for frame in frames[:-1])
    assert laws.n <= 12
    assert screen(file.getvalue()) == [
        "exact: 5.0 s  generation 990  99,000 evaluations  best rmse…"
    ]


def screen(output):
    """Return the lines that a terminal shows in the end."""
    lines, row = [""], 0
    for token in re.findall(r"\x1b\[[\d;?]*[A-Za-z]|\n|\r|[^\x1b\n\r]+", output):
        if token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token == "\x1b[1A":
            row -= 1
        elif token == "\x1b[2K":
            lines[row] = ""
        elif not token.startswith(("\x1b", "\r")):
            lines[row] += token
    return [line for line in lines if line.strip()]


@pytest.mark.parametrize("max_time", [10.0, None])
def test_a_batch_log_has_a_line_now_and_then(max_time):
    file = io.StringIO()
    laws = Laws()
    searched(Console(file=file, width=40, _environ={}), laws, None, max_time)
    *lines, last = file.getvalue().splitlines()
    assert 3 <= len(lines) <= 6
    assert laws.n == len(lines)
    assert all(line.endswith(LAW) for line in lines)
    assert re.match(r" +0\.1 s  generation 0  0 evaluations  best rmse 0\.5  0/s  y = ", lines[0])
    assert last.startswith("ended: 5.0 s  generation 990  99,000 evaluations")
    assert "\x1b" not in file.getvalue()


def test_a_long_search_gives_signs_of_life():
    file = io.StringIO()
    with reporter(True, None, Console(file=file, _environ={})) as report:
        for minute in range(600):
            report(Progress(60.0 * minute, None, minute, 6000 * minute, 0.5, "running"))
    lines = file.getvalue().splitlines()
    assert len(lines) == 601
    assert "  100/s" in lines[-2]


def test_the_end_that_no_report_tells():
    file = io.StringIO()
    searched(Console(file=file, _environ={}), Laws(), None, max_time=5.0)
    assert file.getvalue().splitlines()[-1].startswith("max_time: 5.0 s")


def test_a_notebook_has_one_cell_that_is_kept_up_to_date(monkeypatch):
    pages = []

    class Cell:
        def update(self, page):
            pages.append(page)

    def display(page, display_id):
        assert display_id is True
        return Cell()

    module = ModuleType("IPython.display")
    module.display, module.HTML = display, lambda text: text
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    laws = Laws()
    searched(Console(force_jupyter=True), laws)
    assert 10 < len(pages) < 25
    assert laws.n <= 12
    assert '<progress max="10" value="' in pages[10]
    assert "left<br>generation" in pages[10]
    assert "<i>mass [kg]</i>)</div>" in pages[10]
    assert pages[-1] == (
        "<div>exact: 5.0 s  generation 990  99,000 evaluations  best rmse 0.005</div>"
    )


def test_what_the_callback_returns_is_passed_on():
    seen = []

    def callback(progress):
        seen.append(progress.generation)
        return progress.generation >= 20

    assert searched(Console(file=io.StringIO()), Laws(), n=3, callback=callback) == [
        False,
        False,
        True,
    ]
    assert seen == [0, 10, 20]
    with reporter(False, callback) as report:
        assert report is callback


def test_a_search_that_fails_leaves_the_terminal_in_order():
    file = io.StringIO()
    console = Console(force_terminal=True, force_jupyter=False, file=file, _environ={})
    with pytest.raises(RuntimeError, match="broken"), reporter(True, None, console) as report:
        report(Progress(0.1, 10.0, 1, 1, 0.5, "running"))
        raise RuntimeError("broken")
    assert file.getvalue().rindex("\x1b[?25h") > file.getvalue().rindex("\x1b[?25l")
    assert screen(file.getvalue()) == []
