"""The same job with hedgerow and with other tools, on the same scores.

Run with `python -m benchmarks.bench_peers [--data FOLDER]`. FOLDER holds `clinc150`. Two scikit-learn classifiers
are fitted once, and everything else uses their probabilities for the test examples. Half of these, drawn again for
each of `SPLITS`, choose a threshold, and the other half is measured. MAPIE is measured where it is installed.
`bench_estimator` compares the classifiers themselves, and HiClass.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torchmetrics.classification import MulticlassAveragePrecision

import hedgerow as hr
from benchmarks.bench_estimator import DATA, clinc150
from hedgerow import metrics
from hedgerow.learn.torch_metric import HierarchicalAP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SPLITS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds clinc150")
    folder = parser.parse_args().data / "clinc150"
    if not folder.is_dir():
        print(f"skipped: there is no {folder}")
        return
    h, train, (X, y) = clinc150(folder)
    for C in (1, 10):
        model = LogisticRegression(C=C, max_iter=1000).fit(*train)
        q = np.asarray(hr.likelihood.from_leaves(h, model.predict_proba(X), classes=model.classes_.tolist()))
        print(f"\n**LogisticRegression(C={C})**, {len(y):,} test examples, {SPLITS} splits in halves\n")
        print("| rule | right, % | the exact class, % | recall, % |\n|---|---|---|---|")
        for name, rule in rules(h).items():
            print(f"| {name} | {' | '.join(f'{100 * value:.1f}' for value in mean_over_splits(h, q, y, rule))} |")
        if importlib.util.find_spec("mapie") is None:
            print("skipped: MAPIE is not installed")
        else:
            sets(model, X, y)
    average_precision(h, q, h.indices(y))


def rules(h: hr.Hierarchy) -> dict[str, Any]:
    """Functions of held-out likelihoods and labels, and new likelihoods, that return answers."""
    return {
        "most likely leaf": lambda _held, _labels, new: hr.infer.leaf(h, new),
        "QIIME 2's, 0.7": lambda _held, _labels, new: hr.infer.climbing(h, new, 0.7, inclusive=True),
        "SpeciesNet's, 0.65": lambda _held, _labels, new: hr.infer.threshold(h, new, 0.65),
        "`select`, correct=0.95": lambda held, labels, new: hr.select(
            h, held, labels, target=("correct", 0.95)
        ).predict(new),
        "`select`, correct=0.98": lambda held, labels, new: hr.select(
            h, held, labels, target=("correct", 0.98)
        ).predict(new),
    }


def halves(count: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(count)
        yield order[: count // 2], order[count // 2 :]


def mean_over_splits(h: hr.Hierarchy, q: NDArray[Any], y: NDArray[Any], rule: Any) -> NDArray[np.float64]:
    found = []
    for held, new in halves(len(y)):
        answers = rule(q[held], y[held], q[new])
        found.append(
            [metric(h, y[new], answers).mean() for metric in (metrics.correct, metrics.exact, metrics.recall)]
        )
    return np.asarray(np.mean(found, axis=0))


def sets(model: LogisticRegression, features: NDArray[Any], y: NDArray[Any]) -> None:
    """Measure sets of classes that hold the label with a probability of 95 % and 98 %."""
    from mapie.classification import SplitConformalClassifier

    print(
        "\n| sets of MAPIE | hold the label, % | have one class, % | mean size | empty, % |\n|---|---|---|---|---|"
    )
    for level in (0.95, 0.98):
        found = []
        for held, new in halves(len(y)):
            conformal = SplitConformalClassifier(model, confidence_level=level, prefit=True)
            conformal.conformalize(features[held], y[held])
            members = conformal.predict_set(features[new])[1][:, :, 0]
            size = members.sum(axis=1)
            place = np.searchsorted(model.classes_, y[new].astype(str))
            holds = members[np.arange(len(new)), place]
            found.append([100 * holds.mean(), 100 * (size == 1).mean(), size.mean(), 100 * (size == 0).mean()])
        holds_mean, one, mean_size, empty = np.mean(found, axis=0)
        print(f"| {level} | {holds_mean:.1f} | {one:.1f} | {mean_size:.2f} | {empty:.1f} |")


def average_precision(h: hr.Hierarchy, q: NDArray[Any], labels: NDArray[np.int64]) -> None:
    """Compare two metrics called average precision: what they say, and how long they take."""
    leaves = torch.tensor(q[:, h.leaves])
    classes = torch.tensor(np.searchsorted(h.leaves, labels))
    flat: Any = MulticlassAveragePrecision(num_classes=len(h.leaves))
    ours = HierarchicalAP(h)
    print("\n| metric | value, % | ms, update and compute |\n|---|---|---|")
    for name, metric, given in (
        ("MulticlassAveragePrecision", flat, (leaves, classes)),
        ("HierarchicalAP", ours, (torch.tensor(q), torch.tensor(labels))),
    ):
        times = []
        for _ in range(5):
            metric.reset()
            start = time.perf_counter()
            metric.update(*given)
            value = float(metric.compute())
            times.append(1000 * (time.perf_counter() - start))
        print(f"| {name} | {100 * value:.1f} | {min(times):.0f} |")


if __name__ == "__main__":
    main()
