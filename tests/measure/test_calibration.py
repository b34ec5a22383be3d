"""The expected calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow.errors import ScoreError
from hedgerow.measure.calibration import calibration_error


def test_calibration_error() -> None:
    rng = np.random.default_rng(0)
    sure = rng.random(50_000)
    assert calibration_error(sure, rng.random(50_000) < sure) < 0.02
    assert calibration_error(np.full(10, 1.0), np.zeros(10)) == 1


def by_bins(sure: list[float], right: list[float], bins: int) -> float:
    """Return the error bin by bin, as it is defined."""
    total = 0.0
    for low in range(bins):
        inside = [i for i, p in enumerate(sure) if low / bins < p <= (low + 1) / bins or (p == 0 and low == 0)]
        total += abs(sum(right[i] for i in inside) - sum(sure[i] for i in inside))
    return total / len(sure)


def test_the_definition() -> None:
    rng = np.random.default_rng(1)
    sure, right = rng.random(200).tolist(), rng.integers(0, 2, 200).astype(float).tolist()
    for bins in (1, 4, 16):
        assert calibration_error(sure, right, bins) == pytest.approx(by_bins(sure, right, bins), abs=1e-9)


@pytest.mark.parametrize(
    ("sure", "right", "said"),
    [
        ([], [], "at least one answer"),
        ([0.5, 0.5], [1], "one value per answer"),
        ([0.5, np.nan], [1, 0], "confidence must contain numbers from 0 to 1; entry 1 is nan"),
        ([1.5], [1], "confidence must contain"),
        ([0.5], [np.nan], "right must contain"),
    ],
)
def test_bad_input_is_told(sure: Any, right: Any, said: str) -> None:
    with pytest.raises(ScoreError, match=said):
        calibration_error(sure, right)
