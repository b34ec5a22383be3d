"""Score files in NumPy's `.npz`: members read in blocks of rows, stored or deflated, never unpickled."""

from __future__ import annotations

import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, HedgerowError, ScoreError, argument, closest, some
from hedgerow.files import require_file
from hedgerow.likelihood import BOTTOM
from hedgerow.score_files.reader import LABELS_AS_NUMBERS, PER_EXAMPLE, RawBlock, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.score_files.reader import Content

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
class NpzFile:
    """The arrays of an `.npz` file.

    Parameters
    ----------
    path
        The file.
    whole_limit
        Bytes up to which an array in Fortran order is read whole; its rows cannot be read one after another.
    """

    def __init__(self, path: str, *, whole_limit: int = 1 << 32) -> None:
        require_file(path)
        self.path = path
        self._whole_limit = whole_limit
        with self.opened() as archive:
            names = archive.namelist()
        self.members = [name.removesuffix(".npy") for name in names if name.endswith(".npy")]

    @contextmanager
    def opened(self) -> Iterator[zipfile.ZipFile]:
        """Open the archive, and say in plain words what the libraries underneath find wrong with it."""
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

    def header(self, archive: zipfile.ZipFile, name: str) -> Member:
        """Read what a member says about itself, and compare that with its size before anything is allocated."""
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileError(f"{self.path}: {name!r} is compressed in a way that NumPy does not write.")
        available = Path(self.path).stat().st_size - info.header_offset
        most = info.compress_size * (_DEFLATE_AT_BEST if info.compress_type else 1)
        with archive.open(info) as file:
            member = self._parsed(name, file)
            size = file.tell() + int(np.prod(member.shape, dtype=object)) * member.dtype.itemsize
        if size != info.file_size or info.compress_size > available or size > most + 256:
            raise FileError(
                f"{self.path}: {name!r} should hold {size:,} bytes for {member.dtype} of shape {member.shape}, "
                f"but {info.file_size:,} are there. The file is truncated or damaged; write it again."
            )
        return member

    def _parsed(self, name: str, file: IO[bytes]) -> Member:
        try:
            version = np.lib.format.read_magic(file)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"npy format {version} is not that of numbers or text")
            read = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read(file)
        except (ValueError, SyntaxError, OverflowError) as error:
            raise FileError(f"{self.path}: {name!r} is not an array that NumPy wrote: {error}.") from None
        if dtype.hasobject:
            raise FileError(
                f"{self.path}: {name!r} is an array of Python objects, which is never unpickled. Save it as text: "
                f"np.array({name}, dtype=str)."
            )
        return Member(name, dtype, shape, fortran and len(shape) > 1)

    @contextmanager
    def rows_of(self, archive: zipfile.ZipFile, member: Member) -> Iterator[_Rows]:
        """Open a member to be read from its first row to its last."""
        with archive.open(f"{member.name}.npy") as file:
            self._parsed(member.name, file)
            if not member.fortran:
                yield _Rows(member, file)
                return
            whole = member.row_bytes * member.shape[0]
            if whole > self._whole_limit:
                raise FileError(
                    f"{self.path}: {member.name!r} is in Fortran order, {whole:,} bytes that cannot be read row "
                    f"by row. Save it with np.ascontiguousarray({member.name})."
                )
            yield _Rows(member, file, _read(file, (member.shape[::-1]), member.dtype).T)

    def whole(self, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
        """Read all of a member."""
        member = self.header(archive, name)
        with archive.open(f"{name}.npy") as file:
            self._parsed(name, file)
            array = _read(file, member.shape[::-1] if member.fortran else member.shape, member.dtype)
            if file.read(1):  # past the end, where the archive's checksum is compared
                raise EOFError(f"there is more in {name!r} than its header says")
        return array.T if member.fortran else array

    def classes(self, archive: zipfile.ZipFile) -> list[str]:
        """Read the names of the score columns."""
        member = self.header(archive, "classes")
        if len(member.shape) != 1 or member.dtype.kind != "U":
            raise FileError(
                f"{self.path}: 'classes' must be a list of names, not {member.dtype} of shape {member.shape}. "
                f"Numbers would be a guess at an order; save the names."
            )
        return self._all_texts(archive, member)

    def labels(self, name: str) -> list[str]:
        """Read a member that holds labels."""
        with self.opened() as archive:
            member = self.header(archive, name)
            self.check_labels(member)
            return self._all_texts(archive, member)

    def check_labels(self, member: Member) -> None:
        """Refuse labels that are not names."""
        if len(member.shape) != 1 or member.dtype.kind != "U":
            raise ScoreError(
                f"{self.path}: {member.name!r} must be a list of names of nodes, not {member.dtype} of shape "
                f"{member.shape}. {LABELS_AS_NUMBERS}"
            )

    def scale(self, archive: zipfile.ZipFile) -> Scale:
        """Read the scale of likelihoods."""
        member = self.header(archive, "scale")
        with archive.open("scale.npy") as file:
            self._parsed("scale", file)
            scale = str(_read(file, member.shape, member.dtype)) if not member.shape else None
        for known in BOTTOM:
            if scale == known:
                return known
        raise FileError(f"{self.path}: 'scale' must be one of {', '.join(map(repr, BOTTOM))}, as text.")

    def _all_texts(self, archive: zipfile.ZipFile, member: Member) -> list[str]:
        with self.rows_of(archive, member) as rows:
            values = rows.take(member.shape[0])
            rows.finish()
        return self.as_texts(member, values)

    def as_texts(self, member: Member, values: NDArray[Any]) -> list[str]:
        """Return entries of a member as text."""
        if member.dtype.kind == "S":
            try:
                return [value.decode() for value in values.tolist()]
            except UnicodeDecodeError as error:
                raise FileError(f"{self.path}: {member.name!r} is not UTF-8: {error}.") from None
        return [str(value) for value in values.tolist()]


@final
class NpzReader(Reader):
    """The rows of an `.npz` score file.

    Parameters
    ----------
    file
        The file.
    labels
        Whether labels are looked at; if not, they may be anything.
    label_column, id_column
        The members that hold labels and ids, where they are not called `labels` and `ids`.
    """

    def __init__(
        self, file: NpzFile, *, labels: bool = True, label_column: str | None = None, id_column: str | None = None
    ) -> None:
        self.path = file.path
        self._file = file
        names = {key: key for key in PER_EXAMPLE} | {
            key: name for key, name in (("labels", label_column), ("ids", id_column)) if name is not None
        }
        if id_column is not None and id_column not in file.members:
            raise FileError(f"{self.path} has no member {id_column!r}. {self._listed_members()}")
        self.content = self._found_content()
        with file.opened() as archive:
            self._scores = file.header(archive, self.content)
            self._about = {
                key: file.header(archive, name)
                for key, name in names.items()
                if name in file.members and (labels or key != "labels")
            }
            self.classes = file.classes(archive)
            if self.content == "likelihoods" and "scale" in file.members:
                self.scale = file.scale(archive)
        self.rows = self._checked_shapes()
        self.has = frozenset(self._about)
        self.missing_labels = (
            f"It has no member {names['labels']!r}: save it with np.savez(..., {names['labels']}=names), or say "
            f"{argument('label_column', 'NAME')} if it is called otherwise. {self._listed_members()}"
        )

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        """Yield the file in blocks of so many rows, with what was asked for about each example."""
        about = {key: self._about[key] for key in sorted(keys)}
        with self._file.opened() as archive, ExitStack() as stack:
            columns = [
                stack.enter_context(self._file.rows_of(archive, member))
                for member in (self._scores, *about.values())
            ]
            total = self._scores.shape[0]
            for start in range(0, total, rows):
                scores, *others = (column.take(min(rows, total - start)) for column in columns)
                texts = {
                    key: self._file.as_texts(member, values)
                    for (key, member), values in zip(about.items(), others, strict=True)
                }
                yield RawBlock(start, scores, texts)
            for column in columns:
                column.finish()

    def labels(self) -> list[str]:
        """Return all labels, without reading the scores."""
        return self._file.labels(self._about["labels"].name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores."""
        return self._scores.dtype

    @property
    def row_bytes(self) -> int:
        """Size of one row of all members together."""
        return sum(member.row_bytes for member in (self._scores, *self._about.values()))

    def _listed_members(self) -> str:
        return f"Its members: {', '.join(self._file.members)}."

    def _found_content(self) -> Content:
        present = self._file.members
        if "classes" not in present:
            raise FileError(
                f"{self.path} has no member 'classes', the names of the score columns. Save it with "
                f"np.savez(..., classes=names): an order is never guessed.{closest(['classes'], present)}"
            )
        found = [content for content in _CONTENTS if content in present]
        if len(found) != 1:
            trouble = f"has {some(found)}" if found else "has no scores"
            raise FileError(
                f"{self.path} {trouble}; it must hold exactly one of {', '.join(map(repr, _CONTENTS))}. "
                f"{self._listed_members()}"
            )
        return found[0]

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
        if "labels" in self._about:
            self._file.check_labels(self._about["labels"])
        for member in self._about.values():
            if member.shape != (rows,):
                raise ScoreError(
                    f"{self.path}: {member.name!r} must have one entry for each of the {rows:,} examples; its "
                    f"shape is {member.shape}."
                )
        return rows


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
