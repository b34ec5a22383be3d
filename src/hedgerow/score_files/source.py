"""Where the blocks of a score file come from, and what a block is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.likelihood import Likelihoods, SparseLikelihoods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy, Indices, Names

_ABOUT = ("labels", "ids", "groups", "clusters", "texts", "images")


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive examples of a score file."""

    start: int
    """Row of the first example in the file, counted from 0."""
    likelihoods: Likelihoods | SparseLikelihoods
    """Likelihoods of the rows, with their scale."""
    labels: Indices | None = None
    """Node index of each label."""
    ids: Names | None = None
    groups: Names | None = None
    clusters: Names | None = None
    """Which examples belong together, such as the photographs of one burst."""
    texts: Names | None = None
    images: Names | None = None

    @property
    def q(self) -> NDArray[Any]:
        """The likelihoods as an array [rows, nodes], in node order; float32 or float64."""
        given = self.likelihoods
        values: NDArray[Any] = (given.dense() if isinstance(given, SparseLikelihoods) else given).values
        return values

    @property
    def scale(self) -> Scale:
        """What the likelihoods are: "probability", "log" or "logit"."""
        return self.likelihoods.scale

    def __len__(self) -> int:
        return len(self.likelihoods)

    def at(self, nodes: Indices) -> NDArray[Any]:
        """Return the likelihood of one node for each example."""
        if isinstance(self.likelihoods, SparseLikelihoods):
            return self.likelihoods.at(nodes)
        values: NDArray[Any] = self.likelihoods.values[np.arange(len(nodes)), nodes]
        return values

    def taken(self, rows: NDArray[np.bool_]) -> Block:
        """Return the examples that a mask selects."""
        given = self.likelihoods
        about: dict[str, Any] = {
            key: None if (values := getattr(self, key)) is None else values[rows] for key in _ABOUT
        }
        if isinstance(given, SparseLikelihoods):
            return replace(self, likelihoods=given[rows], **about)
        taken = Likelihoods.checked(given.hierarchy, given.values[rows], given.scale)
        return replace(self, likelihoods=taken, **about)


def as_names(values: list[str]) -> Names:
    """Return texts as an array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


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
