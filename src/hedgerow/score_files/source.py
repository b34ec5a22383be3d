"""What the readers of score files have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale

Content = Literal["probabilities", "logits", "likelihoods"]
"""What scores are: probabilities (of leaves or nodes), logits of leaves, likelihoods of nodes on some scale."""

PER_EXAMPLE = {"labels": "label", "ids": "id", "groups": "group", "texts": "text", "images": "image"}
"""What a file may say about each example: the member of an `.npz` file and the column of a table."""


def row_name(row: int) -> str:
    """Name a row of a file in an error, so that it can be found again."""
    return f"row {row:,} (counted from 0)"


@final
@dataclass(frozen=True, eq=False)
class RawBlock:
    """Some consecutive rows of a file, as they stand there."""

    start: int
    """Number of the first row."""
    scores: NDArray[Any]
    """[rows, classes]"""
    texts: dict[str, list[str]]
    """The per-example columns that were asked for, by their `.npz` name."""


class Source(ABC):
    """A score file, opened: its columns are known, its rows are not read yet."""

    path: str
    classes: list[str]
    """Names of the score columns."""
    rows: int | None
    """Number of rows, where the file tells it in advance."""
    dtype: np.dtype[Any]
    """Type of the scores."""
    content: Content
    """What the file itself says that its scores are."""
    scale: Scale = "probability"
    """The scale of likelihoods."""
    has: frozenset[str]
    """The per-example columns that are there, by their `.npz` name."""
    missing_labels: str
    """What to say if labels are needed and not there."""

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """Memory that one row takes, roughly."""

    @abstractmethod
    def read(self, rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        """Yield the file in blocks of at most so many rows, with the per-example columns asked for."""
