"""Integer labels: positions in a list of classes, or node indices, and which of the two they look like."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ScoreError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

DOMAINS = [(f"domain {d}", f"intent {10 * d + i}") for d in range(5) for i in range(10)]
H = hr.Hierarchy.from_edges([("root", f"domain {d}") for d in range(5)] + DOMAINS)
CLASSES = [f"intent {i}" for i in np.random.default_rng(3).permutation(50)]
NUMBERS: NDArray[np.int64] = np.random.default_rng(1).permutation(np.repeat(np.arange(50), 3))
NAMES = [CLASSES[number] for number in NUMBERS]
P = 0.6 * np.eye(50)[NUMBERS] + 0.4 * np.random.default_rng(2).dirichlet(np.ones(50), size=150)
Q = hr.likelihood.from_leaves(H, P, classes=CLASSES)


def curve(labels: Any, **more: Any) -> Any:
    return hr.operating_curve(H, Q, labels, **more).summary()


def evaluation(labels: Any, **more: Any) -> Any:
    return hr.evaluate(H, Q, labels, **more).summary()


def built(labels: Any, builder: Any, **more: Any) -> Any:
    for start in range(0, len(Q), 20):
        builder.update(Q[start : start + 20], labels[start : start + 20], **more)
    return builder.compute().summary()


def curve_by_batches(labels: Any, **more: Any) -> Any:
    return built(labels, hr.CurveBuilder(H), **more)


def evaluation_by_batches(labels: Any, **more: Any) -> Any:
    return built(labels, hr.EvaluationBuilder(H), **more)


ways = pytest.mark.parametrize("way", [curve, evaluation, curve_by_batches, evaluation_by_batches])


@ways
def test_labels_may_be_positions_in_a_list_of_classes(way: Callable[..., Any]) -> None:
    expected = way(NAMES)
    assert way(NUMBERS, classes=CLASSES) == expected
    assert way(NUMBERS.astype(np.uint8), classes=np.array(CLASSES)) == expected
    assert way(H.indices(NAMES), classes=H.names) == expected
    assert way(NAMES, classes=CLASSES) == expected


def test_lambda() -> None:
    found = hr.infer.fit_lambda(H, Q, NUMBERS, 0.9, classes=CLASSES)
    assert found == hr.infer.fit_lambda(H, Q, NAMES, 0.9)


@ways
def test_numbers_of_classes_are_doubted_once(way: Callable[..., Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        way(NUMBERS)
    (warning,) = caught
    assert "all 50 different ones lie below 50, the number of leaves" in str(warning.message)
    assert "classes=names" in str(warning.message)
    assert warning.filename == __file__


@ways
def test_node_indices_are_not_doubted(way: Callable[..., Any]) -> None:
    way(H.indices(NAMES))
    way(np.zeros(150, dtype=int))  # all of them out of scope
    way(H.parent[H.indices(NAMES)])  # known no deeper than the domain
    way(np.arange(150) % len(H))
    way(np.where(np.arange(150) < 75, H.index("intent 3"), H.index("domain 1")))


def test_a_merged_builder_doubts_too() -> None:
    parts = [hr.CurveBuilder(H) for _ in range(2)]
    for part, rows in zip(parts, (slice(0, 75), slice(75, 150)), strict=True):
        part.update(Q[rows], NUMBERS[rows])
    parts[0].merge(parts[1])
    with pytest.warns(UserWarning, match="class numbers"):
        parts[0].compute()


def test_positions_must_be_those_of_classes() -> None:
    with pytest.raises(ScoreError, match="50 is not the number of a class: classes are 0 to 49"):
        H.nodes([3, 50], classes=CLASSES)
    with pytest.raises(ScoreError, match="-1 is not the number of a class"):
        H.nodes([-1], classes=CLASSES)
    with pytest.raises(ScoreError, match="integer index"):
        H.nodes([0.5], classes=CLASSES)
    with pytest.raises(UnknownNameError, match="'intent 77'"):
        H.nodes([0], classes=["intent 77"])
    with pytest.raises(UnknownNameError, match="'3'"):
        H.nodes(["3"], classes=CLASSES)
