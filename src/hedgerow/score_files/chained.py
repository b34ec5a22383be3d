"""Several score files as one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

from hedgerow.errors import ScoreError
from hedgerow.score_files.score_file import open_scores

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from hedgerow.score_files.label_file import LabelFile
    from hedgerow.score_files.score_file import Scores
    from hedgerow.score_files.source import Block
    from hedgerow.tree import Hierarchy

_SHOWN = 5  # warnings in an error


@final
class ChainedScores:
    """The examples of several files, one file after the other.

    Parameters
    ----------
    parts
        The files, all opened with one tree.
    labels
        The file of labels of all of them, if there is one.
    """

    @classmethod
    def opened(
        cls, paths: Sequence[str | os.PathLike[str]], hierarchy: Hierarchy, **reading: Any
    ) -> ChainedScores:
        """Open several files with the keywords of `open_scores`; the labels of all of them are read once."""
        first = open_scores(paths[0], hierarchy, part=True, **reading)
        if first.label_file is not None:
            reading["labels_file"] = first.label_file
        others = [open_scores(path, hierarchy, part=True, **reading) for path in paths[1:]]
        return cls([first, *others], first.label_file)

    def __init__(self, parts: Sequence[Scores], labels: LabelFile | None = None) -> None:
        self._labels = labels
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
            for block in filter(len, part):
                yield replace(block, start=start)
                start += len(block)
        self.warnings[:] = dict.fromkeys(warning for part in self._parts for warning in part.warnings)
        if not start:
            raise ScoreError(" ".join(["There are no examples in these parts.", *self.warnings[:_SHOWN]]))
        if self._labels is not None:
            self.warnings += self._labels.left_over("any part")
