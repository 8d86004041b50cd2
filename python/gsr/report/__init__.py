"""A run or a fitted model as one page of HTML that needs neither network nor scripts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

import gsr
from gsr.report import sections
from gsr.report import settings as made
from gsr.report.origin import Source, Target, source
from gsr.whole_files import write_whole


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
    template = files("gsr.report") / "template"
    return Template((template / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(_title(found)),
        facts=escape(_facts(found)),
        contents=_contents(found),
        main="\n".join(_main(found)),
        style=(template / "style.css").read_text(encoding="utf-8"),
        version=escape(gsr.__version__),
        date=datetime.now(timezone.utc).strftime("%d %B %Y, %H:%M UTC"),
    )


def _title(found: Source) -> str:
    names = [target.name for target in found.targets]
    if not names:
        return f"Run {found.run.name}: no law yet" if found.run is not None else "No law yet"
    if len(names) > 1:
        return f"Laws for {', '.join(names[:-1])} and {names[-1]}"
    features = found.targets[0].entry.equation.feature_names
    shown = ", ".join(features) if len(features) <= 6 else f"{len(features)} features"
    return f"{names[0]} as a law of {shown}"


def _facts(found: Source) -> str:
    parts = [f"run {found.run.name}"] if found.run is not None else []
    parts += [f"{found.n_rows:,} rows"] if found.n_rows else []
    status = found.result.get("status") or getattr(found.model, "status_", None)
    if status:
        parts.append(sections.ending(str(status)))
    return " · ".join(parts)


def _contents(found: Source) -> str:
    if len(found.targets) < 2:
        return ""
    links = "".join(
        f'<li><a href="#target-{k}">{escape(target.name)}</a></li>'
        for k, target in enumerate(found.targets)
    )
    return f'<nav aria-label="Targets"><ul>{links}</ul></nav>'


def _main(found: Source) -> Iterator[str]:
    if found.missing:
        remarks = "\n".join(sections.told(text, True) for text in found.missing)
        yield sections.section("What is missing", remarks)
    for k, target in enumerate(found.targets):
        yield sections.law(target, f"target-{k}")
        yield sections.meaning(target)
        yield sections.front(target)
        yield _plots(target, f"p{k}")
    if not found.targets and found.history and find_spec("matplotlib"):
        from gsr.report.plots import history_picture

        yield sections.section("The search so far", _figures([history_picture(found.history, "h")]))
    yield sections.data(found)
    yield made.settings(found)
    yield made.again(found)


def _plots(target: Target, key: str) -> str:
    if find_spec("matplotlib") is None:
        return sections.section(
            "Pictures", "<p>Pictures need matplotlib: <code>pip install matplotlib</code>.</p>"
        )
    from gsr.report.plots import pictures

    content = _figures(pictures(target, key))
    if target.X is None:
        content += "<p>Without rows the fit, the residuals and the terms are not drawn.</p>"
    return sections.section("Pictures", content)


def _figures(pictures: Any) -> str:
    shown = "\n".join(
        f"<figure>\n{picture.svg}\n<figcaption>{escape(picture.caption)}</figcaption>\n</figure>"
        for picture in pictures
    )
    return f'<div class="plots">\n{shown}\n</div>'
