"""Files that may be compressed with gzip: `scores.csv.gz` is opened and named like `scores.csv`."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, final

from hedgerow.errors import FileError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP = ".gz"
_MOST = (1 << 27, 100)  # a compressed file may hold so many bytes, and so many for each byte of its own
_BUFFER = 1 << 20


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is compressed, by its name."""
    return os.fspath(path).lower().endswith(GZIP)


def extension(path: str | os.PathLike[str]) -> str:
    """Return the extension of a file in lower case, without that of its compression.

    >>> extension("Scores.CSV"), extension("scores.csv.gz"), extension("scores.gz")
    ('.csv', '.csv', '')
    """
    return PurePath(PurePath(path).name.lower().removesuffix(GZIP)).suffix


def open_binary(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file to read its bytes, uncompressed."""
    if not is_compressed(path):
        return Path(path).open("rb")
    return io.BufferedReader(_Gunzip(path), _BUFFER)


def open_text(path: str | os.PathLike[str], newline: str | None = None) -> IO[str]:
    """Open a file to read its UTF-8 text, uncompressed and without a byte order mark."""
    return io.TextIOWrapper(open_binary(path), encoding="utf-8-sig", newline=newline)


@final
class _Gunzip(io.RawIOBase):
    """The bytes in a file in gzip form; a file that holds too many for its size is refused."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._file = gzip.open(path, "rb")  # noqa: SIM115
        self._size = Path(path).stat().st_size
        self._left = _MOST[0] + _MOST[1] * self._size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            count = self._file.readinto(buffer)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileError(
                f"{self._path} cannot be read as gzip: {error}. If it is not compressed, take {GZIP} off its "
                f"name; otherwise it is truncated or damaged: copy or write it again."
            ) from None
        self._left -= count
        if self._left < 0:
            raise FileError(
                f"{self._path} has {self._size:,} bytes and holds more than {_MOST[0] + _MOST[1] * self._size:,}, "
                f"too many for its size. If it is what you want, unpack it first."
            )
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
