"""How fast operating curves are, as ratios that mean the same on every machine.

Run with `python -m benchmarks.bench_curves [--gpu] [--tree PATH]`: the tree is iNat21, or one like it. With
`--gpu` only the part that needs one runs.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve

import hedgerow as hr
from hedgerow.arrays import at_most_threads
from hedgerow.infer.pareto import Candidates, ordered_pareto_sets
from hedgerow.likelihood.likelihoods import Likelihoods
from hedgerow.measure.bootstrap import intervals
from hedgerow.measure.events import Events

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow import Hierarchy

Floats = NDArray[Any]


@dataclass(frozen=True)
class Row:
    what: str
    measured: str
    ratio: float
    goal: str
    met: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true", help="only the part that needs a GPU")
    parser.add_argument("--tree", help="a CSV of parent,child; iNat21 or one like it unless given")
    options = parser.parse_args()
    h = read_tree(options.tree)
    print(f"{h!r}, {len(Candidates.of(h).information)} distinct values of information\n")
    parts = [on_gpu] if options.gpu else [from_scores, growth, resampling, against_binary, many_examples]
    print("| what | measured | ratio | goal | met |\n|---|---|---|---|---|")
    for part in parts:
        for row in part(h):
            print(f"| {row.what} | {row.measured} | {row.ratio:.3g} | {row.goal} | {'yes' if row.met else 'NO'} |")


def read_tree(path: str | None) -> Hierarchy:
    if path is not None:
        return hr.Hierarchy.from_edges(path)
    from benchmarks.bench_hierarchy import inat21_sized

    return inat21_sized()


def best_times(
    *works: Callable[[], object], repeats: int = 9, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The shortest time of each, taken in turns so that a busy machine is busy for all."""
    times = [math.inf] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            start = clock()
            work()
            times[i] = min(times[i], clock() - start)
    return times


def micro(seconds: float, examples: int) -> str:
    return f"{seconds / examples * 1e6:,.1f} µs"


def random_scores(h: Hierarchy, examples: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Scores of a classifier that is right about half of the time, and labels."""
    random = np.random.default_rng(seed)
    theta = random.standard_normal((examples, len(h.leaves)), dtype=np.float32)
    column = random.integers(len(h.leaves), size=examples)
    theta[np.arange(examples), column] += 4
    return 3 * theta, h.leaves[column]


# From scores to a curve -----------------------------------------------------------------------------------


class Textbook:
    """The paper's Algorithms 1 and 2 as they stand: a sort per example, dense matrices over all nodes."""

    def __init__(self, h: Hierarchy) -> None:
        start, end = np.arange(len(h)), h.end
        is_ancestor = (start[:, None] <= start) & (start < end[:, None])
        self.leaf_matrix = is_ancestor[:, h.leaves].T.astype(np.float32)
        self.ancestors = is_ancestor.T
        self.information = h.information()
        self.kept = np.flatnonzero(~h.is_trivial)

    def curve(
        self, theta: NDArray[np.float32], labels: NDArray[np.int64], batch: int = 1
    ) -> tuple[Floats, dict[str, Floats]]:
        """Return S and, by metric, Z."""
        starts: dict[str, float] = dict.fromkeys(("correct", "exact", "precision", "recall"), 0.0)
        scores: list[Floats] = []
        changes: dict[str, list[Floats]] = {name: [] for name in starts}
        for first in range(0, len(theta), batch):
            rows = theta[first : first + batch]
            p = np.exp(rows - rows.max(axis=-1, keepdims=True))
            q = (p / p.sum(axis=-1, keepdims=True)) @ self.leaf_matrix
            for likelihood, label in zip(q, labels[first : first + batch], strict=True):
                chosen = self.kept[likelihood[self.kept] > 0]
                answers = chosen[ordered_pareto_set(likelihood[chosen], self.information[chosen])]
                for name, z in self.metrics(label, answers).items():
                    starts[name] += z[0]
                    changes[name].append(np.diff(z))
                scores.append(likelihood[answers[1:]])
        score = np.concatenate(scores)
        order = np.argsort(-score, kind="stable")
        sums = {name: np.cumsum(np.concatenate(changes[name])[order]) for name in starts}
        return score[order], {name: (starts[name] + sums[name]) / len(theta) for name in starts}

    def metrics(self, label: int, answers: NDArray[np.int64]) -> dict[str, Floats]:
        shared = self.ancestors[label] & self.ancestors[answers]
        common = np.where(shared, self.information, 0).max(axis=-1)
        own = self.information[answers]
        return {
            "correct": self.ancestors[label, answers].astype(np.float64),
            "exact": (answers == label).astype(np.float64),
            "precision": np.divide(common, own, out=np.ones_like(own), where=own > 0),
            "recall": common / self.information[label],
        }


def ordered_pareto_set(x: Floats, y: Floats) -> NDArray[np.int64]:
    order = np.lexsort((-y, -x))
    running = np.maximum.accumulate(y[order])
    kept: NDArray[np.int64] = order[np.append(True, running[:-1] < y[order][1:])]
    return kept


def from_scores(h: Hierarchy) -> list[Row]:
    examples, few, batch = 512, 64, 128
    theta, labels = random_scores(h, examples)

    def ours(size: int) -> None:
        builder = hr.CurveBuilder(h)
        for start in range(0, examples, size):
            rows = slice(start, start + size)
            builder.update(hr.likelihood.flat_softmax(h, theta[rows]), labels[rows])
        builder.compute()

    def softmax(size: int) -> None:
        for start in range(0, examples, size):
            rows = theta[start : start + size]
            p = np.exp(rows - rows.max(axis=-1, keepdims=True))
            p /= p.sum(axis=-1, keepdims=True)
            p.max()  # the one read

    textbook = Textbook(h)
    _, expected = textbook.curve(theta[:few], labels[:few])
    found = hr.operating_curve(h, hr.likelihood.flat_softmax(h, theta[:few]), labels[:few])
    for name, values in expected.items():
        np.testing.assert_allclose(found.values[name][-1], values[-1], atol=1e-6)
    (slow,) = best_times(lambda: textbook.curve(theta[:few], labels[:few], batch=1), repeats=1)
    (batched,) = best_times(lambda: textbook.curve(theta[:few], labels[:few], batch=few), repeats=5)
    ours_at_once, softmax_at_once, ours_batches, softmax_batches = best_times(
        lambda: ours(examples), lambda: softmax(examples), lambda: ours(batch), lambda: softmax(batch), repeats=25
    )
    rows = []
    for how, theirs, goal in (
        ("example by example", slow, 100),
        (f"its matrix products in batches of {few}", batched, 0),
    ):
        speedup = theirs / few / (ours_at_once / examples)
        told = f"{micro(ours_at_once, examples)}; {micro(theirs, few)}"
        what = f"θ → curve, an example, against the textbook, {how}"
        rows.append(Row(what, told, speedup, f">= {goal}" if goal else "none", speedup >= goal))
    for how, mine, theirs in (
        ("all at once", ours_at_once, softmax_at_once),
        (f"in batches of {batch}", ours_batches, softmax_batches),
    ):
        what = f"θ → curve, an example, against softmax(θ) and one read, {how}"
        told = f"{micro(mine, examples)}; {micro(theirs, examples)}"
        rows.append(Row(what, told, mine / theirs, "<= 6", mine <= 6 * theirs))
    return rows


# Growth with the tree -------------------------------------------------------------------------------------


def balanced_tree(leaves: int, seed: int = 0) -> Hierarchy:
    """A tree of seven levels, all leaves on the last, as biological taxonomies are."""
    random = np.random.default_rng(seed)
    sizes = [max(1, round(leaves ** (level / 7) * (0.5 if 0 < level < 7 else 1))) for level in range(8)]
    start = np.concatenate([[0], np.cumsum(sizes)])
    parent = [np.array([-1])]
    for level in range(1, 8):
        own = np.sort(random.integers(sizes[level - 1], size=sizes[level]))
        own[: min(sizes[level - 1], sizes[level])] = np.arange(min(sizes[level - 1], sizes[level]))
        parent.append(start[level - 1] + own)
    joined = np.concatenate(parent)
    return hr.Hierarchy.from_parents([f"n{i}" for i in range(len(joined))], joined)


def growth(_: Hierarchy) -> list[Row]:
    sizes, costs = [], []
    for leaves in (9_000, 90_000, 920_000):
        h = balanced_tree(leaves)
        examples = max(32, 2_000_000 // leaves)
        theta, labels = random_scores(h, examples)

        def work(h: Hierarchy = h, theta: Floats = theta, labels: Floats = labels) -> object:
            return hr.operating_curve(h, hr.likelihood.flat_softmax(h, theta), labels)

        (seconds,) = best_times(work, repeats=12)
        sizes.append(len(h))
        costs.append(seconds / examples)
    exponent = float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
    told = "; ".join(f"{n:,} nodes {c * 1e6:,.0f} µs" for n, c in zip(sizes, costs, strict=True))
    return [
        Row("growth of θ → curve, an example, with the nodes", told, exponent, "exponent <= 1.1", exponent <= 1.1)
    ]


# Many examples --------------------------------------------------------------------------------------------


def random_events(h: Hierarchy, examples: int, seed: int = 0) -> Events:
    """Events down a path to the label or, from somewhere on, to another leaf; scores fall along it."""
    random = np.random.default_rng(seed)
    label = random.choice(h.leaves, examples)
    answer = np.where(random.random(examples) < 0.6, label, random.choice(h.leaves, examples))
    paths = np.full((len(h), h.depth.max() + 1), -1, dtype=np.int32)  # of the leaves, trivial nodes left out
    for leaf in h.leaves:
        path = [node for node in h.lineage(int(leaf))[1:] if not h.is_trivial[node]]
        paths[leaf, : len(path)] = path
    node = paths[answer]
    there = node >= 0
    score = np.cumprod(random.beta(8, 1, size=node.shape), axis=1)
    return Events.of_arrays(label, there.sum(axis=1), node[there], score[there])


def many_examples(h: Hierarchy) -> list[Row]:
    examples = 10_000_000
    parts = [random_events(h, examples // 10, seed) for seed in range(10)]
    before = peak_memory()
    start, cpu = time.perf_counter(), time.process_time()
    builder = hr.CurveBuilder(h)
    for part in parts:
        builder.add(part)
    curve = builder.compute()
    curve.summary()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    events = sum(len(part.node) for part in parts)
    told = (
        f"{seconds:.1f} s ({cpu:.1f} s of processor time); {events:,} events, {len(curve):,} points; "
        f"peak memory {peak_memory():.1f} GB, {before:.1f} GB before"
    )
    return [Row("10⁷ examples of events → curve and summary", told, seconds / 60, "under a minute", seconds < 60)]


def against_binary(h: Hierarchy) -> list[Row]:
    """Compare curves of six metrics with scikit-learn's curve of two, for as many scores."""
    builder = hr.CurveBuilder(h)
    builder.add(random_events(h, 1_000_000))
    events = builder.events
    right = np.random.default_rng(0).random(len(events.score)) < events.score

    def curve() -> None:
        builder.holding(replace(events)).compute()  # a copy, in which nothing has been computed yet

    def one_thread() -> None:
        with at_most_threads(1):
            curve()

    def binary() -> None:
        precision_recall_curve(right, events.score)

    rows = []
    what = f"{len(right):,} events → curve, against precision_recall_curve of as many scores"
    for how, works, clock, goal in (
        ("", (curve, binary), time.perf_counter, 2.5),
        (", processor time on one thread", (one_thread, binary), time.process_time, 0),
    ):
        mine, theirs = best_times(*works, repeats=5, clock=clock)
        told = f"{len(right) / mine / 1e6:.1f} million a second; {len(right) / theirs / 1e6:.1f} million"
        met = theirs >= goal * mine
        rows.append(Row(what + how, told, theirs / mine, f">= {goal}" if goal else "none", met))
    return rows


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


# Bootstrap ------------------------------------------------------------------------------------------------


def resampling(h: Hierarchy) -> list[Row]:
    theta, labels = random_scores(h, 1024)
    q = hr.likelihood.flat_softmax(h, theta)
    builder = hr.CurveBuilder(h)
    builder.update(q, labels)
    replicates = 40
    again, resampled = best_times(
        lambda: hr.operating_curve(h, q, labels).summary(),
        lambda: intervals(builder, replicates=replicates),
        repeats=5,
    )
    ratio = again / (resampled / replicates)
    told = f"{resampled / replicates * 1e3:.2f} ms; {again * 1e3:.1f} ms"
    return [
        Row(
            "bootstrap replicate of 1,024 examples, against likelihoods → curve", told, ratio, ">= 10", ratio >= 10
        )
    ]


# On a GPU -------------------------------------------------------------------------------------------------


def on_gpu(h: Hierarchy) -> list[Row]:
    import torch

    if not torch.cuda.is_available():
        print("no GPU here")
        return []
    examples = 4096
    theta, labels = random_scores(h, examples)
    q_numpy = hr.likelihood.flat_softmax(h, theta)
    q = torch.tensor(q_numpy, device="cuda")
    candidates = Candidates.of(h)
    same_sets(ordered_pareto_sets(h, q_numpy, minimum=0.0), ordered_pareto_sets(h, q, minimum=0.0))
    ties = torch.round(q * 64) / 64
    same_sets(ordered_pareto_sets(h, ties.cpu().numpy()), ordered_pareto_sets(h, ties))

    def device_times(*works: Callable[[], object], repeats: int = 50) -> list[float]:
        times = [math.inf] * len(works)
        for _ in range(repeats):
            for i, work in enumerate(works):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
                torch.cuda.synchronize()
                start.record()
                work()
                end.record()
                torch.cuda.synchronize()
                times[i] = min(times[i], start.elapsed_time(end) / 1e3)
        return times

    scores, nodes = torch.tensor(theta, device="cuda"), h.nodes(labels)
    copy, copy_of_theta, sets, checked, events, softmax, flat, through = device_times(
        q.clone,
        scores.clone,
        lambda: ordered_pareto_sets(h, q, minimum=0.0),
        lambda: Likelihoods.of(h, q).values,
        lambda: Events.of(Likelihoods.of(h, q), nodes, candidates),
        lambda: torch.softmax(q, -1),
        lambda: hr.likelihood.flat_softmax(h, scores),
        lambda: Events.of(Likelihoods.of(h, hr.likelihood.flat_softmax(h, scores)), nodes, candidates),
    )
    device = torch.cuda.get_device_name()
    size = f"{examples:,} x {len(h):,} float32 on {device}"

    def row(what: str, seconds: float, goal: float, copied: float = copy) -> Row:
        told = f"{seconds * 1e3:.3f} ms; copy {copied * 1e3:.3f} ms"
        return Row(f"{what}, {size}", told, seconds / copied, f"<= {goal:g}", seconds <= goal * copied)

    return [
        row("likelihoods → Pareto sets", sets, 5),
        row("check of the range", checked, 5),
        row("likelihoods → events in main memory, range checked", events, 5),
        row("softmax over as many columns", softmax, math.inf),
        row("flat_softmax, leaf scores → likelihoods of all nodes, copy of the scores", flat, 6, copy_of_theta),
        row("leaf scores → events in main memory, copy of the scores", through, 12, copy_of_theta),
    ]


def same_sets(expected: Any, found: Any) -> None:
    for name in ("count", "node", "score"):
        assert np.array_equal(getattr(expected, name), getattr(found, name).cpu().numpy()), name


if __name__ == "__main__":
    main()
