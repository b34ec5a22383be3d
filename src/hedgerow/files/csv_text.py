"""The text of CSV files: rows with their line numbers, and quotation marks that are not closed."""

from __future__ import annotations

import csv
import io
from typing import IO, TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import FileError, ParameterError
from hedgerow.files.text import extension, open_text, read_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from _typeshed import WriteableBuffer
    from numpy.typing import NDArray

_QUOTE = b'"'


def delimiter_of(path: str | os.PathLike[str]) -> str:
    """Return the column separator of a file, judged by its extension."""
    return "\t" if extension(path) in (".tsv", ".tab") else ","


def find_delimiter(header: str, path: str, given: str | None = None) -> str:
    """Return the column separator in a header: the given one, that of the extension, or another usual one."""
    signs = [] if given is None else [as_delimiter(given)]
    signs.append(delimiter_of(path))
    return next((sign for sign in (*signs, ",", ";", "\t") if sign in header), signs[0])


def as_delimiter(text: str) -> str:
    """Return a delimiter as one character."""
    if text in ("tab", "\\t"):
        return "\t"
    if len(text) != 1 or not text.isascii() or text in '"\r\n':
        raise ParameterError(f"delimiter must be one character, such as ';', or 'tab', not {text!r}.")
    return text


def csv_rows(
    path: str, delimiter: str, *, text: str | None = None, quote: bool = True, strict: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file that are not blank, each with the number of its first line.

    Parameters
    ----------
    path
        The file.
    delimiter, quote
        What separates the columns, and whether cells may be in quotes.
    text
        Its text, if it has been read.
    strict
        Whether a quotation mark that is not closed is an error; otherwise it swallows the rows after it.
    """
    line = 1
    with open_text(path, newline="") if text is None else io.StringIO(text, newline="") as lines:
        rows = csv.reader(lines, delimiter=delimiter, quotechar='"' if quote else None, strict=strict)
        try:
            for cells in rows:
                if line == 1:
                    _refuse_sep_line(path, delimiter.join(cells))
                if cells:
                    yield line, cells
                line = rows.line_num + 1
        except UnicodeDecodeError:
            read_text(path)  # raises an error that says where, and what to do
            raise
        except csv.Error as error:
            if "field limit" in str(error):
                raise FileError(
                    f"{path}, line {line:,} has a cell of more than {csv.field_size_limit():,} characters, too many "
                    f"for a table. Shorten it; if a quotation mark before it is not closed, close it."
                ) from None
            raise FileError(
                f"{path}: a quotation mark opens in line {line:,} and is not closed there, so that it would "
                f'swallow what follows. Close it; a mark inside a quoted cell is written twice: "the ""red"" fox".'
            ) from None


def _refuse_sep_line(path: str, line: str) -> None:
    """Raise an error if the first line of a table is one such as `sep=;`, which is meant for Excel."""
    if line.lower().startswith("sep=") and len(line) <= len("sep=;"):
        raise FileError(f"{path}, line 1 is {line!r}, which only Excel understands. Remove this line.")


@final
class QuoteCheck:
    """Raises an error if a quotation mark in a CSV file is not closed, with the line where it opens.

    Marks come in pairs: the first at the start of a cell, the second at its end; a mark inside a quoted cell is
    doubled. If that does not hold, as with marks inside unquoted cells, Python's slow reader decides.
    """

    def __init__(self, path: str, delimiter: str) -> None:
        self._path = path
        self._delimiter = delimiter
        self._ends = np.frombuffer(f'{delimiter}\r\n"'.encode(), dtype=np.uint8)
        self._starts = np.append(self._ends, np.uint8(0xBF))  # the end of a byte order mark
        self._marks = 0
        self._held = b"\n"
        """The last two bytes, of which the second has not been looked at."""
        self._is_decided = False

    def add(self, chunk: bytes) -> None:
        """Check the next bytes of the file; none at its end."""
        data = self._held + (chunk or b"\n")
        self._held = data[-2:]
        if self._is_decided:
            return
        sound = _QUOTE not in data or self._in_pairs(np.frombuffer(data, dtype=np.uint8))
        if not sound or (not chunk and self._marks % 2):
            self._is_decided = True
            for _ in csv_rows(self._path, self._delimiter):
                pass

    def _in_pairs(self, text: NDArray[np.uint8]) -> bool:
        """Count the marks in some text, but not its first and last byte; return whether they are around cells."""
        place = 1 + np.flatnonzero(text[1:-1] == _QUOTE[0])
        opens = (self._marks + np.arange(len(place))) % 2 == 0
        self._marks += len(place)
        before, after = text[place[opens] - 1], text[place[~opens] + 1]
        return bool(np.isin(before, self._starts).all() and np.isin(after, self._ends).all())


@final
class CheckedQuotes(io.RawIOBase):
    """A CSV file whose quotation marks are checked as it is read."""

    def __init__(self, file: IO[bytes], check: QuoteCheck) -> None:
        self._file = file
        self._check = check

    def readable(self) -> bool:
        """Return whether it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read and check the next bytes."""
        count: int = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self._check.add(bytes(memoryview(buffer)[:count]))
        return count
