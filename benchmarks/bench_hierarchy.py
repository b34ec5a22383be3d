"""How fast and how small a tree is, as ratios that mean the same on every machine.

Run with `python -m benchmarks.bench_hierarchy`.
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
import tracemalloc
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hedgerow import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

INAT21 = Path(__file__).parents[2] / "shared" / "data" / "hierarchies" / "inat21.csv"
INAT21_LEVELS = (1, 3, 13, 51, 273, 1_103, 4_900, 10_000)


@dataclass(frozen=True)
class Goal:
    what: str
    value: float
    goal: str
    met: bool


def random_edges(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Edges of a random recursive tree, shuffled: every node hangs on any node before it."""
    random = np.random.default_rng(seed)
    parent = (random.random(count) * np.arange(count)).astype(np.int64).tolist()
    names = [f"taxon {i:07d}" for i in range(count)]
    return [(names[parent[i]], names[i]) for i in random.permutation(np.arange(1, count)).tolist()]


def write_edges(path: Path, edges: list[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{parent},{child}\n" for parent, child in edges)


def inat21_sized() -> Hierarchy:
    """The tree of iNat21, or where it is absent a random one with as many nodes on every level."""
    if INAT21.exists():
        return Hierarchy.from_edges(INAT21)
    random = np.random.default_rng(0)
    parent = [-1]
    for above, size in pairwise(INAT21_LEVELS):
        last = len(parent)
        first = np.arange(last - above, last)  # everyone has a child
        rest = random.integers(last - above, last, size - above)
        parent += np.concatenate([first, rest]).tolist()
    return Hierarchy.from_parents([f"taxon {i}" for i in range(len(parent))], parent)


def alternating(first: Callable[[], Any], second: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Least seconds of two jobs, done in turns so that a busy machine slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for job, taken in zip((first, second), times, strict=True):
            gc.collect()
            start = time.perf_counter()
            made = job()
            taken.append(time.perf_counter() - start)
            del made  # not within the time
    return min(times[0]), min(times[1])


def lca_by_paths(h: Hierarchy) -> Callable[[Any, Any], NDArray[np.int64]]:
    """The usual way in NumPy: compare the two paths from the root, and take the last node they share."""
    depth = int(h.depth.max())
    path = np.full((len(h), depth + 1), -1, dtype=np.int64)
    for node in range(len(h)):
        lineage = h.lineage(node)
        path[node, : len(lineage)] = lineage

    def lca(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        shared = np.sum((path[a] == path[b]) & (path[a] >= 0), axis=1)
        found: NDArray[np.int64] = path[a, shared - 1]
        return found

    return lca


def bench_reading(folder: Path, count: int = 1_000_000, repeats: int = 9) -> list[Goal]:
    path = folder / "tree.csv"
    write_edges(path, random_edges(count))
    ours, pandas = alternating(lambda: Hierarchy.from_edges(path), lambda: pd.read_csv(path), repeats)
    print(f"reading and building {count:,} nodes: {ours:.3f} s; pandas.read_csv: {pandas:.3f} s")
    ratio = ours / pandas
    return [Goal("read and build 1,000,000 nodes / pandas.read_csv", ratio, "<= 50", ratio <= 50)]


def bench_lca(pairs: int = 10_000_000, repeats: int = 5) -> list[Goal]:
    h = inat21_sized()
    random = np.random.default_rng(0)
    a, b = random.integers(0, len(h), (2, pairs))
    by_paths = lca_by_paths(h)
    few = slice(0, 100_000)
    assert np.array_equal(h.lca(a[few], b[few]), by_paths(a[few], b[few]))
    ours, paths = alternating(lambda: h.lca(a, b), lambda: by_paths(a, b), repeats)
    print(f"lca of {pairs:,} pairs, {len(h):,} nodes: {ours:.3f} s; by paths: {paths:.3f} s")
    ratio = paths / ours
    return [Goal("lca: path comparison / ours", ratio, ">= 20", ratio >= 20)]


def bench_growth(folder: Path, repeats: int = 3) -> list[Goal]:
    sizes = (10_000, 100_000, 1_000_000)
    taken = []
    for size in sizes:
        path = folder / f"tree{size}.csv"
        write_edges(path, random_edges(size))
        Hierarchy.from_edges(path)
        taken.append(alternating(lambda path=path: Hierarchy.from_edges(path), lambda: None, repeats)[0])  # type: ignore[misc]
    print(
        "growth: "
        + ", ".join(f"{size:,} nodes {seconds:.4f} s" for size, seconds in zip(sizes, taken, strict=True))
    )
    exponent = math.log(taken[-1] / taken[0]) / math.log(sizes[-1] / sizes[0])
    return [Goal("growth exponent from 10^4 to 10^6 nodes", exponent, "<= 1.1", exponent <= 1.1)]


def bench_memory(folder: Path, count: int = 1_000_000) -> list[Goal]:
    path = folder / "tree.csv"
    write_edges(path, random_edges(count))
    gc.collect()
    tracemalloc.start()
    h = Hierarchy.from_edges(path)
    built, _ = tracemalloc.get_traced_memory()
    h.index("taxon 0000001")
    h.lca(1, 2)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    names = sum(name.__sizeof__() for name in h.names)
    print(
        f"bytes a node beyond names: {(built - names) / count:.0f} built, {(used - names) / count:.0f} once used"
    )
    value = (used - names) / count
    return [Goal("bytes a node beyond names, tables of index and lca included", value, "<= 200", value <= 200)]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        goals = [*bench_reading(folder), *bench_lca(), *bench_growth(folder), *bench_memory(folder)]
    print()
    for goal in goals:
        print(f"{goal.what:60} {goal.value:8.2f}   {goal.goal:8} {'met' if goal.met else 'MISSED'}")


if __name__ == "__main__":
    main()
