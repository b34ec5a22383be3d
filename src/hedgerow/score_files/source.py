"""Where the blocks of a score file come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.likelihood import Scale
    from hedgerow.score_files.block import Block
    from hedgerow.tree import Hierarchy

SingleChild = Literal["skip", "answer"]


class Source(ABC):
    """A score file that has been bound to a tree: yields blocks, with the labels that the file itself has."""

    path: str
    hierarchy: Hierarchy
    rows: int | None
    """Number of examples, where the file tells it in advance."""
    has: frozenset[str]
    """What is there about each example: keys of `PER_EXAMPLE`."""
    scale: Scale = "probability"
    block_rows: int
    """How many rows to read at a time, unless told otherwise."""
    warnings: list[str]
    """What is allowed but often a mistake; complete once the file has been read."""

    @abstractmethod
    def blocks(self, rows: int, keys: frozenset[str]) -> Iterator[Block]:
        """Yield the file in blocks of about so many rows, with what was asked for about each example."""
