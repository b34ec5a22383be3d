"""Features on one scale, and features that have none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hedgerow.errors import ScoreError
from hedgerow.learn.classifier import HedgedClassifier
from hedgerow.learn.scaling import Scaling

X = np.repeat(np.eye(3), 10, axis=0)
Y = np.repeat(["a", "b", "c"], 10)


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("unit", "size"), [(1e200, "large"), (-1e160, "large"), (1e-200, "small")])
def test_features_whose_squares_are_no_numbers_are_refused(as_given: type, unit: float, size: str) -> None:
    with pytest.raises(
        ScoreError, match=f"too {size} to be squared: the largest is {abs(unit):.3g}".replace("+", ".")
    ):
        HedgedClassifier(C=1).fit(as_given(X * unit), Y)


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_units_may_be_extreme(as_given: type, unit: float) -> None:
    features = as_given(X * unit)
    assert HedgedClassifier(C=1).fit(features, Y).score(features, Y) == 1


def test_single_precision() -> None:
    large = (X * 1e25).astype(np.float32)
    assert np.isfinite(Scaling.of(large, np.ones(30)).scale).all()  # squared in double precision
    with pytest.raises(ScoreError, match=r"too large to be squared: the largest is 1e.25"):
        Scaling.of(sparse.csr_matrix(large), np.ones(30))


def test_nothing_but_zeros() -> None:
    assert Scaling.of(np.zeros((3, 2)), np.ones(3)).scale.tolist() == [1, 1]
    assert Scaling.of(sparse.csr_matrix((3, 2)), np.ones(3)).scale.tolist() == [1, 1]
