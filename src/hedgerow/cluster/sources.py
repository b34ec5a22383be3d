"""Parts of the data: score files, local or in object stores, or examples made on the spot."""

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
from hedgerow.score_files import Block, LabelFile, ScoreReading, Scores, open_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hedgerow.tree import Hierarchy

_PART_BYTES = 1 << 28
_OF_LONG_TABLES = {"id", "class", "score"}  # in which an example has several rows


class Source(ABC):
    """A part of the data, which can be sent to another process and opened there."""

    name: str
    """What messages call the part; its examples have the place that this name has among the others."""

    @abstractmethod
    def opened(self, hierarchy: Hierarchy, *, labels: bool) -> Any:
        """Return a context manager for the examples: a score file, or blocks."""

    def divided(self, part_bytes: int) -> list[Source]:  # noqa: ARG002
        """Return smaller parts of about so many bytes, if the part can be divided."""
        return [self]


@final
@dataclass(frozen=True)
class FileSource(Source):
    """A score file; one in an object store, such as `s3://bucket/part.npz`, is copied to a temporary file."""

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
        joined = LabelFile.of(hierarchy, self.reading, labels=labels, part=True) or labels
        if not is_remote(self.path):
            yield open_scores(self.path, hierarchy, self.reading, labels=joined, row_groups=self.row_groups)
            return
        with _local_copy(self.path) as copy:
            try:
                yield open_scores(copy, hierarchy, self.reading, labels=joined, row_groups=self.row_groups)
            except HedgerowError as error:
                raise type(error)(str(error).replace(copy, self.path)) from error

    def divided(self, part_bytes: int) -> list[Source]:
        """Divide a local Parquet file with one example per row, by its row groups."""
        if is_remote(self.path) or not self.path.lower().endswith(".parquet"):
            return [self]
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
class MadeSource(Source):
    """Examples that a function makes where they are needed, for simulations and for formats of your own.

    Parameters
    ----------
    name
        The name of the part.
    make
        From the tree to blocks of examples; it must be possible to pickle it.
    """

    name: str
    make: Callable[[Hierarchy], Iterable[Block]]

    @contextmanager
    def opened(self, hierarchy: Hierarchy, *, labels: bool) -> Iterator[Iterable[Block]]:  # noqa: ARG002
        """Make the examples."""
        yield self.make(hierarchy)


def as_sources(parts: Iterable[str | os.PathLike[str] | Source], reading: ScoreReading | None) -> list[Source]:
    """Return parts as sources, in the order of their names; one that comes twice is an error."""
    how = (reading or ScoreReading()).resolved()
    sources = [part if isinstance(part, Source) else FileSource(os.fspath(part), how) for part in parts]
    if not sources:
        raise ParameterError("There are no parts.")
    _refuse_repeated(
        (replace(source, path=_real(source.path)).name if isinstance(source, FileSource) else source.name)
        for source in sources
    )
    return sorted(sources, key=lambda source: natural(source.name))


def _real(path: str) -> str:
    """Return the same for every way to write the path of a local file."""
    return path if is_remote(path) else os.path.realpath(path)


def _refuse_repeated(names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ParameterError(f"{name} is given twice. Give it once: it would count twice.")


def divided(sources: Iterable[Source], part_bytes: int = _PART_BYTES) -> list[Source]:
    """Divide large Parquet files into parts by their row groups."""
    return [part for source in sources for part in source.divided(part_bytes)]


def _row_group_bytes(path: str) -> list[int]:
    """Return the size of each row group of a Parquet file; none if its rows are not examples, or it is damaged."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            if set(file.schema_arrow.names) >= _OF_LONG_TABLES:
                return []
            return [file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)]
    except (OSError, pa.ArrowException):
        return []  # what is wrong with it will be said when it is read


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that paths and patterns name, in natural order.

    A file that several patterns match comes once. A path that is given twice is an error.

    Parameters
    ----------
    patterns
        Paths, patterns such as `scores/*.parquet` or `scores/**/*.npz`, or the same with a protocol in front, such
        as `s3://bucket/*.npz`, which need fsspec.
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
        raise FileError(
            f"{path} is not on this machine's disks, and needs fsspec: pip install 'hedgerow[dask]'"
        ) from None
    try:
        files, inner = fsspec.core.url_to_fs(path)
    except (ValueError, ImportError) as error:
        raise FileError(f"{path} cannot be opened: {error}") from None
    return files, str(inner)


@contextmanager
def _local_copy(path: str) -> Iterator[str]:
    """Copy a file from wherever it is to a temporary one, which has the same name."""
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
