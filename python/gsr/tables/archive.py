"""ZIP files: arrays of NumPy, an Excel workbook, or an archive with one table in it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO, cast

from gsr.exceptions import GSRError
from gsr.files import Source, check_expansion

#: Names of members that an error message lists.
LISTED = 10
EXCEL, ARRAYS, ARCHIVE = "excel", "arrays", "archive"
#: Members by which documents are told from archives, and what to do about them.
DOCUMENTS = {
    "xl/workbook.bin": "a binary Excel workbook (.xlsb): save it as .xlsx or CSV",
    "word/document.xml": "a Word document: save the table as .xlsx or CSV",
    "ppt/presentation.xml": "a PowerPoint presentation: save the table as .xlsx or CSV",
    "Index/Document.iwa": "a Numbers spreadsheet: save it as .xlsx or CSV",
    "content.xml": "an OpenDocument file (.ods): save it as .xlsx or CSV",
}


class Member(Source):
    """A file in a ZIP archive.

    Parameters
    ----------
    outer : Source
        The archive.
    member : str
        The name of the file in it.
    """

    def __init__(self, outer: Source, member: str) -> None:
        self.path = Path(member)
        self.name = f"{outer.name} ({member})"
        self._content = None
        self._outer, self._member = outer, member

    def raw(self) -> IO[bytes]:
        """Open the unpacked bytes."""
        return cast(IO[bytes], io.BufferedReader(_Unzipped(self._outer, self._member, self.name)))


class _Unzipped(io.RawIOBase):
    """The bytes of a member; a damaged one raises `GSRError`."""

    def __init__(self, outer: Source, member: str, name: str) -> None:
        self._name, self._file = name, outer.seekable()
        try:
            self._archive = zipfile.ZipFile(self._file)
            self._stream = self._archive.open(member)
        except Exception as error:  # a damaged file fails in any way
            self._file.close()
            raise _damaged(name, error) from error

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            block = self._stream.read(len(buffer))
        except Exception as error:
            raise _damaged(self._name, error) from error
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        if not self.closed:
            self._archive.close()
            self._file.close()
        super().close()


def _damaged(name: str, error: Exception) -> GSRError:
    reason = str(error) or type(error).__name__
    return GSRError(f"{name}: the file is damaged, cut off or cannot be unpacked: {reason}")


def examine(source: Source) -> tuple[str, Member | None]:
    """Tell what a ZIP file is.

    Parameters
    ----------
    source : Source
        The file.

    Returns
    -------
    kind : {"excel", "arrays", "archive"}
        A workbook, arrays of NumPy, or an archive.
    member : Member, optional
        The one table in an archive.

    Raises
    ------
    GSRError
        If it is another document, holds several files or none, or is damaged.
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
        return EXCEL, None
    is_zip = source.path.suffix.lower() == ".zip" and len(members) == 1
    if members and not is_zip and all(name.endswith(".npy") for name in names):
        return ARRAYS, None
    return ARCHIVE, _only_member(source, members)


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
