"""Choosing a point: the same threshold as MAPIE, and how long it takes beside sorting.

    PYTHONPATH=. python benchmarks/bench_select.py [--examples 1000000]

With two classes and no levels between, an answer is wrong from the likelihood of the other class on, which is
MAPIE's score "lac". As long as the threshold is above one half, both must choose the same. Skipped without mapie.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from tests.choose.populations import population

import hedgerow as hr
from hedgerow.choose import Request, choose, gather
from hedgerow.choose.calibration import CalibrationSet
from hedgerow.score_files import Examples

LEVELS = (0.55, 0.8, 0.9, 0.95, 0.99)
TIMED = ((("correct", 0.95), "conformal"), (("correct", 0.95), "pac"), (("recall", 0.3), "conformal"))


class Prefit:
    """A classifier of two classes whose probabilities are its features."""

    classes_ = np.array([0, 1])
    n_features_in_ = 2
    fitted_ = True

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, *_: Any) -> Prefit:
        return self

    def predict(self, features: Any) -> Any:
        return np.argmax(features, axis=1)

    def predict_proba(self, features: Any) -> Any:
        return np.asarray(features)


def same_threshold(examples: int) -> None:
    """Compare thresholds with MAPIE's."""
    if find_spec("mapie") is None:
        print("mapie is not installed: thresholds are not compared.")
        return
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Estimator(Prefit, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        pass

    random = np.random.default_rng(0)
    p = np.round(random.beta(0.5, 0.5, size=examples) * 2**20) / 2**20  # 1 - p is exact
    probability = np.stack([p, 1 - p], axis=1)
    label = (random.random(examples) < 0.35).astype(int)  # much noise: thresholds are above one half
    h = hr.Hierarchy.from_edges([("root", "a"), ("root", "b")])
    q = np.concatenate([np.ones((examples, 1)), probability], axis=1)
    theirs = SplitConformalClassifier(
        Estimator(), confidence_level=list(LEVELS), prefit=True, conformity_score="lac"
    )
    theirs.conformalize(probability, label)
    theirs.predict_set(probability[:2])  # computes the quantiles
    quantiles = np.ravel(theirs._mapie_classifier.conformity_score_function_.quantiles_)
    for level, quantile in zip(LEVELS, quantiles, strict=True):
        ours = hr.select(h, q, np.array(["a", "b"])[label], target=("correct", level)).threshold
        if quantile <= 0.5:
            print(f"{level}: below one half, not comparable")
            continue
        assert ours == quantile, (level, ours, quantile)
        print(f"{level}: {ours!r}, the same")


def time_beside_sorting(examples: int) -> None:
    """Compare the time of a choice with that of sorting the events."""
    part = population(leaves=243, size=10_000)
    h = part.hierarchy
    pool = gather(Request.of(target=("correct", 0.95)), h, part.q, h.names[part.labels])
    times = examples // len(pool)
    events = type(pool.events).concatenate([pool.events] * times)
    # No ties between copies, which would make sorting easier.
    noise = np.random.default_rng(0).uniform(1 - 1e-9, 1, size=len(events.score))
    events = type(events)(events.label, events.count, events.node, events.score * noise)
    labels = np.tile(pool.labels, times)
    everyone = CalibrationSet(h, pool.scale, Examples.of(len(labels), labels=labels), events=events)
    sorting = best(lambda: np.argsort(events.score))
    print(f"{len(labels):,} examples, {len(events.score):,} events; sorting them {sorting:.2f} s")
    for target, guarantee in TIMED:
        asked = Request.of(target=target, guarantee=guarantee)
        taken = best(lambda asked=asked: choose(asked, everyone))
        print(f"{target[0]}, {guarantee}: {taken:.2f} s, {taken / sorting:.2f} of sorting")


def best(work: Any, times: int = 3) -> float:
    """Return the shortest of several times."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000_000)
    given = parser.parse_args()
    same_threshold(2_001)
    time_beside_sorting(given.examples)


if __name__ == "__main__":
    main()
