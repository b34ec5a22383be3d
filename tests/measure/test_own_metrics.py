"""Metrics of one's own reach everything that the standard ones reach; averages over classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.measure import Evaluation, merge, metrics
from tests import own
from tests.show.page.cases import GARDEN, evaluation

if TYPE_CHECKING:
    from pathlib import Path

METRICS: list[Any] = ["edge_distance", "tests.own:leaf_answers", own.steps]


def mean_by_hand(found: Evaluation, rule: str, name: str) -> float:
    """The mean of a metric of this module, example by example."""
    h, values = found.hierarchy, []
    for label, answer in zip(found.labels.tolist(), found.predictions[rule].tolist(), strict=True):
        shared = len(set(h.lineage(label)) & set(h.lineage(answer)))
        values.append(
            {
                "edge_distance": len(h.lineage(label)) + len(h.lineage(answer)) - 2 * shared,
                "leaf_answers": len(h.children(answer)) == 0,
                "steps": abs(len(h.lineage(label)) - len(h.lineage(answer))),
            }[name]
        )
    return float(np.mean(values))


def test_they_are_in_rules_summary_curve_and_json() -> None:
    found = evaluation(metrics=METRICS)
    for name in ("edge_distance", "leaf_answers", "steps"):
        for rule in ("majority", "leaf"):
            by_hand = pytest.approx(mean_by_hand(found, rule, name))
            assert found.rules[rule][name] == by_hand
            assert found.summary()[f"{rule}_{name}"] == by_hand
            assert found.to_dict()["summary"][f"{rule}_{name}"] == by_hand
        assert found.curve.at(0.5)[name] == pytest.approx(mean_by_hand(found, "majority", name))
    assert found.measuring(["f1", own.leaf_answers]) is found


def test_an_interval_is_around_its_figure_and_survives_a_folder(tmp_path: Path) -> None:
    found = evaluation(metrics=METRICS, replicates=30)
    interval = found.intervals["majority_edge_distance"]
    assert interval.low < found.summary()["majority_edge_distance"] < interval.high
    found.save(tmp_path / "saved")
    again = Evaluation.load(tmp_path / "saved")
    assert again.measuring(METRICS).summary() == found.summary()
    assert merge([found]).summary() == found.summary()


def test_compare_measures_them_for_all_and_knows_the_direction() -> None:
    good, bad = evaluation(name="good", sharp=3), evaluation(name="bad", sharp=3, noise=2.5, metrics=["excess"])
    found = hr.compare(good, bad, replicates=100)
    assert found.evaluations[0].summary()["leaf_excess"] < found.evaluations[1].summary()["leaf_excess"]
    assert found.differences[1]["leaf_excess"].value > 0
    assert found.verdict(1, "leaf_excess") == "worse"


def test_what_is_no_metric_is_refused() -> None:
    for given, message in (("f2", "no metric 'f2'"), ("tests.own:nothing", "cannot be imported"), (3, "not 3")):
        with pytest.raises(ParameterError, match=message):
            evaluation(rows=5, metrics=[given])


def test_over_classes_each_label_counts_once() -> None:
    random = np.random.default_rng(0)
    labels = random.choice(GARDEN.leaves, 300, p=np.arange(1, 30) / np.arange(1, 30).sum())
    found = evaluation(labels=labels)
    for rule in ("majority", "leaf"):
        right = np.array(
            [
                answer in GARDEN.lineage(label)
                for label, answer in zip(labels, found.predictions[rule].tolist(), strict=True)
            ]
        )
        shares = {int(label): right[labels == label].mean() for label in np.unique(labels)}
        assert found.macro[rule]["correct"] == pytest.approx(np.mean(list(shares.values())))
        assert found.macro[rule]["correct"] != pytest.approx(found.rules[rule]["correct"])
        for label, share in shares.items():
            row = found.classes[rule][GARDEN.names[label]]
            assert row["correct"] == pytest.approx(share)
            assert row["examples"] == int((labels == label).sum())
    assert found.to_dict()["macro"] == found.macro


@pytest.mark.parametrize(
    ("definition", "fraction", "said"),
    [
        (lambda pairs: np.full(pairs.label.shape, np.nan), False, "must be a finite number, not nan"),
        (
            lambda pairs: np.full(pairs.label.shape, 7.0),
            True,
            r"must be between 0 and 1 \(is_fraction=True\), not 7",
        ),
        (lambda _: np.zeros(3), False, r"must give one value for each answer, \(\d+,\), not \(3,\)"),
    ],
)
def test_values_without_a_mean_are_refused(definition: Any, fraction: bool, said: str) -> None:
    own = metrics.Metric("own", True, definition, is_fraction=fraction)
    with pytest.raises(ParameterError, match=f"The metric 'own' {said}"):
        evaluation(rows=20, metrics=[own])
