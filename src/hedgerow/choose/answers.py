"""The answers of a point to many examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hedgerow.choose.examples import Examples
    from hedgerow.choose.point import OperatingPoint
    from hedgerow.score_files import Block, Scores


def answers_of(point: OperatingPoint, examples: Examples) -> NDArray[np.int64] | None:
    """Return the answers of a point to examples whose events are known; None if they are not."""
    if examples.events is None:
        return None
    names = examples.groups if point.by == "group" else examples.clades
    return examples.events.answers_above(point.thresholds_of(names, len(examples))).astype(np.int64)


def predictions(point: OperatingPoint, blocks: Iterable[Block]) -> NDArray[np.int64]:
    """Return the answers of a point to the examples of some blocks."""
    return np.concatenate([answer(point, block) for block in blocks])


def prepared(point: OperatingPoint, scores: Scores) -> Scores:
    """Return scores ready to be answered at a point: of its tree, and divided by its temperature."""
    point.check_tree(scores.hierarchy)
    return scores if point.temperature == 1 else scores.tempered(point.temperature)


def answer(point: OperatingPoint, block: Block) -> NDArray[np.int64]:
    """Return the answers of a point to a block of examples."""
    return point.predict(block.likelihoods, block.groups if point.by == "group" else None)
