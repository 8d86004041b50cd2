"""Tables of numbers from files: CSV, TSV and the like, NPY, NPZ, Parquet, Excel.

Files compressed with gzip, and ZIP archives with one table in them, are read as what they hold.
"""

from __future__ import annotations

import gzip
import os
import shlex
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.files import Source

Array = npt.NDArray[np.float64]
#: A column by its name, or by its number from 1.
Column = str | int
#: Which columns to read, given or made from the names that there are; None for all.
Columns = Sequence[Column] | Callable[[Sequence[str]], Sequence[Column]] | None

#: How other kinds of files begin, and what to do about them.
FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls), or one with a password: save it as .xlsx "
    "without password, or as CSV",
    b"PK\x05\x06": "a ZIP archive without files",
    b"\x89HDF": "an HDF5 file: write the table as CSV, NPY or Parquet",
    b"SQLite format 3": "a SQLite data base: write the table as CSV, NPY or Parquet",
    b"\xff\xfe": "text in UTF-16: save it as UTF-8",
    b"\xfe\xff": "text in UTF-16: save it as UTF-8",
    b"%PDF": "a PDF document: save the table as CSV",
    b"BZh": "compressed with bzip2: unpack it first, or use gzip",
    b"\xfd7zXZ": "compressed with xz: unpack it first, or use gzip",
    b"(\xb5/\xfd": "compressed with zstd: unpack it first, or use gzip",
}
#: Names that a message lists.
LISTED = 12
#: Characters of a bad value that a message shows.
SHOWN = 40


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of numbers with their names."""

    #: x1, x2, ... by the place in the file if it has no header.
    names: tuple[str, ...]
    #: A column each; missing values are NaN.
    values: Array
    #: The file.
    origin: str
    #: Whether the names come from the file.
    named: bool = True
    #: Remarks for the user on how the file was read.
    notes: tuple[str, ...] = ()
    #: The line in the file of each row, where it is known, and what that counts.
    lines: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    unit: str = "line"
    #: The text of a column that was asked for as labels.
    labels: tuple[str, ...] | None = field(default=None, repr=False)

    def place(self, row: int) -> str:
        """Return where a row is, as an error message says it."""
        return f"row {row + 1}" if self.lines is None else f"{self.unit} {int(self.lines[row])}"


def find(wanted: Column, names: Sequence[str], origin: str) -> int:
    """Return the place of a column among the names, or raise with a suggestion."""
    text = str(wanted).strip()
    if isinstance(wanted, str) and text in names:
        return names.index(text)
    if text.isdecimal() and len(text) < 10:
        if 1 <= int(text) <= len(names):
            return int(text) - 1
        raise GSRError(f"{origin}: there is no column {text}; columns are 1 to {len(names)}")
    near = get_close_matches(text, names, n=1)
    listed = ", ".join(map(repr, names[:LISTED]))
    listed += f", ... ({len(names)} columns)" if len(names) > LISTED else ""
    hint = f"did you mean {near[0]!r}?" if near else f"there are {listed}"
    raise GSRError(f"{origin}: there is no column {wanted!r}; {hint}")


def select(names: Sequence[str], columns: Columns, origin: str) -> list[int]:
    """Return the places of the columns wanted, in their order; raise if a name is there twice."""
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in first:
            raise GSRError(
                f"{origin}: columns {first[name]} and {number} are both named {name!r}; rename "
                f"one, or read the table without its header"
            )
        first[name] = number
    columns = columns(names) if callable(columns) else columns
    wanted = range(len(names)) if columns is None else [find(c, names, origin) for c in columns]
    if not wanted:
        raise GSRError(f"{origin}: no column is left to read")
    return list(dict.fromkeys(wanted))


def not_a_number(where: str, text: str, name: str, hint: str = "") -> GSRError:
    """Return the error about a cell."""
    shown = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    column = shlex.quote(name)
    return GSRError(
        f"{where}: {shown!r} is not a number{hint}; to leave the column out use --drop {column}, "
        f"or choose columns with --features; if it labels groups of rows, --groups {column}"
    )


def read(
    path: str | os.PathLike[str] | Source,
    *,
    columns: Columns = None,
    header: bool | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    labels: Column | None = None,
) -> Table:
    """Read a table of numbers; its content tells what kind of file it is.

    Errors name the file and, where there is one, the line and the column.

    Parameters
    ----------
    path : str or path
        The file, or ``"-"`` for standard input.
    columns : sequence of str or int, or callable, optional
        Which columns to read, by name or by number from 1, or a function that makes that of all
        names; all unless given.
    header : bool, optional
        Whether the first row of a text file or a sheet holds names; detected unless given.
    delimiter : str, optional
        What separates fields of a text file: ``","``, ``";"``, ``"tab"``, ``"space"``, or another
        character; detected unless given.
    sheet : str, optional
        The sheet of an Excel workbook; the first unless given.
    labels : str or int, optional
        A column of labels, which may be text in text files, and are numbers in others.
    """
    source = path if isinstance(path, Source) else Source(path)
    try:
        table = _read(source, columns, header, delimiter, sheet)
        if labels is None:
            return table
        return replace(table, labels=_labels(source, labels, table, header, delimiter, sheet))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise GSRError(f"{source.name}: the compressed file is damaged or cut off") from error
    except MemoryError as error:
        raise GSRError(f"{source.name}: the table does not fit into memory") from error


def _read(
    source: Source,
    columns: Columns,
    header: bool | None,
    delimiter: str | None,
    sheet: str | None,
) -> Table:
    from gsr.tables import binary, excel, text

    start = source.start()
    if not start:
        raise GSRError(f"{source.name}: the file is empty")
    for magic, advice in FOREIGN.items():
        if start.startswith(magic):
            raise GSRError(f"{source.name} is {advice}")
    kind = binary.examine_zip(source) if start.startswith(binary.ZIP) else None
    if isinstance(kind, Source):
        return _read(kind, columns, header, delimiter, sheet)
    if kind == "excel":
        return excel.read(source, columns, header, sheet)
    if sheet is not None:
        raise GSRError(f"{source.name} is no Excel workbook: it has no sheet {sheet!r}")
    if start.startswith(binary.PARQUET):
        return binary.read_parquet(source, columns)
    if start.startswith((binary.NPY, binary.ZIP)):
        return binary.read_numpy(source, columns, is_zip=kind == "arrays")
    return text.read(source, columns, header, delimiter)


def _labels(
    source: Source,
    column: Column,
    table: Table,
    header: bool | None,
    delimiter: str | None,
    sheet: str | None,
) -> tuple[str, ...]:
    """Return the text of a column in the rows of a table; other files than text have numbers."""
    names, rows = cells(source, table, header, delimiter)
    if names is not table.names:
        place = find(column, names, source.name)
        found = [str(row[place]).strip() for row in rows]
    else:
        numbers = _read(source, [column], header, delimiter, sheet).values[:, 0]
        found = ["" if each != each else f"{each:.17g}" for each in numbers]
    if "" in found:
        raise GSRError(f"{table.origin}, {table.place(found.index(''))}: the label is missing")
    return tuple(found)


def cells(
    source: Source, table: Table, header: bool | None = None, delimiter: str | None = None
) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    """Return names and rows to stand beside results: all columns of a text file, as written there.

    Of other files they are the columns that were read.
    """
    from gsr.tables import binary, text

    start = source.start()
    if start.startswith(binary.ZIP):
        inner = binary.examine_zip(source)
        if isinstance(inner, Source):
            return cells(inner, table, header, delimiter)
    if start.startswith((binary.ZIP, binary.PARQUET, binary.NPY)):
        return table.names, table.values.tolist()
    return text.cells(source, header, delimiter)


def path_of(origin: str | os.PathLike[str]) -> Path | None:
    """Return the path of a regular file, None for pipes and standard input."""
    path = Path(origin)
    return path if str(origin) != "-" and path.is_file() else None
