"""Bring features to one scale.

Features are centred and divided so that their mean variance is 1. That keeps the geometry of embeddings (giving
every principal component variance 1 costs a point of accuracy); only features much smaller or larger than the
others are brought nearer to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow.errors import ScoreError

Floats = NDArray[np.float64]

RELATIVE_SPREAD = (0.3, 3.0)
"""The smallest and the largest standard deviation of a feature, relative to the root mean square of all."""
_BLOCK = 1 << 14  # rows at a time, since a pass needs a temporary copy


@dataclass(frozen=True)
class Scaling:
    """The number to subtract from each feature (None if sparse), and the number to divide it by."""

    mean: Floats | None
    scale: Floats

    @staticmethod
    def of(X: Any, weight: Floats) -> Scaling:
        """Measure the scale of features and, unless they are sparse, their mean."""
        _check_range(X)
        share = weight / weight.sum()
        if _is_sparse(X):
            square = np.asarray(X.multiply(X).T @ share).ravel()
            return Scaling(None, np.full(X.shape[1], math.sqrt(square.mean()) or 1.0))
        blocks = [slice(i, i + _BLOCK) for i in range(0, len(X), _BLOCK)]
        mean = sum((share[rows] @ X[rows] for rows in blocks), start=np.zeros(X.shape[1]))
        variance = sum((share[rows] @ (X[rows] - mean) ** 2 for rows in blocks), start=np.zeros(X.shape[1]))
        spread = np.sqrt(variance)
        varies = spread > 10 * np.finfo(X.dtype).eps * np.abs(mean)  # anything less is rounding
        typical = math.sqrt(np.mean(variance, where=varies)) if varies.any() else 1.0
        wanted = np.clip(spread / typical, *RELATIVE_SPREAD)
        return Scaling(mean, np.where(varies, spread / wanted, np.maximum(typical, np.abs(mean))))

    def apply(self, X: Any) -> Any:
        """Return scaled features in double precision; sparse ones stay sparse unless they are centred."""
        if _is_sparse(X):
            if self.mean is None:
                return X.multiply(1 / self.scale).tocsr()
            X = X.toarray()
        return X / self.scale if self.mean is None else (X - self.mean) / self.scale


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
