"""How good and how fast `HedgedClassifier` is, beside what else one would use on embeddings.

Run with `python -m benchmarks.bench_estimator [--data FOLDER] [--full] [--part PART]`. FOLDER may hold `clinc150`
(questions put to an assistant: embeddings and text, 150 intents in 10 domains) and `omniglot` (drawings of 1,623
characters). The first tables compare models and their processor times; HiClass is measured where it is installed.
The next compares the defaults, on features of several kinds, with what a patient user gets: standardised features
and the best C of a grid, picked on the test part itself. SE is the standard error of the difference of leaf
accuracy. The last compares methods, with a quarter of the classes withheld from training. `--full` adds the large
data.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import math
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import datasets, model_selection
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from hedgerow import methods, metrics
from hedgerow.learn.classifier import HedgedClassifier
from hedgerow.learn.data import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Split = tuple[Any, NDArray[np.object_]]

DATA = Path(__file__).parents[2] / "shared" / "data"
LOCAL = ("LocalClassifierPerParentNode", "LocalClassifierPerLevel", "LocalClassifierPerNode")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds clinc150 and omniglot")
    parser.add_argument("--full", action="store_true", help="also the large data, and finer grids")
    parser.add_argument("--part", choices=("models", "penalties", "unseen"), help="one part only")
    options = parser.parse_args()
    HedgedClassifier(C=1, epochs=1).fit(np.eye(3), [0, 1, 2])  # torch loads parts of itself at the first step
    found = {name: (options.data / name).is_dir() for name in ("clinc150", "omniglot")}
    for name in found:
        if not found[name]:
            print(f"skipped: there is no {name} in {options.data}\n")
    if options.part in (None, "models"):
        models(options.data, found, options.full)
    if options.part in (None, "penalties"):
        penalties(options.data, found, options.full)
    if options.part in (None, "unseen"):
        unseen(options.data, found, options.full)


def models(folder: Path, found: dict[str, bool], full: bool) -> None:
    """Compare models, and their processor times."""
    if found["clinc150"]:
        task = clinc150(folder / "clinc150")
        compare("clinc150", *task, local=importlib.util.find_spec("hiclass") is not None, repeats=2)
    compare("1,000 leaves", *many_leaves(10), local=False, repeats=2)
    if full:
        compare("4,000 leaves", *many_leaves(20), local=False, repeats=1)


def penalties(folder: Path, found: dict[str, bool], full: bool) -> None:
    """Compare the defaults with standardised features and the best C."""
    print("| data | features | C chosen | AP | leaf | F1 | best AP (C) | best leaf (C) | F1 of the best AP | SE |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, (h, train, test) in tasks(folder, found, full).items():
        is_sparse = sparse.issparse(train[0])
        best = best_of_grid(h, *((train, test) if is_sparse else changed(standardised, train, test)))
        for kind, change in KINDS.items():
            if is_sparse and kind not in ("as they are", "times 1,000"):
                continue
            learnt, asked = changed(change, train, test)
            auto = HedgedClassifier(h, random_state=0).fit(*learnt)
            own = scores(auto, h, asked)
            error = np.std(best["leaf"][1].leaf * 1.0 - own.leaf) / math.sqrt(len(own.leaf))
            row = [name, kind, f"{auto.C_:.3g}", f"{own.ap:.2%}", f"{own.leaf.mean():.2%}", f"{own.f1:.2%}"]
            row += [f"{best['ap'][1].ap:.2%} ({best['ap'][0]:.3g})"]
            row += [f"{best['leaf'][1].leaf.mean():.2%} ({best['leaf'][0]:.3g})"]
            row += [f"{best['ap'][1].f1:.2%}", f"{error:.2%}"]
            print(f"| {' | '.join(row)} |", flush=True)


class Scores(NamedTuple):
    """AP, whether each leaf was right, and the mean F1 of `predict`."""

    ap: float
    leaf: NDArray[np.bool_]
    f1: float


def scores(model: HedgedClassifier, h: hr.Hierarchy, test: Split) -> Scores:
    ap = hr.operating_curve(h, model.predict_likelihood(test[0]), test[1]).summary()["AP"]
    return Scores(ap, np.asarray(model.predict_leaf(test[0]) == test[1]), model.score(*test))


def best_of_grid(h: hr.Hierarchy, train: Split, test: Split) -> dict[str, tuple[float, Scores]]:
    """Return the best C and its scores, by AP and by leaf accuracy, on the test part itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        grid = {C: scores(HedgedClassifier(h, C=C, random_state=0).fit(*train), h, test) for C in GRID}
    return {
        "ap": max(grid.items(), key=lambda pair: pair[1].ap),
        "leaf": max(grid.items(), key=lambda pair: float(pair[1].leaf.mean())),
    }


def unseen(folder: Path, found: dict[str, bool], full: bool) -> None:
    """Compare methods on classes that were learnt, and on classes that were not."""
    print("| data | method | leaf | AP | R@95C | unseen: AP | R@95C | all: AP | R@95C |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, task in tasks(folder, found, full).items():
        if name not in ("clinc150", "1,000 leaves", "glyphs, PCA", "omniglot, PCA"):
            continue
        h, train, test, others = withheld(*task)
        both = np.concatenate([test[0], others[0]]), np.concatenate([test[1], others[1]])
        for method in methods.available():
            clf = HedgedClassifier(h, method=method, random_state=0).fit(*train)
            shares = [float(np.mean(clf.predict_leaf(test[0]) == test[1]))]
            for X, y in (test, others, both):
                scale = clf.method_.scale
                q = clf.predict_likelihood(X, scale=scale)
                curve = hr.operating_curve(h, q, y, scale=scale, below_label="wrong").summary()
                shares += [curve["AP"], curve["R@95C"]]
            print(f"| {name} | `{method}` | {' | '.join(f'{100 * share:.1f}' for share in shares)} |", flush=True)


def withheld(h: hr.Hierarchy, train: Split, test: Split) -> tuple[hr.Hierarchy, Split, Split, Split]:
    """Withhold a quarter of the leaves; the labels of unseen examples are what is known of them."""
    random = np.random.default_rng(0)
    hidden = set(random.choice(h.names[h.leaves], len(h.leaves) // 4, replace=False))
    lineages = {name: h.names[h.lineage(h.index(name))] for name in h.names[h.leaves]}
    known = {above for name, lineage in lineages.items() if name not in hidden for above in lineage}
    edges = [(h.names[h.parent[v]], h.names[v]) for v in range(1, len(h)) if h.names[v] in known]
    deepest = {
        name: next(above for above in lineage[::-1] if above in known) for name, lineage in lineages.items()
    }

    def part(split: Split, unseen: bool) -> Split:
        rows = np.flatnonzero([(name in hidden) == unseen for name in split[1]])
        return split[0][rows], np.array([deepest[name] for name in split[1][rows]], dtype=object)

    return hr.Hierarchy.from_edges(edges), part(train, False), part(test, False), part(test, True)


def tasks(folder: Path, found: dict[str, bool], full: bool) -> dict[str, tuple[hr.Hierarchy, Split, Split]]:
    made = {name: small(name) for name in ("digits", "wine", "breast_cancer", "iris")}
    if found["clinc150"]:
        dense = made["clinc150"] = clinc150(folder / "clinc150")
        made["clinc150, 5 a class"] = few(*dense, 5)
        made["clinc150, 20 a class"] = few(*dense, 20)
        made["clinc150, half coarse"] = coarse(*dense)
        made["clinc150, TF-IDF"] = clinc150_text(folder / "clinc150")
    made["1,000 leaves"] = many_leaves(10)
    if full:
        made["glyphs"] = glyphs()
        made["glyphs, PCA"] = principal(*made["glyphs"])
        if found["omniglot"]:
            made["omniglot"] = omniglot(folder / "omniglot")
            made["omniglot, PCA"] = principal(*made["omniglot"])
    return made


def standardised(x: Any, mean: Any, spread: Any) -> Any:
    return (x - mean) / spread


def turned_and_shrunk(x: Any, *_: Any) -> Any:
    """Turn features at random, and divide them by 1 to 1,000."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((x.shape[1], x.shape[1]))).Q
    return ((x @ turn) / np.logspace(0, 3, x.shape[1])).astype(np.float32)


KINDS: dict[str, Callable[..., Any]] = {
    "as they are": lambda x, *_: x,
    "times 1,000": lambda x, *_: x * 1000,
    "standardised": standardised,
    "turned and shrunk": turned_and_shrunk,
    "float16": lambda x, *_: x.astype(np.float16),
}
GRID = 2.0 ** np.arange(0, 17)


def changed(change: Callable[..., Any], *splits: Split) -> tuple[Split, ...]:
    first = splits[0][0]
    statistics = () if sparse.issparse(first) else (first.mean(0), first.std(0) + 1e-9)
    return tuple((change(X, *statistics), y) for X, y in splits)


def few(h: hr.Hierarchy, train: Split, test: Split, count: int) -> tuple[hr.Hierarchy, Split, Split]:
    """The first examples of each class."""
    rows = np.sort(np.concatenate([np.flatnonzero(train[1] == name)[:count] for name in np.unique(train[1])]))
    return h, (train[0][rows], train[1][rows]), test


def coarse(h: hr.Hierarchy, train: Split, test: Split) -> tuple[hr.Hierarchy, Split, Split]:
    """Half of the labels are known one level higher only."""
    node = h.indices(train[1])
    higher = np.random.default_rng(0).random(len(node)) < 0.5
    return h, (train[0], h.names[np.where(higher, h.parent[node], node)]), test


def principal(h: hr.Hierarchy, train: Split, test: Split) -> tuple[hr.Hierarchy, Split, Split]:
    """The first 128 principal components of the training part."""
    components = PCA(128, svd_solver="randomized", random_state=0).fit(train[0])
    return h, *((components.transform(X).astype(np.float32), y) for X, y in (train, test))  # type: ignore[return-value]


def small(name: str) -> tuple[hr.Hierarchy, Split, Split]:
    """One of scikit-learn's own, its classes in groups of two."""
    data = getattr(datasets, f"load_{name}")()
    count = data.target.max() + 1
    h = hr.Hierarchy.from_paths([f"group {k // 2}/class {k}" for k in range(count)])
    y = np.array([f"class {k}" for k in data.target], dtype=object)
    parts = model_selection.train_test_split(data.data, y, test_size=0.4, stratify=y, random_state=0)
    return h, (parts[0], parts[2]), (parts[1], parts[3])


def glyphs() -> tuple[hr.Hierarchy, Split, Split]:
    data = load("glyphs")

    def part(examples: Any, count: int) -> Split:
        rows = np.random.default_rng(0).permutation(len(examples))[:count]
        inputs, labels = examples.subset(rows).as_tensors()
        return inputs.numpy().reshape(count, -1).astype(np.float32), data.hierarchy.names[labels.numpy()]

    return data.hierarchy, part(data.train, 16_000), part(data.test, 5_000)


def omniglot(folder: Path) -> tuple[hr.Hierarchy, Split, Split]:
    h = hr.Hierarchy.from_edges(folder / "hierarchy.csv")
    data = np.load(folder / "omniglot28.npz")
    X, split = data["images"].reshape(-1, 784).astype(np.float32), data["split"]
    y = data["character_names"].astype(object)[data["character"]]
    return h, (X[split == 0], y[split == 0]), (X[split == 2], y[split == 2])


def clinc150_text(folder: Path) -> tuple[hr.Hierarchy, Split, Split]:
    """Words and pairs of words, weighted by TF-IDF: sparse."""
    with gzip.open(folder / "clinc150_text.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    texts, y = (
        {name: [row[key] for row in rows if row["split"] == name] for name in ("train", "test")}
        for key in ("text", "intent")
    )
    vectors = TfidfVectorizer(min_df=2, ngram_range=(1, 2), dtype=np.float32)
    train, test = vectors.fit_transform(texts["train"]), vectors.transform(texts["test"])
    h = hr.Hierarchy.from_edges(folder / "hierarchy.csv")
    return h, (train, np.array(y["train"], dtype=object)), (test, np.array(y["test"], dtype=object))


def clinc150(folder: Path) -> tuple[hr.Hierarchy, Split, Split]:
    h = hr.Hierarchy.from_edges(folder / "hierarchy.csv")
    data = np.load(folder / "clinc150_pca128.npz")
    X, split = data["X"].astype(np.float32), data["split"]
    y = data["intent_names"].astype(object)[data["intent"]]
    return h, (X[split == 0], y[split == 0]), (X[split == 2], y[split == 2])


def many_leaves(wide: int) -> tuple[hr.Hierarchy, Split, Split]:
    """10 x `wide`² leaves, with four examples on average, one at least; 128 features around a centre of each leaf.

    Siblings are near each other.
    """
    random = np.random.default_rng(0)
    leaves = ((f"a{i}", f"b{i}.{j}", f"c{i}.{j}.{k}") for i in range(wide) for j in range(10) for k in range(wide))
    h = hr.Hierarchy.from_paths(["/".join(path) for path in leaves])
    centre = np.zeros((len(h), 128))
    for node in range(1, len(h)):
        centre[node] = centre[h.parent[node]] + (0, 1, 0.7, 0.5)[h.depth[node]] * random.standard_normal(128)

    def draw(labels: NDArray[np.int64]) -> Split:
        noise = 1.2 * random.standard_normal((len(labels), 128))
        return (centre[labels] + noise).astype(np.float32), h.names[labels]

    return (
        h,
        draw(np.append(h.leaves, random.choice(h.leaves, 3 * len(h.leaves)))),
        draw(random.choice(h.leaves, 4_000)),
    )


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
            start = time.process_time()
            fitted[name] = fit()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds, fitted


if __name__ == "__main__":
    main()
