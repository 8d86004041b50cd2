"""What a report is made of: a run folder or a fitted model, and what the template asks of it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gsr import plotting
from gsr._table_forms import PAGE
from gsr.encoding.writing import number as digits
from gsr.encoding.writing import shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.groups.law import GroupedEquation
from gsr.plotting import Rows, drawing
from gsr.plotting.drawing import number
from gsr.report import mathml
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.selection.rounding import Rounded
from gsr.transformation import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Rows of a model in memory that are drawn.
MOST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Target:
    """A target with its fitted model."""

    name: str
    model: Any
    #: Features; of a run with groups a data frame, which holds their labels too.
    X: Array | pd.DataFrame | None
    y: Array | None
    history: Sequence[Progress]

    @cached_property
    def rows(self) -> Rows | None:
        """The rows to draw, with what the law says about them."""
        if self.X is None or self.y is None:
            return None
        sigma = plotting.given_sigma(self.entry)
        is_own = sigma is not None and len(sigma) == len(self.y)
        table = plotting.columns_of(self.entry, self.X)
        return Rows.of(self.entry, table, self.y, sigma if is_own else None)

    @property
    def entry(self) -> FrontEntry:
        """The chosen law."""
        chosen: FrontEntry = self.model.front_[self.model.best_index_]
        return chosen


@dataclass(frozen=True, eq=False)
class Source:
    """What is known of a run."""

    targets: Sequence[Target]
    columns: Mapping[str, Array] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Progress] = ()
    config: str | None = None
    run: Path | None = None
    missing: Sequence[str] = ()
    #: Equations of motion, and the series that are drawn.
    motion: Any = None
    trajectories: Sequence[Any] = ()

    @property
    def n_rows(self) -> int:
        """Rows of the run; those kept if it does not say."""
        told = self.result.get("rows")
        return told if isinstance(told, int) else self.n_kept

    @property
    def n_kept(self) -> int:
        """Rows that are kept."""
        return max((len(values) for values in self.columns.values()), default=0)

    @property
    def model(self) -> Any:
        """A model that has the settings of all."""
        return self.targets[0].model if self.targets else None


def source(run_or_model: Any) -> Source:
    """Return what a report needs from a fitted model, or from a run folder."""
    if isinstance(run_or_model, str | PathLike):
        return read(run_or_model)
    if not hasattr(run_or_model, "get_params"):
        raise GSRError(
            "a report is made of a run folder or a fitted GSRRegressor, got a "
            f"{type(run_or_model).__name__}"
        )
    return of_model(run_or_model)


def of_model(model: Any) -> Source:
    """Return what a fitted model in memory knows."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    targets = [_target(name, each) for name, each in _models(model).items()]
    columns: dict[str, Array] = {}
    for target in targets:
        data = target.entry.data
        if data is not None:
            law = target.entry.equation
            columns |= dict(zip(law.feature_names[: law.n_features], data.X.T, strict=False))
            columns[target.name] = data.y
    gone = any(target.X is None for target in targets)
    missing = ["The model was loaded without its training rows: they are not drawn."] * gone
    motion, series = _motion(model), getattr(model, "trajectories_", ())
    return Source(targets, columns, missing=missing, motion=motion, trajectories=series)


def _motion(model: Any) -> Any:
    """Return the model if it is one of equations of motion."""
    return model if hasattr(model, "simulate") else None


def _models(model: Any) -> dict[str, Any]:
    several: Mapping[str, Any] = getattr(model, "models_", None) or {"": model}
    return {each.equation_.target_name: each for each in several.values()}


def _target(name: str, model: Any) -> Target:
    data = model.front_[model.best_index_].data
    history = list(getattr(model, "history_", None) or ())
    if data is None:
        return Target(name, model, None, None, history)
    X, y = (plotting.sampled(values, MOST_ROWS) for values in (data.X, data.y))
    return Target(name, model, X, y, history)


# ---- run folders -------------------------------------------------------------------------------


def read(run: str | PathLike[str]) -> Source:
    """Return what is in a run folder; what is missing is told, not raised."""
    folder = Path(fspath(run))
    if not folder.is_dir():
        raise GSRError(f"{folder} is not a run folder: there is no such folder")
    names = ("model.json", "result.json", "sample.csv", "history.csv", "config.toml")
    if not any((folder / name).is_file() for name in names):
        raise GSRError(f"{folder} is not a run folder: it has none of {', '.join(names)}")
    missing: list[str] = []
    result = _result(folder / "result.json", missing)
    model = _loaded(folder / "model.json", missing)
    models = {} if model is None else _models(model)
    sample = folder / "sample.csv"
    columns = _columns(sample, "the rows are not drawn", missing)
    with_groups = any(getattr(each.equation_, "groups", None) for each in models.values())
    history = [] if with_groups else _history(folder / "history.csv", missing)
    targets = [_of_run(name, each, columns, history, sample) for name, each in models.items()]
    if columns and any(target.X is None for target in targets):
        missing.append("sample.csv lacks columns of the law: its rows are not drawn.")
    config = config_file(folder)
    text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else None
    motion = _motion(model)
    series = [] if motion is None else _series(motion, columns, result)
    return Source(targets, columns, result, history, text, folder, missing, motion, series)


def _series(motion: Any, columns: Mapping[str, Array], result: Mapping[str, Any]) -> list[Any]:
    """Return the measured series among the columns of a run."""
    from gsr.dynamics import trajectories

    told = result.get("motion")
    time = str(told.get("time")) if isinstance(told, Mapping) else ""
    names = [*motion.states_, *motion.inputs_]
    if time not in columns or any(name not in columns for name in names):
        return []
    table = np.column_stack([columns[name] for name in names])
    x, u = table[:, : len(motion.states_)], table[:, len(motion.states_) :]
    try:
        return trajectories.read(x, columns[time], u=u if u.shape[1] else None)
    except GSRError:
        return []


def config_file(folder: Path) -> Path:
    """Return the configuration of a run; beside one of the user's it has another name."""
    other = folder / "config.run.toml"
    return other if other.is_file() else folder / "config.toml"


def _result(path: Path, missing: list[str]) -> dict[str, Any]:
    if not path.is_file():
        missing.append("There is no result.json: the run is still going, or ended before its end.")
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        missing.append(f"result.json cannot be read: {error}")
        return {}
    if not isinstance(found, dict):
        missing.append("result.json cannot be read: it is no table of names and values.")
        return {}
    return found


def _loaded(path: Path, missing: list[str]) -> Any:
    from gsr import saving

    if not path.is_file():
        missing.append("There is no model.json: no law has been written yet.")
        return None
    try:
        return saving.load(path)
    except GSRError as error:
        missing.append(f"The model cannot be read: {error}")
        return None


def _columns(path: Path, what: str, missing: list[str]) -> dict[str, Array]:
    """Return the columns of a table; what is no number is NaN."""
    import pandas as pd

    if not path.is_file():
        missing.append(f"There is no {path.name}: {what}.")
        return {}
    try:
        table = pd.read_csv(path, encoding_errors="replace", index_col=False)
    except ValueError as error:
        missing.append(f"{path.name} cannot be read ({error}): {what}.")
        return {}
    if table.empty:
        missing.append(f"{path.name} has no rows: {what}.")
    numbers = table.apply(pd.to_numeric, errors="coerce").replace([np.inf, -np.inf], np.nan)
    return {name: column.to_numpy(dtype=float) for name, column in numbers.items()}


def _history(path: Path, missing: list[str]) -> list[Progress]:
    what = "how the error fell is not known"
    table = _columns(path, what, missing)
    n_rows = len(next(iter(table.values()), ()))
    unknown = np.full(n_rows, np.nan)
    seconds, rmse = (table.get(name, unknown) for name in ("seconds", "rmse"))
    counts = (np.nan_to_num(table.get(name, unknown)) for name in ("generation", "evaluations"))
    kept = [
        Progress(float(s), None, int(g), int(e), float(r), "")
        for s, g, e, r in zip(seconds, *counts, rmse, strict=True)
        if math.isfinite(s) and math.isfinite(r)
    ]
    if n_rows and not kept:
        missing.append(f"{path.name} has no seconds and errors: {what}.")
    return kept


def _of_run(
    name: str, model: Any, columns: dict[str, Array], history: Sequence[Progress], sample: Path
) -> Target:
    equation = model.equation_
    grouped = isinstance(equation, GroupedEquation)
    names = equation.feature_names[: equation.n_features]
    told = list(getattr(model, "history_", None) or history)
    if name not in columns or any(each not in columns for each in names):
        return Target(name, model, None, None, told)
    X: Any = np.column_stack([columns[each] for each in names])
    good = np.isfinite(X).all(axis=1) & np.isfinite(columns[name])
    if grouped:
        X = _with_labels(X, names, columns, sample, equation)
    return Target(name, model, None if X is None else X[good], columns[name][good], told)


def _with_labels(
    X: Array, names: Sequence[str], columns: dict[str, Array], sample: Path, law: GroupedEquation
) -> pd.DataFrame | None:
    """Return the features as a data frame with the labels of groups, None if these are unknown."""
    import pandas as pd

    column = law.table.column
    if columns.pop(column, None) is None:
        return None
    as_written: dict[str, Any] = {
        "dtype": str,
        "keep_default_na": False,
        "encoding_errors": "replace",
    }
    labels = pd.read_csv(sample, usecols=[column], **as_written)[column]
    known = labels.isin(law.table.labels).all()
    return pd.DataFrame(X, columns=list(names)).assign(**{column: labels}) if known else None


# ---- what the template asks ----------------------------------------------------------------------


def law(equation: Equation) -> dict[str, Any]:
    """Return a law as text and as formulas between which lines may break."""
    return {"text": str(equation), "parts": mathml.lines(equation)}


def solved(equation: Equation, form: Any) -> dict[str, Any]:
    """Return target = form likewise."""
    name = equation.target_name
    return {"text": f"{name} = {form}", "parts": mathml.solved(name, form)}


def reading(laws: Any) -> dict[str, Any]:
    """Return the laws of the short front, and the others."""
    shown = laws.short()
    return {"shown": shown, "rest": [row for row in laws if row not in shown]}


def is_solved(equation: Equation) -> bool:
    """Tell whether the left side of a law is the target itself."""
    return str(equation).startswith(f"{shown_name(equation.target_name)} = ")


def rounded(entry: FrontEntry) -> Rounded | None:
    """Return the constants near simple numbers, None if they are not known."""
    try:
        _ = entry.rounded_equation
        return entry.rounded
    except GSRError:
        return None


def constants(entry: FrontEntry) -> dict[str, tuple[float, float, float]] | None:
    """Return the constants with their intervals, None if they are not known."""
    try:
        return entry.intervals(0.95)
    except GSRError:
        return None


def point(entry: FrontEntry, where: Sequence[float]) -> str:
    """Return the values of the features at a point."""
    names = zip(entry.equation.feature_names, where, strict=False)
    return ", ".join(f"{name} = {number(float(value))}" for name, value in names)


def limited(value: float) -> str:
    """Return a number with few digits."""
    return digits(float(value)).replace("-", "−") if math.isfinite(value) else "not determined"


def ends(values: Array) -> tuple[float, ...]:
    """Return the least, the median and the greatest of the values that are known."""
    finite = values[np.isfinite(values)]
    return (finite.min(), np.median(finite), finite.max()) if len(finite) else (math.nan,) * 3


# ---- pictures: SVG that stands in the page and follows its colours -------------------------------

#: Inches; on a telephone the letters are as large as those of a note.
SIZE = (4.4, 3.3)
#: Colours of the pictures, and the page's names for them.
COLOURS = {
    drawing.INK: "ink",
    drawing.MUTED: "muted",
    drawing.FAINT: "line",
    drawing.MAIN: "main",
    drawing.PICK: "pick",
}


class Picture(NamedTuple):
    """An SVG element and what is seen in it."""

    svg: str
    caption: str


#: What is seen in the pictures of a target, which has the place of ``{}``.
CAPTIONS = {
    "law": "The law and the measurements of {}, with the interval for 95 % of new measurements. "
    "With several features, the others are averaged over, and measurements adjusted accordingly.",
    "front": "Each point is a law: its error in {} against its complexity. The chosen one is "
    "orange.",
    "fit": "What the law predicts for {} against what was measured; on the line they agree.",
    "residuals": "What the law leaves, against what it predicts; between the dashed lines are two "
    "standard deviations. At the right is the histogram.",
    "terms": "What each term adds, on the scale of the law's left side, over the rows.",
    "convergence": "The error of the best law so far, against time.",
}


def pictures(
    target: Target, key: str, instead: Mapping[str, Callable[[Axes], None]] | None = None
) -> list[Picture]:
    """Return all pictures that can be drawn of a target; `key` makes their names unique.

    Some are drawn by `instead`, if it has their kind.
    """
    front, entry = target.model.front_, target.entry
    draw = plotting.drawings(target.model, entry, target.history, target.rows)
    if not target.history:
        del draw["convergence"]
    draw |= instead or {}
    finish = {"front": partial(plotting.label_front, entries=front, entry=entry)}
    found = []
    for k, kind in enumerate(draw):
        told = CAPTIONS[kind.partition(" ")[0]].format(target.name)
        found.append(Picture(svg(draw[kind], f"{key}-{k}", told, finish.get(kind)), told))
    return found


def motion_pictures(source: Source) -> list[Picture]:
    """Return the pictures of measured and simulated series."""
    from gsr.plotting import motion

    if not source.trajectories:
        return []
    found = []
    for k, (name, draw) in enumerate(motion.drawings(source.motion, source.trajectories).items()):
        told = f"Points are measurements of {name}; the line is simulated from the first of them."
        if name == "phase":
            told = "The phase portrait: points are measured states, the line is simulated."
        found.append(Picture(svg(draw, f"m{k}", told), told))
    return found


def history_picture(history: Sequence[Progress]) -> Picture:
    """Return the picture of a search that has no law yet."""
    told = CAPTIONS["convergence"]
    draw = partial(plotting.convergence, history=history, exact=False, name="the target")
    return Picture(svg(draw, "h", told), told)


def svg(
    draw: Callable[[Axes], None],
    key: str,
    told: str,
    finish: Callable[[Axes], None] | None = None,
) -> str:
    """Return a drawing as an SVG element with a label; `finish` is called after the layout."""
    from io import StringIO

    figure = drawing.new_figure(*SIZE)
    import matplotlib

    ax = figure.add_subplot()
    draw(ax)
    if finish is not None:
        finish(ax)
    text = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inlined(text.getvalue(), key, told)


def _inlined(text: str, key: str, told: str) -> str:
    """Return the SVG element alone, with names of its own and the colours of the page."""
    _, opening, rest = text.partition("<svg ")
    svg = re.sub(r"<metadata>.*?</metadata>", "", opening + rest, flags=re.DOTALL)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None, "matplotlib writes a viewBox"
    label = f'role="img" aria-label="{escape(told)}"'
    head = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {box[0]} {label}>'
    svg = re.sub(r"<svg [^>]*>", lambda _: head, svg, count=1)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{key}-{m[1]}"' * (m[1] in used), svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{key}-", svg)
    for colour, name in COLOURS.items():
        svg = svg.replace(colour, f"var(--{name})")
    return re.sub(r"\n\s*", "\n", svg).strip()


#: What the template calls.
FILTERS: dict[str, Callable[..., Any]] = {
    "law": law,
    "solved": solved,
    "is_solved": is_solved,
    "reading": reading,
    "rounded": rounded,
    "constants": constants,
    "point": point,
    "limited": limited,
    "ends": ends,
    "pictures": pictures,
    "heading": PAGE.heading,
    "cell": lambda row, name: PAGE.cell(row, name),
}
