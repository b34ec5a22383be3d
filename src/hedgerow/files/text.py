"""Text files, plain or compressed with gzip, rows of CSV, and errors that say why a file cannot be read."""

from __future__ import annotations

import csv
import glob
import gzip
import hashlib
import io
import os
import tomllib
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, TypeGuard, final

import msgspec

from hedgerow.errors import FileError, HedgerowError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import WriteableBuffer

_GZIP = ".gz"
_ZIP = b"PK\x03\x04"
_SPREADSHEETS = (".xlsx", ".xls", ".ods")
_AS_CSV = "In the spreadsheet program, save the sheet as 'CSV UTF-8'."
_BUFFER = 1 << 20
_BYTES = (1 << 27, 100)  # what a compressed file may hold: a fixed limit, plus this many per compressed byte
_ROWS = 1_000_000  # in addition to one for every two bytes of the file
_LARGEST_TOML = 100_000
_LONGEST_REASON = 300  # characters of a library's message
_AGAIN = "It may be truncated or damaged, or of another kind; copy or write it again."


def is_path(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a source is a path rather than data."""
    return isinstance(source, str | os.PathLike)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a file, uncompressed, or raise an error that says why it cannot be read."""
    with _explained(path), open_binary(path) as file:
        return file.read()


@contextmanager
def _explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn exceptions into errors that say why a file cannot be read."""
    shown = os.fspath(path)
    try:
        yield
    except HedgerowError:
        raise
    except FileNotFoundError:
        raise FileError(f"{shown} does not exist. Check the name{_similar_files(path)}.") from None
    except IsADirectoryError:
        raise FileError(f"{shown} is a folder, not a file. Give the name of a file in it.") from None
    except (OSError, ValueError) as error:  # a ValueError means a null character in the name
        raise FileError(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _similar_files(path: str | os.PathLike[str]) -> str:
    folder, name = Path(path).parent, Path(path).name
    if not folder.is_dir():
        return f": there is no folder {folder}"
    near = get_close_matches(name, [entry.name for entry in islice(folder.iterdir(), 10_000)], 1, cutoff=0.75)
    return f"; the folder contains {near[0]!r}" if near else " and the folder"


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a UTF-8 file, with or without a byte order mark; line ends are not translated."""
    return decode(read_bytes(path), os.fspath(path))


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """Read a UTF-8 file as lines, which end with LF, CRLF or, in old files, CR."""
    return read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def decode(data: bytes, shown: str) -> str:
    """Decode UTF-8, or raise an error that gives the position of the first invalid byte."""
    start = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
    try:
        return data[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        if data[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
            raise FileError(f"{shown} is UTF-16, not UTF-8. Save it again as UTF-8.") from None
        if data[:4] == _ZIP:
            raise FileError(f"{shown} is a spreadsheet or another zip archive, not text. {_AS_CSV}") from None
        wrong = start + error.start
        line = data.count(b"\n", 0, wrong) + 1
        raise FileError(
            f"{shown}, line {line} is not UTF-8: byte 0x{data[wrong]:02x} at offset {wrong:,}. Save "
            f"the file as UTF-8 (in a spreadsheet program, 'CSV UTF-8')."
        ) from None


def refuse_spreadsheet(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file is a spreadsheet, by its name."""
    if extension(path) in _SPREADSHEETS:
        raise FileError(f"{os.fspath(path)} is a spreadsheet. {_AS_CSV}")


def require_file(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file does not exist, before a library raises a less helpful one."""
    if not Path(path).is_file():
        read_bytes(path)


def line_of(text: str, position: int) -> int:
    """Return the number of the line that contains a position."""
    return text.count("\n", 0, position) + 1


def is_pattern(path: str) -> bool:
    """Return whether a path is a pattern for several files: it has a wildcard, and no file has this name."""
    return glob.has_magic(path) and not Path(path).exists()


def is_remote(path: str) -> bool:
    """Return whether a path names a file system, as in `s3://bucket/part.npz`."""
    return "://" in path


# CSV ---------------------------------------------------------------------------------------------------------


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
                    f"{path}, line {line:,}: a quotation mark opens there and is not closed, or a cell has more "
                    f"than {csv.field_size_limit():,} characters, too many. Close it, or shorten the cell."
                ) from None
            raise FileError(
                f"{path}: a quotation mark opens in line {line:,} and is not closed there, so that it would "
                f'swallow what follows. Close it; a mark inside a quoted cell is written twice: "the ""red"" fox".'
            ) from None


def _refuse_sep_line(path: str, line: str) -> None:
    """Raise an error if the first line of a table is one such as `sep=;`, which is meant for Excel."""
    if line.lower().startswith("sep=") and len(line) <= len("sep=;"):
        raise FileError(f"{path}, line 1 is {line!r}, which only Excel understands. Remove this line.")


# What other libraries read ---------------------------------------------------------------------------------


@contextmanager
def reading(path: str | os.PathLike[str], what: str, remedy: str = _AGAIN) -> Iterator[None]:
    """Turn whatever a library raises while it reads a file into an error that names the file.

    Libraries document few of their exceptions: a damaged file has been seen to raise KeyError, TypeError,
    MemoryError, SystemError, zlib.error, tokenize.TokenError and more. So all exceptions count as an unreadable
    file; keep such a block around nothing but the library.

    Parameters
    ----------
    path
        The file.
    what
        What it is read as: "Parquet".
    remedy
        What to do about it.

    Examples
    --------
    >>> with reading("model.bin", "weights"):
    ...     raise KeyError("shape")
    Traceback (most recent call last):
    hedgerow.errors.FileError: model.bin cannot be read as weights: KeyError: 'shape'. It may be truncated or ...
    """
    try:
        yield
    except (HedgerowError, ImportError):
        raise
    except Exception as error:
        raise FileError(f"{os.fspath(path)} cannot be read as {what}: {_reason(error)}. {remedy}") from error


@contextmanager
def naming(path: str | os.PathLike[str], what: str, remedy: str = _AGAIN) -> Iterator[None]:
    """Do as `reading`, also for errors of hedgerow that do not name the file."""
    with reading(path, what, remedy):
        try:
            yield
        except HedgerowError as error:
            if os.fspath(path) in str(error):
                raise
            raise ValueError(str(error)) from None


def _reason(error: Exception) -> str:
    """Return the message of an exception as one printable line."""
    said = str(getattr(error, "strerror", None) or error)
    if not said or isinstance(error, KeyError | MemoryError | RecursionError | SystemError | OverflowError):
        said = f"{type(error).__name__}: {said}".removesuffix(": ")
    line = " ".join(said.split())
    return printable(line[:_LONGEST_REASON]).rstrip(".") + ("..." if len(line) > _LONGEST_REASON else "")


def printable(text: str) -> str:
    """Return text without control characters, which a terminal would obey."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def read_json(path: str | os.PathLike[str], what: str, remedy: str = _AGAIN) -> Any:
    """Read a JSON file; errors say that `what` was expected."""
    data = read_bytes(path).removeprefix(BOM_UTF8)
    with reading(path, what, remedy):
        return msgspec.json.decode(data)


def read_toml(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    """Read a small TOML file; errors say that `what` was expected."""
    require_file(path)
    with reading(path, what, "Correct it, or copy it again."):
        if Path(path).stat().st_size > _LARGEST_TOML:  # tomllib takes quadratic time for some
            raise ValueError(f"it has more than {_LARGEST_TOML:,} bytes")
        text = Path(path).read_text(encoding="utf-8")
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"it is not valid TOML: {error}") from None


def digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Compressed files ------------------------------------------------------------------------------------------


def most_bytes(size: int) -> int:
    """Return how many bytes a file of this size may unpack to, so that a small one cannot fill the memory."""
    return _BYTES[0] + _BYTES[1] * size


def most_rows(size: int) -> int:
    """Return how many rows a file of this size may have; a few bytes can encode any number of equal rows."""
    return _ROWS + size // 2


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is compressed, by its name."""
    return os.fspath(path).lower().endswith(_GZIP)


def require_unpacked(path: str | os.PathLike[str]) -> None:
    """Raise an error if a binary file is compressed with gzip."""
    if is_compressed(path):
        raise FileError(
            f"{os.fspath(path)}: only text files are read compressed with gzip, and {extension(path)} files hold "
            f"compressed data already. Unpack it first."
        )


def extension(path: str | os.PathLike[str]) -> str:
    """Return the extension of a file in lower case, without that of its compression.

    >>> extension("Scores.CSV"), extension("scores.csv.gz"), extension("scores.gz")
    ('.csv', '.csv', '')
    """
    return PurePath(PurePath(path).name.lower().removesuffix(_GZIP)).suffix


def stem(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without its extensions.

    >>> stem("runs/model-1.2.csv"), stem("scores.csv.gz")
    ('model-1.2', 'scores')
    """
    name = PurePath(path).name
    return PurePath(name[: -len(_GZIP)] if is_compressed(name) else name).stem


def open_binary(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file to read its bytes, uncompressed."""
    if not is_compressed(path):
        return Path(path).open("rb")
    return io.BufferedReader(_Gunzip(gzip.GzipFile(path), path), _BUFFER)


def open_text(path: str | os.PathLike[str], newline: str | None = None) -> IO[str]:
    """Open a file to read its UTF-8 text, uncompressed and without a byte order mark."""
    return io.TextIOWrapper(open_binary(path), encoding="utf-8-sig", newline=newline)


@final
class _Gunzip(io.RawIOBase):
    """The content of a gzip file, refused if it is too large for the size of the file."""

    def __init__(self, file: gzip.GzipFile, path: str | os.PathLike[str]) -> None:
        self._file = file
        self._path = os.fspath(path)
        self._size = Path(path).stat().st_size
        self._left = most_bytes(self._size)
        self._lines_left = most_rows(self._size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            count = self._file.readinto(buffer)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileError(
                f"{self._path} cannot be read as gzip: {error}. If it is not compressed, take {_GZIP} off its "
                f"name; otherwise it is truncated or damaged: copy or write it again."
            ) from None
        self._left -= count
        self._lines_left -= bytes(memoryview(buffer)[:count]).count(b"\n")
        if self._lines_left < 0:
            raise FileError(
                f"{self._path} has {self._size:,} bytes and holds more than {most_rows(self._size):,} lines, too "
                f"many for its size. If it is what you want, unpack it first."
            )
        if self._left < 0:
            raise FileError(
                f"{self._path} has {self._size:,} bytes and holds more than {most_bytes(self._size):,}, too many "
                f"for its size. If it is what you want, unpack it first."
            )
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
