"""The same job with hedgerow and with other tools, on the same scores.

Run with `python -m benchmarks.bench_peers [--data FOLDER]`. FOLDER holds `clinc150`: two scikit-learn classifiers
are fitted once, and everything else uses their probabilities for the test examples. Half of these, drawn again for
each of `SPLITS`, choose a threshold, and the other half is measured. If `python -m examples.languages` has
downloaded them, the same is done with py3langid's probabilities for lines of text; the halves are then halves of
the languages. MAPIE is measured where it is installed. `bench_estimator` compares the classifiers themselves, and
HiClass.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from examples.languages.prepare import prepare
from examples.languages.sources import downloads
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
    if folder.is_dir():
        intents(folder)
    else:
        print(f"skipped: there is no {folder}")
    if downloads().is_dir():
        languages()
    else:
        print("skipped: python -m examples.languages was not run")


def intents(folder: Path) -> None:
    h, train, (X, y) = clinc150(folder)
    labels = h.indices(y)
    for C in (1, 10):
        model = LogisticRegression(C=C, max_iter=1000).fit(*train)
        q = np.asarray(hr.likelihood.from_leaves(h, model.predict_proba(X), classes=model.classes_.tolist()))
        compare(f"LogisticRegression(C={C})", h, q, labels)
        if importlib.util.find_spec("mapie") is None:
            print("skipped: MAPIE is not installed")
        else:
            sets(model, X, y)
    average_precision(h, q, labels)


def languages() -> None:
    with TemporaryDirectory() as folder:
        prepare(Path(folder))
        h = hr.Hierarchy.read(Path(folder, "tree.json"))
        files = [dict(np.load(Path(folder, f"{name}.npz"))) for name in ("known", "unknown")]
    q = [
        np.asarray(hr.likelihood.from_leaves(h, file["probabilities"], classes=file["classes"])) for file in files
    ]
    labels = [h.indices(file["labels"]) for file in files]
    clusters = [file["clusters"] for file in files]
    compare("py3langid, languages that it knows", h, q[0], labels[0], clusters[0])
    compare(
        "py3langid, both kinds of languages",
        h,
        np.concatenate(q),
        np.concatenate(labels),
        np.concatenate(clusters),
    )


def compare(
    title: str,
    h: hr.Hierarchy,
    q: NDArray[Any],
    labels: NDArray[np.int64],
    clusters: NDArray[np.str_] | None = None,
) -> None:
    """Print how rules do on new examples, or on examples of new clusters."""
    print(f"\n**{title}**, {len(labels):,} test examples, {SPLITS} splits in halves\n")
    print(
        "| rule | right, % | right of those answered, % | the exact class, % | recall, % |\n|---|---|---|---|---|"
    )
    for name, rule in rules(h).items():
        values = mean_over_splits(h, q, labels, clusters, rule)
        print(f"| {name} | {' | '.join(f'{100 * value:.1f}' for value in values)} |")


def rules(h: hr.Hierarchy) -> dict[str, Any]:
    """Functions of held-out likelihoods, their labels and clusters, and new likelihoods, that return answers."""

    def chosen(level: float) -> Any:
        return lambda held, labels, clusters, new: hr.select(
            h, held, labels, target=("correct", level), clusters=clusters, below_label="wrong"
        ).predict(new)

    return {
        "most likely leaf": lambda _held, _labels, _clusters, new: hr.infer.leaf(h, new),
        "QIIME 2's, 0.7": lambda _held, _labels, _clusters, new: hr.infer.climbing(h, new, 0.7, inclusive=True),
        "SpeciesNet's, 0.65": lambda _held, _labels, _clusters, new: hr.infer.threshold(h, new, 0.65),
        "`select`, correct=0.95": chosen(0.95),
        "`select`, correct=0.98": chosen(0.98),
    }


def halves(clusters: NDArray[Any]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    names, cluster = np.unique(clusters, return_inverse=True)
    for seed in range(SPLITS):
        first = np.zeros(len(names), bool)
        first[np.random.default_rng(seed).permutation(len(names))[: len(names) // 2]] = True
        yield np.flatnonzero(first[cluster]), np.flatnonzero(~first[cluster])


def mean_over_splits(
    h: hr.Hierarchy, q: NDArray[Any], labels: NDArray[np.int64], clusters: NDArray[np.str_] | None, rule: Any
) -> NDArray[np.float64]:
    found = []
    for held, new in halves(np.arange(len(labels)) if clusters is None else clusters):
        answers = rule(q[held], labels[held], None if clusters is None else clusters[held], q[new])
        right, exact, recall = (
            metric(h, labels[new], answers, below_label="wrong")
            for metric in (metrics.correct, metrics.exact, metrics.recall)
        )
        found.append([right.mean(), right[answers > 0].mean(), exact.mean(), recall.mean()])
    return np.asarray(np.mean(found, axis=0))


def sets(model: LogisticRegression, features: NDArray[Any], y: NDArray[Any]) -> None:
    """Measure sets of classes that hold the label with a probability of 95 % and 98 %."""
    from mapie.classification import SplitConformalClassifier

    print(
        "\n| sets of MAPIE | hold the label, % | have one class, % | mean size | empty, % |\n|---|---|---|---|---|"
    )
    for level in (0.95, 0.98):
        found = []
        for held, new in halves(np.arange(len(y))):
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
