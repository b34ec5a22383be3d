"""Blocks of examples, and scores from any source as an iterable of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from hedgerow.likelihood import Likelihoods, Scale, SparseLikelihoods, tempered
from hedgerow.tree import Hierarchy, Indices, Names, Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


ABOUT = ("ids", "groups", "clusters", "texts", "images")
"""Optional facts about each example, besides its label."""

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
            key: None if (values := getattr(self, key)) is None else values[rows] for key in ("labels", *ABOUT)
        }
        taken = given[rows] if isinstance(given, SparseLikelihoods) else given.taken(rows)
        return replace(self, likelihoods=taken, **about)


@final
@dataclass(frozen=True, eq=False)
class Scores:
    """Likelihoods of examples: iterating yields one `Block` at a time, and reads the file anew."""

    path: str
    hierarchy: Hierarchy
    read: Callable[[list[str]], Iterable[Block]]
    """Yields the blocks, and appends warnings to a list."""
    rows: int | None = None
    """Number of examples, if it is known in advance."""
    has_ids: bool = False
    """Whether the examples have ids."""
    settings: Settings = field(default_factory=Settings)
    """The defaults for the format of the file, used by `evaluate`, `select` and rules."""
    format: str = ""
    """The format of the file: a name in `FORMATS`."""
    warnings: list[str] = field(default_factory=list)
    """Likely mistakes; complete once everything has been read."""

    def __iter__(self) -> Iterator[Block]:
        found: list[str] = []
        yield from self.read(found)
        self.warnings[:] = found

    def mapped(self, step: Callable[[Block], Block]) -> Scores:
        """Return the scores with a function applied to each block."""
        return replace(self, read=lambda warnings: map(step, self.read(warnings)), warnings=[])

    def tempered(self, temperature: float) -> Scores:
        """Return the scores divided by a temperature: see `likelihood.tempered`."""
        return self.mapped(
            lambda block: replace(block, likelihoods=tempered(self.hierarchy, block.likelihoods, temperature))
        )
