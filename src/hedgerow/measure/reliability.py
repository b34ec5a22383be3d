"""How far confidence is from accuracy, overall and at each depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import as_numpy, row_blocks
from hedgerow.errors import ScoreError
from hedgerow.likelihood import Scale, SparseLikelihoods, to_probability
from hedgerow.measure.evaluation_builder import example_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.score_files import Block, Scores
    from hedgerow.tree import Hierarchy, Indices

_BINS = 15
_LEAST = 1e-50  # so that a label of likelihood 0 has a large loss, not an infinite one


def calibration_error(confidence: ArrayLike, right: ArrayLike, bins: int = _BINS) -> float:
    """Return the expected calibration error: the average distance of confidence from the share of right answers.

    Answers are sorted by confidence into bins of equal width; each bin is weighted by the number of its answers.

    Parameters
    ----------
    confidence
        The likelihood of each answer, a number from 0 to 1.
    right
        Whether each answer is right: 1 or 0.
    bins
        Number of bins.

    Examples
    --------
    >>> calibration_error(confidence=[0.9, 0.9, 0.9, 0.9], right=[1, 1, 1, 0])
    0.15
    """
    sure, true = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if sure.ndim != 1 or sure.shape != true.shape or not len(sure):
        raise ScoreError(
            f"confidence and right need one value per answer, and at least one answer; got shapes {sure.shape} "
            f"and {true.shape}."
        )
    for what, values in (("confidence", sure), ("right", true)):
        bad = np.flatnonzero(~((values >= 0) & (values <= 1)))  # NaN is bad
        if len(bad):
            raise ScoreError(f"{what} must contain numbers from 0 to 1; entry {bad[0]} is {values[bad[0]]}.")
    place = _bin_of(sure, bins)
    gap = np.bincount(place, true - sure, minlength=bins)
    return round(float(np.abs(gap).sum() / len(sure)), 12)


def _bin_of(confidence: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    """Return the bin of each answer; an edge belongs to the bin below it."""
    return np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)


@final
@dataclass(frozen=True, eq=False)
class Reliability:
    """Confidence and accuracy of the most likely node at each depth, in bins of confidence: [depths, bins] each.

    The first row is depth 1. Only examples whose label reaches a depth count there.
    """

    count: NDArray[np.int64]
    confidence: NDArray[np.float64]
    """Sum of the likelihoods in each bin."""
    right: NDArray[np.float64]
    """Number of right answers in each bin."""
    log_loss: float | None
    """Mean negative log-likelihood of the labels."""

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        scores: Scores | Iterable[Block] | Any,
        labels: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        scale: Scale | None = None,
        bins: int = _BINS,
    ) -> Reliability:
        """Measure a score file, other blocks, or likelihoods with labels, given as to `evaluate`."""
        depths = int(hierarchy.depth.max())
        sums = np.zeros((3, depths, bins))
        loss, examples = 0.0, 0
        for q, label in _dense(example_blocks(hierarchy, scores, labels, classes, scale=scale)):
            with np.errstate(divide="ignore"):
                loss -= float(np.log(np.maximum(q[np.arange(len(q)), label], _LEAST)).sum())
            examples += len(q)
            for depth, nodes in enumerate(hierarchy.levels[1:]):
                rows = hierarchy.depth[label] > depth
                part = q[rows][:, nodes]
                best = np.argmax(part, axis=1)
                sure = np.clip(part[np.arange(len(part)), best], 0, 1)
                true = (sure > 0) & hierarchy.is_ancestor(nodes[best], label[rows])
                place = _bin_of(sure, bins)
                for total, weight in zip(sums, (np.ones(len(sure)), sure, true), strict=True):
                    total[depth] += np.bincount(place, weight, minlength=bins)
        return cls(sums[0].astype(np.int64), sums[1], sums[2], loss / examples if examples else None)

    @property
    def errors(self) -> list[float | None]:
        """The expected calibration error at each depth; None where no label reaches it."""
        number = self.count.sum(axis=1)
        gap = np.abs(self.right - self.confidence).sum(axis=1)
        return [float(g / n) if n else None for g, n in zip(gap, number, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, ready for JSON: `log_loss`, and `ECE` by depth."""
        errors = {str(depth + 1): error for depth, error in enumerate(self.errors)}
        return {"log_loss": self.log_loss, "ECE": errors}


def _dense(blocks: Iterable[Block]) -> Iterator[tuple[NDArray[np.float64], Indices]]:
    """Yield the probabilities of all nodes, of some examples at a time, and their labels."""
    for block in blocks:
        if block.labels is None:
            raise ScoreError("Calibration needs labels; these blocks have none.")
        given = block.likelihoods
        if not isinstance(given, SparseLikelihoods):
            yield to_probability(as_numpy(given).astype(np.float64), block.scale), block.labels
            continue
        for rows in row_blocks(len(given), 8 * len(given.hierarchy)):
            yield given[rows].dense().probabilities(), block.labels[rows]
