"""Events: the examples of a burst, a sequence or a specimen become one, in files larger than memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import ScoreError, counted, some
from hedgerow.likelihood import Pooling, numbered, pool
from hedgerow.score_files.examples import FACTS, Block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy, Indices


@final
@dataclass(frozen=True)
class EventPooling:
    """Pools the examples of each event, wherever in the file they are."""

    how: Pooling
    path: str
    """The file, for messages."""
    finish: Callable[[Iterator[Block], list[str]], Iterator[Block]]
    """Leaves out the events that have no label."""

    def blocks(
        self, read: Callable[[], Iterator[Block]], blocks: Iterator[Block], remarks: list[str]
    ) -> Iterator[Block]:
        """Yield blocks of events, given a function that reads the examples, and the prepared blocks of them."""
        return self.finish(self._pooled(read, blocks), remarks)

    def _pooled(self, read: Callable[[], Iterator[Block]], blocks: Iterator[Block]) -> Iterator[Block]:
        held, following = next(blocks, None), next(blocks, None)
        if held is None:
            return
        last = self._last_rows(iter(()) if following is None else read())
        rows, written = len(held), 0
        while True:
            names = self._events(held)
            ends = np.array([last.get(name, -1) for name in names.tolist()], dtype=np.int64)
            whole = ends < rows
            if whole.any():
                part = self._one_each(held.take(whole))
                yield replace(part, start=written)
                written += len(part)
            if following is None:
                return
            left = held.take(~whole)
            held, rows = Block.concatenate([left, following]), rows + len(following)
            following = next(blocks, None)

    def _last_rows(self, blocks: Iterator[Block]) -> dict[str, int]:
        """Return the last row of each event."""
        last: dict[str, int] = {}
        row = 0
        for block in blocks:
            last.update(zip(self._events(block).tolist(), range(row, row + len(block)), strict=True))
            row += len(block)
        return last

    def _events(self, block: Block) -> NDArray[np.object_]:
        if block.events is None:
            raise ScoreError(f"{self.path} has no column of events.")
        blank = np.flatnonzero(block.events == "")
        if len(blank):
            raise ScoreError(
                f"{self.path}: the event is blank for {counted(len(blank), 'example', 'examples')}, the first in "
                f"row {block.start + blank[0]:,} (counted from 0). Give every example one: its own if it is alone."
            )
        events: NDArray[np.object_] = block.events
        return events

    def _one_each(self, block: Block) -> Block:
        """Pool whole events."""
        hierarchy = block.likelihoods.hierarchy
        pooled, names = pool(hierarchy, block.likelihoods, self._events(block), self.how)
        _, member = numbered(self._events(block))
        first = np.unique(member, return_index=True)[1]
        for key in (name for name, fact in FACTS.items() if fact.shared and name in block.examples):
            values = block.examples[key]
            if len(differ := np.flatnonzero(values != values[first[member]])):
                entry = differ[0]
                raise ScoreError(
                    f"{self.path}: the examples of the event {names[member[entry]]!r} have different {key}: "
                    f"{str(values[first[member[entry]]])!r} and {str(values[entry])!r}. Give them one."
                )
        labels = None if block.labels is None else self._labels(hierarchy, block.labels, member, names)
        return Block(0, pooled, block.examples.take(first).join(labels=labels, ids=names, events=None))

    def _labels(
        self, hierarchy: Hierarchy, labels: Indices, member: Indices, names: NDArray[np.object_]
    ) -> Indices:
        """Return the deepest label of each event; those of its examples must be above it."""
        depth = np.where(labels < 0, labels, hierarchy.depth[np.maximum(labels, 0)])
        order = np.lexsort((depth, member))
        deepest = labels[order[np.searchsorted(member[order], np.arange(len(names)), side="right") - 1]]
        here = deepest[member]
        apart = (labels >= 0) & ~hierarchy.is_ancestor(np.maximum(labels, 0), np.maximum(here, 0))
        if apart.any():
            events = list(dict.fromkeys(names[member[apart]].tolist()))
            one = int(np.argmax(apart))
            pair = hierarchy.names[[labels[one], here[one]]].tolist()
            raise ScoreError(
                f"{self.path}: {counted(len(events), 'event has', 'events have')} labels from two clades: "
                f"{some(events)}; the first, {some(pair)}. An event has one label: correct them, or divide the "
                f"event."
            )
        return deepest
