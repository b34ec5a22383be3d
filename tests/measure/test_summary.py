"""Figures of a curve against their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hedgerow as hr
from hedgerow import Hierarchy
from hedgerow.errors import ScoreError
from hedgerow.measure import curve as summary
from tests import oracle_curve
from tests.curve_strategies import Problem, problems
from tests.strategies import QUICK

# Random labels may look like class numbers.
pytestmark = pytest.mark.filterwarnings("ignore:The labels are integers:UserWarning")

LEVELS = (0.0, 0.25, 0.5, 2 / 3, 0.9, 0.95, 0.999, 1.0)
Points = tuple[list[float], list[float]]


@st.composite
def points(draw: st.DrawFn) -> Points:
    """Two metrics at some points, in any order, with ties."""
    count = draw(st.integers(1, 12))
    array = hnp.arrays(np.float64, count, elements=st.sampled_from([0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0]))
    return draw(array).tolist(), draw(array).tolist()


@given(points())
@QUICK
def test_integral(found: Points) -> None:
    over, of = found
    assert summary.integral(over, of) == pytest.approx(oracle_curve.integral(over, of), abs=1e-12)


def test_the_integral_of_many_points() -> None:
    random = np.random.default_rng(0)
    over, of = np.sort(random.random(40_000)), random.random(40_000)  # more than are looked at together
    envelope = np.maximum.accumulate(of[::-1])[::-1]
    expected = np.sum(envelope * np.diff(over, prepend=0.0))
    assert summary.integral(over, of) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("over", "of"), [([0.5, 1.0], [1.0]), ([0.2], [0.9, 0.8]), ([], [])])
def test_metrics_of_different_points(over: list[float], of: list[float]) -> None:
    with pytest.raises(ScoreError, match="the same points"):
        summary.integral(over, of)


@given(points(), st.randoms(use_true_random=False))
@QUICK
def test_the_order_of_the_points_does_not_matter(found: Points, random: Any) -> None:
    pairs = list(zip(*found, strict=True))
    random.shuffle(pairs)
    over, of = zip(*pairs, strict=True)
    assert summary.integral(over, of) == pytest.approx(summary.integral(*found), abs=1e-12)


@given(points(), st.sampled_from(LEVELS))
@QUICK
def test_intercept(found: Points, level: float) -> None:
    of, where = found
    assert summary.intercept(of, where, level) == oracle_curve.intercept(of, where, level)


def test_nothing_is_added_beyond_the_largest() -> None:
    assert summary.integral(over=[0.25], of=[0.5]) == 0.125
    assert summary.integral(over=[0.0], of=[1.0]) == 0.0


def test_no_point_is_good_enough() -> None:
    assert summary.intercept(of=[0.3, 0.9], where=[0.94, 0.9], at_least=0.95) == 0


@given(problems(max_rows=8), st.sampled_from([None, 0.0, 0.25, 0.5]))
@QUICK
def test_summary(problem: Problem, tau_min: float | None) -> None:
    curve = hr.operating_curve(problem.h, problem.q, problem.labels, **problem.options)
    found = curve.summary(correct=LEVELS, recall=LEVELS, tau_min=tau_min)
    kept = [j for j in range(len(curve)) if tau_min is None or j == 0 or curve.threshold[j - 1] > tau_min]
    v = {name: values[kept].tolist() for name, values in curve.values.items()}
    integral, intercept = oracle_curve.integral, oracle_curve.intercept
    expected = {
        "AP": integral(v["recall"], v["precision"]),
        "AC": integral(v["recall"], v["correct"]),
        "AC_exact": integral(v["exact"], v["correct"]),
        "AURC": max(v["coverage"]) - integral(v["coverage"], v["correct"]),
    }
    for level, name in zip(LEVELS, ("0", "25", "50", "66.6667", "90", "95", "99.9", "100"), strict=True):
        expected[f"R@{name}C"] = intercept(v["recall"], v["correct"], level)
        expected[f"E@{name}C"] = intercept(v["exact"], v["correct"], level)
        expected[f"P@{name}R"] = intercept(v["precision"], v["recall"], level)
    assert found == pytest.approx(expected, abs=1e-12)
    assert found.keys() == expected.keys()


def test_what_is_said_unless_asked() -> None:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    q = [[1, 0.75, 0.5, 0.25, 0.25], [1, 0.25, 0.25, 0.0, 0.75]]
    figures = hr.operating_curve(h, q, ["cat", "cat"]).summary()
    assert list(figures) == ["AP", "AC", "AC_exact", "AURC", "R@90C", "R@95C", "E@90C", "E@95C"]
    # The threshold falls through 0.75 (both answer: "pet", "wolf") and 0.5 ("cat").
    pet = math.log2(3) - math.log2(2)
    assert figures["R@90C"] == 0
    assert figures["AP"] == pytest.approx(0.5 * 0.5)
    assert hr.operating_curve(h, q, ["cat", "cat"]).recall.tolist() == pytest.approx(
        [0, pet / math.log2(3) / 2, 0.5]
    )


def test_above_one_half_only() -> None:
    h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    curve = hr.operating_curve(h, [[1, 0.75, 0.25], [1, 0.5, 0.5], [1, 0.25, 0.75]], ["cat", "cat", "dog"])
    assert curve.summary()["R@95C"] == 1
    assert curve.summary(tau_min=0.5)["R@95C"] == pytest.approx(2 / 3)
