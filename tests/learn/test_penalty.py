"""How the penalty is chosen: what is held out, and where the path stops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hedgerow.learn import penalty


def drawn(count: int, labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.standard_normal((count, 3)), np.sort(random.integers(1, labels + 1, count))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("count", "labels", "expected"), [(60, 9, 4), (300, 40, 4), (2600, 3, 2), (6000, 900, 1)])
def test_folds(kind: type, count: int, labels: int, expected: int) -> None:
    features, label = drawn(count, labels)
    splits = penalty.folds(kind(features), label, np.random.RandomState(0))
    assert len(splits) == expected
    for learnt, held_out in splits:
        assert sorted([*learnt, *held_out]) == list(range(count))
        assert set(label[learnt]) == set(label), "one of each is learnt from"
        assert len(held_out) <= 0.2 * count + 1
    every = np.concatenate([held_out for _, held_out in splits])
    assert len(set(every)) == len(every), "nothing is held out twice"


def test_equal_examples_stay_together() -> None:
    features, label = drawn(60, 5)
    twice = np.tile(np.arange(60), 2)
    for learnt, held_out in penalty.folds(features[twice], label[twice], np.random.RandomState(0)):
        assert not set(twice[learnt]) & set(twice[held_out])
        assert len(set(twice[held_out])) == len(held_out), "one stands for all its copies"
    again = penalty.folds(features[twice], label[twice], np.random.RandomState(0))
    once = penalty.folds(features, label, np.random.RandomState(0))
    assert [set(twice[held_out]) for _, held_out in again] == [set(held_out) for _, held_out in once]


def test_nothing_to_hold_out() -> None:
    features, _ = drawn(6, 1)
    assert penalty.folds(features, np.arange(1, 7), np.random.RandomState(0)) == [], "one example a label"
    assert penalty.folds(features, np.zeros(6, dtype=np.int64), np.random.RandomState(0)) == [], "all at the root"
    assert penalty.folds(*drawn(20, 2), np.random.RandomState(0)) == [], "too little"


def test_rare_labels_are_held_out_as_often_as_others() -> None:
    label = np.r_[np.repeat(np.arange(1, 2001), 2), np.repeat(np.arange(2001, 2201), 20)]
    features = np.random.default_rng(0).standard_normal((len(label), 2))
    ((_, held_out),) = penalty.folds(features, label, np.random.RandomState(0))
    assert np.mean(label[held_out] <= 2000) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("aps", "chosen", "tried"),
    [
        ([0.1, 0.5, 0.9, 0.8, 0.7, 1.0], 2, 5),  # stops after two that are no better
        ([0.1, 0.5, 0.9, 0.8, 0.95, 0.9, 0.9, 1.0], 4, 7),
        ([0.9, 0.8, 0.7, 1.0], 0, 3),
        ([0.1, 0.9, 0.9, 0.9, 1.0], 1, 4),  # the strongest among equals
        (list(np.linspace(0.1, 0.9, 20)), 9, 10),  # ends at some time
    ],
)
def test_the_path(aps: list[float], chosen: int, tried: int) -> None:
    values = iter(aps)

    best, path = penalty.relax(lambda _: next(values), 1.0, examples=10_000)
    assert path["C"] == [4.0**i for i in range(tried)]
    assert path["AP"] == aps[:tried]
    assert best == 4.0**chosen


@pytest.mark.parametrize(
    ("examples", "chosen"),
    [
        (100, 0),  # the standard error at 0.9 is 3 points,
        (400, 1),  # 1.5 points,
        (10_000, 2),  # and 0.3 points
    ],
)
def test_the_strongest_penalty_within_a_standard_error(examples: int, chosen: int) -> None:
    values = iter([0.875, 0.89, 0.9, 0.89, 0.88])

    best, _ = penalty.relax(lambda _: next(values), 1.0, examples)
    assert best == 4.0**chosen
