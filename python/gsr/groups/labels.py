"""Labels of groups, given as an array or as a column of a data frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gsr.exceptions import GSRError, suggestion

#: Name of the groups if none is given.
NAME = "group"


class Labels(list[Any]):
    """Labels of rows with the name of their column."""

    def __init__(self, labels: Iterable[Any], name: str = NAME) -> None:
        super().__init__(labels)
        self.name = name


def label_of(value: Any) -> str:
    """Return the label of a group as text; 2.0 and 2 are the same group."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def ungrouped(X: Any, groups: Any) -> tuple[Any, Labels]:
    """Return the features, and the label of each row."""
    if isinstance(groups, str):
        columns = [str(name) for name in getattr(X, "columns", ())]
        if groups not in columns:
            hint = suggestion(groups, columns, otherwise_list=bool(columns))
            where = "X has no such column" if columns else "X is not a data frame: pass an array"
            raise GSRError(f"groups={groups!r}, but {where}{hint}")
        return X.drop(columns=groups), Labels(X[groups], groups)
    labels = np.asarray(groups, dtype=object)
    if labels.ndim != 1:
        raise GSRError(f"groups must be one label for each row, but its shape is {labels.shape}")
    return X, Labels(labels, str(getattr(groups, "name", None) or NAME))


def labels_for(X: Any, groups: Any, equation: Any) -> tuple[Any, Labels]:
    """Return the features, and the label of each row for a law with groups."""
    known = getattr(equation, "groups", None)
    if known is None:
        raise GSRError("the model was fitted without groups")
    if groups is None:
        if known.column not in map(str, getattr(X, "columns", ())):
            raise GSRError(f"the law has constants for each {known.column}: pass groups")
        groups = known.column
    return ungrouped(X, groups)
