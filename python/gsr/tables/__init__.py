"""Tables of numbers from files: CSV, TSV and the like, NPY, NPZ, Parquet, Excel.

Files compressed with gzip, and ZIP archives with one table in them, are read as what they hold.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.files import Source

Array = npt.NDArray[np.float64]
#: A column by its name, or by its number from 1.
Column = str | int
#: Which columns to read, given or made from the names that there are.
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


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of numbers with their names.

    Parameters
    ----------
    names : tuple of str
        Of the columns; x1, x2, ... by their place in the file if it has no header.
    values : array of shape (rows, columns)
        Missing values are NaN.
    origin : str
        The file.
    named : bool
        Whether the names come from the file.
    notes : tuple of str
        Remarks for the user on how the file was read.
    lines : array of int, optional
        Line in the file of each row, where it is known.
    unit : str
        What `lines` counts: lines of a text, or rows of a sheet.
    """

    names: tuple[str, ...]
    values: Array
    origin: str
    named: bool = True
    notes: tuple[str, ...] = ()
    lines: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    unit: str = "line"

    def column(self, wanted: Column) -> int:
        """Return the place of a column, given by name or by its number from 1."""
        return find(wanted, self.names, self.origin)

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
    hint = f"did you mean {near[0]!r}?" if near else f"there are {_listed(names)}"
    raise GSRError(f"{origin}: there is no column {wanted!r}; {hint}")


def select(
    names: Sequence[str], columns: Columns, drop: Collection[Column], origin: str
) -> list[int]:
    """Return the places of the columns wanted, in their order, without those to drop."""
    columns = columns(names) if callable(columns) else columns
    wanted = range(len(names)) if columns is None else [find(c, names, origin) for c in columns]
    unwanted = {find(c, names, origin) for c in drop}
    chosen = [c for c in dict.fromkeys(wanted) if c not in unwanted]
    if not chosen:
        raise GSRError(f"{origin}: no column is left to read")
    return chosen


def check_names(names: Sequence[str], origin: str) -> None:
    """Raise if two columns have the same name."""
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in first:
            raise GSRError(
                f"{origin}: columns {first[name]} and {number} are both named {name!r}; rename "
                f"one, or read the table without its header"
            )
        first[name] = number


def read(
    path: str | os.PathLike[str] | Source,
    *,
    columns: Columns = None,
    drop: Collection[Column] = (),
    header: bool | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
) -> Table:
    """Read a table of numbers.

    Parameters
    ----------
    path : str or path
        The file, or ``"-"`` for standard input. Its content tells what it is.
    columns : sequence of str or int, or callable, optional
        Which columns to read, by name or by number from 1, or a function that makes that of all
        names; all unless given.
    drop : collection of str or int
        Columns to leave out.
    header : bool, optional
        Whether the first row of a text file or a sheet holds names; detected unless given.
    delimiter : str, optional
        What separates fields of a text file: ``","``, ``";"``, ``"tab"``, ``"space"``, or another
        character; detected unless given.
    sheet : str, optional
        The sheet of an Excel workbook; the first unless given.

    Returns
    -------
    Table

    Raises
    ------
    GSRError
        Names the file and, where there is one, the line and the column.
    """
    source = path if isinstance(path, Source) else Source(path)
    try:
        return _read(source, _Wanted(columns, drop, header, delimiter, sheet))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise GSRError(f"{source.name}: the compressed file is damaged or cut off") from error
    except MemoryError as error:
        raise GSRError(f"{source.name}: the table does not fit into memory") from error


@dataclass(frozen=True)
class _Wanted:
    """What to read of a file, and how; see `read`."""

    columns: Columns
    drop: Collection[Column]
    header: bool | None
    delimiter: str | None
    sheet: str | None


def _read(source: Source, wanted: _Wanted) -> Table:
    from gsr.tables import archive, binary, excel, text

    start = source.start()
    if not start:
        raise GSRError(f"{source.name}: the file is empty")
    for magic, advice in FOREIGN.items():
        if start.startswith(magic):
            raise GSRError(f"{source.name} is {advice}")
    kind, inside = archive.examine(source) if start.startswith(binary.ZIP) else ("", None)
    if inside is not None:
        return _read(inside, wanted)
    if kind == archive.EXCEL:
        return excel.read(source, wanted.columns, wanted.drop, wanted.header, wanted.sheet)
    if wanted.sheet is not None:
        raise GSRError(f"{source.name} is no Excel workbook: it has no sheet {wanted.sheet!r}")
    if start.startswith(binary.MAGIC):
        return binary.read(source, start, wanted.columns, wanted.drop)
    return text.read(source, wanted.columns, wanted.drop, wanted.header, wanted.delimiter)


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} columns)"


def path_of(origin: str | os.PathLike[str]) -> Path | None:
    """Return the path of a regular file, None for pipes and standard input."""
    path = Path(origin)
    return path if str(origin) != "-" and path.is_file() else None
