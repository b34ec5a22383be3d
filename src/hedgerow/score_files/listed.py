"""Score files that list a few classes for each example, instead of a column for every class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from hedgerow.errors import FileError, ScoreError, argument
from hedgerow.files import open_text, require_file
from hedgerow.score_files.reader import row_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from hedgerow.score_files.binding import Lineage
    from hedgerow.tree import Indices

_CHARACTERS = 1 << 24  # of text at a time

Listing = Literal["lineages", "top"]
"""What is listed: one lineage with a likelihood for each of its steps, or classes with their own mass."""


@final
@dataclass(frozen=True, eq=False)
class Entries:
    """What is listed for some consecutive examples of a file."""

    place: Indices
    """The first line or row of each example."""
    texts: dict[str, list[str]]
    """What is known about each example, by its key in `PER_EXAMPLE`."""
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


@final
class SeenIds:
    """The ids of a file; none may stand there twice."""

    def __init__(self, path: str, remedy: str) -> None:
        self._path = path
        self._remedy = remedy
        self._earlier: list[list[str]] = []
        self._seen = {""}

    def add(self, ids: list[str], where: Callable[[int], str]) -> None:
        """Add the ids of some more examples; `where` names the place of each."""
        before = len(self._seen)
        self._seen.update(ids)
        if len(self._seen) < before + len(ids):
            self._refuse(ids, where)
        self._earlier.append(ids)

    def _refuse(self, ids: list[str], where: Callable[[int], str]) -> None:
        if "" in ids:
            raise ScoreError(f"{self._path}: {where(ids.index(''))} has no id. Give every example one.")
        seen = set(chain.from_iterable(self._earlier))
        for place, name in enumerate(ids):
            if name in seen:
                raise ScoreError(
                    f"{self._path}: the id {name!r} stands there twice, the second time in {where(place)}. "
                    f"{self._remedy}"
                )
            seen.add(name)


def line_blocks(path: str, rows: int) -> Iterator[tuple[Indices, Any]]:
    """Yield the lines of a UTF-8 file that are not blank, as an Arrow array, with their numbers.

    At most so many come at a time.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    require_file(path)
    first = 1
    try:
        with open_text(path) as file:
            while text := file.read(_CHARACTERS) + file.readline():
                lines = pc.split_pattern(pa.array([text.removesuffix("\n")]), "\n").flatten()
                filled = np.flatnonzero(pc.not_equal(lines, "").to_numpy(zero_copy_only=False))
                for start in range(0, len(filled), rows):
                    block = filled[start : start + rows]
                    yield first + block, lines.take(pa.array(block))
                first += len(lines)
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8, after line {first:,}: {error}. Save it as UTF-8.") from None
