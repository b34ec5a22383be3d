"""Are promises kept? Ten thousand calibration sets for each kind of promise, and a figure for the docs.

    PYTHONPATH=. python benchmarks/bench_promises.py --figure docs/figures/promises.png

Calibration sets are drawn from a finite population, whose truth is known: see `tests/choose/populations.py`. For
each guarantee the true share of right answers is recorded.
"""

from __future__ import annotations

import argparse
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from scipy import stats
from tests.choose.populations import Draws, population

from hedgerow.choose.guarantees import Promise
from hedgerow.choose.thresholds import losses_of
from hedgerow.measure import Clusters

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.choose.populations import Population

LEVEL, DELTA = 0.9, 0.1
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], int, bool, bool]] = {
    # name: population, what is asked, calibration examples (or clusters), drawn by cluster, clusters used
    "conformal, 50 examples": ({}, {}, 50, False, False),
    "conformal, 500 examples": ({}, {}, 500, False, False),
    "conformal, ties": ({"ties": True}, {}, 100, False, False),
    "pac, 500 examples": ({}, {"guarantee": "pac"}, 500, False, False),
    "pac, not hierarchical": ({"hierarchical": False}, {"guarantee": "pac"}, 200, False, False),
    "conformal, 15 clusters": ({"cluster": 20}, {}, 15, True, True),
    "the same, clusters ignored": ({"cluster": 20}, {}, 15, True, False),
    "pac, 60 clusters": ({"cluster": 20}, {"guarantee": "pac"}, 60, True, True),
    "the same, clusters ignored ": ({"cluster": 20}, {"guarantee": "pac"}, 60, True, False),
}


def simulate(case: tuple[dict[str, Any], dict[str, Any], int, bool, bool], draws: int) -> Any:
    """Return the true share of right answers for each calibration set."""
    made, asked, number, by_cluster, used = case
    people = population(size=5_000, **made)
    world = Draws(people, target=("correct", LEVEL), delta=DELTA, **asked)
    truth = true_shares(people, by_cluster)
    random = np.random.default_rng(0)
    # What `select` does, without making a point each time.
    steps = losses_of(world.order, world.pool)
    order, target = world.order, world.order.target
    assert target is not None
    alpha = target.alpha

    @cache
    def budget(units: int, binary: bool) -> Any:
        return Promise(order.guarantee, alpha, order.delta, binary).budget(units)

    found = np.empty(draws)
    for i in range(draws):
        rows = np.flatnonzero(world.random_mask(random, number, by_cluster))
        clusters = Clusters.of(people.clusters[rows] if used else None, len(rows))
        affordable = budget(clusters.number, bool((clusters.size == 1).all()))
        found[i] = truth(steps(rows, clusters).within(affordable) if affordable >= 0 else np.inf)
    return found


def true_shares(people: Population, by_cluster: bool) -> Callable[[float], float]:
    """Return the share of right answers in the whole population, or in a random cluster, at a threshold."""
    world = Draws(people, target=("correct", LEVEL), guarantee="empirical")
    clusters = Clusters.of(people.clusters if by_cluster else None, len(people.labels))
    steps = losses_of(world.order, world.pool)(slice(None), clusters)
    score = -steps.score  # ascending
    loss = np.append(0, np.cumsum(steps.amount / steps.size)) / clusters.number
    return lambda tau: float(1 - loss[np.searchsorted(score, -tau, side="left")])


def verdict(name: str, asked: dict[str, Any], true: Any) -> str:
    """Say whether the promise was kept."""
    if asked.get("guarantee") == "pac":
        broken, most = int((true < LEVEL).sum()), int(stats.binom.ppf(0.999, len(true), DELTA))
        chance = f"promised: {DELTA:.0%}, chance allows {most / len(true):.2%}"
        return f"{name:30} broken in {broken / len(true):6.2%} of sets ({chance})"
    error = true.std(ddof=1) / np.sqrt(len(true))
    return f"{name:30} right {true.mean():7.3%} of the time, ± {2 * error:.3%} (promised: {LEVEL:.0%})"


def draw(results: dict[str, Any], path: str) -> None:
    """Draw the distribution of the true share of right answers for each case."""
    figure = Figure(figsize=(8, 0.55 * len(results) + 1), layout="constrained")
    ax = figure.subplots()
    for row, (name, true) in enumerate(results.items()):
        failing = "ignored" in name
        colour = "#bd1f01" if failing else "#3f90da"
        low, first, third, high = np.quantile(true, [0.1, 0.25, 0.75, 0.9])
        ax.plot([low, high], [row, row], color=colour, linewidth=2)
        ax.plot([first, third], [row, row], color=colour, linewidth=7, solid_capstyle="butt")
        ax.plot(true.mean(), row, "o", color="white", markeredgecolor=colour, zorder=3)
    ax.axvline(LEVEL, color="black", linewidth=1, linestyle="--")
    ax.set_yticks(range(len(results)), [name.strip() for name in results])
    ax.invert_yaxis()
    ax.set_xlabel(
        "true share of right answers: mean, and the middle 50 % and 80 % of calibration sets", fontsize="small"
    )
    figure.savefig(path, dpi=150)


def main() -> None:
    """Simulate all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--figure")
    given = parser.parse_args()
    results = {}
    for name, case in CASES.items():
        results[name] = simulate(case, given.draws)
        print(verdict(name, case[1], results[name]), flush=True)
    if given.figure:
        draw(results, given.figure)


if __name__ == "__main__":
    main()
