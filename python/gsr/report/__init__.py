"""A run or a fitted model as one page of HTML that needs neither network nor scripts."""

from __future__ import annotations

from datetime import datetime, timezone
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gsr
from gsr.files import write_whole
from gsr.report import sections
from gsr.report.origin import Source, source
from gsr.report.settings import settings
from gsr.wording import ending

if TYPE_CHECKING:
    from jinja2 import Template

    from gsr.report.plots import Picture


def write(run_or_model: Any, out: str | PathLike[str]) -> Path:
    """Write the report of a run.

    Parameters
    ----------
    run_or_model : str, path or GSRRegressor
        A run folder, complete or not, or a fitted model.
    out : str or path
        The file, HTML. One that exists is replaced, in one step.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    GSRError
        If the folder has nothing of a run in it.
    """
    text = page(run_or_model)
    path = Path(out)
    write_whole(text, path)
    return path


def page(run_or_model: Any) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    run_or_model : str, path or GSRRegressor
        As for `write`.

    Returns
    -------
    str
    """
    found = source(run_or_model)
    return _template().render(
        title=_title(found),
        facts=_facts(found),
        missing=found.missing,
        targets=[sections.target(each, k) for k, each in enumerate(found.targets)],
        history_pictures=_history_pictures(found),
        data=sections.data(found),
        version=gsr.__version__,
        date=datetime.now(timezone.utc).strftime("%d %B %Y, %H:%M UTC"),
        **settings(found),
    )


def _template() -> Template:
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("gsr.report", "template")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html")


def _title(found: Source) -> str:
    names = [target.name for target in found.targets]
    if not names:
        return f"Run {found.run.name}: no law yet" if found.run is not None else "No law yet"
    if len(names) > 1:
        return f"Laws for {', '.join(names[:-1])} and {names[-1]}"
    features = found.targets[0].entry.equation.feature_names
    shown = ", ".join(features) if len(features) <= 6 else f"{len(features)} features"
    return f"{names[0]} as a law of {shown}"


def _facts(found: Source) -> list[str]:
    parts = [f"run {found.run.name}"] if found.run is not None else []
    parts += [f"{found.n_rows:,} rows"] if found.n_rows else []
    status = found.result.get("status") or getattr(found.model, "status_", None)
    if status == "running":
        parts.append("the search is still going")
    elif status:
        parts.append(f"the search ended because {ending(str(status))}")
    return parts


def _history_pictures(found: Source) -> list[Picture]:
    if found.targets or not found.history or find_spec("matplotlib") is None:
        return []
    from gsr.report.plots import history_picture

    return [history_picture(found.history, "h")]
