"""Checks of data before a search; messages name the column and the row."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr import _core
from gsr.exceptions import DomainWarning, GSRError
from gsr.library import Library
from gsr.options import MIN_ROWS
from gsr.rows import Rows, merged
from gsr.transformation import Array

MAX_FEATURES = int(_core.ONE) - 1
MAX_MAGNITUDE = 1e150
#: At most this part of the rows may be left out because y is beyond it.
MOST_BEYOND = 0.1


def check_finite(values: Array, names: Sequence[str]) -> None:
    """Raise if a column holds NaN or infinity; name the column and the first row."""
    for column, name in zip(values.T, names, strict=True):
        bad = ~np.isfinite(column)
        if bad.any():
            kind = "NaN" if np.isnan(column[bad]).any() else "infinity"
            raise GSRError(
                f"{name} contains {kind}: {int(bad.sum())} of {len(column)} values are not "
                f"finite, the first in row {int(np.argmax(bad))}"
            )


def check_columns(X: Any) -> None:
    """Raise if a data frame has two columns of one name, or one that holds no numbers."""
    counts = Counter(str(name) for name in getattr(X, "columns", ()))
    for name, count in counts.items():
        if count > 1:
            raise GSRError(f"names of columns must differ, but {name!r} is there twice")
    for column in X.columns if hasattr(X, "dtypes") else ():
        _check_numbers(np.asarray(X[column]), str(column))


def _check_numbers(values: npt.NDArray[Any], name: str) -> None:
    """Raise if a column of a data frame holds no numbers; name a value."""
    if values.dtype.kind in "mM":
        raise GSRError(f"X, column {name}, holds dates or times: turn them into numbers")
    for row, value in enumerate(values.tolist() if values.dtype.kind in "OSUT" else []):
        try:
            float(np.nan if value is None else value)
        except (TypeError, ValueError):
            raise GSRError(
                f"X, column {name}, must be numbers, but row {row} has {value!r}"
            ) from None


def as_numbers(y: Any, X: Array) -> Array:
    """Return the target as floats, one or several for each row of X, or raise."""
    from sklearn.utils import check_array, check_consistent_length

    try:
        target = check_array(
            y, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, input_name="y"
        )
    except (TypeError, ValueError) as error:
        if "convert" not in str(error):
            raise
        first = np.asarray(y).ravel()[:1].tolist()
        raise GSRError(f"the target must be numbers, got values such as {first}") from error
    check_consistent_length(X, target)
    if target.ndim == 0 or target.ndim > 2:
        raise GSRError(f"y must have one or two dimensions, got shape {target.shape}")
    return np.asarray(target)


def as_weights(sample_weight: Any, X: Array) -> Array | None:
    """Return the weights of the rows, or raise; None if there are none."""
    if sample_weight is None:
        return None
    from sklearn.utils.validation import _check_sample_weight

    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if not (weights >= 0.0).all():
        raise GSRError(f"sample_weight must not be negative, got {weights.min():g}")
    # Only ratios count, and sums of weights near the largest number would overflow.
    return np.asarray(np.ldexp(weights, -int(np.frexp(weights.max(initial=0.0))[1])))


def as_sigma(sigma: Any, y: Array, name: str = "sigma") -> Array | None:
    """Return the standard deviations of the rows, or raise; None if there are none."""
    if sigma is None:
        return None
    values = _as_floats(sigma, name)
    if values.ndim > 0 and values.shape != y.shape:
        raise GSRError(f"{name} must be of shape {y.shape}, like y, got {values.shape}")
    bad = ~((values > 0.0) & np.isfinite(values))
    if bad.any():
        row = f" in row {int(np.argmax(bad))}" if values.ndim else ""
        raise GSRError(f"{name} must be positive and finite, got {values[bad].flat[0]:g}{row}")
    _check_squares(values, f"{name} must be")
    return np.asarray(np.broadcast_to(values, y.shape), dtype=float)


def as_x_sigma(x_sigma: Any, X: Array) -> Array | None:
    """Return the standard deviations of the features, one for each value of X, or raise.

    A number is for all values, a list for the columns. None if all features are exact.
    """
    if x_sigma is None:
        return None
    values = _as_floats(x_sigma, "x_sigma")
    n, d = X.shape
    if d == 1 and values.shape == (n,):
        values = values[:, None]
    if values.shape not in ((), (d,), (n, d)):
        raise GSRError(
            f"x_sigma must be a number, one for each of {d} columns, or of the shape {X.shape} of"
            f" X, got shape {values.shape}"
        )
    bad = ~((values >= 0.0) & np.isfinite(values))
    if bad.any():
        raise GSRError(f"x_sigma must be finite and not negative, got {values[bad].flat[0]:g}")
    if not values.any():
        return None
    _check_squares(values, "x_sigma must be 0 or")
    return np.array(np.broadcast_to(values, X.shape), dtype=float)


def _as_floats(values: Any, name: str) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise GSRError(f"{name} must be numbers, got {values!r}") from error


def _check_squares(values: Array, demand: str) -> None:
    """Raise if squares of standard deviations would over- or underflow."""
    bad = (values > MAX_MAGNITUDE) | ((values < 1.0 / MAX_MAGNITUDE) & (values > 0.0))
    if bad.any():
        row = f" in row {np.argwhere(bad)[0][0]}" if values.ndim else ""
        raise GSRError(
            f"{demand} from {1.0 / MAX_MAGNITUDE:g} to {MAX_MAGNITUDE:g}, since it is squared, got"
            f" {values[bad].flat[0]:g}{row}; use other units"
        )


def check_magnitude(values: Array, names: Sequence[str]) -> None:
    """Raise if squares of a column's values would over- or underflow; name the column."""
    for column, name in zip(values.T, names, strict=True):
        largest = float(np.max(np.abs(column)))
        if largest > MAX_MAGNITUDE or 0.0 < largest < 1.0 / MAX_MAGNITUDE:
            raise GSRError(f"{name} goes up to {largest:g}, too far to square: use other units")


def _without_extremes(rows: Rows, target_name: str) -> Rows:
    """Return the rows in which y can be squared, with a warning if some few are left out.

    An exponential may reach any size in a few rows, and the others tell its law as well.
    """
    beyond = np.isfinite(rows.y) & (np.abs(rows.y) > MAX_MAGNITUDE)
    if not beyond.any() or beyond.mean() > MOST_BEYOND:
        return rows
    warnings.warn(
        f"{int(beyond.sum())} of {len(rows)} rows in which {target_name} is beyond"
        f" {MAX_MAGNITUDE:g} are left out: errors there cannot be squared",
        DomainWarning,
        stacklevel=4,
    )
    return rows.take(np.flatnonzero(~beyond))


def _check_size(X: Array, held_out: float | None) -> None:
    """Raise if there are too few rows or too many features for a search."""
    n_samples, n_features = X.shape
    left = n_samples - (max(1, round(held_out * n_samples)) if held_out is not None else 0)
    if left < MIN_ROWS:
        besides = f", of which {n_samples - left} are held out" if held_out is not None else ""
        raise GSRError(f"a law needs at least {MIN_ROWS} rows, got n_samples={n_samples}{besides}")
    if n_features > MAX_FEATURES:
        raise GSRError(f"at most {MAX_FEATURES} features can be searched, got {n_features}")


def checked(rows: Rows, names: Sequence[str], target_name: str, held_out: float | None) -> Rows:
    """Return the rows for a search, copies merged; raise if there can be none on them."""
    rows = _without_extremes(rows, target_name)
    in_x = [f"X, column {name}," for name in names]
    in_y = [f"y, the target {target_name},"]
    for values, labels in ((rows.X, in_x), (rows.y[:, None], in_y)):
        check_finite(values, labels)
        check_magnitude(values, labels)
    rows = merged(rows)
    _check_size(rows.X, held_out)
    if np.ptp(rows.y) == 0.0:
        value = f"every value is {rows.y[0]:g}"
        raise GSRError(f"the target {target_name} is constant ({value}): no law to find", "y")
    return replace(rows, X=np.asfortranarray(rows.X))


def check_library(library: Library, X: Array, names: Sequence[str], *, quiet: bool = False) -> None:
    """Try the transformations on the features.

    Those that the user asked for (not `quiet`) and that are undefined on every feature are named
    in a warning.
    """
    library.check(X, "X")
    if quiet:
        return
    for code, transformation in enumerate(library):
        if transformation == "one":
            continue
        undefined = [_first_undefined(library, code, column) for column in X.T]
        if all(row is not None for row in undefined):
            warnings.warn(
                f"transformation {transformation!r} (defined for {library.table[code].domain}) is "
                f"undefined on every feature, on {names[0]} first in row {undefined[0]}; it can "
                "act on sums and products only",
                DomainWarning,
                stacklevel=4,
            )


def usable_target_library(library: Library, y: Array, name: str, *, quiet: bool = False) -> Library:
    """Return the library without the transformations that are undefined on the target.

    Those that the user asked for (not `quiet`) are named in a warning.
    """
    library.check(y, "y")
    kept: list[Any] = []
    for code, entry in enumerate(library.entries):
        row = _first_undefined(library, code, y)
        if row is None:
            kept.append(entry)
        if row is None or quiet:
            continue
        warnings.warn(
            f"target transformation {library.names[code]!r} (defined for "
            f"{library.table[code].domain}) is left out: it is undefined on {name} in row {row}, "
            f"where the value is {y[row]:g}",
            DomainWarning,
            stacklevel=4,
        )
    if kept == ["one"]:
        raise GSRError(f"no transformation of target_library {library.names} is defined on {name}")
    return Library(kept, name=library.name) if len(kept) < len(library) else library


def _first_undefined(library: Library, code: int, x: Array) -> int | None:
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(library.table[code].value(np.ascontiguousarray(x)))
    return int(np.argmax(bad)) if bad.any() else None
