"""Tables in binary files: NPY and NPZ of NumPy, Parquet, and what a ZIP archive holds."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.files import Source, check_expansion
from gsr.tables import Array, Columns, Table, select

NPY, ZIP, PARQUET = b"\x93NUMPY", b"PK\x03\x04", b"PAR1"
#: Names of members that an error message lists.
LISTED = 10
#: Members by which documents are told from archives, and what to do about them.
DOCUMENTS = {
    "xl/workbook.bin": "a binary Excel workbook (.xlsb): save it as .xlsx or CSV",
    "word/document.xml": "a Word document: save the table as .xlsx or CSV",
    "ppt/presentation.xml": "a PowerPoint presentation: save the table as .xlsx or CSV",
    "Index/Document.iwa": "a Numbers spreadsheet: save it as .xlsx or CSV",
    "content.xml": "an OpenDocument file (.ods): save it as .xlsx or CSV",
}

# ---- NumPy ---------------------------------------------------------------------------------------


def read_numpy(source: Source, columns: Columns, is_zip: bool) -> Table:
    """Read an array, or the arrays of an archive; see `gsr.tables.read`."""
    try:
        with source.seekable() if is_zip else source.binary() as stream:
            found = np.load(stream, allow_pickle=False)
            arrays = dict(found) if isinstance(found, Mapping) else {"": found}
    except MemoryError:
        raise
    except Exception as error:  # a damaged header is evaluated and fails in any way
        kind = "NPY or NPZ file, or it is damaged"
        raise GSRError(f"{source.name} is not a readable {kind}: {error}") from error
    pairs = [pair for key, values in arrays.items() for pair in _columns(key, values, source.name)]
    if not pairs:
        raise GSRError(f"{source.name}: there are no columns")
    if len({len(column) for _, column in pairs}) > 1:
        told = ", ".join(f"{key} {values.shape}" for key, values in arrays.items())
        raise GSRError(f"{source.name}: the arrays differ in their number of rows: {told}")
    chosen = [pairs[c] for c in select([name for name, _ in pairs], columns, source.name)]
    for name, column in chosen:
        if column.dtype.kind not in "biuf" or column.ndim != 1:
            raise _not_numbers(name, source.name, f"{column.dtype} values")
    table = np.column_stack([column.astype(np.float64) for _, column in chosen])
    if not len(table):
        raise GSRError(f"{source.name}: the table has no rows")
    named = any(
        (key and values.ndim == 1) or values.dtype.names is not None
        for key, values in arrays.items()
    )
    return Table(tuple(name for name, _ in chosen), table, source.name, named)


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


def _not_numbers(name: str, origin: str, what: str) -> GSRError:
    return GSRError(
        f"{origin}, column {name!r}: {what} are not numbers; to leave the column out use --drop, "
        f"or choose columns with --features"
    )


# ---- Parquet -------------------------------------------------------------------------------------


def read_parquet(source: Source, columns: Columns) -> Table:
    """Read a Parquet file; see `gsr.tables.read`."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise GSRError(f"{source.name}: Parquet needs pyarrow; pip install pyarrow") from error
    try:
        with source.seekable() as stream:
            found = parquet.ParquetFile(stream)
            names = list(found.schema_arrow.names)
            chosen = [names[c] for c in select(names, columns, source.name)]
            table = found.read(columns=chosen, use_threads=False)
    except (GSRError, MemoryError):
        raise
    except Exception as error:  # a damaged file fails in any way
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GSRError(f"{source.name} is not a readable Parquet file: {reason}") from error
    if not table.num_rows:
        raise GSRError(f"{source.name}: the table has no rows")
    values = [_arrow_numbers(table.column(name), name, source.name) for name in chosen]
    return Table(tuple(chosen), np.column_stack(values), source.name)


def _arrow_numbers(column: Any, name: str, origin: str) -> Array:
    import pyarrow as pa

    kind = column.type
    fine = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    if not any(is_one(kind) for is_one in fine) and not pa.types.is_null(kind):
        raise _not_numbers(name, origin, f"{kind} values")
    if pa.types.is_boolean(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.int8() if pa.types.is_boolean(kind) else pa.float32())
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


# ---- ZIP archives --------------------------------------------------------------------------------


class Member(Source):
    """A file in a ZIP archive, kept in memory."""

    def __init__(self, outer: Source, member: str) -> None:
        self.path = Path(member)
        self.name = f"{outer.name} ({member})"
        try:
            with outer.seekable() as stream, zipfile.ZipFile(stream) as archive:
                self._content = archive.read(member)
        except MemoryError:
            raise
        except Exception as error:  # a damaged file fails in any way
            raise _damaged(self.name, error) from error


def _damaged(name: str, error: Exception) -> GSRError:
    reason = str(error) or type(error).__name__
    return GSRError(f"{name}: the file is damaged, cut off or cannot be unpacked: {reason}")


def examine_zip(source: Source) -> Literal["excel", "arrays"] | Member:
    """Return what a ZIP file is: a workbook, arrays of NumPy, or the one table in an archive.

    Another document, several files or none, and a damaged file raise an error.
    """
    try:
        with source.seekable() as stream, zipfile.ZipFile(stream) as opened:
            members = [each for each in opened.infolist() if not each.is_dir()]
    except (GSRError, MemoryError):
        raise
    except Exception as error:  # a damaged file fails in any way
        raise _damaged(source.name, error) from error
    names = {each.filename for each in members}
    for name, advice in DOCUMENTS.items():
        if name in names and (name != "content.xml" or "mimetype" in names):
            raise GSRError(f"{source.name} is {advice}")
    packed, unpacked = (sum(getattr(m, n) for m in members) for n in ("compress_size", "file_size"))
    check_expansion(source.name, packed, unpacked)
    if "xl/workbook.xml" in names:
        return "excel"
    is_zip = source.path.suffix.lower() == ".zip" and len(members) == 1
    if members and not is_zip and all(name.endswith(".npy") for name in names):
        return "arrays"
    return _only_member(source, members)


def _only_member(source: Source, members: list[zipfile.ZipInfo]) -> Member:
    tables = [each for each in members if not _is_hidden(each.filename)]
    if not tables:
        raise GSRError(f"{source.name} is a ZIP archive without files")
    if len(tables) > 1:
        names = [repr(each.filename) for each in tables]
        shown = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
        raise GSRError(
            f"{source.name} is a ZIP archive with {len(tables)} files ({shown}); one with a single "
            f"table is read: unpack it, and name the table"
        )
    if isinstance(source, Member):
        raise GSRError(f"{source.name} is a ZIP archive inside another; unpack it first")
    if tables[0].flag_bits & 1:
        raise GSRError(f"{source.name} has a password; unpack it first")
    return Member(source, tables[0].filename)


def _is_hidden(name: str) -> bool:
    """Whether a member is what file managers put beside the files of the user."""
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or any(part.startswith(".") for part in parts)
