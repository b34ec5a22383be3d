"""Blocks of examples, and scores from any source as an iterable of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import counted
from hedgerow.likelihood import (
    Likelihoods,
    Prior,
    Scale,
    SparseLikelihoods,
    Treatment,
    tempered,
    with_prior,
)
from hedgerow.tree import Hierarchy, Indices, Names, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hedgerow.score_files.event_pooling import EventPooling


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
    temperature: float = 1.0
    """The number that the scores are divided by."""
    prior: Prior | None = None
    """The prior that the likelihoods get then."""
    pooling: EventPooling | None = None
    """How the examples of events are pooled at last."""
    warnings: list[str] = field(default_factory=list)
    """Likely mistakes; complete once everything has been read."""

    def __iter__(self) -> Iterator[Block]:
        found: list[str] = []
        blocks = self._prepared(iter(self.read(found)), found)
        if self.pooling is not None:
            blocks = self.pooling.blocks(lambda: iter(self.read([])), blocks, found)
        yield from blocks
        self.warnings[:] = found

    def _prepared(self, blocks: Iterator[Block], remarks: list[str]) -> Iterator[Block]:
        """Yield blocks with the temperature and the prior."""
        impossible = 0
        for block in blocks:
            q: Any = block.likelihoods
            if self.temperature != 1:
                q = tempered(self.hierarchy, q, self.temperature)
            if self.prior is not None:
                before = q.below_root()
                q = with_prior(self.hierarchy, q, self.prior, block.groups)
                impossible += int((before & ~q.below_root()).sum())
            yield block if q is block.likelihoods else replace(block, likelihoods=q)
        if impossible:
            remarks.append(
                f"{counted(impossible, 'example has', 'examples have')} no class that the prior allows: the "
                f"answer "
                f"there is the root."
            )

    @property
    def treatment(self) -> Treatment:
        """What is done to the likelihoods."""
        digest = None if self.prior is None else self.prior.digest
        return Treatment(self.temperature, digest, None if self.pooling is None else self.pooling.how)

    def tempered(self, temperature: float) -> Scores:
        """Return the scores divided by a temperature, before anything else is done: see `likelihood.tempered`."""
        return replace(self, temperature=temperature, warnings=[])
