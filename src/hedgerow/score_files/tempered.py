"""Scores divided by a temperature."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, final

from hedgerow.likelihood import tempered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.score_files.score_file import Scores
    from hedgerow.score_files.source import Block


@final
class TemperedScores:
    """The same examples with their scores divided by a temperature: see `likelihood.tempered`."""

    def __init__(self, scores: Scores, temperature: float) -> None:
        self._scores = scores
        self._temperature = temperature
        self.path, self.hierarchy, self.warnings = scores.path, scores.hierarchy, scores.warnings
        self.single_child = scores.single_child

    @property
    def rows(self) -> int | None:
        """Number of examples, where it is known in advance."""
        return self._scores.rows

    @property
    def has_ids(self) -> bool:
        """Whether the examples have ids."""
        return self._scores.has_ids

    def __iter__(self) -> Iterator[Block]:
        for block in self._scores:
            yield replace(block, likelihoods=tempered(block.likelihoods, self._temperature))
