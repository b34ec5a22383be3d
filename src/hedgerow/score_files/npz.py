"""Score files in NumPy's `.npz`: members read in blocks of rows, stored or deflated, never unpickled."""

from __future__ import annotations

import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, HedgerowError, ScoreError, closest, some
from hedgerow.files import require_file
from hedgerow.likelihood import BOTTOM
from hedgerow.score_files.source import PER_EXAMPLE, RawBlock, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.score_files.source import Content

WHOLE_LIMIT = 1 << 32
"""Bytes up to which an array in Fortran order is read whole; its rows cannot be read one after another."""

_DEFLATE_AT_BEST = 1100  # deflate shrinks nothing more than about 1,032 times
_CONTENTS: tuple[Content, ...] = ("probabilities", "logits", "likelihoods")
_ERRORS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError, ValueError)


@final
@dataclass(frozen=True)
class Member:
    """An array inside the archive, as its header describes it."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool

    @property
    def row_bytes(self) -> int:
        """Size of one row."""
        return int(np.prod(self.shape[1:], dtype=object)) * self.dtype.itemsize


@final
class NpzSource(Source):
    """The rows of an `.npz` score file; without `labels`, those are not looked at, whatever they are."""

    def __init__(self, path: str, *, labels: bool = True) -> None:
        require_file(path)
        self.path = path
        self._keys = [key for key in PER_EXAMPLE if labels or key != "labels"]
        with self._archive() as archive:
            self._members = {
                key: self._header(archive, f"{key}.npy") for key in self._wanted(archive) if key != "classes"
            }
            self.classes = self._names(archive)
            if "likelihoods" in self._members and "scale.npy" in archive.namelist():
                self.scale = self._read_scale(archive)
        self.content = next(content for content in _CONTENTS if content in self._members)
        self._scores = self._members[self.content]
        self.rows = self._checked_shapes()
        self.dtype = self._scores.dtype
        self.has = frozenset(self._members) & PER_EXAMPLE.keys()
        self.missing_labels = "It has no member 'labels': save it with np.savez(..., labels=names)."

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        """Yield the file in blocks of so many rows, with the per-example members asked for."""
        members = [self._scores, *(self._members[key] for key in sorted(keys))]
        with self._archive() as archive, ExitStack() as stack:
            columns = [stack.enter_context(self._open(archive, member)) for member in members]
            total = self._scores.shape[0]
            for start in range(0, total, rows):
                count = min(rows, total - start)
                scores, *extras = (column.take(count) for column in columns)
                texts = {m.name: self._texts(m, a) for m, a in zip(members[1:], extras, strict=True)}
                yield RawBlock(start, scores, texts)
            for column in columns:
                column.finish()

    @property
    def row_bytes(self) -> int:
        """Size of one row of all members together."""
        return sum(member.row_bytes for member in self._members.values())

    # Opening -----------------------------------------------------------------------------------------------

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                yield archive
        except HedgerowError:
            raise
        except _ERRORS as error:
            raise FileError(
                f"{self.path} cannot be read as .npz: {str(error).rstrip('.') or type(error).__name__}. It may be "
                f"truncated or damaged; copy or write it again."
            ) from error

    def _wanted(self, archive: zipfile.ZipFile) -> list[str]:
        present = [name.removesuffix(".npy") for name in archive.namelist()]
        if "classes" not in present:
            raise FileError(
                f"{self.path} has no member 'classes', the names of the score columns. Save it with "
                f"np.savez(..., classes=names): an order is never guessed.{closest(['classes'], present)}"
            )
        found = [name for name in _CONTENTS if name in present]
        if len(found) != 1:
            trouble = f"has {some(found)}" if found else "has no scores"
            raise FileError(
                f"{self.path} {trouble}; it must hold exactly one of {', '.join(map(repr, _CONTENTS))}. Its "
                f"members: {', '.join(present)}."
            )
        return ["classes", *found, *(key for key in self._keys if key in present)]

    def _header(self, archive: zipfile.ZipFile, name: str) -> Member:
        """Read what a member says about itself, and compare that with its size before anything is allocated."""
        info = archive.getinfo(name)
        key = name.removesuffix(".npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileError(f"{self.path}: {key!r} is compressed in a way that NumPy does not write.")
        available = Path(self.path).stat().st_size - info.header_offset
        most = info.compress_size * (_DEFLATE_AT_BEST if info.compress_type else 1)
        with archive.open(name) as file:
            member = self._parsed(key, file)
            size = file.tell() + int(np.prod(member.shape, dtype=object)) * member.dtype.itemsize
        if size != info.file_size or info.compress_size > available or size > most + 256:
            raise FileError(
                f"{self.path}: {key!r} should hold {size:,} bytes for {member.dtype} of shape {member.shape}, but "
                f"{info.file_size:,} are there. The file is truncated or damaged; write it again."
            )
        return member

    def _parsed(self, key: str, file: IO[bytes]) -> Member:
        try:
            version = np.lib.format.read_magic(file)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"npy format {version} is not that of numbers or text")
            read = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read(file)
        except (ValueError, SyntaxError, OverflowError) as error:
            raise FileError(f"{self.path}: {key!r} is not an array that NumPy wrote: {error}.") from None
        if dtype.hasobject:
            raise FileError(
                f"{self.path}: {key!r} is an array of Python objects, which is never unpickled. Save it as text: "
                f"np.array({key}, dtype=str)."
            )
        return Member(key, dtype, shape, fortran and len(shape) > 1)

    @contextmanager
    def _open(self, archive: zipfile.ZipFile, member: Member) -> Iterator[_Rows]:
        with archive.open(f"{member.name}.npy") as file:
            self._parsed(member.name, file)
            if not member.fortran:
                yield _Rows(member, file)
                return
            whole = member.row_bytes * member.shape[0]
            if whole > WHOLE_LIMIT:
                raise FileError(
                    f"{self.path}: {member.name!r} is in Fortran order, {whole:,} bytes that cannot be read row "
                    f"by row. Save it with np.ascontiguousarray({member.name})."
                )
            yield _Rows(member, file, _read(file, (member.shape[::-1]), member.dtype).T)

    # Checks ------------------------------------------------------------------------------------------------

    def _names(self, archive: zipfile.ZipFile) -> list[str]:
        member = self._header(archive, "classes.npy")
        if len(member.shape) != 1 or member.dtype.kind != "U":
            raise FileError(
                f"{self.path}: 'classes' must be a list of names, not {member.dtype} of shape {member.shape}. "
                f"Numbers would be a guess at an order; save the names."
            )
        with self._open(archive, member) as column:
            names = column.take(member.shape[0])
            column.finish()
        return [str(name) for name in names.tolist()]

    def _read_scale(self, archive: zipfile.ZipFile) -> Scale:
        member = self._header(archive, "scale.npy")
        with archive.open("scale.npy") as file:
            self._parsed("scale", file)
            scale = str(_read(file, member.shape, member.dtype)) if not member.shape else None
        for known in BOTTOM:
            if scale == known:
                return known
        raise FileError(f"{self.path}: 'scale' must be one of {', '.join(map(repr, BOTTOM))}, as text.")

    def _checked_shapes(self) -> int:
        scores = self._scores
        if len(scores.shape) != 2 or scores.shape[1] != len(self.classes):
            raise ScoreError(
                f"{self.path}: {scores.name!r} must be examples x classes, with one column for each of the "
                f"{len(self.classes):,} 'classes'; its shape is {scores.shape}."
            )
        if scores.dtype.kind not in "fiub":
            raise ScoreError(f"{self.path}: {scores.name!r} must be numbers, not {scores.dtype}.")
        rows = scores.shape[0]
        for key in PER_EXAMPLE:
            member = self._members.get(key)
            if member is not None and member.shape != (rows,):
                raise ScoreError(
                    f"{self.path}: {key!r} must have one entry for each of the {rows:,} examples; its shape is "
                    f"{member.shape}."
                )
        labels = self._members.get("labels")
        if labels is not None and labels.dtype.kind != "U":
            raise ScoreError(
                f"{self.path}: 'labels' must be names of nodes, not {labels.dtype}. If they are numbers of "
                f"classes, save names[labels]: an order is never guessed."
            )
        return rows

    def _texts(self, member: Member, values: NDArray[Any]) -> list[str]:
        if member.dtype.kind == "S":
            try:
                return [value.decode() for value in values.tolist()]
            except UnicodeDecodeError as error:
                raise FileError(f"{self.path}: {member.name!r} is not UTF-8: {error}.") from None
        return [str(value) for value in values.tolist()]


@final
class _Rows:
    """A member being read from its first row to its last."""

    def __init__(self, member: Member, file: IO[bytes], whole: NDArray[Any] | None = None) -> None:
        self._member = member
        self._file = file
        self._whole = whole
        self._taken = 0

    def take(self, count: int) -> NDArray[Any]:
        """Return the next rows."""
        self._taken += count
        if self._whole is not None:
            return self._whole[self._taken - count : self._taken]
        return _read(self._file, (count, *self._member.shape[1:]), self._member.dtype)

    def finish(self) -> None:
        """Read past the end, where the archive's checksum is compared."""
        if self._file.read(1):
            raise EOFError(f"there is more in {self._member.name!r} than its header says")


def _read(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Read an array in C order, in the byte order of this machine."""
    array = np.empty(shape, dtype)
    view: Any = array.reshape(-1).view(np.uint8)
    filled = 0
    while filled < array.nbytes:
        got = file.readinto(view[filled : filled + (1 << 20)])  # type: ignore[attr-defined]
        if not got:
            raise EOFError(f"{array.nbytes - filled:,} bytes are missing at its end")
        filled += got
    return array.astype(dtype.newbyteorder("="), copy=False)
