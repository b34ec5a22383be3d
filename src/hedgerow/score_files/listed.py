"""Score files that list a few classes for each example, instead of a column for every class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from hedgerow.errors import FileError, ScoreError, argument
from hedgerow.files import open_binary, require_file
from hedgerow.score_files.binding import Step, as_lineage
from hedgerow.score_files.reader import repeated, row_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.score_files.binding import Lineage
    from hedgerow.tree import Indices

_BYTES = 1 << 24  # of text at a time
_BETWEEN = "\x1f"  # what stands between the names of a row; no name contains it

Listing = Literal["lineages", "top"]
"""What is listed: one lineage with a likelihood for each of its steps, or classes with their own mass."""


@final
@dataclass(frozen=True, eq=False)
class Entries:
    """What is listed for some consecutive examples of a file."""

    place: Indices
    """The first line or row of each example."""
    texts: dict[str, Any]
    """What is known about each example, by its key in `PER_EXAMPLE`: Arrow arrays of text."""
    row: Indices
    """The example of each entry, counted from 0 here; ascending."""
    lineage: Indices
    """Its lineage: a number of `ListReader.lineages`."""
    step: Indices | None
    """Which step of the lineage it is about; None for its end."""
    value: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.place)


class ListReader(ABC):
    """A file that lists classes, opened: its shape is known, its examples are not read yet."""

    path: str
    listing: Listing
    rows: int | None = None
    """Number of examples, where the file tells it in advance."""
    has: frozenset[str] = frozenset({"ids"})
    """What is there about each example: keys of `PER_EXAMPLE`."""
    lineages: Lineages
    """The lineages found so far."""
    line_based: bool = False
    """Whether examples are found again by line, counted from 1, or by row, counted from 0."""

    @property
    def missing_labels(self) -> str:
        """What to say if labels are needed and not there."""
        return f"Give a table of them, with columns 'id' and 'label': {argument('labels_file', 'FILE')}."

    @abstractmethod
    def read(self, rows: int) -> Iterator[Entries]:
        """Yield the file in blocks of about so many examples."""

    def where(self, place: int) -> str:
        """Name a line or row of the file."""
        return f"line {place:,}" if self.line_based else row_name(place)


@final
class Lineages:
    """The distinct lineages of a file, each parsed once.

    Parameters
    ----------
    parse
        From the text of a lineage to its steps.
    """

    def __init__(self, parse: Callable[[str], Lineage]) -> None:
        self._parse = parse
        self._number: dict[str, int] = {}
        self.steps: list[Lineage] = []

    def numbers(self, texts: Any) -> Indices:
        """Return the number of each text of an Arrow array."""
        encoded = texts.dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
        for text in distinct:
            if text not in self._number:
                self._number[text] = len(self.steps)
                self.steps.append(self._parse(text))
        number = np.fromiter(map(self._number.__getitem__, distinct), np.int64, len(distinct))
        places: Indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return number[places] if len(number) else places


def joined_cells(cells: Sequence[Any]) -> Any:
    """Return the cells of each row, in Arrow arrays with one per rank, as one text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*cells, pa.scalar(_BETWEEN, cells[0].type))


def split_cells(text: str, ranks: Sequence[str]) -> Lineage:
    """Return the lineage of cells that `joined_cells` has joined."""
    cells = text.split(_BETWEEN)
    if len(cells) != len(ranks):
        raise ScoreError(f"A name contains the control character {_BETWEEN!r}: {text!r}. Remove it.")
    return as_lineage(Step.of(cell, rank) for rank, cell in zip(ranks, cells, strict=True))


@final
class SeenIds:
    """The ids of a file, none of which may be empty or stand there twice."""

    def __init__(self) -> None:
        self._ids: list[Any] = []
        self._place: list[Indices] = []

    def add(self, entries: Entries) -> None:
        """Add the ids of some more examples."""
        self._ids.append(entries.texts["ids"])
        self._place.append(entries.place)

    def check(self, reader: ListReader) -> None:
        """Compare all ids; at the end, since a set of those seen so far would take several times the memory."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = pa.chunked_array(self._ids, pa.string()).cast(pa.large_string()).combine_chunks()
        empty, twice = pc.index(ids, "").as_py(), repeated(ids)
        if empty >= 0:
            where = reader.where(int(np.concatenate(self._place)[empty]))
            raise ScoreError(f"{reader.path}: {where} has no id. Give every example one.")
        if twice is not None:
            where = reader.where(int(np.concatenate(self._place)[twice[1]]))
            raise ScoreError(
                f"{reader.path}: the id {ids[twice[1]].as_py()!r} stands there twice, the second time in {where}. "
                f"Remove one of them; in a table with several rows per example, put these next to each other."
            )


def line_blocks(path: str, rows: int) -> Iterator[tuple[Indices, Any]]:
    """Yield the lines of a UTF-8 file that are not blank, as an Arrow array, with their numbers.

    At most so many come at a time.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    require_file(path)
    first = 1
    with open_binary(path) as file:
        while data := file.read(_BYTES) + file.readline():
            if first == 1:
                data = data.removeprefix(BOM_UTF8)
            if b"\r" in data:
                data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            _check_encoding(path, data, first)
            ends = pa.py_buffer(np.array([0, len(data)], dtype=np.int32))
            lines = pc.split_pattern(pa.StringArray.from_buffers(1, ends, pa.py_buffer(data)), "\n").flatten()
            lines = lines[: len(lines) - data.endswith(b"\n")]
            filled = pc.not_equal(lines, "")
            place = first + np.flatnonzero(filled.to_numpy(zero_copy_only=False))
            first += len(lines)
            if len(place) < len(lines):
                lines = lines.filter(filled)
            for start in range(0, len(lines), rows):
                yield place[start : start + rows], lines[start : start + rows]


def _check_encoding(path: str, data: bytes, first: int) -> None:
    """Refuse bytes that are not UTF-8, and name the line; `first` is the number of the line where they begin."""
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        raise FileError(
            f"{path}, line {line:,} is not UTF-8: it has the byte 0x{data[error.start]:02x}. Save it as UTF-8."
        ) from None
