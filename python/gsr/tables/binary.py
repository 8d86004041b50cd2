"""Tables in binary files: NPY and NPZ of NumPy, Parquet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.tables import Column, Columns, Table, check_names, select

NPY, ZIP, PARQUET = b"\x93NUMPY", b"PK\x03\x04", b"PAR1"
MAGIC = (NPY, ZIP, PARQUET)


def read(source: Source, start: bytes, columns: Columns, drop: Collection[Column]) -> Table:
    """Read a binary file by its first bytes; see `gsr.tables.read`."""
    if start.startswith(PARQUET):
        return _parquet(source, columns, drop)
    names, arrays, named = _numpy(source, start.startswith(ZIP))
    check_names(names, source.name)
    chosen = select(names, columns, drop, source.name)
    numbers = [_numbers(arrays[c], names[c], source.name) for c in chosen]
    values = np.column_stack(numbers)
    if not len(values):
        raise GSRError(f"{source.name}: the table has no rows")
    return Table(tuple(names[c] for c in chosen), values, source.name, named)


# ---- NumPy -----------------------------------------------------------------------------------


def _numpy(source: Source, is_zip: bool) -> tuple[list[str], list[npt.NDArray[Any]], bool]:
    try:
        with source.seekable() if is_zip else source.binary() as stream:
            found = np.load(stream, allow_pickle=False)
            arrays = dict(found) if isinstance(found, Mapping) else {"": found}
    except MemoryError:
        raise
    except Exception as error:  # a damaged header is evaluated and fails in any way
        kind = "NPY or NPZ file, or it is damaged"
        raise GSRError(f"{source.name} is not a readable {kind}: {error}") from error
    columns: list[tuple[str, npt.NDArray[Any]]] = []
    named = False
    for key, values in arrays.items():
        named |= (bool(key) and values.ndim == 1) or values.dtype.names is not None
        columns += _columns(key, values, source.name)
    if not columns:
        raise GSRError(f"{source.name}: there are no columns")
    lengths = {len(column) for _, column in columns}
    if len(lengths) > 1:
        told = ", ".join(f"{key} {values.shape}" for key, values in arrays.items())
        raise GSRError(f"{source.name}: the arrays differ in their number of rows: {told}")
    names, values_of = zip(*columns, strict=True)
    return list(names), list(values_of), named


def _columns(key: str, values: npt.NDArray[Any], origin: str) -> list[tuple[str, npt.NDArray[Any]]]:
    """Return the columns of an array; those of a table X are x1, x2, ..."""
    if values.dtype.names is not None and values.ndim == 1:
        return [(name, values[name]) for name in values.dtype.names]
    if values.ndim == 1:
        return [(key or "x1", values)]
    if values.ndim == 2:
        stem = "x" if key in ("", "X") else key
        return [(f"{stem}{k + 1}", column) for k, column in enumerate(values.T)]
    what = f"array {key!r}" if key else "the array"
    raise GSRError(f"{origin}: {what} must have one or two dimensions, its shape is {values.shape}")


def _numbers(values: npt.NDArray[Any], name: str, origin: str) -> npt.NDArray[np.float64]:
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        raise _not_numbers(name, origin, f"{values.dtype} values")
    return values.astype(np.float64)


def _not_numbers(name: str, origin: str, what: str) -> GSRError:
    return GSRError(
        f"{origin}, column {name!r}: {what} are not numbers; to leave the column out use --drop, "
        f"or choose columns with --features"
    )


# ---- Parquet ---------------------------------------------------------------------------------


def _parquet(source: Source, columns: Columns, drop: Collection[Column]) -> Table:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise GSRError(f"{source.name}: Parquet needs pyarrow; pip install pyarrow") from error
    try:
        with source.seekable() as stream:
            found = parquet.ParquetFile(stream)
            names = list(found.schema_arrow.names)
            check_names(names, source.name)
            chosen = select(names, columns, drop, source.name)
            table = found.read(columns=[names[c] for c in chosen], use_threads=False)
    except (GSRError, MemoryError):
        raise
    except Exception as error:  # a damaged file fails in any way
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GSRError(f"{source.name} is not a readable Parquet file: {reason}") from error
    if not table.num_rows:
        raise GSRError(f"{source.name}: the table has no rows")
    values = [_arrow_numbers(table.column(names[c]), names[c], source.name) for c in chosen]
    return Table(tuple(names[c] for c in chosen), np.column_stack(values), source.name)


def _arrow_numbers(column: Any, name: str, origin: str) -> npt.NDArray[np.float64]:
    import pyarrow as pa

    kind = column.type
    fine = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    if not any(is_one(kind) for is_one in fine) and not pa.types.is_null(kind):
        raise _not_numbers(name, origin, f"{kind} values")
    if pa.types.is_boolean(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.int8() if pa.types.is_boolean(kind) else pa.float32())
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    return np.array(numbers, dtype=np.float64)
