"""The format of a saved model: what each part of the file must be."""

from __future__ import annotations

from typing import Any

from gsr import _core
from gsr.saving.document import HISTORY
from gsr.saving.schema import (
    Check,
    boolean,
    choice,
    finite,
    integer,
    later,
    listing,
    mapping,
    number,
    optional,
    record,
    refuse,
    table,
    text,
    vector,
)

LARGEST_CODE = 1000
LARGEST_POWER = 1000
MOST_PARTS = 64


def _cell(value: Any, where: str) -> int | float:
    # Integers stay integers: only weights are real.
    finite(value, where)
    if isinstance(value, int | float):
        return value
    raise refuse(where, "a number", value)


def _base(value: Any, where: str) -> Any:
    if isinstance(value, dict):
        return ROW(value, where)
    return integer(1, _core.ONE)(value, where)


def _times(value: Any, where: str) -> int | float:
    if isinstance(value, int) and not isinstance(value, bool):
        return int(integer(-LARGEST_POWER, LARGEST_POWER)(value, where))
    return finite(value, where)


def _anything(value: Any, where: str) -> Any:
    return value


_matrix = listing(
    listing(_cell, least=1, most=2 + 2 * _core.MAX_VARIABLES), least=1, most=_core.MAX_ROWS
)
_rows_of_ln = listing(integer(0, _core.MAX_ROWS - 1))
_level = choice("rounding", "noise", "ambiguous", "above", "unknown")

ARGUMENT: Check = record(
    {
        "product": boolean,
        "parts": listing(record({"base": _base, "times": _times}), most=MOST_PARTS),
    }
)
ROW = record(
    {
        "code": integer(0, LARGEST_CODE),
        "argument": later(lambda: ARGUMENT),
        "reciprocal": boolean,
        "number": integer(0, _core.MAX_ROWS - 1),
    }
)
SIGN = record({"constant": integer(-1, 1), "arguments": listing(ARGUMENT)})
BRANCHES = record(
    {
        "low": finite,
        "high": finite,
        "home": optional(listing(number, least=2, most=2)),
        "sides": optional(listing(integer())),
        "sign": optional(SIGN),
        "neighbours": optional(integer()),
    }
)
EQUATION = record(
    {
        "library": integer(),
        "target_library": integer(),
        "bars_target": listing(_rows_of_ln),
        "bars_features": listing(_rows_of_ln),
        "level": _level,
        "branches": BRANCHES,
    }
)
LAW = record(
    {
        "psi": listing(_matrix, least=1),
        "beta": vector(finite),
        "phi": listing(_matrix),
        "alpha": vector(finite),
        "complexity": integer(),
        "rmse": number,
        "transformed_error": number,
        "exact": boolean,
        "bits": number,
    }
)
NOISE = record(
    {
        "kind": choice("constant", "relative", "poisson", "power", "mixed", "given", "effective"),
        "floor": finite,
        "power": optional(finite),
        "precision": finite,
        "knots": optional(listing(vector(finite), least=2, most=2)),
        "absolute": boolean,
    }
)
ENTRY = record(
    {
        "text": optional(text),
        "complexity": integer(),
        "rmse": number,
        "exact": boolean,
        "weighted": optional(boolean),
        "n_constants": integer(),
        "bits": number,
        "held_out": optional(number),
        "left_out": optional(number),
        "length": optional(number),
        "level": _level,
        "poles": record(
            {
                "verdict": choice("safe", "unsafe", "unknown"),
                "reason": text,
                "where": optional(vector()),
            }
        ),
        "law": LAW,
        "equation": EQUATION,
        "uncertainty": optional(
            record(
                {
                    "names": listing(text),
                    "values": vector(),
                    "covariance": table(),
                    "degrees_of_freedom": integer(),
                    "sigma": number,
                    "noise": NOISE,
                }
            )
        ),
        "rounded": optional(
            record(
                {
                    "text": optional(text),
                    "texts": listing(optional(text)),
                    "bits": number,
                    "law": LAW,
                    "equation": EQUATION,
                }
            )
        ),
    }
)
_columns: dict[str, Check] = {
    "seconds": number,
    "max_time": optional(number),
    "generation": integer(),
    "evaluations": integer(),
    "rmse": number,
    "status": text,
}
_one_target: dict[str, Check] = {
    "parameters": mapping(_anything),
    "not_stored": mapping(text),
    "features": optional(listing(text, least=1)),
    "named": boolean,
    "target": optional(text),
    "attributes": mapping(_anything),
    "best_index": optional(integer()),
    "front": listing(ENTRY),
    "others": optional(listing(ENTRY)),
    "history": record({name: listing(_columns[name]) for name in HISTORY}),
}
_several = listing(record({"name": text, "model": record(_one_target)}))
MODEL = record({**_one_target, "targets": _several})
LIBRARY = record({"name": optional(text), "entries": listing(text, least=1)})
DOCUMENT = record(
    {
        "transformations": mapping(mapping(_anything)),
        "libraries": listing(LIBRARY),
        "training_rows": listing(
            record({"scale": vector(finite), "X": table(finite), "y": vector(finite)})
        ),
        "model": MODEL,
    }
)
#: What fitting leaves in an estimator; others may be any plain value.
ATTRIBUTES: dict[str, Check] = {
    "status_": text,
    "fit_time_": number,
    "n_generations_": integer(),
    "n_evaluations_": integer(),
    "n_unconverged_": integer(),
    "n_features_in_": integer(1),
    "n_rows_": integer(1),
    "criterion_": text,
    "criterion_value_": optional(number),
    "support_": number,
}
