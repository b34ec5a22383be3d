"""What is held out to choose the penalty with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hedgerow.learn.penalty import folds


def drawn(count: int, labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.standard_normal((count, 3)), np.sort(random.integers(1, labels + 1, count))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("count", "labels", "expected"), [(60, 9, 3), (300, 40, 3), (1300, 3, 2), (6000, 900, 1)])
def test_folds(kind: type, count: int, labels: int, expected: int) -> None:
    features, label = drawn(count, labels)
    splits = folds(kind(features), label, np.random.RandomState(0))
    assert len(splits) == expected
    for learnt, others in splits:
        assert sorted([*learnt, *others]) == list(range(count))
        assert set(label[learnt]) == set(label), "one of each is learnt from"
        assert len(others) <= 0.2 * count + 1
    every = np.concatenate([others for _, others in splits])
    assert len(set(every)) == len(every), "nothing is held out twice"


def test_equal_examples_stay_together() -> None:
    features, label = drawn(60, 5)
    twice = np.tile(np.arange(60), 2)
    for learnt, others in folds(features[twice], label[twice], np.random.RandomState(0)):
        assert not set(twice[learnt]) & set(twice[others])
        assert len(set(twice[others])) == len(others), "one stands for all its copies"
    again = folds(features[twice], label[twice], np.random.RandomState(0))
    once = folds(features, label, np.random.RandomState(0))
    assert [set(twice[others]) for _, others in again] == [set(others) for _, others in once]


def test_nothing_to_hold_out() -> None:
    features, _ = drawn(6, 1)
    assert folds(features, np.arange(1, 7), np.random.RandomState(0)) == [], "one example a label"
    assert folds(features, np.zeros(6, dtype=np.int64), np.random.RandomState(0)) == [], "all at the root"
    assert folds(*drawn(20, 2), np.random.RandomState(0)) == [], "too little"


def test_rare_labels_are_others_as_often_as_others() -> None:
    label = np.r_[np.repeat(np.arange(1, 2001), 2), np.repeat(np.arange(2001, 2201), 20)]
    features = np.random.default_rng(0).standard_normal((len(label), 2))
    ((_, others),) = folds(features, label, np.random.RandomState(0))
    assert np.mean(label[others] <= 2000) == pytest.approx(0.5, abs=0.05)
