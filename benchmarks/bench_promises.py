"""Are promises kept? Ten thousand calibration sets for each kind of promise, and a figure for the docs.

    PYTHONPATH=. python benchmarks/bench_promises.py --figure docs/figures/promises.png

Examples, or whole clusters, are drawn with replacement from a finite population, so that they are independent and
the truth is known: see `tests/choose/populations.py`. For each guarantee the true share of right answers is
recorded. What betting gains, and the grid of numbers and levels, take a fifth of the draws.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from scipy import optimize, stats
from tests.choose.populations import Draws, population

from benchmarks.changing_world import by_events, monitored, other_data
from hedgerow.choose import FAMILIES
from hedgerow.choose.guarantees import Bound
from hedgerow.choose.steps import Steps
from hedgerow.choose.thresholds import losses_of
from hedgerow.choose.written import exactly
from hedgerow.measure import Clusters, Measures, metrics

if TYPE_CHECKING:
    from tests.choose.populations import Population

LEVEL, DELTA = 0.9, 0.1
Case = tuple[dict[str, Any], dict[str, Any], int, bool, bool]
PAC, AMONG = {"guarantee": "pac"}, {"among": "answered", "target": ("correct", 0.8)}
EXAMPLE = {"guarantee": "pac", "unit": "example", "largest_cluster": 39}
CASES: dict[str, Case] = {
    # name: population, what is asked, calibration examples (or clusters), drawn by cluster, clusters used
    "conformal, 50 examples": ({}, {}, 50, False, False),
    "conformal, 500 examples": ({}, {}, 500, False, False),
    "conformal, ties": ({"ties": True}, {}, 100, False, False),
    "pac, 500 examples": ({}, PAC, 500, False, False),
    "pac, not hierarchical": ({"hierarchical": False}, PAC, 200, False, False),
    "conformal, 15 clusters": ({"cluster": 20}, {}, 15, True, True),
    "the same, clusters ignored": ({"cluster": 20}, {}, 15, True, False),
    "pac, 60 clusters": ({"cluster": 20}, PAC, 60, True, True),
    "the same, clusters ignored ": ({"cluster": 20}, PAC, 60, True, False),
    "pac, 60 clusters, by example": ({"cluster": 20}, EXAMPLE, 60, True, True),
    "among answers, 500 examples": ({}, AMONG, 500, False, False),
    "among answers, ties": ({"ties": True}, AMONG, 500, False, False),
    "among answers, not hierarchical": ({"hierarchical": False}, AMONG, 500, False, False),
    "among answers, 9/10 blank": ({"blank": 0.9, "size": 20_000}, AMONG, 2_000, False, False),
    "among answers, 3/5 blank": ({"blank": 0.6, "size": 20_000}, AMONG, 2_000, False, False),
    "among answers, 60 clusters": ({"cluster": 20}, AMONG, 60, True, True),
}


class Truth:
    """What thresholds give in the whole population, or in a random cluster."""

    def __init__(self, people: Population, world: Draws, by_cluster: bool) -> None:
        request, events = world.request, world.pool.events
        self.grid = FAMILIES["threshold"].grid("probability")
        scores = np.unique(np.append(events.score, self.grid))[::-1]
        cluster = Clusters.of(people.clusters if by_cluster else None, len(people.labels))
        moves = events.moves.astype(np.int64)
        comparison = Measures.of(people.hierarchy, [metrics.correct, metrics.recall], request.settings)
        before, after = (comparison.values(moves[:, 0], moves[:, i]) for i in (1, 2))
        shares = list(zip(before, after, strict=True))
        every = request.among is None
        meant = [np.ones(len(moves)) if every else (moves[:, i] > 0).astype(float) for i in (1, 2)]
        place = np.searchsorted(-scores, -events.score, side="right")
        weight = 1 / cluster.size[events.example] / cluster.number

        def summed(before: Any, after: Any, start: float) -> Any:
            return start + np.cumsum(np.bincount(place, weight * (after - before), minlength=len(scores) + 1))[:-1]

        right = summed(meant[0] * shares[0][0], meant[1] * shares[0][1], float(every))
        answered = summed(meant[0], meant[1], float(every))
        self.share = np.divide(right, answered, out=np.ones_like(right), where=answered > 1e-12)
        self.gained = answered if request.among else summed(*shares[1], 0.0)
        self.scores = scores

    def at(self, tau: float) -> tuple[float, float]:
        """Return the share of answers that are right, and the recall, or the share of examples answered."""
        if tau == np.inf:
            return 1.0, 0.0
        place = min(int(np.searchsorted(-self.scores, -tau)), len(self.scores) - 1)
        return float(self.share[place]), float(self.gained[place])

    def best(self, level: float) -> float:
        """Return what the best threshold in hindsight gains."""
        return float(self.gained[self.share >= level].max(initial=0))


def simulate(case: Case, draws: int) -> Any:
    """Return the true share of right answers for each calibration set, and what is gained; then the best gain."""
    made, asked, number, by_cluster, used = case
    blank = made.get("blank", 0)
    people = population(**({"size": 5_000} | {key: value for key, value in made.items() if key != "blank"}))
    if blank:
        random = np.random.default_rng(5)
        dull = random.random(len(people.q)) < blank
        people.q[dull, 1:] *= random.uniform(0.02, 0.6, size=(int(dull.sum()), 1))
    world = Draws(people, **({"target": ("correct", LEVEL), "delta": DELTA} | asked))
    truth = Truth(people, world, by_cluster and "unit" not in asked)
    random, found = np.random.default_rng(0), np.empty((draws, 2))
    for i in range(draws):
        rows, clusters = world.sample(random, number, by_cluster)
        found[i] = truth.at(world.threshold(rows, clusters if used else None))
    level = float(world.request.level)
    return found[:, 0], found[:, 1].mean(), truth.best(level), level


def verdict(name: str, asked: dict[str, Any], result: Any) -> str:
    """Say whether the promise was kept, and what it costs."""
    true, gained, best, level = result
    what = "answered" if "among" in asked else "recall"
    cost = f"{what} {gained:.1%}, in hindsight {best:.1%}"
    if asked.get("guarantee") == "pac" or "among" in asked:
        broken, most = int((true < level - 1e-9).sum()), int(stats.binom.ppf(0.999, len(true), DELTA))
        chance = f"promised: {DELTA:.0%}, chance allows {most / len(true):.2%}"
        return f"{name:32} broken in {broken / len(true):6.2%} of sets ({chance}); {cost}"
    error = true.std(ddof=1) / np.sqrt(len(true))
    return f"{name:32} right {true.mean():7.3%} of the time, ± {2 * error:.3%} (promised: {level:.0%}); {cost}"


def by_inequalities(number: int, draws: int) -> float:
    """Return the mean recall with clusters if the inequalities of Hoeffding and Bentkus are used throughout."""
    people = population(size=5_000, cluster=20)
    world = Draws(people, target=("correct", LEVEL), delta=DELTA, **PAC)
    truth, random = Truth(people, world, True), np.random.default_rng(0)
    (promise,) = world.request.promises(people.hierarchy)
    losses = losses_of(promise, world.request, world.pool)
    budget = Bound("pac", exactly(1) - exactly(LEVEL), exactly(DELTA), binary=False).budget(number)
    gained = []
    for _ in range(draws):
        rows, clusters = world.sample(random, number, True)
        here = Steps.of(losses.take(rows), Clusters.of(clusters, len(rows)))
        gained.append(truth.at(here.before_first_excess(budget) if budget >= 0 else np.inf)[1])
    return float(np.mean(gained))


def at_most(number: int, draws: int) -> float:
    """Return a recall with clusters that hardly any valid test exceeds, even one that knows the population.

    At each threshold, no test refutes "the mean loss is above α" more often than the most powerful one against a
    distribution of which that is just true (Neyman and Pearson): here the one nearest to the population's, where a
    loss is 1 / (1 + λ (α - loss)) times as likely, with the rest at 1. Sets with a broken promise are left out.
    """
    people, alpha, random = population(size=5_000, cluster=20), 1 - LEVEL, np.random.default_rng(0)
    world = Draws(people, target=("correct", LEVEL), delta=DELTA, **PAC)
    truth, size = Truth(people, world, True), np.bincount(people.clusters)
    found, last, power = 0.0, 0.0, 1.0
    for tau in FAMILIES["threshold"].grid("probability")[::2]:
        share, gained = truth.at(tau)
        if share < LEVEL:
            break
        found, last = (
            found + (gained - last) * power,
            gained,
        )  # in between, power is at most that of the one before
        loss = np.bincount(people.clusters, 1 - world.truth(tau)) / size
        bet = optimize.minimize_scalar(
            lambda bet, loss=loss: -np.log1p(bet * (alpha - loss)).mean(),
            bounds=(0, 0.999 / LEVEL),
            method="bounded",
        ).x
        gain = np.log1p(bet * (alpha - np.append(loss, 1.0)))
        null = np.exp(-gain[:-1]) / len(loss)
        null = np.append(null, max(0, 1 - null.sum()))
        under_null, really = (
            gain[random.choice(len(gain), (draws, number), p=p / p.sum())].sum(axis=1)
            for p in (null, np.append(np.ones(len(loss)), 0))
        )
        power = (really >= np.quantile(under_null, 1 - DELTA, method="lower")).mean() if share < 0.99 else 1.0
    return found


def over_a_grid(name: str, asked: dict[str, Any], draws: int) -> None:
    """Print validity and tightness over numbers of examples and levels."""
    people = population(size=5_000)
    for level in (0.8, 0.9, 0.95):
        world = Draws(people, **asked | {"target": ("correct", level), "delta": DELTA})
        truth = Truth(people, world, False)
        for number in (50, 200, 1_000, 4_000):
            random, found = np.random.default_rng(0), []
            for _ in range(draws):
                found.append(truth.at(world.threshold(*world.sample(random, number))))
            share, gained = np.array(found).T
            broken, what = (share < level - 1e-9).mean(), "answered" if "among" in asked else "recall"
            print(
                f"{name}, correct={level:g}, {number:5,} examples: broken in {broken:6.2%} of sets, "
                f"right {share.mean():.1%}, {what} {gained.mean():.1%}, in hindsight {truth.best(level):.1%}",
                flush=True,
            )


def draw(results: dict[str, Any], path: str) -> None:
    """Draw the distribution of the true share of right answers for each case."""
    figure = Figure(figsize=(8, 0.55 * len(results) + 1), layout="constrained")
    ax = figure.subplots()
    for row, (name, (true, *_)) in enumerate(results.items()):
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
    parser.add_argument("--only", choices=["changing"], help="simulate only promises in a world that changes")
    given = parser.parse_args()
    for simulated in (by_events, other_data, monitored):
        simulated(given.draws)
    if given.only:
        return
    results = {}
    for name, case in CASES.items():
        results[name] = simulate(case, given.draws)
        print(verdict(name, case[1], results[name]), flush=True)
    if given.figure:  # of those with one level
        draw({name: found for name, found in results.items() if found[-1] == LEVEL}, given.figure)
    for number in (22, 30, 60, 120):
        betting = simulate(({"cluster": 20}, PAC, number, True, True), given.draws // 5)
        before = by_inequalities(number, given.draws // 5)
        said = f"pac, {number} clusters: recall {betting[1]:.2%} by betting, {before:.2%} by inequalities alone"
        most = at_most(number, given.draws // 5)
        print(f"{said}, {most:.2%} at most by any test, {betting[2]:.2%} in hindsight", flush=True)
    over_a_grid("pac", PAC, given.draws // 5)
    over_a_grid("among answers", AMONG, given.draws // 5)


if __name__ == "__main__":
    main()
