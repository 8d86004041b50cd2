"""The documentation site: its pages are all reached, and its references hold everything public."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gsr
from gsr.cli import terminal

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "mkdocs.yml"

pytestmark = pytest.mark.skipif(not CONFIG.is_file(), reason="the documentation is not here")


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs" / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_in_the_reference(pages):
    listed = re.findall(r"^::: (?:\w+\.)+(\w+)$", pages.python_page(), re.MULTILINE)
    assert set(gsr.__all__) - {"__version__"} <= set(listed)


def test_every_command_is_in_the_reference(pages):
    page = pages.command_page()
    for name in terminal.COMMANDS:
        assert f"## gsr {name}\n" in page and f"usage: gsr {name}" in page


def test_every_page_is_in_the_navigation(pages):
    listed = set(re.findall(r": ([\w/-]+\.md)$", CONFIG.read_text("utf-8"), re.MULTILINE))
    written = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    made = {*pages.OUTSIDE.values(), "reference/python.md", "reference/command-line.md"}
    assert listed == written | made


def test_links_that_leave_the_folder_lead_to_pages_of_the_site(pages):
    text = "[a](../../cluster/README.md#x) [b](../method.md) [c](../../LICENSE) [d](https://e.org)"
    moved = pages.moved(text, Path("docs/howto"), "howto")
    assert moved == "[a](../scripts.md#x) [b](../method.md) c [d](https://e.org)"


def test_every_law_of_the_gallery_is_on_its_page_with_a_picture():
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    names = re.findall(r"images/gallery_(\w+)\.png", page)
    assert len(names) == 10
    for name in names:
        assert (ROOT / "docs" / "images" / f"gallery_{name}.png").is_file()
        assert name == "planets" or (ROOT / "docs" / "data" / f"{name}.csv").is_file()


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (
        "gsr.estimator.GSRRegressor.predict"
        in (tmp_path / "reference/python/index.html").read_text()
    )


def test_words_are_spelt_right():
    codespell = shutil.which("codespell", path=str(Path(sys.executable).parent))
    if codespell is None:
        pytest.skip("needs codespell")
    done = subprocess.run([codespell], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
