"""Untrusted zip archives: arrays and other members, read within bounds.

A zip archive can claim to hold more than it does, or hold more than it seems to: deflate shrinks zeros a
thousandfold. Nothing is allocated before the sizes that a member claims agree with each other, and what is
read as a whole is limited by the size of the file. Arrays are numbers or text; nothing is unpickled.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files.atomic import atomic_write
from hedgerow.files.text import most_bytes, most_rows, reading, require_file, require_unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

    from numpy.typing import NDArray

_MOST_MEMBERS = 100_000
_LONGEST_HEADER = 10_000  # bytes of the description of an array; NumPy's own limit
_LONGEST_TEXT = 1 << 24  # bytes of one entry of an array of text, four per character
_DEFLATE_AT_BEST = 1100  # deflate shrinks by a factor of at most about 1,032
_AT_ONCE = 1 << 20
_LARGEST_FORTRAN = 1 << 32  # bytes of an array in Fortran order, which is read whole
_KINDS = "biufUS"
_SUFFIX = ".npy"


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read every array of an `.npz` file."""
    with Archive(path) as archive:
        return {name: archive.array(name) for name in archive.arrays}


def write_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], *, compressed: bool = True
) -> None:
    """Write arrays to an `.npz` file with `atomic_write`; nothing is pickled."""
    save = np.savez_compressed if compressed else np.savez
    with atomic_write(path, "wb") as file:
        save(file, allow_pickle=False, **arrays)


def write_blocks(
    path: str | os.PathLike[str],
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    rows: int,
    blocks: Iterable[NDArray[Any]],
) -> None:
    """Write arrays, and one more that is given in blocks of rows and never held whole, to an `.npz` file.

    Nothing is compressed: scores hardly shrink, and take long.
    """
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for key, array in arrays.items():
            with archive.open(key + _SUFFIX, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
            for i, block in enumerate(blocks):
                if i == 0:
                    described = np.lib.format.header_data_from_array_1_0(block) | {
                        "shape": (rows, *block.shape[1:])
                    }
                    np.lib.format.write_array_header_1_0(member, described)
                member.write(np.ascontiguousarray(block).data)


@final
@dataclass(frozen=True)
class Member:
    """An array inside an archive, as described by its header, which agrees with its size."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool

    @property
    def row_bytes(self) -> int:
        """Size of one row."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


@final
class Archive:
    """An open `.npz` or `.zip` file.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.npz")
    ...     np.savez(path, ids=np.array(["x", "y"]), scores=np.eye(2))
    ...     with Archive(path) as archive:
    ...         print(archive.arrays, archive.array("scores").tolist(), archive.texts("ids"))
    ['ids', 'scores'] [[1.0, 0.0], [0.0, 1.0]] ['x', 'y']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        require_file(path)
        require_unpacked(path)
        self.path = os.fspath(path)
        self._kind = ".npz" if Path(path).suffix.lower() == ".npz" else "a zip archive"
        with self._reading():
            self._zip = zipfile.ZipFile(self.path)
        try:
            self.names = self._checked_names()
            """Names of all members."""
            size = Path(path).stat().st_size
        except BaseException:
            self._zip.close()
            raise
        self._file_size = size
        self._whole_left = most_bytes(size)

    @property
    def arrays(self) -> list[str]:
        """Names of the arrays."""
        return [name.removesuffix(_SUFFIX) for name in self.names if name.endswith(_SUFFIX)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def member(self, name: str) -> Member:
        """Read the header of an array, and compare it with the size of the member."""
        info = self._info(name + _SUFFIX)
        with self._reading(), self._zip.open(info) as file:
            member = self._described(name, file)
            start = file.tell()
        self._check_size(info, name, start + member.nbytes, f" for {member.dtype} of shape {member.shape}")
        if member.shape and member.shape[0] > most_rows(self._file_size):
            raise FileError(
                f"{self.path}: {name!r} has {member.shape[0]:,} rows, too many for a file of {self._file_size:,} "
                f"bytes. If it is what you want, write it without compression, with np.savez."
            )
        if member.dtype.kind in "US":
            self._check_whole(name, member.nbytes)
        return member

    def array(self, name: str) -> NDArray[Any]:
        """Read an array as a whole."""
        member = self.member(name)
        size = math.prod(member.shape) * max(
            4, member.dtype.itemsize
        )  # short numbers are converted to longer ones
        self._check_whole(name, size)
        self._whole_left -= size
        with self.rows(member) as rows:
            return rows.all()

    def texts(self, name: str) -> list[str]:
        """Read a list of text as a whole; bytes are UTF-8."""
        return self.as_texts(self.member(name), self.array(name))

    def as_texts(self, member: Member, values: NDArray[Any]) -> list[str]:
        """Convert entries of an array to text; bytes are UTF-8."""
        with self._reading():
            if member.dtype.kind == "S":
                return [value.decode() for value in values.tolist()]
            return [str(value) for value in values.tolist()]

    @contextmanager
    def rows(self, member: Member) -> Iterator[Rows]:
        """Open an array for reading row by row."""
        with self._reading():
            file = self._zip.open(member.name + _SUFFIX)
        with file:
            with self._reading():
                self._described(member.name, file)
            if member.fortran and member.nbytes > _LARGEST_FORTRAN:
                raise FileError(
                    f"{self.path}: {member.name!r} is in Fortran order, {member.nbytes:,} bytes that cannot be "
                    f"read row by row. Save it with np.ascontiguousarray({member.name})."
                )
            if member.fortran:
                self._check_whole(member.name, member.nbytes)
            yield Rows(self.path, member, file)

    def content(self, name: str) -> bytes:
        """Read any member as a whole."""
        info = self._info(name)
        self._check_size(info, name, info.file_size)
        self._check_whole(name, info.file_size)
        self._whole_left -= info.file_size
        with self._reading():
            return self._zip.read(info)

    def _reading(self) -> Any:
        return reading(self.path, self._kind)

    def _checked_names(self) -> list[str]:
        names = self._zip.namelist()
        if len(names) > _MOST_MEMBERS:
            raise FileError(
                f"{self.path} has {len(names):,} members; an archive may have {_MOST_MEMBERS:,} at most."
            )
        name, count = Counter(names).most_common(1)[0] if names else ("", 0)
        if count > 1:
            raise FileError(f"{self.path} has {count} members {name!r}. Write it again, with one of them.")
        return names

    def _info(self, name: str) -> zipfile.ZipInfo:
        """Return the entry of a member, which must exist and be stored or deflated."""
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            there = ", ".join(map(repr, self.arrays[:10])) or "none"
            raise FileError(
                f"{self.path} has no member {name.removesuffix(_SUFFIX)!r}. Its members: {there}."
            ) from None
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileError(
                f"{self.path}: {name!r} is compressed in a way that NumPy does not write. Write it with "
                f"np.savez_compressed."
            )
        return info

    def _check_size(self, info: zipfile.ZipInfo, name: str, size: int, of_what: str = "") -> None:
        """Compare the expected size of a member with what the archive claims and with what it can hold."""
        available = self._file_size - info.header_offset
        most = info.compress_size * (_DEFLATE_AT_BEST if info.compress_type else 1) + 256
        if size != info.file_size or info.compress_size > available or size > most:
            there = f"{info.compress_size:,} compressed" if size == info.file_size else f"{info.file_size:,}"
            raise FileError(
                f"{self.path}: {name!r} should hold {size:,} bytes{of_what}, but {there} are there. The file is "
                f"truncated or damaged; write it again."
            )

    def _check_whole(self, name: str, size: int) -> None:
        if size > self._whole_left:
            raise FileError(
                f"{self.path}: {name!r} is read as a whole, and would take {size:,} bytes, too many for a file of "
                f"{self._file_size:,} bytes. If it is what you want, write it without compression, with np.savez."
            )

    def _described(self, name: str, file: IO[bytes]) -> Member:
        """Read the header of an array."""
        with reading(f"{self.path}: {name!r}", "an array that NumPy wrote"):
            shape, fortran, dtype = _header(file)
        if dtype.hasobject:
            raise FileError(
                f"{self.path}: {name!r} is an array of Python objects, which is never unpickled. Save it as text: "
                f"np.array({name}, dtype=str)."
            )
        if dtype.kind not in _KINDS or dtype.fields is not None or not 0 < dtype.itemsize <= _LONGEST_TEXT:
            raise FileError(f"{self.path}: {name!r} must be an array of numbers or of text, not {dtype}.")
        if min(shape, default=0) < 0 or math.prod(max(1, size) for size in shape) * dtype.itemsize > 1 << 62:
            raise FileError(f"{self.path}: {name!r} cannot have the shape {shape}. Write the file again.")
        return Member(name, dtype, shape, fortran and len(shape) > 1)


@final
class Rows:
    """An array that is read row by row."""

    def __init__(self, path: str, member: Member, file: IO[bytes]) -> None:
        self._path = path
        self._member = member
        self._file = file
        self._whole: NDArray[Any] | None = None
        self._taken = 0

    def take(self, count: int) -> NDArray[Any]:
        """Return the next rows."""
        member = self._member
        with reading(self._path, ".npz"):
            if not member.fortran:
                return _read(self._file, (count, *member.shape[1:]), member.dtype)
            if self._whole is None:
                self._whole = _read(self._file, member.shape[::-1], member.dtype).T
        self._taken += count
        return self._whole[self._taken - count : self._taken]

    def finish(self) -> None:
        """Read past the end, where the checksum is verified."""
        with reading(self._path, ".npz"):
            if self._file.read(1):
                raise EOFError(f"there is more in {self._member.name!r} than its header says")

    def all(self) -> NDArray[Any]:
        """Return the whole array."""
        shape = self._member.shape
        array = self.take(shape[0]) if shape else self.take(1).reshape(())
        self.finish()
        return array


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type with NumPy's own reader, once the header is known to be short."""
    version = np.lib.format.read_magic(file)
    length = file.read(2 if version == (1, 0) else 4)
    size = int.from_bytes(length, "little")
    if size > _LONGEST_HEADER:
        raise ValueError(f"its header takes {size:,} bytes")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(io.BytesIO(length + file.read(size)))


def _read(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Read an array in C order, in the byte order of this machine."""
    array = np.empty(shape, dtype)
    view: Any = array.reshape(-1).view(np.uint8)
    filled = 0
    while filled < array.nbytes:
        got = file.readinto(view[filled : filled + _AT_ONCE])  # type: ignore[attr-defined]
        if not got:
            raise EOFError(f"{array.nbytes - filled:,} bytes are missing at its end")
        filled += got
    return array.astype(dtype.newbyteorder("="), copy=False)
