"""Parts of the data: score files, local or in object stores, or examples computed by a function."""

from __future__ import annotations

import glob
import os
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, final

from hedgerow.errors import FileError, HedgerowError, ParameterError
from hedgerow.files import is_pattern, is_remote
from hedgerow.measure import natural
from hedgerow.score_files import Block, ScoreReading, Scores, open_label_file, open_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hedgerow.tree import Hierarchy

_PART_BYTES = 1 << 28
_LONG_COLUMNS = {"id", "class", "score"}  # of a table in which an example has several rows


class DataPart(ABC):
    """A part of the data that can be sent to another process and opened there."""

    name: str
    """What messages call the part; examples are ordered by it."""

    @abstractmethod
    def opened(self, hierarchy: Hierarchy, *, labels: bool) -> Any:
        """Return a context manager for the examples: a score file, or blocks."""

    def divided(self, part_bytes: int) -> list[DataPart]:  # noqa: ARG002
        """Return smaller parts of about `part_bytes` bytes, if the part can be divided."""
        return [self]


@final
@dataclass(frozen=True)
class FilePart(DataPart):
    """A score file; a remote one, such as `s3://bucket/part.npz`, is copied to a temporary file."""

    path: str
    reading: ScoreReading = field(default_factory=ScoreReading)
    """How to read it."""
    row_groups: range | None = None
    """Of a Parquet file, only these row groups."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """The path, and the row groups if it is not the whole file."""
        groups = self.row_groups
        return self.path if groups is None else f"{self.path} [row groups {groups.start} to {groups.stop - 1}]"

    @contextmanager
    def opened(self, hierarchy: Hierarchy, *, labels: bool) -> Iterator[Scores]:
        """Open the file with a tree."""
        joined = open_label_file(hierarchy, self.reading, labels=labels, part=True) or labels
        if not is_remote(self.path):
            yield open_scores(self.path, hierarchy, self.reading, labels=joined, row_groups=self.row_groups)
            return
        with _local_copy(self.path) as copy:
            try:
                yield open_scores(copy, hierarchy, self.reading, labels=joined, row_groups=self.row_groups)
            except HedgerowError as error:
                raise type(error)(str(error).replace(copy, self.path)) from error

    def divided(self, part_bytes: int) -> list[DataPart]:
        """Divide a local Parquet file with one example per row, by its row groups."""
        if is_remote(self.path) or not self.path.lower().endswith(".parquet") or self.reading.event_column:
            return [self]  # an event may have examples in any row group
        sizes = _row_group_bytes(self.path)
        if self.reading.scores_format not in ("auto", "wide") or len(sizes) < 2:
            return [self]
        starts = [0]
        held = 0
        for group, size in enumerate(sizes):
            if held and held + size > part_bytes:
                starts.append(group)
                held = 0
            held += size
        if len(starts) == 1:
            return [self]
        return [replace(self, row_groups=range(a, b)) for a, b in pairwise([*starts, len(sizes)])]


@final
@dataclass(frozen=True)
class ComputedPart(DataPart):
    """Examples that a function computes on the worker, for simulations and for formats of your own.

    Parameters
    ----------
    name
        The name of the part.
    make
        A function from the tree to blocks of examples, which can be pickled.
    """

    name: str
    make: Callable[[Hierarchy], Iterable[Block]]

    @contextmanager
    def opened(self, hierarchy: Hierarchy, *, labels: bool) -> Iterator[Iterable[Block]]:  # noqa: ARG002
        """Compute the examples."""
        yield self.make(hierarchy)


def as_parts(parts: Iterable[str | os.PathLike[str] | DataPart], reading: ScoreReading | None) -> list[DataPart]:
    """Return files and parts as parts, ordered by name; a duplicate is an error."""
    how = (reading or ScoreReading()).resolved()
    found = [part if isinstance(part, DataPart) else FilePart(os.fspath(part), how) for part in parts]
    if not found:
        raise ParameterError("There are no parts: give at least one.")
    _refuse_repeated(
        replace(part, path=_real(part.path)).name if isinstance(part, FilePart) else part.name for part in found
    )
    return sorted(found, key=lambda part: natural(part.name))


def _real(path: str) -> str:
    """Return the one path of a local file, however it is written."""
    return path if is_remote(path) else os.path.realpath(path)


def _refuse_repeated(names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ParameterError(f"{name} is given twice, and would count twice. Give it once.")


def divided(parts: Iterable[DataPart], part_bytes: int = _PART_BYTES) -> list[DataPart]:
    """Divide large Parquet files into parts by their row groups."""
    return [smaller for part in parts for smaller in part.divided(part_bytes)]


def _row_group_bytes(path: str) -> list[int]:
    """Return the size of each row group of a Parquet file; none if its rows are not examples, or it is damaged."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            if set(file.schema_arrow.names) >= _LONG_COLUMNS:
                return []
            return [file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)]
    except (OSError, pa.ArrowException):
        return []  # reading it will say what is wrong


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that paths and patterns name, in natural order.

    A file that several patterns match comes once. A path that is given twice is an error.

    Parameters
    ----------
    patterns
        Paths, patterns such as `scores/*.parquet` or `scores/**/*.npz`, or the same with a protocol in front, such
        as `s3://bucket/*.npz`, which needs fsspec.
    """
    _refuse_repeated(_real(pattern) for pattern in patterns if not is_pattern(pattern))
    found: dict[str, str] = {}
    for pattern in patterns:
        matches = _matches(pattern)
        if not matches:
            raise FileError(f"No file matches {pattern}. Check the pattern and the folder.")
        for path in sorted(matches, key=natural):
            found.setdefault(_real(path), path)
    return sorted(found.values(), key=natural)


def _matches(pattern: str) -> list[str]:
    if is_remote(pattern):
        files, inner = _file_system(pattern)
        if not glob.has_magic(inner):
            return [pattern]
        return [str(files.unstrip_protocol(path)) for path in files.glob(inner)]
    if not is_pattern(pattern):
        return [pattern]
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207  (a pattern need not start with a folder)
    return [path for path in found if Path(path).is_file()]


def _file_system(path: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ModuleNotFoundError:
        raise FileError(f"{path} is a remote file, which needs fsspec: pip install 'hedgerow[dask]'") from None
    try:
        files, inner = fsspec.core.url_to_fs(path)
    except (ValueError, ImportError) as error:
        raise FileError(f"{path} cannot be opened: {error}") from None
    return files, str(inner)


@contextmanager
def _local_copy(path: str) -> Iterator[str]:
    """Copy a remote file to a temporary one with the same name."""
    files, inner = _file_system(path)
    with tempfile.TemporaryDirectory(prefix="hedgerow-") as folder:
        target = str(Path(folder, PurePosixPath(inner).name or "part"))
        try:
            files.get_file(inner, target)
        except FileNotFoundError:
            raise FileError(f"{path} does not exist.") from None
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error}") from None
        yield target
