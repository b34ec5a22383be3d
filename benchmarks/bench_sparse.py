"""How fast sparse likelihoods are, as ratios that mean the same on every machine.

Run with `python -m benchmarks.bench_sparse [--tree PATH]`: the tree is iNat21, or one like it.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

import hedgerow as hr
from benchmarks.bench_curves import Row, balanced_tree, best_times, micro, read_tree
from hedgerow.infer import Candidates
from hedgerow.likelihood import Likelihoods
from hedgerow.measure import Events

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow import Hierarchy

LISTED = 20
"""Number of classes listed for each example."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", help="a CSV of parent,child; iNat21 or one like it unless given")
    h = read_tree(parser.parse_args().tree)
    print(f"{h!r}, {LISTED} classes listed for each example\n")
    print("| what | measured | ratio | goal | met |\n|---|---|---|---|---|")
    for row in [*against_dense(h), *growth()]:
        print(f"| {row.what} | {row.measured} | {row.ratio:.3g} | {row.goal} | {'yes' if row.met else 'NO'} |")


def top_classes(h: Hierarchy, examples: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The leaves listed for each example, from all over the tree, and their probabilities: [examples, LISTED]."""
    random = np.random.default_rng(seed)
    # One leaf from each of LISTED equal parts of the tree, so that none is listed twice; then in any order.
    part = len(h.leaves) // LISTED
    place = random.integers(part, size=(examples, LISTED)) + part * np.arange(LISTED)
    leaves = random.permuted(h.leaves[place], axis=1)
    return leaves, -np.sort(-random.dirichlet(np.full(LISTED, 0.2), size=examples), axis=1)


def sparse_events(h: Hierarchy, leaves: NDArray[np.int64], p: NDArray[np.float64]) -> Events:
    """The events of examples whose label is the class listed first."""
    row = np.repeat(np.arange(len(p)), p.shape[1])
    q = hr.likelihood.from_top(h, row, leaves.ravel(), p.ravel(), rows=len(p))
    return Events.of(q, leaves[:, 0], Candidates.of(h))


def against_dense(h: Hierarchy, examples: int = 10_000, dense_examples: int = 1_000) -> list[Row]:
    leaves, p = top_classes(h, examples)
    scores = np.zeros((dense_examples, len(h.leaves)))
    scores[np.arange(dense_examples)[:, None], np.searchsorted(h.leaves, leaves[:dense_examples])] = p[
        :dense_examples
    ]

    def dense() -> Events:
        q = Likelihoods.of(h, hr.likelihood.from_leaves(h, scores))
        return Events.of(q, leaves[:dense_examples, 0], Candidates.of(h))

    expected, found = dense(), sparse_events(h, leaves[:dense_examples], p[:dense_examples])
    for name in ("label", "count", "node", "score"):
        assert np.array_equal(getattr(expected, name), getattr(found, name)), name
    theirs, mine = best_times(dense, lambda: sparse_events(h, leaves, p))
    ratio = (theirs / dense_examples) / (mine / examples)
    told = f"{micro(mine, examples)}; dense {micro(theirs, dense_examples)}"
    return [Row("classes → events, an example, against all leaves", told, ratio, ">= 20", ratio >= 20)]


def growth(examples: int = 20_000) -> list[Row]:
    trees = [balanced_tree(leaves) for leaves in (10_000, 1_000_000)]
    drawn = [top_classes(h, examples) for h in trees]

    for h, (leaves, p) in zip(trees, drawn, strict=True):
        sparse_events(h, leaves, p)  # what is derived from a tree is derived once
    small, large = best_times(
        lambda: sparse_events(trees[0], *drawn[0]), lambda: sparse_events(trees[1], *drawn[1])
    )
    told = "; ".join(f"{len(h):,} nodes {micro(t, examples)}" for h, t in zip(trees, (small, large), strict=True))
    what = "classes → events, an example, with 1,000,000 leaves against 10,000"
    return [Row(what, told, large / small, "<= 2", large <= 2 * small)]


if __name__ == "__main__":
    main()
