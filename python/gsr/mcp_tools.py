"""`gsr mcp`: three tools that clients of the Model Context Protocol can call.

They read only the files and folders named by the user, and write nothing.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from gsr.app.questions import Question, columns_of
from gsr.cli.fit_data import load, regressor
from gsr.cli.models import predict_table
from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.runs.outcome import as_csv
from gsr.runs.run_folder import load_model
from gsr.table import EquationRow
from gsr.threads import one_thread
from gsr.wording import LEVELS

Tool = TypeVar("Tool", bound=Callable[..., Any])

INSTRUCTIONS = """\
Finds laws g(y) = f(x) in tables of measurements. Call fit_table once for each question, read the
verdict before the law, and report it to the user: "exact", "within noise", "one of several" (the
data do not determine the law), "structure left" (an approximation), "too few rows". Do not present
a law with structure left as the law of the data. Use show_front for alternatives and predict for
values."""
#: Upper limit of the time of a search in seconds.
MOST_SECONDS = 600.0
#: Probability of the intervals of predictions.
LEVEL = 0.95


class Tools:
    """The tools, with the paths that they may read and the fitted models."""

    def __init__(self, allowed: Sequence[Path]) -> None:
        self.allowed = [Path(os.path.realpath(path)) for path in allowed]
        self._models: dict[str, Any] = {}
        self._numbers = count(1)

    def fit_table(
        self,
        path: str,
        target: str,
        features: list[str] | None = None,
        errors: str = "auto",
        units: dict[str, str] | None = None,
        seconds: float = 20.0,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Search for the law of a column of a table (CSV, TSV, Excel, Parquet, NPY).

        Read "verdict" first: only with "exact" and "within noise" does the law describe the data.
        `features` are the columns that may enter the law, by default all other numeric columns.
        `errors` specifies the errors of the target: auto, constant, relative, poisson, or the name
        of a column with standard deviations. `units` gives the unit of every column used ("1" for
        dimensionless); laws must then agree with them. Pass "fit" of the result to the other tools.
        """
        table = self._path(path)
        names = [name for name in columns_of(table).names if name not in (target, errors)]
        question = Question(
            target,
            tuple(names if features is None else features),
            units or {},
            errors,
            min(seconds, MOST_SECONDS),
            seed=seed,
        )
        config = question.config(table)
        data = load(Source(table), config)
        model = regressor(config, data)
        model.fit(data.X, data.y, data.weights, sigma=data.sigma)
        name = f"fit-{next(self._numbers)}"
        self._models[name] = model
        return {"fit": name, **self._summary(model)}

    def show_front(self, fit: str) -> dict[str, Any]:
        """Show the laws of a fit: simpler and more accurate ones, and laws of other kinds.

        `fit` is the key returned by fit_table, or the path of a run folder or a model file. Pass
        the "index" of a law to predict.
        """
        model = self._model(fit)
        with one_thread():
            front = [_law(row) for row in model.equations_.short()]
            others = [_law(row) for row in model.equations_.top() if not row.pick]
        return {"chosen": str(model.equation_), "front": front, "other_kinds": others}

    def predict(
        self, fit: str, rows: list[dict[str, float]], index: int | None = None
    ) -> list[dict[str, float | None]]:
        """Predict the target for rows of features, with 95 % intervals of new measurements.

        `fit` is as for show_front; `index` is that of a law shown there, by default the chosen one.
        A value is null where the law has no solution, or the interval is not known. Predictions far
        from the rows of the fit are extrapolations; tell the user.
        """
        model = self._model(fit)
        names = list(dict.fromkeys(name for row in rows for name in row))
        text = as_csv(names, ([row.get(name, math.nan) for name in names] for row in rows))
        with tempfile.TemporaryDirectory(prefix="gsr-") as folder:
            path = Path(folder) / "rows.csv"
            path.write_text(text, encoding="utf-8")
            try:
                found = predict_table(model, path, index, LEVEL)
            except GSRError as error:
                raise GSRError(str(error).replace(f"{path}", "rows")) from error
        values = zip(*(column.tolist() for column in found.values()), strict=True)
        return [dict(zip(found, map(_finite, row), strict=True)) for row in values]

    # ---- helpers -----------------------------------------------------------------------------

    def _path(self, path: str) -> Path:
        """Return a path if the user has named it or a folder that contains it."""
        folders = [Path(), *(each for each in self.allowed if each.is_dir())]
        found = [Path(os.path.realpath(folder / path)) for folder in folders]
        known = [place for place in found if self._is_allowed(place)]
        if not known:
            named = ", ".join(map(str, self.allowed))
            raise GSRError(f"{path} may not be read; gsr mcp was started for {named}")
        return next((place for place in known if place.exists()), known[0])

    def _is_allowed(self, place: Path) -> bool:
        return any(place == each or each in place.parents for each in self.allowed)

    def _model(self, fit: str) -> Any:
        if fit in self._models:
            return self._models[fit]
        model = load_model(self._path(fit))
        if hasattr(model, "models_"):
            raise GSRError(f"{fit} has several targets; only models of one target are supported")
        return model

    def _summary(self, model: Any) -> dict[str, Any]:
        chosen = next(row for row in model.equations_ if row.pick)
        law = _law(chosen)
        return {
            "verdict": law.pop("verdict"),
            "meaning": LEVELS[model.level_].sentence,
            **law,
            "why_chosen": model.why_,
            "noise": model.noise_,
            "constants": _constants(model),
            "search_ended": model.status_,
        }


def _law(row: EquationRow) -> dict[str, Any]:
    return {
        "index": row.index,
        "law": str(row.entry.equation),
        "solved": row.explicit,
        "verdict": row.verdict,
        "rmse": _finite(row.rmse),
        "complexity": row.complexity,
    }


def _constants(model: Any) -> dict[str, list[float | None]] | None:
    """Return each constant with the ends of its interval."""
    from gsr.report.content import constants

    known = constants(model.get_best())
    return None if known is None else {k: list(map(_finite, ends)) for k, ends in known.items()}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def serve(allowed: Sequence[Path]) -> None:
    """Answer requests on standard input and output until the input ends."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as error:
        raise GSRError("gsr mcp needs the Model Context Protocol SDK: pip install mcp") from error

    def saying_what_is_wrong(tool: Tool) -> Any:
        @wraps(tool)
        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return tool(*arguments, **named)
            except (GSRError, OSError) as error:
                raise ToolError(str(error)) from error

        return call

    tools = Tools(allowed)
    server = MCPServer("gsr", instructions=INSTRUCTIONS, log_level="WARNING")
    for tool in (tools.fit_table, tools.show_front, tools.predict):
        server.tool()(saying_what_is_wrong(tool))
    server.run("stdio")
