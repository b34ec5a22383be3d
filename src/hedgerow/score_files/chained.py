"""Several score files as one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.score_files.score_file import Scores
    from hedgerow.score_files.source import Block


@final
class ChainedScores:
    """The examples of several files, one file after the other.

    Parameters
    ----------
    parts
        The files, all opened with one tree.
    """

    def __init__(self, parts: Sequence[Scores]) -> None:
        self._parts = parts
        self.path = f"{parts[0].path} and {len(parts) - 1} more" if len(parts) > 1 else parts[0].path
        self.hierarchy = parts[0].hierarchy
        self.single_child = parts[0].single_child
        self.warnings: list[str] = []
        """What the files warn of; complete once they have been read."""

    @property
    def rows(self) -> int | None:
        """Number of examples, where all files tell it in advance."""
        known = [part.rows for part in self._parts]
        return None if None in known else sum(rows for rows in known if rows is not None)

    @property
    def has_ids(self) -> bool:
        """Whether all examples have ids."""
        return all(part.has_ids for part in self._parts)

    def __iter__(self) -> Iterator[Block]:
        start = 0
        for part in self._parts:
            for block in part:
                yield replace(block, start=start)
                start += len(block)
        self.warnings[:] = dict.fromkeys(warning for part in self._parts for warning in part.warnings)
