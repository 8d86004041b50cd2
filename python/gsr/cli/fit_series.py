"""Equations of motion from a table in a file, for `gsr fit --time`."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr import tables
from gsr.cli.fit_data import complete
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError, about
from gsr.files import Source
from gsr.runs.outcome import Outcome
from gsr.tables import Array, Table

if TYPE_CHECKING:
    from gsr.runs.config import Config

log = logging.getLogger(__name__)
#: Options for the rows of a table, which do not apply to series.
REFUSED = (
    ("data", "weights"),
    ("data", "errors"),
    ("data", "groups"),
    ("search", "validation_fraction"),
)
#: Default time limit in seconds.
SECONDS = 20.0


@dataclass(frozen=True, eq=False)
class SeriesData:
    """Columns of a table of series.

    Parameters
    ----------
    t : array of shape (n,)
        Times.
    x : array of shape (n, d)
        States.
    u : array of shape (n, m)
        Inputs.
    time, states, inputs
        Names of the columns.
    """

    t: Array
    x: Array
    u: Array
    time: str
    states: tuple[str, ...]
    inputs: tuple[str, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of the run are the states."""
        return self.states

    @property
    def asked(self) -> list[str]:
        """What `data.target` is set to, so that the run can be repeated."""
        return list(self.states)


def load(source: Source, config: Config) -> SeriesData:
    """Read the series of a configuration; its section `data` assigns the columns."""
    for key in REFUSED:
        if config.is_set(*key):
            raise GSRError(f"{'.'.join(key)} does not apply to series", ".".join(key))
    data = config.section("data")
    roles: dict[str, list[str]] = {}

    def columns(names: Sequence[str]) -> list[str]:
        roles.update(_roles(names, data, source.name))
        return [name for role in roles.values() for name in role]

    reading = {key: data[key] for key in ("header", "delimiter", "sheet")}
    table = tables.read(source, columns=columns, **reading)
    for note in table.notes:
        log.info("%s", note)
    table = complete(table, data["missing"])
    (t, *_), x, u = (_columns(table, roles[role]) for role in ("time", "states", "inputs"))
    names = {role: tuple(each) for role, each in roles.items()}
    return SeriesData(t, x.T, u.T, names["time"][0], names["states"], names["inputs"])


def _columns(table: Table, names: Sequence[str]) -> Array:
    places = [list(table.names).index(name) for name in names]
    return np.ascontiguousarray(table.values[:, places].T)


def _roles(names: Sequence[str], data: Any, origin: str) -> dict[str, list[str]]:
    """Return the names of the time, the states and the inputs among the columns of a table."""

    def named(wanted: Sequence[Any], option: str) -> list[str]:
        with about(option):
            return [names[tables.find(each, names, origin)] for each in wanted]

    time, inputs = named([data["time"]], "data.time"), named(data["inputs"], "data.inputs")
    dropped = named(data["drop"], "data.drop")
    asked = data["features"] if data["target"] is None else data["target"]
    if asked is None:
        taken = {*time, *inputs, *dropped}
        states = [name for name in names if name not in taken]
    else:
        states = named(asked if isinstance(asked, list) else [asked], "data.target")
    if not states:
        raise GSRError(f"{origin}: there is no state besides the time {time[0]!r}", "data.time")
    everything = Counter([*time, *inputs, *states, *dropped])
    for name in (name for name, count in everything.items() if count > 1):
        raise GSRError(
            f"{origin}: {name!r} has more than one role among time, state, input and column to "
            "drop",
            "data.time",
        )
    return {"time": time, "states": states, "inputs": inputs}


def fit(config: Config, asked: dict[str, Any], data: SeriesData, digest: str | None) -> Outcome:
    """Search for equations of motion, with the options `asked` of the regressor."""
    from gsr.dynamics.estimator import GSRDynamics

    model = GSRDynamics(
        max_time=asked.pop("max_time", SECONDS),
        random_state=asked.pop("random_state"),
        regressor=GSRRegressor(**asked),
        **config.section("dynamics"),
    )
    inputs = data.u if data.inputs else None
    model.fit(data.x, data.t, u=inputs, feature_names=[*data.states, *data.inputs])
    t, X, y = model.rows()
    more = {"motion": {"time": data.time, **model.to_dict()}}
    return Outcome(model, X, y, config, digest, more=more, columns={data.time: t})
