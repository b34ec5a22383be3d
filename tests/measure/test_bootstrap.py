"""Bootstrap intervals against curves that are built anew from the examples drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given

import hedgerow as hr
from hedgerow import Hierarchy
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.measure.bootstrap import differences, intervals
from tests.curve_strategies import Problem, problems
from tests.strategies import QUICK

if TYPE_CHECKING:
    from numpy.typing import NDArray

COIN = Hierarchy.from_edges([("root", "heads"), ("root", "tails")])


def builder_of(problem: Problem, rows: Any = slice(None), **options: Any) -> hr.CurveBuilder:
    builder = hr.CurveBuilder(problem.h, **problem.options, **options)
    builder.update(problem.q[rows], problem.labels[rows], problem.h.names)
    return builder


def random_builder(seed: int, examples: int = 200, labels_seed: int = 0) -> hr.CurveBuilder:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    labels = np.random.default_rng(labels_seed).choice(h.leaves, examples)
    theta = 2 * np.random.default_rng(seed).standard_normal((examples, 3))
    theta[np.arange(examples), np.searchsorted(h.leaves, labels)] += 2
    builder = hr.CurveBuilder(h)
    builder.update(hr.likelihood.flat_softmax(h, theta), labels)
    return builder


def draws(examples: int, replicates: int, seed: int) -> list[NDArray[np.int64]]:
    return [np.random.default_rng([seed, i]).integers(examples, size=examples) for i in range(replicates)]


@given(problems(max_rows=8))
@QUICK
def test_replicates_are_curves_of_the_examples_drawn(problem: Problem) -> None:
    everything = builder_of(problem)
    recorded: list[dict[str, float]] = []

    def summarise(curve: hr.OperatingCurve) -> dict[str, float]:
        recorded.append(curve.summary(correct=(0.5, 0.75, 1.0), recall=(0.5,)))
        return recorded[-1]

    weights = np.arange(len(problem.q), dtype=np.float64)
    for number, rows in enumerate(draws(len(problem.q), 3, seed=5)):
        recorded.clear()
        found = intervals(
            everything, per_example={"weight": weights}, summarise=summarise, replicates=number + 1, seed=5
        )
        again = builder_of(problem, rows).compute().summary(correct=(0.5, 0.75, 1.0), recall=(0.5,))
        assert any(figures == pytest.approx(again, abs=1e-12) for figures in recorded)
        assert found["AP"].value == pytest.approx(everything.compute().summary()["AP"], abs=1e-12)
        assert found["weight"].value == pytest.approx(weights.mean())


def test_percentiles_of_the_replicates() -> None:
    builder = random_builder(1, examples=60)
    summaries = []
    events = builder.events
    start = np.cumsum(events.count) - events.count
    for rows in draws(60, 40, seed=3):
        drawn = hr.CurveBuilder(builder.hierarchy)
        taken = np.concatenate([np.arange(start[i], start[i] + events.count[i]) for i in rows])
        arrays = (events.label[rows], events.count[rows], events.node[taken], events.score[taken])
        drawn.add(type(events)(*arrays))
        summaries.append(drawn.compute().summary())
    found = intervals(builder, replicates=40, level=0.8, seed=3)
    for name, interval in found.items():
        low, high = np.quantile([s[name] for s in summaries], [0.1, 0.9])
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)
        assert interval.value == pytest.approx(builder.compute().summary()[name], abs=1e-12)


def test_intervals_cover() -> None:
    """An answer that is right with probability 0.7: the share of right answers is binomial."""
    random = np.random.default_rng(0)
    covered = 0
    for trial in range(60):
        builder = hr.CurveBuilder(COIN)
        labels = np.where(random.random(150) < 0.7, 1, 2)
        builder.update(np.tile([1, 0.9, 0.1], (150, 1)), labels)
        interval = intervals(
            builder, summarise=lambda curve: {"right": curve.at(0.5)["correct"]}, replicates=200, seed=trial
        )["right"]
        covered += interval.low <= 0.7 <= interval.high
        assert interval.high - interval.low == pytest.approx(2 * 1.96 * np.sqrt(0.21 / 150), rel=0.3)
    assert covered >= 51  # 57 expected


def test_a_system_does_not_differ_from_itself() -> None:
    for difference in differences(random_builder(1), random_builder(1), replicates=50).values():
        assert (difference.value, difference.low, difference.high, difference.p_value) == (0, 0, 0, 1)


def test_pairing_narrows_differences() -> None:
    good, other = random_builder(1), random_builder(2)
    paired = differences(good, other, replicates=100)
    alone = intervals(good, replicates=100)
    for name in ("AP", "R@90C"):
        assert paired[name].low <= paired[name].value <= paired[name].high
        assert paired[name].value == pytest.approx(
            good.compute().summary()[name] - other.compute().summary()[name], abs=1e-12
        )
        assert 0 <= paired[name].p_value <= 1
    assert alone["AP"].low <= alone["AP"].value <= alone["AP"].high


def test_a_real_difference_is_found() -> None:
    right, wrong = hr.CurveBuilder(COIN), hr.CurveBuilder(COIN)
    right.update(np.tile([1, 0.9, 0.1], (50, 1)), np.ones(50, dtype=int))
    wrong.update(np.tile([1, 0.1, 0.9], (50, 1)), np.ones(50, dtype=int))
    found = differences(right, wrong, replicates=50)["AC"]
    assert (found.value, found.low, found.high) == (1, 1, 1)
    assert found.p_value < 0.05


def test_seeds_and_progress() -> None:
    calls: list[None] = []
    builder = random_builder(1)
    first = intervals(builder, replicates=30, seed=1, progress=lambda: calls.append(None))
    assert len(calls) == 30
    assert intervals(builder, replicates=30, seed=1) == first
    assert intervals(builder, replicates=30, seed=2) != first


def test_bad_arguments() -> None:
    builder = random_builder(1, examples=10)
    with pytest.raises(ParameterError, match="replicates must be 1 or more, not 0"):
        intervals(builder, replicates=0)
    with pytest.raises(ParameterError, match=r"level must lie between 0 and 1, not 1.0"):
        intervals(builder, level=1.0)
    with pytest.raises(ParameterError, match="same examples, in the same order"):
        differences(builder, random_builder(1, examples=11))
    with pytest.raises(ScoreError, match="at least one example"):
        intervals(hr.CurveBuilder(COIN))
