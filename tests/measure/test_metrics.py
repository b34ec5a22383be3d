from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy, metrics
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError
from hedgerow.measure.metrics import METRICS, Comparison, Metric
from hedgerow.tree import Settings
from tests import oracle
from tests.strategies import QUICK, information_kinds, trees

COSTS = {
    "edge_distance",
    "information_distance",
    "excess",
    "deficient",
    "depth_excess",
    "depth_deficient",
}
GARDEN = Hierarchy.from_edges(
    [
        ("animal", "bird"),
        ("animal", "fish"),
        ("bird", "robin"),
        ("bird", "wren"),
        ("fish", "carp"),
        ("carp", "koi"),
    ]
)


@QUICK
@given(data=st.data())
def test_every_metric_of_every_pair(data: st.DataObject) -> None:
    h = data.draw(trees(9))
    kind = data.draw(information_kinds(h))
    below: Any = data.draw(st.sampled_from(["label", "wrong"]))
    t, info = oracle.Tree(h.parent.tolist()), h.information(kind).tolist()
    label, prediction = np.arange(len(h))[:, None], np.arange(len(h))
    expected = [[oracle.metrics(t, y, v, info, below) for v in t.nodes] for y in t.nodes]
    for name, metric in METRICS.items():
        found = metric(h, label, prediction, below_label=below, information=kind)
        assert found.dtype == np.float64
        slow = [[float(value[name]) for value in row] for row in expected]
        np.testing.assert_allclose(found, slow, rtol=1e-12, atol=1e-12, err_msg=name)


@QUICK
@given(h=trees())
def test_information_is_what_the_paper_says(h: Hierarchy) -> None:
    t = oracle.Tree(h.parent.tolist())
    np.testing.assert_allclose(h.information(), [t.information(v) for v in t.nodes], atol=1e-12)
    assert h.information("depth").tolist() == [t.depth(v) for v in t.nodes]


@pytest.mark.parametrize("name", METRICS)
def test_metrics_know_their_name_and_direction(name: str) -> None:
    metric = METRICS[name]
    assert metric is getattr(metrics, name)
    assert metric.name == name
    assert metric.higher_is_better == (name not in COSTS)
    # The label itself is the best answer there is.
    label, prediction = np.arange(len(GARDEN))[:, None], np.arange(len(GARDEN))
    value = metric(GARDEN, label, prediction, below_label="wrong")
    best = value.max(axis=1) if metric.higher_is_better else value.min(axis=1)
    if name not in ("non_root", "coverage"):  # these ask how much is said, not how much of it is right
        assert np.diag(value).tolist() == pytest.approx(best.tolist())


@pytest.mark.parametrize(
    ("label", "prediction", "precision", "recall", "f1"),
    [
        ("animal", "animal", 1, 1, 1),  # nothing asked, nothing said
        ("animal", "robin", 1, 1, 1),  # below the label counts as the label
        ("robin", "animal", 1, 0, 0),  # nothing said is nothing wrong
        ("robin", "fish", 0, 0, 0),
        ("bird", "robin", 1, 1, 1),
        ("robin", "bird", 1, np.log2(3 / 2) / np.log2(3), None),
    ],
)
def test_nothing_divided_by_nothing(
    label: str, prediction: str, precision: float, recall: float, f1: float | None
) -> None:
    assert metrics.precision(GARDEN, label, prediction) == pytest.approx(precision)
    assert metrics.recall(GARDEN, label, prediction) == pytest.approx(recall)
    expected = 2 * precision * recall / (precision + recall) if f1 is None else f1
    assert metrics.f1(GARDEN, label, prediction) == pytest.approx(expected)


def test_answers_below_the_label() -> None:
    def all_three(below: Any) -> list[float]:
        pair = ("bird", "robin")
        return [
            float(metric(GARDEN, *pair, below_label=below))
            for metric in (metrics.correct, metrics.exact, metrics.precision)
        ]

    assert all_three("label") == [1, 1, 1]
    bird, robin = GARDEN.information()[GARDEN.indices(["bird", "robin"])]
    assert all_three("wrong") == [0, 0, pytest.approx(bird / robin)]
    # With the root as label every answer would be right.
    assert metrics.correct(GARDEN, "animal", GARDEN.names).all()
    assert metrics.correct(GARDEN, "animal", GARDEN.names, below_label="wrong").sum() == 1
    assert metrics.strictly_exact(GARDEN, "bird", ["bird", "robin"]).tolist() == [1, 0]


def test_names_indices_scalars_and_shapes() -> None:
    h = GARDEN
    assert metrics.correct(h, "robin", "bird").shape == ()
    assert float(metrics.correct(h, h.index("robin"), h.index("bird"))) == 1
    assert metrics.correct(h, ["robin", "wren"], [["bird"], ["fish"], ["wren"]]).tolist() == [
        [1, 1],
        [0, 0],
        [0, 1],
    ]
    assert metrics.correct(h, [], []).shape == (0,)
    assert metrics.f1(h, np.zeros((0, 3), dtype=int), 0).shape == (0, 3)
    assert metrics.correct(h, np.array([1], dtype=np.uint8), np.array([0], dtype=np.int32)).tolist() == [1]


def test_pairs_may_be_prepared_once() -> None:
    pairs = Comparison.of(GARDEN, ["robin", "koi"], ["wren", "fish"], Settings("depth"))
    for metric in METRICS.values():
        expected = metric(GARDEN, ["robin", "koi"], ["wren", "fish"], information="depth")
        assert metric.of(pairs).tolist() == expected.tolist()


def test_a_metric_of_ones_own() -> None:
    sibling = Metric("sibling", True, lambda c: c.hierarchy.parent[c.label] == c.hierarchy.parent[c.prediction])
    assert sibling(GARDEN, "robin", ["wren", "robin", "fish"]).tolist() == [1, 1, 0]


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_bad_arguments(metric: Metric) -> None:
    with pytest.raises(UnknownNameError, match="'robbin'"):
        metric(GARDEN, "robbin", "robin")
    with pytest.raises(ScoreError, match="99"):
        metric(GARDEN, 0, 99)
    with pytest.raises(ScoreError, match="-1"):
        metric(GARDEN, -1, 0)
    with pytest.raises(ScoreError, match="float"):
        metric(GARDEN, 0.5, 0)
    with pytest.raises(ParameterError, match="below_label"):
        metric(GARDEN, 0, 0, below_label="right")  # type: ignore[arg-type]


@QUICK
@given(data=st.data())
def test_micro_averages(data: st.DataObject) -> None:
    h = data.draw(trees(9))
    nodes = st.lists(st.integers(0, len(h) - 1), min_size=3, max_size=3)
    label, answer = data.draw(nodes), data.draw(nodes)
    t = oracle.Tree(h.parent.tolist())
    mine, theirs = ([t.ancestors(v) - {t.root} for v in which] for which in (answer, label))
    shared = sum(len(a & b) for a, b in zip(mine, theirs, strict=True))
    found = metrics.micro_hierarchical(h, label, answer)
    sizes = [sum(map(len, sets)) for sets in (mine, theirs)]
    precision, recall = (shared / size if size else 1.0 for size in sizes)
    assert found["precision"] == pytest.approx(precision)
    assert found["recall"] == pytest.approx(recall)
    harmonic = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert found["f1"] == pytest.approx(harmonic)
