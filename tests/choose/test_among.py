"""Promises among the answers given, and promises with clusters: definitions, and whether they are kept."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import hedgerow as hr
from hedgerow.choose.betting import can_refute, refuted
from hedgerow.choose.guarantees import Bound
from hedgerow.choose.steps import Steps
from hedgerow.choose.thresholds import losses_of
from hedgerow.measure import Clusters
from hedgerow.show.printed_point import meaning, promises
from tests.choose.populations import Draws, population
from tests.choose.test_guarantees import binomial_tail
from tests.choose.test_select import cases, quiet

GRID = [*special.expit(0.05 * np.arange(400, -200, -1)).tolist(), 0.0]


def slow_threshold(h: Any, q: Any, labels: Any, alpha: Fraction, delta: Fraction, depth: int) -> float:
    """Learn then test, by its definition."""

    def passes(tau: float) -> bool:
        answers = hr.infer.threshold(h, q, tau)
        meant = h.depth[answers] >= depth
        wrong = int((hr.metrics.correct(h, labels, answers) == 0)[meant].sum())
        return meant.any() and binomial_tail(int(meant.sum()), wrong, alpha) <= delta / 4

    found = math.inf
    for times in (0.1, 0.5, 1, 2):
        walk = [tau for tau in GRID if tau <= max(1 - times * float(alpha), 0)]
        for tau in walk:
            if not passes(tau):
                break
            found = min(found, tau)
    return found


@settings(max_examples=25, deadline=None)
@given(case=cases(), alpha=st.sampled_from(["0.3", "0.5", "0.7"]), depth=st.sampled_from([0, 1, 2]))
def test_the_threshold_of_the_definition(case: Any, alpha: str, depth: int) -> None:
    h, q, labels = case
    if depth > h.depth.max():
        return
    asked: dict[str, Any] = {"target": ("correct", 1 - Fraction(alpha)), "delta": "0.5"}
    point = quiet(h, q, h.names[labels], among=depth or "answered", **asked)
    assert point.request.guarantee == "pac"
    slow = slow_threshold(h, q, labels, Fraction(alpha), Fraction(1, 2), depth or 1)
    assert point.threshold == pytest.approx(slow, rel=1e-12, abs=0)


def truly(draws: Draws, tau: float, weight: Any) -> float:
    """The true share of the answers below the root that are right; 1 if there are none."""
    answered = (draws.pool.events.answers_above(tau) > 0) * weight
    return float((draws.truth(tau) * answered).sum() / answered.sum()) if answered.any() else 1.0


def blanks(share: float, **made: Any) -> Any:
    """A population of which most are too unsure to be named."""
    people = population(**made)
    random = np.random.default_rng(5)
    dull = random.random(len(people.q)) < share
    people.q[dull, 1:] *= random.uniform(0.02, 0.6, size=(int(dull.sum()), 1))
    return people


AMONG: dict[str, tuple[Any, int, bool]] = {
    "plain": (lambda: population(size=5_000), 300, False),
    "ties": (lambda: population(size=5_000, ties=True), 300, False),
    "not hierarchical": (lambda: population(size=5_000, hierarchical=False), 300, False),
    "nine of ten blank": (lambda: blanks(0.9, size=5_000), 2_000, False),
    "clusters": (lambda: population(size=5_000, cluster=20), 60, True),
}


@pytest.mark.parametrize("name", AMONG)
def test_the_promise_among_answers_is_kept(name: str) -> None:
    made, number, clusters = AMONG[name]
    draws = Draws(made(), target=("correct", 0.8), delta=0.1, among="answered")
    size = np.bincount(draws.people.clusters)[draws.people.clusters]
    weight = 1 / size if clusters else np.ones(len(size))
    random = np.random.default_rng(1)
    taus = [draws.threshold(*draws.sample(random, number, clusters)) for _ in range(150)]
    true = np.array([truly(draws, tau, weight) for tau in taus])
    assert (true < 0.8).sum() <= stats.binom.ppf(0.9999, 150, 0.1)
    assert np.isfinite(taus).mean() > 0.5


def test_many_examples_get_an_answer() -> None:
    """Where the best threshold in hindsight answers two fifths, at least three fifths as many are answered."""
    people = blanks(0.55, size=20_000, seed=3)
    draws = Draws(people, target=("correct", 0.8), delta=0.1, among="answered")
    events, weight = draws.pool.events, np.ones(len(people.q))
    best = min(tau for tau in GRID if truly(draws, tau, weight) >= 0.8)
    oracle = (events.answers_above(best) > 0).mean()
    assert 0.35 < oracle < 0.45
    random = np.random.default_rng(1)
    taus = [draws.threshold(*draws.sample(random, 2_000)) for _ in range(40)]
    assert np.mean([(events.answers_above(tau) > 0).mean() for tau in taus]) >= 0.6 * oracle


def test_what_is_said_and_what_is_refused() -> None:
    people = population(size=1_500)
    h, labels = people.hierarchy, people.hierarchy.names[people.labels]
    point = quiet(h, people.q, labels, target=("correct", 0.9), among="answered")
    assert promises(point) == ["At least 90 % of the answers below the root are right."]
    assert "in all but 5 % of the sets of 1,500 examples that could have been collected" in meaning(point)
    assert "correct >= 0.9 among those answered, pac" in repr(point)
    deep = quiet(h, people.q, labels, target=("exact", 0.2), among=2, guarantee="empirical")
    assert promises(deep) == ["At least 20 % of the answers at depth 2 or below it are the label itself."]
    for asked, message in (
        (
            {"guarantee": "conformal"},
            "'conformal' averages over all examples, so it cannot promise a share of the answers given",
        ),
        ({"target": ("recall", 0.5)}, "needs the metric correct or exact"),
        ({"target": None, "per_rank": {"1": 0.9}}, "needs the metric correct or exact"),
        ({"rule": "expected-information"}, "needs a rule with a threshold"),
        ({"among": "genus"}, "not 'genus'"),
        ({"among": "9"}, "depth from 1 to 3, not '9'"),
        ({"unit": "example"}, "needs the size of the largest cluster"),
        ({"largest_cluster": 3}, "needs the size of the largest cluster"),
        ({"unit": "example", "largest_cluster": 3}, "needs clusters: give"),
    ):
        with pytest.raises(hr.HedgerowError, match=message):
            quiet(h, people.q, labels, **({"target": ("correct", 0.9), "among": "answered"} | asked))
    with pytest.raises(hr.HedgerowError, match="has 3 examples, more than the declared 2"):
        quiet(
            h, people.q, labels, target=("correct", 0.9), clusters=np.arange(1_500) // 3, unit="example",
            largest_cluster=2,
        )  # fmt: skip


def test_groups_are_promises_of_their_own() -> None:
    people = population(size=2_000)
    h, labels, groups = people.hierarchy, people.hierarchy.names[people.labels], np.array(["a", "b"] * 1_000)
    asked: dict[str, Any] = {"target": ("correct", 0.8), "among": "answered"}
    point = quiet(h, people.q, labels, groups=groups, **asked)
    for name in "ab":
        alone = quiet(h, people.q[groups == name], labels[groups == name], **asked)
        assert point.thresholds[name] == alone.threshold


# Betting -------------------------------------------------------------------------------------------------------


def test_wealth_by_its_definition() -> None:
    random = np.random.default_rng(0)
    alpha, delta = Fraction(1, 10), Fraction(1, 20)
    values = np.where(random.random((70, 40)) < np.linspace(0, 0.15, 40), 0.9, -0.1) * random.random((70, 40))
    for column, found in zip(values.T.tolist(), refuted(values, alpha, delta).tolist(), strict=True):
        wealth, squares, most = 1.0, 0.0, 1.0
        for t, y in enumerate(column):
            variance = (3 * 0.09 + squares) / (3 + t)
            share = min(wealth * 0.05, 1 - 1e-9)
            place = stats.norm.ppf(share)
            bet = min(stats.norm.pdf(place) / share / math.sqrt((70 - t) * variance), 0.999 / 0.9)
            wealth *= 1 - bet * y
            squares += y * y
            most = max(most, wealth)
        assert found == (most >= 20), most


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.0, 0.5, 1.0], [0.05, 0.2]])
@pytest.mark.parametrize(("number", "alpha"), [(30, 0.1), (200, 0.1), (60, 0.3), (2_000, 0.1)])
def test_a_true_mean_is_rarely_refuted(values: list[float], number: int, alpha: float) -> None:
    random, sets = np.random.default_rng(2), 2_000
    low, *_, high = values
    chance = min(1, max(0, (alpha - low) / (high - low)))  # of the highest value; the mean is α
    losses = np.where(random.random((number, sets)) < chance, high, low) if low < alpha < high else None
    if losses is None:
        return
    broken = refuted(losses - alpha, Fraction(str(alpha)), Fraction(1, 10)).sum()
    assert broken <= stats.binom.ppf(0.9999, sets, 0.1)


def test_the_order_of_rows_does_not_matter() -> None:
    people = population(size=2_000, cluster=10)
    h, labels = people.hierarchy, people.hierarchy.names[people.labels]
    order = np.random.default_rng(0).permutation(len(labels))
    for asked in ({}, {"among": "answered"}, {"unit": "example", "largest_cluster": 30}):
        options: dict[str, Any] = {"target": ("correct", 0.8), "guarantee": "pac", **asked}
        point = quiet(h, people.q, labels, clusters=people.clusters, **options)
        other = quiet(h, people.q[order], labels[order], clusters=people.clusters[order], **options)
        assert point.thresholds == other.thresholds
        assert math.isfinite(point.threshold)


def test_the_bound_depends_on_numbers_alone() -> None:
    """Betting is used as soon as it can show anything, and needs hardly more clusters than the inequalities."""
    for alpha in ("0.01", "0.1", "0.3"):
        least = Bound("pac", Fraction(alpha), Fraction(1, 10), False).needed
        assert not can_refute(least - 1, Fraction(alpha), Fraction(1, 10))
        assert can_refute(math.ceil(1.05 * least) + 1, Fraction(alpha), Fraction(1, 10))


def test_clusters_that_happen_to_be_single_are_clusters() -> None:
    """The bound does not follow from the sizes of these clusters, which may go with their losses."""
    people = population(size=300)
    h, labels = people.hierarchy, people.hierarchy.names[people.labels]
    options: dict[str, Any] = {"target": ("correct", 0.8), "guarantee": "pac"}
    point = quiet(h, people.q, labels, clusters=np.arange(300), **options)
    one = Clusters.of(np.arange(300), 300)
    assert not one.are_units
    assert Clusters.of(np.arange(300), 300, 1).are_units
    alone = quiet(h, people.q, labels, **options)
    assert point.threshold in GRID
    assert alone.threshold not in GRID


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("alpha", ["0.05", "0.5"])
def test_too_few_are_those_below_the_number_that_is_named(alpha: str, clusters: bool) -> None:
    least = Bound("pac", Fraction(alpha), Fraction(1, 80), not clusters).needed
    h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    for number in (least - 1, least):
        options = {"clusters": np.arange(number)} if clusters else {}
        target = "correct", 1 - Fraction(alpha)
        point = quiet(h, [[1, 1, 0]] * number, ["cat"] * number, target=target, among="answered", **options)
        assert any(
            f"at least {least} {'clusters' if clusters else 'examples'} are needed" in note for note in point.notes
        ) == (number < least)


@pytest.mark.parametrize("number", [22, 30, 60])
def test_betting_finds_more_than_the_inequalities(number: int) -> None:
    people = population(size=5_000, cluster=20)
    draws = Draws(people, target=("correct", 0.9), delta=0.1, guarantee="pac")
    (promise,) = draws.request.promises(people.hierarchy)
    losses = losses_of(promise, draws.request, draws.pool)
    budget = Bound("pac", Fraction(1, 10), Fraction(1, 10), binary=False).budget(number)
    random, pairs = np.random.default_rng(1), []
    for _ in range(60):
        rows, member = draws.sample(random, number, True)
        here = Steps.of(losses.take(rows), Clusters.of(member, len(rows)))
        pairs.append((draws.threshold(rows, member), here.before_first_excess(budget)))
    betting, before = np.minimum(np.array(pairs), 1).mean(axis=0)  # lower thresholds are more specific
    assert betting <= before + 1e-9


# Every example counts once ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(case=cases(), level=st.sampled_from(["0.5", "0.7", "0.8"]), more=st.integers(0, 2))
def test_conformal_by_example(case: Any, level: str, more: int) -> None:
    """The smallest τ with #{r <= τ} >= (1-α)(n+m)."""
    h, q, labels = case
    clusters = np.arange(len(q)) // 2
    if len(q) < 3:
        return
    m = 2 + more
    options: dict[str, Any] = {"clusters": clusters, "unit": "example", "largest_cluster": m}
    point = quiet(h, q, h.names[labels], target=("correct", level), **options)
    taus = sorted({0.0, *q[:, 1:].ravel().tolist()})
    right = np.array([hr.metrics.correct(h, labels, hr.infer.threshold(h, q, tau)) for tau in taus])
    kept = np.minimum.accumulate(right[::-1], axis=0)[::-1].sum(axis=1)  # right from there on
    fine = [tau for tau, number in zip(taus, kept, strict=True) if number >= Fraction(level) * (len(q) + m)]
    assert point.predict(q).tolist() == (hr.infer.threshold(h, q, fine[0]).tolist() if fine else [0] * len(q)), (
        point.threshold,
        fine[:1],
    )


@pytest.mark.parametrize("guarantee", ["conformal", "pac"])
@pytest.mark.parametrize("among", [None, "answered"])
def test_the_promise_by_example_is_kept(guarantee: str, among: str | None) -> None:
    if among and guarantee == "conformal":
        return
    people = population(size=5_000, cluster=10)
    draws = Draws(
        people, target=("correct", 0.8), delta=0.1, guarantee=guarantee, among=among, unit="example",
        largest_cluster=int(np.bincount(people.clusters).max()),
    )  # fmt: skip
    random = np.random.default_rng(1)
    ones = np.ones(len(people.q))
    taus = [draws.threshold(*draws.sample(random, 120, True)) for _ in range(100)]
    true = np.array([truly(draws, tau, ones) if among else draws.truth(tau).mean() for tau in taus])
    assert np.isfinite(taus).mean() > 0.3
    if guarantee == "conformal":
        assert true.mean() >= 0.8 - 4 * true.std() / 10
    else:
        assert (true < 0.8).sum() <= stats.binom.ppf(0.9999, 100, 0.1)
