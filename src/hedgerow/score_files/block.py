"""Some consecutive examples of a score file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.likelihood import Likelihoods, SparseLikelihoods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Indices, Names

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
