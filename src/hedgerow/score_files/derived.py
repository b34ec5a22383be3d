"""Scores made from other scores of the same examples, block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, final

from hedgerow.likelihood import tempered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.score_files.score_file import Scores
    from hedgerow.score_files.source import Block


class DerivedScores(ABC):
    """The same examples as those of other scores, each block of them derived from one of theirs."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
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

    @final
    def __iter__(self) -> Iterator[Block]:
        return map(self._derived, self._scores)

    @abstractmethod
    def _derived(self, block: Block) -> Block:
        """Return what becomes of a block."""


@final
class TemperedScores(DerivedScores):
    """The same examples with their scores divided by a temperature: see `likelihood.tempered`."""

    def __init__(self, scores: Scores, temperature: float) -> None:
        super().__init__(scores)
        self._temperature = temperature

    def _derived(self, block: Block) -> Block:
        return replace(block, likelihoods=tempered(block.likelihoods, self._temperature))
