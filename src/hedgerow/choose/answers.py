"""The answers of a point to many examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.score_files import DerivedScores, TemperedScores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hedgerow.choose.examples import Examples
    from hedgerow.choose.point import OperatingPoint
    from hedgerow.likelihood import AnyLikelihoods
    from hedgerow.score_files import Block, Scores
    from hedgerow.tree import Hierarchy


def answers_of(point: OperatingPoint, examples: Examples) -> NDArray[np.int64] | None:
    """Return the answers of a point to examples whose events are known; None if they are not."""
    if examples.events is None:
        return None
    names = examples.groups if point.by == "group" else examples.clades
    return examples.events.answers_above(point.thresholds_of(names, len(examples))).astype(np.int64)


def predictions(point: OperatingPoint, blocks: Iterable[Block]) -> NDArray[np.int64]:
    """Return the answers of a point to the examples of some blocks."""
    return np.concatenate([point.predict(block.likelihoods, _groups(point, block)) for block in blocks])


def _groups(point: OperatingPoint, block: Block) -> NDArray[np.object_] | None:
    return block.groups if point.by == "group" else None


@final
class PointAnswers(DerivedScores):
    """Scores to be answered at a point, checked against it before they are read; see `write_predictions`.

    Parameters
    ----------
    point
        The point.
    scores
        A score file, or what a trained model says about new data. If the point is for scores divided by a
        temperature, they are divided by it.
    """

    def __init__(self, point: OperatingPoint, scores: Scores) -> None:
        point.check_tree(scores.hierarchy)
        super().__init__(scores if point.temperature == 1 else TemperedScores(scores, point.temperature))
        self.single_child = point.settings.single_child
        self._point = point
        self._groups: NDArray[np.object_] | None = None

    def _derived(self, block: Block) -> Block:
        self._groups = _groups(self._point, block)
        return block

    def rule(self, _: Hierarchy, q: AnyLikelihoods) -> NDArray[np.int64]:
        """Answer the examples of the block that was yielded last."""
        return self._point.predict(q, self._groups)
