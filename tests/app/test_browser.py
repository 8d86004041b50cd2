"""`gsr app` in a real browser: Debian's Chromium, driven by Playwright.

With ``GSR_SCREENSHOTS`` set to a folder, the screenshots of the documentation are written there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gsr
from gsr.cli import main

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("nicegui", reason="nicegui is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium"),
]
expect = api.expect
#: Milliseconds to wait for a page, and for the end of a search, on a busy machine.
SOON, LATER = 30_000, 120_000
#: Colours of a screenshot.
COLOURS = 96
ENDED = "the search ended because"


def data(noise: float = 0.0, rows: int = 60, target: str = "y") -> str:
    """Return rows of y = 2 x^2/z with noise, as a spreadsheet copies them."""
    rng = np.random.default_rng(1)
    x, z = rng.uniform(1, 3, (2, rows))
    y = 2 * x**2 / z + noise * rng.normal(size=rows)
    lines = ["\t".join(f"{value:.17g}" for value in row) for row in np.c_[x, z, y]]
    return "\n".join([f"x\tz\t{target}", *lines])


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Run the command and provide its address."""
    command = [sys.executable, "-m", "gsr.cli", "app", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with api.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu"]
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield found
        found.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with opened(browser) as found:
        yield found


@contextmanager
def opened(browser: Any, **options: Any) -> Iterator[Any]:
    """Provide a page on which no script fails and that asks no other machine for anything."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})
    context.set_default_timeout(SOON)
    found, problems = context.new_page(), []
    addresses: list[str] = []
    found.on("pageerror", lambda error: problems.append(str(error)))
    found.on("request", lambda request: addresses.append(request.url))
    yield found
    context.close()
    assert not problems and not list(filter(is_foreign, addresses))


def is_foreign(address: str) -> bool:
    return re.match(r"(http|ws)://127\.0\.0\.1:|data:|blob:", address) is None


def shot(page: Any, name: str) -> None:
    """Write a screenshot of few colours for the documentation, if that is wanted."""
    if folder := os.environ.get("GSR_SCREENSHOTS"):
        from PIL import Image

        path = Path(folder) / f"app_{name}.png"
        page.screenshot(path=str(path))
        Image.open(path).quantize(COLOURS).save(path, optimize=True)


def paste(page: Any, address: str, rows: str) -> None:
    """Open a search in pasted rows."""
    page.goto(address)
    page.get_by_label("Paste rows").fill(rows)
    page.get_by_role("button", name="Use these rows").click()
    page.wait_for_url("**/search/*")


def search(page: Any, seconds: int = 8) -> None:
    page.get_by_label("Seconds").fill(str(seconds))
    page.get_by_role("button", name="Start").click()


def laws(page: Any) -> Any:
    return page.locator(".laws .q-item:visible")


# ---- the whole path ------------------------------------------------------------------------------


def downloaded(page: Any, name: str, folder: Path) -> Path:
    """Return the file that a button downloads."""
    with page.expect_download(timeout=LATER) as found:
        page.get_by_role("button", name=name, exact=True).click()
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def test_from_a_file_to_the_report(page: Any, address: str, tmp_path: Path) -> None:
    table = tmp_path / "measured.csv"
    table.write_text(data(noise=0.05, rows=80).replace("\t", ","))
    page.goto(address)
    expect(page.get_by_role("heading", name="Find a law in a table")).to_be_visible()
    shot(page, "first")
    page.locator("input[type=file]").set_input_files(table)
    page.wait_for_url("**/search/*")
    expect(page.get_by_role("heading", name="measured.csv")).to_be_visible()
    search(page, 15)
    expect(laws(page).first).to_be_visible(timeout=LATER)  # while it searches
    assert page.locator(".laws math").count() > 0
    expect(page.get_by_text(ENDED)).to_be_visible(timeout=LATER)
    chosen = laws(page).filter(has_text="chosen")
    expect(chosen).to_have_count(1, timeout=LATER)
    expect(chosen).to_contain_text(re.compile("within noise|one of several"))
    expect(page.locator("figure svg a").first).to_be_attached(timeout=LATER)
    shot(page, "law")
    _look_at_a_point_of_the_front(page)
    _choose_and_compare(page)
    _predict(page, tmp_path)
    _download_all(page, tmp_path)


def _look_at_a_point_of_the_front(page: Any) -> None:
    page.locator("figure svg a").first.click(force=True)
    expect(laws(page).first).to_have_attribute("aria-current", "true", timeout=LATER)
    expect(page.get_by_role("button", name="Choose this law")).to_be_enabled(timeout=LATER)


def _choose_and_compare(page: Any) -> None:
    page.get_by_role("button", name="Choose this law").click()
    expect(laws(page).first).to_contain_text("chosen", timeout=LATER)
    page.get_by_label("Compare with").click()
    page.get_by_role("option").last.click()
    compared = page.locator("table.compared")
    expect(compared).to_be_visible(timeout=LATER)
    assert compared.locator("thead th").count() == 2 and compared.locator("math").count() >= 2
    shot(page, "compare")


def _predict(page: Any, folder: Path) -> None:
    page.get_by_label("or paste rows").fill("x\tz\n1\t2\n2\t2\n")
    page.get_by_role("button", name="Predict", exact=True).click()
    table = page.locator(".q-table")
    expect(table).to_contain_text("y lower")
    assert table.locator("tbody tr").count() == 2
    rows = np.genfromtxt(downloaded(page, "Predictions", folder), delimiter=",", names=True)
    np.testing.assert_array_equal(rows["x"], [1.0, 2.0])


def _download_all(page: Any, folder: Path) -> None:
    model = gsr.load(downloaded(page, "Model", folder))
    law = str(model.equation_)
    report = downloaded(page, "Report", folder).read_text("utf-8")
    assert "<math" in report and model.best_index_ == 0
    names: dict[str, Any] = {}
    exec(downloaded(page, "Code", folder).read_text("utf-8"), names)
    x, z = 1.5, 2.5
    assert names["law"](x, z) == pytest.approx(model.predict([[x, z]])[0], rel=1e-6), law


def test_a_bad_file_is_refused_in_plain_words(page: Any, address: str, tmp_path: Path) -> None:
    bad = tmp_path / "notes.csv"
    bad.write_text("first,second\nsome,words\nmore,words\n")
    page.goto(address)
    page.locator("input[type=file]").set_input_files(bad)
    alert = page.get_by_role("alert").filter(has_text="is not a number")
    expect(alert).to_contain_text("notes.csv, line 2, column 'first'")
    page.get_by_label("Paste rows").fill(data())
    page.get_by_role("button", name="Use these rows").click()
    page.wait_for_url("**/search/*")


def test_what_is_wrong_with_a_question_is_said(page: Any, address: str) -> None:
    paste(page, address, data())
    page.get_by_text("Units", exact=True).click()
    page.get_by_role("textbox", name="z", exact=True).fill("kg")
    page.wait_for_timeout(1000)  # the units slide open and move the button
    search(page)
    alert = page.get_by_role("alert").filter(has_text="needs a unit")
    expect(alert).to_contain_text("units has none for 'x', 'y'", timeout=LATER)
    expect(page.get_by_text("The search could not be run.")).to_be_visible()


# ---- tabs ----------------------------------------------------------------------------------------


def test_two_tabs_do_not_disturb_each_other(browser: Any, address: str) -> None:
    with opened(browser) as first, opened(browser) as second:
        paste(first, address, data(target="force"))
        paste(second, address, data(target="mass"))
        search(first, 20)
        search(second, 20)
        for tab, name in ((first, "force"), (second, "mass")):
            expect(tab.get_by_text(ENDED)).to_be_visible(timeout=LATER)
            heading = tab.get_by_role("heading", name=f"The law for {name}")
            expect(heading).to_be_visible(timeout=LATER)
            expect(laws(tab).filter(has_text="chosen")).to_contain_text("exact")


def test_a_search_outlives_its_tab(browser: Any, address: str) -> None:
    with opened(browser) as tab:
        paste(tab, address, data(noise=0.4, rows=300))
        search(tab, 150)
        expect(tab.get_by_text("Searching:")).to_be_visible(timeout=LATER)
        where = tab.url
    with opened(browser) as tab:
        tab.goto(address)
        number = where.rpartition("/")[2]
        line = tab.locator("p").filter(has=tab.locator(f"a[href='/search/{number}']"))
        expect(line).to_contain_text("running")
        line.get_by_role("link").click()
        expect(laws(tab).first).to_be_visible(timeout=LATER)
        tab.get_by_role("button", name="Stop").click()
        expect(tab.get_by_text(ENDED)).to_be_visible(timeout=LATER)
        expect(laws(tab).filter(has_text="chosen")).to_have_count(1, timeout=LATER)
        expect(tab.get_by_role("button", name="Go on")).to_be_enabled()


# ---- ways to look --------------------------------------------------------------------------------


def test_a_telephone_needs_no_scrolling_sideways(browser: Any, address: str) -> None:
    with opened(browser, viewport={"width": 375, "height": 720}, has_touch=True) as page:
        paste(page, address, data())
        search(page, 20)
        expect(page.locator("figure svg").first).to_be_visible(timeout=LATER)
        expect(page.get_by_text(ENDED)).to_be_visible(timeout=LATER)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        buttons = [each.bounding_box() for each in page.get_by_role("button").all()]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 375 for box in buttons if box)
        shot(page, "phone")


def test_the_keyboard_is_enough(page: Any, address: str) -> None:
    page.goto(address)
    expect(page.get_by_label("Paste rows")).to_be_visible()
    _tab_to(page, "Paste rows with their headings")
    page.keyboard.insert_text(data(noise=0.05))
    _tab_to(page, "Use these rows")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/*")
    expect(page.get_by_label("Seconds")).to_be_visible()
    _tab_to(page, "Seconds")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("8")
    _tab_to(page, "Start")
    page.keyboard.press("Enter")
    expect(page.get_by_text(ENDED)).to_be_visible(timeout=LATER)
    expect(page.get_by_role("button", name="Choose this law")).to_be_visible(timeout=LATER)
    _tab_until(page, "e.matches('.laws .q-item')")
    page.keyboard.press("Enter")
    expect(laws(page).first).to_have_attribute("aria-current", "true", timeout=LATER)


def _tab_to(page: Any, label: str) -> None:
    """Press the tab key until what has a label has the focus."""
    _tab_until(page, f"(e.ariaLabel || e.innerText).trim() === {json.dumps(label)}")


def _tab_until(page: Any, condition: str) -> None:
    """Press the tab key until the element ``e`` that has the focus meets a condition."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"(e => {condition})(document.activeElement)"):
            return
    raise AssertionError(f"the tab key does not reach an element with {condition}")


def test_dark_mode_follows_the_system(browser: Any, address: str) -> None:
    def lightness(page: Any, what: str, selector: str) -> float:
        script = "([s, w]) => getComputedStyle(document.querySelector(s))[w]"
        colour = page.evaluate(script, [selector, what])
        return float(np.mean([int(part) for part in re.findall(r"\d+", colour)[:3]]))

    with opened(browser, color_scheme="dark") as page:
        paste(page, address, data())
        search(page, 20)
        expect(page.locator("figure svg").first).to_be_visible(timeout=LATER)
        assert lightness(page, "backgroundColor", "section") < 60
        for text in (".laws .law", "h1", ".q-field__native", "figure svg text"):
            colour = "fill" if "svg" in text else "color"
            assert lightness(page, colour, text) > 120, text
        shot(page, "dark")


# ---- runs ----------------------------------------------------------------------------------------


def test_a_run_folder_is_shown_and_not_changed(browser: Any, tmp_path: Path) -> None:
    table, folder = tmp_path / "data.csv", tmp_path / "run"
    table.write_text(data(noise=0.05).replace("\t", ","))
    limits = ["--max-evals", "2000", "--seed", "1", "-o", str(folder), "--quiet"]
    assert main(["fit", str(table), "--target", "y", *limits]) == 0
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with served(str(folder)) as address, opened(browser) as page:
        page.goto(address)
        expect(page.get_by_text("finished: the limit of evaluations")).to_be_visible()
        expect(laws(page).filter(has_text="chosen")).to_have_count(1, timeout=LATER)
        expect(page.locator("figure svg")).to_have_count(7, timeout=LATER)
        expect(page.get_by_role("button", name="Choose this law")).to_be_hidden()
        report = downloaded(page, "Report", tmp_path)
        assert "gsr fit --config" in report.read_text("utf-8")
        shot(page, "run")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_run_that_goes_on_shows_its_ranks_and_its_laws(browser: Any, tmp_path: Path) -> None:
    from gsr.islands.journal import Metrics, write_status

    status = {"state": "running", "ranks": 2, "islands": 4, "seconds": 9.0, "evaluations": 700}
    ranks = [Metrics(tmp_path, 0), Metrics(tmp_path, 1)]
    write_status(tmp_path, {**status, "rmse": 0.5, "law": "y = 3 x1"})
    for number, rank in enumerate(ranks):
        facts = {"seconds": 9.0, "generation": 3, "evaluations": 350 + number, "rmse": 0.5}
        rank.record(**facts, sent=12 + number, received=7, accepted=5)
    ranks[0].event("law", law="y = 2.9 x1", seconds=2.0)
    ranks[0].event("law", law="y = 3 x1", seconds=5.0)
    for rank in ranks:
        rank.flush()
    with served(str(tmp_path)) as address, opened(browser) as page:
        page.goto(address)
        expect(page.get_by_text("running", exact=True)).to_be_visible()
        expect(page.locator("tr").filter(has_text="351")).to_contain_text("13")
        expect(page.get_by_text("y = 2.9 x1")).to_be_visible()
        write_status(tmp_path, {**status, "state": "stopped", "rmse": 0.25})
        ranks[1].record(seconds=11.0, generation=4, evaluations=999, rmse=0.25)
        ranks[1].close()
        expect(page.locator("tr").filter(has_text="999")).to_contain_text("0.25")
        expect(page.get_by_text("stopped", exact=True)).to_be_visible()


# ---- who may see it ------------------------------------------------------------------------------


def test_requests_without_the_token_are_refused(browser: Any, address: str) -> None:
    bare = address.partition("?")[0]
    for path in ("", "_nicegui_ws/socket.io/?EIO=4&transport=polling", "search/1"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(bare + path, timeout=30)
    context = browser.new_context()
    tab = context.new_page()
    assert tab.goto(bare).status == 403
    socket = bare.replace("http:", "ws:") + "_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    script = """(address) => new Promise((done) => {
      const socket = new WebSocket(address);
      socket.onopen = () => done('open');
      socket.onerror = () => done('refused');
    })"""
    assert tab.evaluate(script, socket) == "refused"
    context.close()


def test_nothing_is_left_where_it_was_started(address: str) -> None:
    assert address and not Path(".nicegui").exists()
