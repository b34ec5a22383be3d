"""What readers of score files yield: raw blocks, with names and numbers as they stand in the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from hedgerow.errors import ScoreError, argument
from hedgerow.files import reading, row_name
from hedgerow.score_files.lineage_binding import Lineage, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Indices

Content = Literal["probabilities", "logits", "likelihoods"]
"""What scores are: probabilities (of leaves or nodes), logits of leaves, likelihoods of nodes on some scale."""
Listing = Literal["lineages", "top"]
"""What is listed: one lineage with a likelihood for each of its steps, or classes with their own mass."""

LABELS_AS_NUMBERS = "If they are numbers of classes, write their names: an order is never guessed."
_LISTED_ROWS = 1 << 17
_WIDE_BYTES = 1 << 25  # of likelihoods, or of what the file holds of the same rows


class ScoreReader(ABC):
    """A score file, opened: what it holds is known, its rows are not read yet."""

    path: str
    rows: int | None = None
    """Number of examples, where the file tells it in advance."""
    has: frozenset[str] = frozenset({"ids"})
    """What the file says about each example: keys of `PER_EXAMPLE`."""

    @property
    def missing_labels(self) -> str:
        """What to do if labels are needed and not there."""
        return f"Give a table of them, with columns 'id' and 'label': {argument('labels_file', 'FILE')}."

    def require_labels(self) -> None:
        """Raise an error if the file has no labels."""
        if "labels" not in self.has:
            raise ScoreError(f"{self.path} needs labels for this. {self.missing_labels}")

    @abstractmethod
    def rows_at_a_time(self, nodes: int) -> int:
        """Return how many rows to read at a time for a tree with this number of nodes."""

    @abstractmethod
    def read(self, rows: int, keys: frozenset[str]) -> Iterator[Any]:
        """Yield raw blocks of about `rows` rows, with the requested texts about each example."""


# A column for every class --------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class WideBlock:
    """Some consecutive rows of a file with one column per class."""

    start: int
    """Number of the first row."""
    scores: NDArray[Any]
    """[rows, classes]"""
    texts: dict[str, list[str]]
    """The requested texts about each example, by their key in `PER_EXAMPLE`."""


class WideReader(ScoreReader):
    """A file with one column per class."""

    classes: list[str]
    """Names of the score columns."""
    content: Content = "probabilities"
    """What the file itself says that its scores are."""
    scale: Scale = "probability"
    """The scale of likelihoods."""
    taken_by_name: tuple[str, ...] = ()
    """Columns of a table that are taken to be about the examples because of their names alone."""
    is_table: bool = False

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores; columns that are not numbers are refused here, once their names are known to fit."""

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """Memory that one row takes, roughly."""

    def rows_at_a_time(self, nodes: int) -> int:
        """Return how many rows to read at a time for a tree with this number of nodes."""
        return max(1, _WIDE_BYTES // max(8 * nodes, self.row_bytes))

    @abstractmethod
    def labels(self) -> list[str]:
        """Return all labels, without reading the scores."""


# A few classes for each example --------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class ListedBlock:
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


class ListReader(ScoreReader):
    """A file that lists a few classes for each example."""

    listing: Listing
    lineages: Lineages
    """The lineages found so far."""
    line_based: bool = False
    """Whether examples are found again by line, counted from 1, or by row, counted from 0."""

    def rows_at_a_time(self, nodes: int) -> int:  # noqa: ARG002
        """Return how many rows to read at a time."""
        return _LISTED_ROWS

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


class ExampleReader(ListReader):
    """A file that a plain function reads, example by example: for formats of your own.

    Parameters
    ----------
    path
        The file.
    examples
        From the path to an id, the names of the listed classes, and their scores, for each example in turn.
    parse
        From the name of a class to a lineage; by default, it is the name of a node.
    """

    listing = "top"

    def __init__(
        self,
        path: str,
        examples: Callable[[str], Iterable[tuple[str, Sequence[str], Sequence[float]]]],
        parse: Callable[[str], Lineage] = lambda name: (Step("", (name,)),),
    ) -> None:
        self.path = path
        self._examples = examples
        self.lineages = Lineages(parse)

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` examples."""
        import pyarrow as pa

        left, start = iter(self._examples(self.path)), 0
        while block := list(islice(left, rows)):
            count = [len(scores) for _, _, scores in block]
            with reading(self.path, "UTF-8"):  # JSON may hold halves of characters
                ids = pa.array([name for name, _, _ in block], pa.string())
                classes = pa.array([name for _, names, _ in block for name in names], pa.string())
            yield ListedBlock(
                place=np.arange(start, start + len(block)),
                texts={"ids": ids},
                row=np.repeat(np.arange(len(block)), count),
                lineage=self.lineages.numbers(classes),
                step=None,
                value=np.array([score for _, _, scores in block for score in scores], dtype=np.float64),
            )
            start += len(block)


def repeated(ids: Any) -> tuple[int, int] | None:
    """Return the positions of the first duplicate in an Arrow array.

    >>> import pyarrow as pa
    >>> repeated(pa.array(["a", "b", "c", "b", "a"])), repeated(pa.array(["a", "b"]))
    ((1, 3), None)
    """
    number = ids.dictionary_encode().indices.to_numpy()  # in the order in which they come
    again = np.flatnonzero(number != np.arange(len(number)))
    return (int(number[again[0]]), int(again[0])) if len(again) else None
