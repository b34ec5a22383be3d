"""Promises are kept, and not at too high a price: many calibration sets from several populations.

Every test draws calibration sets with a fixed seed from a finite population, whose truth is known exactly.
Margins are those of the binomial distribution, or four standard errors. `docs/promises.py` does the same with
more draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from tests.choose.populations import Draws, population

if TYPE_CHECKING:
    from numpy.typing import NDArray

POPULATIONS: dict[str, dict[str, Any]] = {
    "3 leaves": {"leaves": 3},
    "12 leaves": {},
    "not hierarchical": {"hierarchical": False},
    "ties": {"ties": True},
    "10,000 leaves": {"leaves": 10_000, "size": 1_000},
}
DRAWS = 200


def simulate(draws: Draws, number: int, *, clusters: bool = False, used: bool = True, times: int = DRAWS) -> Any:
    """Return, for each calibration set, the threshold and the true mean of the metric (of a random cluster)."""
    random = np.random.default_rng(1)
    weight = np.ones(len(draws.pool))
    if clusters:
        weight = 1 / np.bincount(draws.people.clusters)[draws.people.clusters]
    found = []
    for _ in range(times):
        rows, member = draws.sample(random, number, clusters)
        tau = draws.threshold(rows, member if used else None)
        found.append((tau, np.average(draws.truth(tau), weights=weight)))
    return np.array(found).T


def margin(values: NDArray[np.float64]) -> float:
    return float(4 * values.std(ddof=1) / np.sqrt(len(values)))


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("number", [10, 100])
def test_conformal(name: str, number: int) -> None:
    draws = Draws(population(**POPULATIONS[name]), target=("correct", 0.9))
    _, true = simulate(draws, number, times=30 if "10,000" in name else DRAWS)
    assert true.mean() >= 0.9 - margin(true)


@pytest.mark.parametrize("number", [19, 99])
def test_conformal_is_tight(number: int) -> None:
    draws = Draws(population(), target=("correct", 0.9))
    thresholds, _ = simulate(draws, number)
    r = largest_wrong(draws)
    kept = np.array([(r <= tau).mean() for tau in thresholds])
    assert 0.9 - margin(kept) <= kept.mean() <= 0.9 + 1 / (number + 1) + margin(kept)


def largest_wrong(draws: Draws) -> NDArray[np.float64]:
    """r of every example, by its definition: a loop over the events."""
    events = draws.pool.events
    labels = np.repeat(events.label, events.count).astype(np.int64)
    wrong = draws.losses(labels, events.node.astype(np.int64)) > 0
    r = np.full(len(events.label), -np.inf)
    for i, score, is_wrong in zip(events.example, events.score, wrong, strict=True):
        if is_wrong:
            r[i] = max(r[i], score)
    return r


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("target", [("correct", 0.9), ("precision", 0.9)])
def test_pac(name: str, target: tuple[str, float]) -> None:
    draws = Draws(population(**POPULATIONS[name]), target=target, guarantee="pac", delta=0.1)
    times = 30 if "10,000" in name else DRAWS
    _, true = simulate(draws, 100, times=times)
    assert (true < 0.9).sum() <= stats.binom.ppf(0.9999, times, 0.1)


def test_pac_is_tight() -> None:
    """With 2,000 examples the threshold is within a few per cent of the lowest that keeps the promise."""
    draws = Draws(population(), target=("correct", 0.9), guarantee="pac", delta=0.05)
    thresholds, true = simulate(draws, 2_000, times=100)
    assert (true < 0.9).sum() <= stats.binom.ppf(0.9999, 100, 0.05)
    assert true.mean() < 0.92
    r = largest_wrong(draws)
    oracle = np.quantile(r, 0.9, method="higher")
    assert (r > oracle).mean() <= 0.1
    assert oracle < thresholds.mean() < 1.05 * oracle


@pytest.mark.parametrize("guarantee", ["conformal", "pac"])
@pytest.mark.parametrize("target", [("recall", 0.5), ("exact", 0.4), ("f1", 0.5)])
def test_the_reverse_question(guarantee: str, target: tuple[str, float]) -> None:
    draws = Draws(population(), target=target, guarantee=guarantee, delta=0.1)
    _, true = simulate(draws, 200)
    if guarantee == "conformal":
        assert target[1] - margin(true) <= true.mean() <= target[1] + 0.04
    else:
        assert (true < target[1]).sum() <= stats.binom.ppf(0.9999, DRAWS, 0.1)
        assert true.mean() <= target[1] + 0.15


@pytest.mark.parametrize("rule", ["climbing", "expected-information"])
@pytest.mark.parametrize("guarantee", ["conformal", "pac"])
def test_other_families(rule: str, guarantee: str) -> None:
    draws = Draws(population(), target=("correct", 0.9), guarantee=guarantee, delta=0.1, rule=rule)
    thresholds, true = simulate(draws, 100)
    if guarantee == "conformal":
        r = largest_wrong(draws)
        kept = np.array([(r <= tau).mean() for tau in thresholds])
        assert 0.9 - margin(kept) <= kept.mean() <= 0.9 + 1 / 101 + margin(kept)
        assert true.mean() >= 0.9 - margin(true)
    else:
        assert (true < 0.9).sum() <= stats.binom.ppf(0.9999, DRAWS, 0.1)


# Clusters ----------------------------------------------------------------------------------------------------


def test_clusters_are_correlated() -> None:
    """The population for clusters is as described: an intra-cluster correlation of about a half."""
    people = population(cluster=20)
    wrong = hr_leaf_errors(people)
    pairs = [(a, b) for start in range(0, len(wrong) - 1, 7) for a, b in [(start, start + 1)]]
    same = [(wrong[a], wrong[b]) for a, b in pairs if people.clusters[a] == people.clusters[b]]
    correlation = np.corrcoef(np.array(same).T)[0, 1]
    assert 0.3 < correlation < 0.7


def hr_leaf_errors(people: Any) -> NDArray[np.float64]:
    leaves = people.hierarchy.leaves
    errors: NDArray[np.float64] = leaves[np.argmax(people.q[:, leaves], axis=1)] != people.labels
    return errors.astype(float)


def test_conformal_with_clusters() -> None:
    draws = Draws(population(cluster=20), target=("correct", 0.9))
    _, true = simulate(draws, 15, clusters=True, times=400)
    _, ignoring = simulate(draws, 15, clusters=True, used=False, times=400)
    assert true.mean() >= 0.9 - margin(true)
    assert ignoring.mean() < 0.9 - margin(ignoring)  # a threshold chosen as if all were independent


def test_pac_with_clusters() -> None:
    draws = Draws(population(cluster=20), target=("correct", 0.9), guarantee="pac", delta=0.1)
    _, true = simulate(draws, 60, clusters=True)
    _, ignoring = simulate(draws, 60, clusters=True, used=False)
    assert (true < 0.9).sum() <= stats.binom.ppf(0.9999, DRAWS, 0.1)
    assert (ignoring < 0.9).sum() > stats.binom.ppf(0.9999, DRAWS, 0.1)
