"""Validation of the rows of a search in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr.exceptions import GSRError
from gsr.groups.labels import label_of, ungrouped
from gsr.groups.search import Asked

if TYPE_CHECKING:
    from gsr.estimator import GSRRegressor

SHARED = ("auto", "none")
FEWEST = 2
#: Number of labels listed in a message.
LISTED = 8


def asked(
    model: GSRRegressor,
    X: Any,
    y: Any,
    sample_weight: Any,
    sigma: Any,
    x_sigma: Any,
    groups: Any,
    shared: str,
) -> Asked:
    """Validate the rows and return the specification of a search in groups."""
    _check(model, y, x_sigma)
    if shared not in SHARED:
        raise GSRError(f"shared must be one of {SHARED}, got {shared!r}")
    X, given = ungrouped(X, groups)
    texts = _texts(given, len(np.asarray(X)))
    known, codes = np.unique(np.array(texts), return_inverse=True)
    rows = model._validate(X, y, sample_weight, sigma, x_sigma, codes.astype(float))
    left, codes = np.unique(rows.X[:, -1].astype(int), return_inverse=True)
    labels = [str(each) for each in known[left]]
    _check_sizes(labels, np.bincount(codes))
    return Asked(
        parameters=model.get_params(deep=False),
        settings=model._check_parameters(),
        rows=replace(rows, X=np.asfortranarray(rows.X[:, :-1])),
        codes=codes,
        names=model._names,
        target_name=model._target_name,
        column=given.name,
        labels=labels,
        all_local=shared == "none",
    )


def _texts(labels: Sequence[Any], n_rows: int) -> list[str]:
    if len(labels) != n_rows:
        raise GSRError(f"groups has {len(labels)} labels for {n_rows} rows")
    for row, label in enumerate(labels):
        if label is None or label != label:
            raise GSRError(f"groups has no label in row {row}")
    return [label_of(each) for each in labels]


def _check_sizes(labels: Sequence[str], counts: Any) -> None:
    if len(labels) < 2:
        raise GSRError(f"there is only one group, {labels[0]!r}: fit without groups")
    few = [label for label, count in zip(labels, counts, strict=True) if count < FEWEST]
    if few:
        shown = ", ".join(map(repr, few[:LISTED])) + ", ..." * (len(few) > LISTED)
        raise GSRError(f"each group needs at least {FEWEST} rows, but these have fewer: {shown}")


def _check(model: GSRRegressor, y: Any, x_sigma: Any) -> None:
    """Raise an error for options that are not supported with groups."""
    parameters, shape = model.get_params(deep=False), np.shape(y)
    given = {
        "several targets": len(shape) == 2 and shape[1] > 1,
        "x_sigma": x_sigma is not None,
        "validation_fraction": parameters["validation_fraction"] is not None,
        "warm_start": parameters["warm_start"],
        f"loss={parameters['loss']!r}": parameters["loss"] != "squared",
    }
    for name, is_given in given.items():
        if is_given:
            raise GSRError(f"groups cannot be combined with {name}")
