"""What the readers of score files have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale

Content = Literal["probabilities", "logits", "likelihoods"]
"""What scores are: probabilities (of leaves or nodes), logits of leaves, likelihoods of nodes on some scale."""

PER_EXAMPLE = {
    "labels": "label",
    "ids": "id",
    "groups": "group",
    "clusters": "cluster",
    "texts": "text",
    "images": "image",
}
"""What a file may say about each example: the member of an `.npz` file, and the usual column of a table."""

LABELS_AS_NUMBERS = "If they are numbers of classes, write their names: an order is never guessed."


def row_name(row: int) -> str:
    """Name a row of a file in an error, so that it can be found again."""
    return f"row {row:,} (counted from 0)"


def repeated(ids: Any) -> tuple[int, int] | None:
    """Return where the first text of an Arrow array that stands there twice is, both times.

    >>> import pyarrow as pa
    >>> repeated(pa.array(["a", "b", "c", "b", "a"])), repeated(pa.array(["a", "b"]))
    ((1, 3), None)
    """
    number = ids.dictionary_encode().indices.to_numpy()  # in the order in which they come
    again = np.flatnonzero(number != np.arange(len(number)))
    return (int(number[again[0]]), int(again[0])) if len(again) else None


@final
@dataclass(frozen=True, eq=False)
class RawBlock:
    """Some consecutive rows of a file, as they stand there."""

    start: int
    """Number of the first row."""
    scores: NDArray[Any]
    """[rows, classes]"""
    texts: dict[str, list[str]]
    """What was asked for about each example, by its key in `PER_EXAMPLE`."""


class Reader(ABC):
    """A score file, opened: its columns are known, its rows are not read yet."""

    path: str
    classes: list[str]
    """Names of the score columns."""
    rows: int | None
    """Number of rows, where the file tells it in advance."""
    content: Content
    """What the file itself says that its scores are."""
    scale: Scale = "probability"
    """The scale of likelihoods."""
    has: frozenset[str]
    """What is there about each example: keys of `PER_EXAMPLE`."""
    taken_by_name: tuple[str, ...] = ()
    """Columns of a table that are taken to be about the examples because of their names alone."""
    is_table: bool = False
    missing_labels: str
    """What to say if labels are needed and not there."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores; columns that are not numbers are refused here, once their names are known to fit."""

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """Memory that one row takes, roughly."""

    @abstractmethod
    def read(self, rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        """Yield the file in blocks of at most so many rows, with what was asked for about each example."""

    @abstractmethod
    def labels(self) -> list[str]:
        """Return all labels, without reading the scores."""
