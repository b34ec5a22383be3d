"""Bootstrap intervals against curves that are built anew from the examples drawn."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

import hedgerow as hr
from hedgerow import Hierarchy
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.measure import Events
from hedgerow.measure.bootstrap import difference_of_runs, differences, intervals, replicated
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
    with pytest.raises(ParameterError, match=r"level must lie between 0 and 1, not 1"):
        intervals(builder, level=1.0)
    with pytest.raises(ParameterError, match="same examples, in the same order"):
        differences(builder, random_builder(1, examples=11))
    with pytest.raises(ScoreError, match="at least one example"):
        intervals(hr.CurveBuilder(COIN))


# Clusters ----------------------------------------------------------------------------------------------------


def clusters_of(sizes: list[int], seed: int = 0) -> NDArray[np.object_]:
    names = np.repeat([f"burst {i}" for i in range(len(sizes))], sizes).astype(object)
    return np.random.default_rng(seed).permutation(names)


def test_clusters_are_drawn_whole() -> None:
    clusters = clusters_of([1, 2, 3, 5, 9, 4, 16])
    first, second = (random_builder(seed, examples=40) for seed in (1, 2))
    found = differences(first, second, clusters=clusters, replicates=30, level=0.8, seed=4)
    names = sorted(set(clusters.tolist()))
    drawn: dict[str, list[float]] = {}
    for numbers in draws(len(names), 30, seed=4):
        rows = np.concatenate([np.flatnonzero(clusters == names[number]) for number in numbers])
        summaries = [
            builder.holding(Events.concatenate(builder.events.take(np.arange(40) == row) for row in rows))
            .compute()
            .summary()
            for builder in (first, second)
        ]
        for name, value in summaries[0].items():
            drawn.setdefault(name, []).append(value - summaries[1][name])
    # As far out in the normal distribution as Student's t of 6 degrees of freedom, times sqrt(7 / 6), has 10 %.
    tail = NormalDist().cdf(-1.43976 * np.sqrt(7 / 6))
    for name, difference in found.items():
        low, high = np.quantile(drawn[name], [tail, 1 - tail])
        assert (difference.low, difference.high) == pytest.approx((low, high), abs=1e-5)
        beyond = min(sum(d <= 1e-12 for d in drawn[name]), sum(d >= -1e-12 for d in drawn[name]))
        assert (difference.p_value < 0.2) == ((beyond + 1) / 31 < tail)


def test_examples_alone_in_their_clusters_are_examples() -> None:
    builder = random_builder(1, examples=30)
    alone = intervals(builder, clusters=clusters_of([1] * 30), replicates=20)
    assert alone == intervals(builder, replicates=20)


def test_systems_of_the_same_process_seldom_differ() -> None:
    """Ten clusters of 20 examples; each system is right in most of some clusters, whichever they are."""
    clusters = np.repeat([f"site {i}" for i in range(10)], 20).astype(object)
    random = np.random.default_rng(5)
    labels = np.ones(200, dtype=int)
    found = {"clusters": 0, "examples": 0}
    for trial in range(100):
        systems = []
        for _ in range(2):
            builder = hr.CurveBuilder(COIN)
            right = random.random(200) < np.repeat(random.choice([0.3, 0.95], 10), 20)
            builder.update(np.where(right[:, None], [1, 0.9, 0.1], [1, 0.1, 0.9]), labels)
            systems.append(builder)
        for unit in found:
            (difference,) = differences(
                *systems,
                clusters=clusters if unit == "clusters" else None,
                summarise=lambda curve: {"right": curve.at(0.5)["correct"]},
                replicates=200,
                seed=trial,
            ).values()
            found[unit] += not difference.low <= 0 <= difference.high
    assert found["clusters"] <= 11  # 5 expected
    assert found["examples"] >= 40


def test_clusters_of_arrays_reach_the_intervals_of_an_evaluation() -> None:
    random = np.random.default_rng(0)
    clusters = [f"site {i}" for i in range(10) for _ in range(20)]
    right = np.repeat(random.random(10) < 0.5, 20)
    q, labels = np.where(right[:, None], [1, 0.9, 0.1], [1, 0.1, 0.9]), ["heads"] * 200
    wide, narrow = (
        hr.evaluate(COIN, q, labels, clusters=given, replicates=100).intervals["leaf_exact"]
        for given in (clusters, None)
    )
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    with pytest.raises(ScoreError, match=r"clusters needs one entry per example, 200; got 3"):
        hr.evaluate(COIN, q, labels, clusters=clusters[:3])
    with pytest.raises(ParameterError, match="clusters are for likelihoods with labels"):
        hr.evaluate(COIN, [], clusters=clusters)


def test_too_few_clusters_and_blank_ones_are_refused() -> None:
    builder = random_builder(1, examples=30)
    with pytest.raises(ScoreError, match=r"the examples are in 5 clusters, too few .* at least 6 are needed"):
        intervals(builder, clusters=clusters_of([6] * 5))
    with pytest.raises(ScoreError, match="1 cluster, too few"):
        intervals(builder, clusters=clusters_of([30]))
    with pytest.raises(ScoreError, match="at least 8 are needed"):
        intervals(builder, clusters=clusters_of([5] * 6), level=0.99)
    with pytest.raises(ScoreError, match="clusters is blank for 1 of 30 examples, the first in row 29"):
        intervals(builder, clusters=np.array([*"abcdefghijabcdefghijabcdefghi", " "], dtype=object))
    with pytest.raises(ScoreError, match="clusters needs one entry per example, 30; got 2"):
        intervals(builder, clusters=np.array(["a", "b"], dtype=object))


def test_replicates_of_two_systems_are_paired() -> None:
    first, second = random_builder(1), random_builder(2)
    a, b = (replicated(builder, replicates=40, seed=3)["AP"] for builder in (first, second))
    expected = differences(first, second, replicates=40, seed=3)["AP"]
    assert np.quantile(a - b, [0.025, 0.975]) == pytest.approx([expected.low, expected.high])
    rows = draws(200, 40, seed=3)[7]
    events = first.events
    again = hr.CurveBuilder(first.hierarchy)
    again.add(events.take(rows))
    assert a[7] == pytest.approx(again.compute().summary()["AP"], abs=1e-12)


def test_a_difference_of_runs_by_hand() -> None:
    first, second = np.array([0.7, 0.72, 0.71]), np.array([0.68, 0.71, 0.66])
    drawn = np.array([[0.7, 0.74], [0.72, 0.7], [0.71, 0.75]]), np.array([[0.69, 0.68], [0.7, 0.71], [0.66, 0.67]])
    apart = [0.02, 0.01, 0.05]
    of_runs = np.var(apart, ddof=1) / 3
    means = [(0.01 + 0.02 + 0.05) / 3, (0.06 - 0.01 + 0.08) / 3]
    of_examples = np.var(means, ddof=1)
    freedom = (of_runs + of_examples) ** 2 / (of_runs**2 / 2 + of_examples**2 / 1)
    error = np.sqrt(of_runs + of_examples)
    found = difference_of_runs(first, second, *drawn, level=0.9)
    assert found.value == pytest.approx(np.mean(apart))
    assert stats.t.cdf((found.high - found.value) / error, freedom) == pytest.approx(0.95)
    assert found.low == pytest.approx(2 * found.value - found.high)
    assert found.p_value == pytest.approx(2 * stats.t.sf(found.value / error, freedom))
    same = difference_of_runs(first, first, drawn[0], drawn[0])
    assert (same.value, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_methods_of_the_same_process_seldom_differ_over_seeds_and_examples() -> None:
    """Every method is right on examples of its own, whatever the seed, and every run is better or worse by chance.

    Three runs on one test agree about what is peculiar to its examples, and one run cannot be told from its
    method: counting only one of the two noises finds differences where there are none.
    """
    random, labels = np.random.default_rng(7), np.ones(150, dtype=int)
    found = {"both": 0, "seeds": 0, "examples": 0}
    for trial in range(120):
        values, drawn = [], []
        for _ in range(2):
            easy = random.random(150)
            for _run in range(3):
                builder = hr.CurveBuilder(COIN)
                right = easy < 0.7 + 0.05 * random.standard_normal()
                builder.update(np.where(right[:, None], [1, 0.9, 0.1], [1, 0.1, 0.9]), labels)
                figures = replicated(
                    builder, replicates=60, seed=trial, summarise=lambda curve: {"right": curve.at(0.5)["correct"]}
                )
                values.append(builder.compute().at(0.5)["correct"])
                drawn.append(figures["right"])
        a, b, x, y = np.array(values[:3]), np.array(values[3:]), np.array(drawn[:3]), np.array(drawn[3:])
        both = difference_of_runs(a, b, x, y)
        found["both"] += not both.low <= 0 <= both.high
        seeds = difference_of_runs(a, b, a[:, None] + np.zeros(60), b[:, None] + np.zeros(60))
        found["seeds"] += not seeds.low <= 0 <= seeds.high
        low, high = np.quantile((x - y)[0], [0.025, 0.975])  # one run of each
        found["examples"] += not low <= 0 <= high
    assert found["both"] <= 12  # 6 expected
    assert found["examples"] >= 18
    assert found["seeds"] >= 18
