"""Blocks of examples, and how progress over them is reported."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.likelihood import Likelihoods, Scale, SparseLikelihoods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hedgerow.tree import Indices, Names

ABOUT = ("ids", "groups", "clusters", "texts", "images")
"""Optional facts about each example, besides its label."""

_PER_EXAMPLE = ("labels", *ABOUT, "events", "weights")

Advance = Callable[[int], None]
Progress = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Opens a progress bar, given a description and the number of steps (None if unknown); yields a callback that
takes the number of steps since the last call."""


def silent(_what: str, _total: int | None, /) -> AbstractContextManager[Advance]:
    """Report no progress."""
    return nullcontext(lambda _steps: None)


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive examples."""

    start: int
    """Row of the first example in the file, counted from 0."""
    likelihoods: Likelihoods | SparseLikelihoods
    """Likelihoods of the rows, with their scale."""
    labels: Indices | None = None
    """Node index of each label."""
    ids: Names | None = None
    groups: Names | None = None
    clusters: Names | None = None
    """The cluster of each example, such as a burst of photographs."""
    texts: Names | None = None
    images: Names | None = None
    events: Names | None = None
    """The event of each example, as long as the examples of an event are not pooled."""
    weights: NDArray[np.float64] | None = None
    """How likely each example is among new data, relative to the calibration data."""

    @property
    def q(self) -> NDArray[Any]:
        """The likelihoods as an array [rows, nodes], in node order; float32 or float64."""
        given = self.likelihoods
        values: NDArray[Any] = (given.dense() if isinstance(given, SparseLikelihoods) else given).values
        return values

    @property
    def scale(self) -> Scale:
        """The scale of the likelihoods: "probability", "log" or "logit"."""
        return self.likelihoods.scale

    def __len__(self) -> int:
        return len(self.likelihoods)

    def at(self, nodes: Indices) -> NDArray[Any]:
        """Return the likelihood of one node for each example."""
        values: NDArray[Any] = self.likelihoods.at(nodes)
        return values

    def taken(self, rows: NDArray[np.bool_]) -> Block:
        """Return the examples that a mask selects."""
        given = self.likelihoods
        about: dict[str, Any] = {
            key: None if (values := getattr(self, key)) is None else values[rows] for key in _PER_EXAMPLE
        }
        taken = given[rows] if isinstance(given, SparseLikelihoods) else given.taken(rows)
        return replace(self, likelihoods=taken, **about)

    @classmethod
    def joined(cls, parts: Sequence[Block]) -> Block:
        """Return the examples of several blocks, which have the same facts about them, as one."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        about: dict[str, Any] = {
            key: np.concatenate([getattr(part, key) for part in parts])
            for key in _PER_EXAMPLE
            if getattr(parts[0], key) is not None
        }
        given: list[Any] = [part.likelihoods for part in parts]
        sparse = isinstance(given[0], SparseLikelihoods)
        return cls(
            parts[0].start, (SparseLikelihoods.join if sparse else Likelihoods.concatenated)(given), **about
        )
