"""How far confidence is from accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ScoreError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def calibration_error(confidence: ArrayLike, right: ArrayLike, bins: int = 15) -> float:
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
    place = np.clip(np.ceil(sure * bins).astype(np.int64) - 1, 0, bins - 1)
    gap = np.bincount(place, true - sure, minlength=bins)
    return round(float(np.abs(gap).sum() / len(sure)), 12)
