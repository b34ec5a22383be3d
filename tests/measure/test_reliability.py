"""The expected calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ScoreError
from hedgerow.measure.reliability import Reliability, calibration_error


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


def test_listed_classes_are_measured_like_all_classes() -> None:
    h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    rng = np.random.default_rng(0)
    row, scores = np.repeat(np.arange(50), 2), rng.random(100) / 2
    names = np.array([rng.choice(["pet", "wolf", "cat", "dog"], 2, replace=False) for _ in range(50)]).ravel()
    q, labels = hr.likelihood.from_top(h, row, names, scores, rows=50), rng.choice(h.names[1:], 50)
    listed, dense = (Reliability.of(h, given, labels) for given in (q, q.dense()))
    assert listed.to_dict() == dense.to_dict()
    values, nodes = q.dense().values, h.indices(labels.tolist())
    deep = [i for i in range(50) if h.depth[nodes[i]] > 1]
    right = [values[i, 2:4].max() > 0 and nodes[i] == 2 + np.argmax(values[i, 2:4]) for i in deep]
    assert listed.right[1].sum() == sum(right)
    assert listed.confidence[1].sum() == pytest.approx(sum(values[i, 2:4].max() for i in deep))
