"""Bring features to one scale: a feature counts as much as it tells the labels apart.

An L2 penalty expects the weights of all features to be of similar size. If features were independent, and normal
around the mean of each label, the best weights of a feature would be these means divided by its variance within
labels. So a feature is multiplied by the spread of its means, and divided by its variance within labels. That does
not depend on units; it keeps the proportions of embeddings, whose small components say little, and ignores those
of measurements, whose sizes say nothing. Only sparse features, most of which are rare, keep their own proportions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow.errors import ScoreError
from hedgerow.export import scaled

if TYPE_CHECKING:
    from hedgerow.tree import Indices

Floats = NDArray[np.float64]

LEAST_RATIO, MOST_RATIO = 0.01, 5.0
"""Between and within labels: the least variance ratio, as a share of the mean ratio, and the largest ratio.

Features that depend on each other, such as components of DNA that follow the tree, can each have a large ratio; if
that counted in full, a few would outweigh all that tell close relatives apart."""
_CAUTION = 10.0  # degrees of freedom at which the ratio of a feature counts as much as the mean of all
_BLOCK = 1 << 14  # rows at a time, since a pass needs a temporary copy


@dataclass(frozen=True)
class Scaling:
    """The number to subtract from each feature (None if sparse), and the number to divide it by."""

    mean: Floats | None
    scale: Floats

    @staticmethod
    def of(X: Any, label: Indices, weight: Floats) -> Scaling:
        """Measure the scale of features and, unless they are sparse, their mean.

        Parameters
        ----------
        X
            Features [examples, features].
        label
            Nodes; the root, 0, says nothing.
        weight
            Weights of the examples: a weight of 2 means the same as two equal examples.
        """
        _check_range(X)
        if label.any():
            weight = np.where(label > 0, weight, 0.0)
        share = weight / weight.sum()
        if _is_sparse(X):
            square = np.asarray(X.multiply(X).T @ share).ravel()
            return Scaling(None, np.full(X.shape[1], math.sqrt(square.mean()) or 1.0))
        blocks = [slice(i, i + _BLOCK) for i in range(0, len(X), _BLOCK)]
        shift = X[0].astype(np.float64)  # so that constants have exactly the variance 0
        mean = sum((share[rows] @ (X[rows] - shift) for rows in blocks), start=np.zeros(X.shape[1])) + shift
        distinct, member = np.unique(label, return_inverse=True)
        variance, sums = np.zeros(X.shape[1]), np.zeros((len(distinct), X.shape[1]))
        for rows in blocks:
            centred = (X[rows] - shift) - (mean - shift)
            variance += share[rows] @ centred**2
            sums += _indicator(member[rows], weight[rows], len(distinct)) @ centred
        spread = np.sqrt(variance)
        varies = spread > 10 * np.finfo(X.dtype).eps * np.abs(mean)  # anything less is rounding
        typical = math.sqrt(np.mean(variance, where=varies)) if varies.any() else 1.0
        counts = np.bincount(member, weight).astype(np.float64)
        wanted = np.ones(X.shape[1])
        if varies.any():
            wanted[varies] = _importance(sums[counts > 0][:, varies] / spread[varies], counts[counts > 0])
        return Scaling(mean, np.where(varies, spread / wanted, np.maximum(typical, np.abs(mean))))

    def apply(self, X: Any) -> Any:
        """Return scaled features: see `export.scaled`."""
        return scaled(X, self.mean, self.scale)


def _importance(sums: Floats, counts: Floats) -> Floats:
    """Return the standard deviation that each feature should have; their mean square is 1.

    Parameters
    ----------
    sums
        The sum of each feature, which has mean 0 and variance 1, over the examples of each label.
    counts
        The number of examples of each label.
    """
    labels, examples = len(counts), counts.sum()
    if labels < 2 or examples <= labels:
        return np.ones(sums.shape[1])
    # An analysis of variance: how much the means of labels differ, beyond chance, relative to examples of one.
    between = (sums**2).T @ (1 / counts)
    within = np.maximum(examples - between, 0) / (examples - labels)
    typical_count = (examples - (counts**2).sum() / examples) / (labels - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (between / (labels - 1) / within - 1) / typical_count
    ratio = np.clip(np.nan_to_num(ratio, nan=0.0, posinf=MOST_RATIO), 0, MOST_RATIO)
    mean = ratio.mean()
    if mean == 0:
        return np.ones(sums.shape[1])
    known = 1 / (1 / (labels - 1) + 1 / (examples - labels))  # degrees of freedom
    ratio = (known * np.maximum(ratio, LEAST_RATIO * mean) + _CAUTION * mean) / (known + _CAUTION)
    wanted = np.sqrt(ratio * (1 + ratio))  # the spread of the means, divided by the variance within labels
    return np.asarray(wanted / math.sqrt(np.mean(wanted**2)))


def _indicator(member: Indices, weight: Floats, groups: int) -> sparse.csr_matrix:
    """Return a matrix that adds up the examples of each group."""
    return sparse.csr_matrix((weight, (member, np.arange(len(member)))), shape=(groups, len(member)))


def _check_range(X: Any) -> None:
    """Raise an error if squares of the features overflow or vanish."""
    kind = X.dtype.type if _is_sparse(X) else np.float64
    largest = max(float(X.max()), -float(X.min()))
    with np.errstate(over="ignore"):
        square = kind(2 * largest) ** 2  # more than that of any difference from a mean
    if 0 < largest < np.inf and not 0 < square < np.inf:
        size = "large" if largest > 1 else "small"
        raise ScoreError(
            f"The features are too {size} to be squared: the largest is {largest:.3g}. Divide them by it, if they "
            f"are meant to be so {size}; otherwise look for wrong values."
        )


def _is_sparse(X: Any) -> bool:
    return bool(sparse.issparse(X))
