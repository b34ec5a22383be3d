"""How good and how fast `HedgedClassifier` is, beside what else one would use on embeddings.

Run with `python -m benchmarks.bench_estimator [--data FOLDER] [--quick]`. FOLDER holds `clinc150`, embeddings of
questions put to an assistant, 150 intents in 10 domains; `--quick` leaves out the large tree. HiClass is measured
where it is installed. Times are the best of several, taken in turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from hedgerow import metrics
from hedgerow.learn.classifier import HedgedClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Split = tuple[NDArray[np.float32], NDArray[np.object_]]

DATA = Path(__file__).parents[2] / "shared" / "data"
LOCAL = ("LocalClassifierPerParentNode", "LocalClassifierPerLevel", "LocalClassifierPerNode")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds clinc150")
    parser.add_argument("--quick", action="store_true", help="leave out the large tree")
    options = parser.parse_args()
    HedgedClassifier(epochs=1).fit(np.eye(3), [0, 1, 2])  # torch loads parts of itself at the first step
    if (options.data / "clinc150").is_dir():
        h, train, test = clinc150(options.data / "clinc150")
        compare("clinc150", h, train, test, local=importlib.util.find_spec("hiclass") is not None, repeats=2)
    else:
        print(f"skipped: there is no clinc150 in {options.data}\n")
    if not options.quick:
        compare("4,000 leaves", *many_leaves(), local=False, repeats=1)


def clinc150(folder: Path) -> tuple[hr.Hierarchy, Split, Split]:
    h = hr.Hierarchy.from_edges(folder / "hierarchy.csv")
    data = np.load(folder / "clinc150_pca128.npz")
    X, split = data["X"].astype(np.float32), data["split"]
    y = data["intent_names"].astype(object)[data["intent"]]
    return h, (X[split == 0], y[split == 0]), (X[split == 2], y[split == 2])


def many_leaves() -> tuple[hr.Hierarchy, Split, Split]:
    """15,000 examples of 128 features around the centres of 4,000 leaves, siblings near each other."""
    random = np.random.default_rng(0)
    leaves = ((f"a{i}", f"b{i}.{j}", f"c{i}.{j}.{k}") for i in range(20) for j in range(10) for k in range(20))
    h = hr.Hierarchy.from_paths(["/".join(path) for path in leaves])
    centre = np.zeros((len(h), 128))
    for node in range(1, len(h)):
        centre[node] = centre[h.parent[node]] + (0, 1, 0.7, 0.5)[h.depth[node]] * random.standard_normal(128)

    def draw(labels: NDArray[np.int64]) -> Split:
        noise = 1.2 * random.standard_normal((len(labels), 128))
        return (centre[labels] + noise).astype(np.float32), h.names[labels]

    return h, draw(np.append(h.leaves, random.choice(h.leaves, 11_000))), draw(random.choice(h.leaves, 4_000))


def compare(title: str, h: hr.Hierarchy, train: Split, test: Split, *, local: bool, repeats: int) -> None:
    X, y = train
    models: dict[str, Callable[[], Any]] = {
        "LogisticRegression": lambda: LogisticRegression(max_iter=1000).fit(X, y),
        "HedgedClassifier": lambda: HedgedClassifier(h, random_state=0).fit(X, y),
    }
    if local:
        import hiclass

        for name in LOCAL:
            model = getattr(hiclass, name)(local_classifier=LogisticRegression(max_iter=1000))
            models[f"HiClass {name}"] = partial(model.fit, X, lineages(h, y))
    elif title == "clinc150":
        print("skipped: HiClass is not installed\n")
    seconds, fitted = fit_in_turns(models, repeats)
    print(f"**{title}**: {len(X):,} examples to learn from, {len(test[0]):,} to test\n")
    print("| model | leaf accuracy | F1 of leaves | F1 of `predict` | fit time / LogisticRegression | seconds |")
    print("|---|---|---|---|---|---|")
    for name, trained in fitted.items():
        leaf, answer = answers(trained, test[0])
        accuracy = np.mean(leaf == test[1])
        f1 = [metrics.f1(h, test[1], given).mean() for given in (leaf, answer)]
        ratio = seconds[name] / seconds["LogisticRegression"]
        print(f"| {name} | {accuracy:.2%} | {f1[0]:.2%} | {f1[1]:.2%} | {ratio:.2f} | {seconds[name]:.1f} |")
    print()


def lineages(h: hr.Hierarchy, y: NDArray[np.object_]) -> NDArray[np.object_]:
    """Names from below the root to the label, as HiClass wants them."""
    return np.array([h.names[h.lineage(node)[1:]] for node in h.indices(y)], dtype=object)


def answers(model: Any, features: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The leaf and the answer that each example gets; only hedgerow has answers that are not leaves."""
    if isinstance(model, HedgedClassifier):
        return model.predict_leaf(features), model.predict(features)
    predicted = model.predict(features)
    leaf = predicted if predicted.ndim == 1 else predicted[:, -1]
    return leaf, leaf


def fit_in_turns(models: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    seconds, fitted = dict.fromkeys(models, math.inf), {}
    for _ in range(repeats):
        for name, fit in models.items():
            start = time.perf_counter()
            fitted[name] = fit()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds, fitted


if __name__ == "__main__":
    main()
