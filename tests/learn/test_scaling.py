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
LABEL = np.repeat([1, 2, 3], 10)


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
    assert np.isfinite(Scaling.of(large, LABEL, np.ones(30)).scale).all()  # squared in double precision
    with pytest.raises(ScoreError, match=r"too large to be squared: the largest is 1e.25"):
        Scaling.of(sparse.csr_matrix(large), LABEL, np.ones(30))


def test_nothing_but_zeros() -> None:
    assert Scaling.of(np.zeros((3, 2)), LABEL[:3], np.ones(3)).scale.tolist() == [1, 1]
    assert Scaling.of(sparse.csr_matrix((3, 2)), LABEL[:3], np.ones(3)).scale.tolist() == [1, 1]


def drawn(examples: int = 400, labels: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Features of which some tell the labels apart better than others."""
    random = np.random.default_rng(0)
    label = random.integers(1, labels + 1, examples)
    between = np.array([2.0, 1.0, 0.5, 0.0])
    return random.standard_normal((labels + 1, 4))[label] * between + random.standard_normal((examples, 4)), label


def test_the_spread_of_features_by_a_slow_definition() -> None:
    features, label = drawn()
    expected = []
    for feature in features.T:
        own = [feature[label == k] for k in np.unique(label)]
        counts = np.array([len(each) for each in own])
        degrees = len(own) - 1, len(feature) - len(own)
        between = sum(len(each) * (each.mean() - feature.mean()) ** 2 for each in own) / degrees[0]
        within = sum(((each - each.mean()) ** 2).sum() for each in own) / degrees[1]
        typical = (len(feature) - (counts**2).sum() / len(feature)) / degrees[0]
        expected.append((between / within - 1) / typical)
    ratio = np.maximum(expected, 0)
    ratio = np.maximum(ratio, ratio.mean() / 100)
    known = 1 / (1 / degrees[0] + 1 / degrees[1])
    ratio = (known * ratio + 10 * ratio.mean()) / (known + 10)  # the mean before the floor differs little
    wanted = np.sqrt(ratio * (1 + ratio))
    found = features.std(0) / Scaling.of(features, label, np.ones(len(label))).scale
    np.testing.assert_allclose(found, wanted / np.sqrt(np.mean(wanted**2)), rtol=0.01)
    assert np.mean(found**2) == pytest.approx(1)
    assert list(found) == sorted(found, reverse=True)


def test_units_do_not_matter() -> None:
    features, label = drawn()
    weight = np.ones(len(label))
    units = np.array([1e-3, 1e3, 1.0, 50.0])
    own, other = (Scaling.of(x, label, weight) for x in (features, features * units + 7))
    np.testing.assert_allclose(own.apply(features), other.apply(features * units + 7))


def test_a_weight_of_two_is_the_same_as_two_examples() -> None:
    features, label = drawn(100, 5)
    weight = np.arange(100) % 3
    repeated = np.repeat(np.arange(100), weight)
    weighted = Scaling.of(features, label, weight.astype(float))
    np.testing.assert_allclose(
        weighted.scale, Scaling.of(features[repeated], label[repeated], np.ones(len(repeated))).scale
    )


@pytest.mark.parametrize(
    ("label", "weight"),
    [
        (np.zeros(30, dtype=int), np.ones(30)),  # nothing is learnt
        (np.ones(30, dtype=int), np.ones(30)),
        (np.arange(1, 31), np.ones(30)),  # nothing is known of the variance within labels
        (LABEL, np.full(30, 0.01)),
    ],
)
def test_where_labels_say_nothing_of_features_all_count_alike(label: np.ndarray, weight: np.ndarray) -> None:
    features = np.random.default_rng(0).standard_normal((30, 2)) * [1, 100]
    scaled = Scaling.of(features, label, weight).apply(features)
    np.testing.assert_allclose(scaled.std(0), [1, 1])


def test_examples_at_the_root_do_not_count() -> None:
    features, label = drawn(100, 5)
    more = np.vstack([features, 1e6 * features[:10]])
    with_root = Scaling.of(more, np.append(label, np.zeros(10, dtype=int)), np.ones(110))
    np.testing.assert_allclose(with_root.scale, Scaling.of(features, label, np.ones(100)).scale)


def test_a_feature_that_is_the_label_does_not_drown_the_others() -> None:
    features, label = drawn()
    scaled = Scaling.of(np.column_stack([features, label]), label, np.ones(len(label)))
    assert np.isfinite(scaled.scale).all()
    assert (scaled.scale > 0).all()


def test_features_that_tell_labels_far_apart_count_alike() -> None:
    random = np.random.default_rng(0)
    label = np.repeat(np.arange(1, 21), 20)
    features = random.standard_normal((21, 3))[label] * [10.0, 4.0, 0.5] + random.standard_normal((400, 3))
    scaled = Scaling.of(features, label, np.ones(400)).apply(features)
    first, second, third = scaled.std(0)
    assert first == pytest.approx(second)
    assert second > 2 * third


@pytest.mark.parametrize("constant", [0.1, 1 / 3, 7.7])
def test_constants_do_not_count_whatever_they_are(constant: float) -> None:
    features, label = drawn(3_000)
    scaling = Scaling.of(np.column_stack([features, np.full(3_000, constant)]), label, np.ones(3_000))
    assert scaling.scale[-1] > 0.5, "rounding is no variance"
    assert (
        HedgedClassifier(C=1).fit(np.ones((50, 3)), np.repeat(["a", "b"], 25)).predict_proba([[1, 1, 1]]).size == 2
    )
