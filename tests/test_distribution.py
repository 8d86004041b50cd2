"""The distribution, and what users are told to install."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gsr
from benchmarks.against import PACKAGES, PEERS
from gsr.cli import doctor
from gsr.runs.config import tomllib

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="no source tree")


def project() -> dict[str, object]:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    found: dict[str, object] = tomllib.loads(text)["project"]
    return found


def test_the_distribution_has_its_own_name_and_the_version_of_the_package() -> None:
    assert project()["name"] == "gsr-learn"
    assert project()["version"] == gsr.__version__
    assert project()["scripts"] == {"gsr": "gsr.cli:main"}


def test_the_version_is_known_without_an_installed_distribution() -> None:
    """Without site-packages there is no distribution, nor any package that gsr needs."""
    code = "import sys; sys.path[:0] = [sys.argv[1]]; import gsr; print(gsr.__version__)"
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(Path(gsr.__file__).parents[1])],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == gsr.__version__


def test_citation_and_conda_recipe_say_what_the_project_says() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    fields = dict(re.findall(r"^([\w-]+): (\S.*)$", citation, re.MULTILINE))
    assert fields["version"] == project()["version"]
    assert fields["license"] == project()["license"]
    recipe = ROOT / ".ci" / "conda" / "meta.yaml"
    if not recipe.is_file():
        pytest.skip("no recipe in a source archive")
    text = recipe.read_text("utf-8")
    assert f'version = "{project()["version"]}"' in text
    run = text.partition("  run:\n")[2].partition("  run_constrained:")[0]
    dependencies = project()["dependencies"]
    assert isinstance(dependencies, list)
    wanted = {re.sub(r"(?=>=)", " ", each.partition(";")[0]) for each in dependencies}
    listed = {line.partition("#")[0].strip(" -") for line in run.splitlines()}
    assert listed - {"python"} == wanted


def test_optional_packages_are_extras() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    names = {
        re.match(r"[\w-]+", each)[0]  # type: ignore[index]
        for extra in extras.values()
        for each in extra
    }
    assert set(doctor.EXTRAS) <= names
    assert {package for peer in PEERS for package in PACKAGES.get(peer, peer).split()} <= names
    assert any(each.startswith("openpyxl") for each in extras["excel"])
    assert any(each.startswith("openpyxl") for each in extras["test"])


def test_hints_name_the_package_that_is_missing() -> None:
    """What is installed may come from anywhere, so that extras of `gsr` cannot be named."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "cluster").rglob("*")]
    for path in [*pages, *Path(gsr.__file__).parent.rglob("*.py")]:
        if path.is_file():
            hints = re.findall(r"install [^\n]*?(?:gsr|\.)\[(\w+)", path.read_text("utf-8"))
            assert set(hints) <= {"test"}, path
