"""This version beside another: the same commands and calls in both, alternating, by processor time.

python -m benchmarks.versions PYTHON

PYTHON is the interpreter of an environment in which the other version is installed, such as `.venv/bin/python` of
a checkout of its tag after `make setup`. Each time is the least of several; it includes the start of the process,
but not the compilation of modules.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import hedgerow as hr

HEDGEROW = ("-m", "hedgerow")
EVALUATE = (*HEDGEROW, "evaluate", "scores.npz", "--tree", "tree.csv")
CURVE = """
import hedgerow as hr, numpy as np
h = hr.Hierarchy.from_edges("tree.csv")
with np.load("scores.npz", allow_pickle=False) as file:
    q = hr.likelihood.from_leaves(h, file["probabilities"], classes=file["classes"])
    hr.operating_curve(h, q, h.indices(file["labels"].astype(object))).summary()
"""
FIT = """
import hedgerow as hr, numpy as np
h = hr.Hierarchy.from_edges("tree.csv")
with np.load("features.npz", allow_pickle=False) as file:
    clf = hr.HedgedClassifier(h, random_state=0{}).fit(file["X"], file["y"])
    print(np.mean(clf.predict_leaf(file["X_new"]) == file["y_new"]))
"""
TASKS = {
    "import hedgerow": ("-c", "import hedgerow"),
    "hedgerow --help": (*HEDGEROW, "--help"),
    "evaluate a CSV file": (*HEDGEROW, "evaluate", "scores.csv", "--tree", "tree.csv"),
    "evaluate an .npz file": EVALUATE,
    "the same, with a report": (*EVALUATE, "--html", "page.html"),
    "select, and save the point": (
        *HEDGEROW,
        *("select", "scores.npz", "--tree", "tree.csv", "--target", "correct=0.9", "-o", "point.json"),
    ),
    "scores to curve, in Python": ("-c", CURVE),
    "fit a classifier, C given": ("-c", FIT.format(", C=20")),
    "fit a classifier, C chosen": ("-c", FIT.format("")),
}
ROUNDS = 4


def main() -> None:
    pythons = (sys.executable, sys.argv[1])
    print("| processor time, s | this version | the other | ratio |\n|---|---|---|---|")
    with TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        for name, task in TASKS.items():
            best, printed = [np.inf, np.inf], ["", ""]
            for _ in range(ROUNDS):
                for i, python in enumerate(pythons):
                    time, printed[i] = run(python, *task, folder=folder)
                    best[i] = min(best[i], time)
            accuracy = (
                f" (leaf accuracy {float(printed[0]):.3f}, {float(printed[1]):.3f})" if "fit" in name else ""
            )
            print(f"| {name}{accuracy} | {best[0]:.2f} | {best[1]:.2f} | {best[0] / best[1]:.2f} |", flush=True)
        sizes = []
        for python in pythons:
            run(python, *TASKS["the same, with a report"], folder=folder)
            sizes.append(Path(folder, "page.html").stat().st_size / 1e6)
    print(f"| size of the report, MB | {sizes[0]:.1f} | {sizes[1]:.1f} | {sizes[0] / sizes[1]:.2f} |")


def run(python: str, *arguments: str, folder: str) -> tuple[float, str]:
    """Return the processor time of a process, in seconds, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{python} {' '.join(arguments)}: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def write_inputs(folder: Path) -> None:
    """Write a tree of 1,000 leaves, scores of 5,000 examples (1,000 as CSV), and features of 4,000 examples."""
    edges = [("root", f"g{i // 100}") for i in range(0, 1000, 100)]
    edges += [(f"g{i // 100}", f"f{i // 10}") for i in range(0, 1000, 10)]
    edges += [(f"f{i // 10}", f"s{i}") for i in range(1000)]
    (folder / "tree.csv").write_text("".join(f"{parent},{child}\n" for parent, child in edges), encoding="utf-8")
    h = hr.Hierarchy.from_edges(edges)
    random = np.random.default_rng(0)
    classes = h.names[h.leaves].astype(str)
    label = random.integers(1000, size=5000)
    logits = random.normal(size=(5000, 1000)) + 0.5 * (label[:, None] // 10 == np.arange(1000) // 10)
    logits[np.arange(5000), label] += 6
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.savez(folder / "scores.npz", classes=classes, labels=classes[label], probabilities=p.astype(np.float32))
    rows = (",".join([classes[label[i]], *(f"{value:.8f}" for value in p[i])]) for i in range(1000))
    (folder / "scores.csv").write_text("\n".join([",".join(["label", *classes]), *rows]) + "\n", encoding="utf-8")
    centre = random.normal(size=(len(h), 64))
    for node in range(1, len(h)):
        centre[node] += centre[h.parent[node]]
    X = centre[h.leaves[label]] + 3 * random.normal(size=(5000, 64))
    y = classes[label]
    np.savez(folder / "features.npz", X=X[:4000], y=y[:4000], X_new=X[4000:], y_new=y[4000:])


if __name__ == "__main__":
    main()
