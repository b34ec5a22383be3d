"""How much longer work takes beside one busy process, on the cores that both share.

Run with `python -m benchmarks.bench_threads [--quick]`. Threads that wait for each other by spinning keep their
core and get nothing done: beside a neighbour that keeps one core busy a run takes many times as long. Each line is
measured with one torch thread and with as many as there are cores, idle and beside a neighbour; times are the best
of several. `--quick` leaves out the training runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

import hedgerow as hr
from hedgerow import methods
from hedgerow.learn.classifier import HedgedClassifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Work = Callable[[], object]

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the training runs")
    options = parser.parse_args()
    h = tree(1000)
    features, labels = examples(h, 4000)
    works: dict[str, Work] = {
        "HedgedClassifier.fit, C given": lambda: HedgedClassifier(h, C=100, random_state=0).fit(features, labels),
        "operating_curve, NumPy": curve(h, labels),
        "loss of softmax-margin, both ways": loss(h, "softmax-margin"),
        "loss of hxe, both ways": loss(h, "hxe"),
    }
    print(f"{CORES} cores; seconds, and how many times as long beside a busy process\n")
    print("| work | torch threads | idle | beside a neighbour | ratio |")
    print("|---|---|---|---|---|")
    for name, work in works.items():
        work()  # once unmeasured: libraries load parts of themselves
        for threads in (1, CORES):
            torch.set_num_threads(threads)
            show(name, threads, partial(timed, work, 3))
    if not options.quick:
        for command in ("train glyphs-quick", "study main glyphs-quick --methods flat-softmax --no-figures"):
            for threads in (1, CORES):
                show(f"hedgerow {command}, 1 epoch", threads, partial(run, command, threads))


def tree(leaves: int) -> hr.Hierarchy:
    return hr.Hierarchy.from_paths([f"a{i // 100}/b{i // 10}/c{i}" for i in range(leaves)])


def examples(h: hr.Hierarchy, count: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    centre = random.standard_normal((len(h), 128))
    label = random.choice(h.leaves, count)
    return (centre[label] + random.standard_normal((count, 128))).astype(np.float32), h.names[label]


def curve(h: hr.Hierarchy, labels: np.ndarray) -> Work:
    leaves = np.random.default_rng(0).dirichlet(np.full(len(h.leaves), 0.05), len(labels))
    q = hr.likelihood.from_leaves(h, leaves)
    return lambda: hr.operating_curve(h, q, labels)


def loss(h: hr.Hierarchy, name: str) -> Work:
    method = methods.create(name, h)
    theta = torch.randn(256, method.width, requires_grad=True)
    label = torch.from_numpy(np.random.default_rng(0).choice(h.leaves, 256))

    def work() -> None:
        for _ in range(20):
            method.loss(theta, label).mean().backward()  # type: ignore[no-untyped-call]

    return work


def run(command: str, threads: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run(
            [
                sys.executable,
                "-m",
                "hedgerow",
                *command.split(),
                "--set",
                "optimiser.epochs=1",
                "-o",
                Path(folder, "run"),
            ],
            env=os.environ | {"OMP_NUM_THREADS": str(threads)},
            check=True,
            capture_output=True,
        )
        return time.perf_counter() - start


def timed(work: Work, repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)


def show(name: str, threads: int, seconds: Callable[[], float]) -> None:
    idle = seconds()
    with neighbour():
        beside = seconds()
    print(f"| {name} | {threads} | {idle:.2f} | {beside:.2f} | {beside / idle:.1f} |", flush=True)


@contextmanager
def neighbour() -> Iterator[None]:
    """Keep one core busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.2)
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
