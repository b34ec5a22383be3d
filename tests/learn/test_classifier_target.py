"""A classifier that keeps a promise: what is held out, and what enters the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hedgerow as hr

H = hr.Hierarchy.from_edges(
    [("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren"), ("fish", "cod"), ("fish", "eel")]
)
NAMES = np.array(["robin", "wren", "cod", "eel"])

# These tests train for a moment only.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(size: int, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    place = random.integers(4, size=size)
    centre = np.array([[0, 0], [1, 0], [4, 0], [5, 0]])
    return centre[place] + random.normal(size=(size, 2)), NAMES[place]


def classifier(**options: Any) -> hr.HedgedClassifier:
    return hr.HedgedClassifier(H, epochs=2, random_state=0, **options)


def chosen(clf: hr.HedgedClassifier) -> hr.OperatingPoint:
    assert isinstance(clf.operating_point_, hr.OperatingPoint)
    return clf.operating_point_


def test_the_promise_is_kept_on_new_examples() -> None:
    kept = []
    for seed in range(8):
        X, y = data(400, seed)
        clf = clone(classifier(target=("correct", 0.9), C=20.0)).fit(X, y)
        new, label = data(2_000, 100 + seed)
        answers = H.indices(clf.predict(new))
        kept.append(hr.metrics.correct(H, H.indices(label), answers).mean())
    assert np.mean(kept) >= 0.9 - 4 * np.std(kept) / np.sqrt(8)
    assert np.mean(kept) < 0.95
    assert chosen(clf).examples == 80


def test_what_is_held_out_takes_no_part_in_learning() -> None:
    """Other labels for the examples held out change the point, and nothing else."""
    X, y = data(300)
    options: dict[str, Any] = {"target": ("correct", 0.8), "class_weight": "balanced", "C": "auto"}
    clf = classifier(**options).fit(X, y)
    clusters = np.arange(300)
    same = classifier(**options).fit(X, y, clusters=clusters)
    assert chosen(same).clusters == 60
    held_out = held_out_rows(X, y, options)
    changed = y.copy()
    changed[held_out] = NAMES[np.arange(len(held_out)) % 4]
    other = classifier(**options).fit(X, changed)
    assert clf.C_ == other.C_
    assert clf.path_ == other.path_
    assert clf.temperature_ == other.temperature_
    for a, b in zip(clf.coefs_, other.coefs_, strict=True):
        np.testing.assert_array_equal(a, b)
    assert chosen(clf).threshold != chosen(other).threshold


def held_out_rows(X: Any, y: Any, options: dict[str, Any]) -> Any:
    """Find out which examples were held out: those that the choice of the point asks about."""
    seen: list[Any] = []

    class Spy(hr.HedgedClassifier):
        def _choose_point(self, X: Any, node: Any, rows: Any, clusters: Any) -> Any:
            seen.append(rows)
            return super()._choose_point(X, node, rows, clusters)

    Spy(H, epochs=2, random_state=0, **options).fit(X, y)
    assert len(seen[0]) == 60
    return seen[0]


def test_clusters_are_held_out_whole() -> None:
    X, y = data(300)
    clusters = np.repeat(np.arange(60), 5)
    found: list[Any] = []

    class Spy(hr.HedgedClassifier):
        def _choose_point(self, X: Any, node: Any, rows: Any, clusters: Any) -> Any:
            found.append(rows)
            return super()._choose_point(X, node, rows, clusters)

    clf = Spy(H, epochs=1, random_state=0, C=20.0, target=("correct", 0.8)).fit(X, y, clusters=clusters)
    held_out = set(clusters[found[0]].tolist())
    assert len(held_out) == chosen(clf).clusters == 12
    assert sorted(found[0]) == [i for i in range(300) if clusters[i] in held_out]


def test_points_of_ones_own() -> None:
    X, y = data(300)
    clf = classifier(C=20.0).fit(X[:200], y[:200])
    assert clf.operating_point_ is None
    scale = clf.method_.scale
    q = clf.predict_likelihood(X[200:], scale=scale)
    point = hr.select(H, q, y[200:], target=("correct", 0.9), scale=scale)
    clf.set_operating_point(point)
    assert clf.predict(X[200:]).tolist() == H.names[point.predict(q)].tolist()
    other = hr.Hierarchy.from_edges([("animal", "bird"), ("animal", "fish")])
    wrong = hr.select(other, [[1, 0.6, 0.4]] * 9, ["bird", "fish", "bird"] * 3, target=("correct", 0.5))
    with pytest.raises(hr.HedgerowError, match="The point is for another tree"):
        clf.set_operating_point(wrong)
    with pytest.raises(hr.HedgerowError, match="The point is for another tree"):
        classifier(C=20.0, operating_point=wrong).fit(X, y).predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": ("correct", 2)}, "The level of correct must lie between 0 and 1"),
        ({"target": ("right", 0.9)}, "There is no metric 'right'"),
        ({"target": ("correct", 0.9), "guarantee": "sure"}, "There is no guarantee 'sure'"),
        (
            {"target": ("correct", 0.9), "calibration_fraction": 1.5},
            "calibration_fraction must lie between 0 and 1",
        ),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    X, y = data(20)
    with pytest.raises(hr.HedgerowError, match=message):
        classifier(**options).fit(X, y)


def test_what_does_not_go_together() -> None:
    X, y = data(20)
    with pytest.raises(hr.HedgerowError, match="clusters are held out together for target"):
        classifier().fit(X, y, clusters=np.arange(20))
    with pytest.raises(hr.HedgerowError, match="partial_fit learns from every example"):
        classifier(target=("correct", 0.9)).partial_fit(X, y)


def test_names_of_features_are_kept() -> None:
    X, y = data(60)
    frame = pd.DataFrame(X, columns=[f"feature {i}" for i in range(X.shape[1])])
    clf = classifier(target=("correct", 0.9)).fit(frame, y)  # warnings are errors
    assert clf.operating_point_ is not None
    assert clf.predict(frame).tolist() == classifier(target=("correct", 0.9)).fit(X, y).predict(X).tolist()
