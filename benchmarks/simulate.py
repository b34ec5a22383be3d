"""An evaluation of any size without files: every worker makes its examples on the spot, and forgets them.

Run with `python -m benchmarks.simulate --examples 1e7 --workers 2`, or `--scheduler ADDRESS` for a cluster whose
workers can import this repository. Each example has the scores of its most likely classes; the label is drawn from
them, so that the model is calibrated. The figures depend on the seed and the size of the parts, but not on the
workers. See docs/scale.md for what was measured.
"""

from __future__ import annotations

import argparse
import resource
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import hedgerow as hr
from benchmarks.bench_curves import balanced_tree
from hedgerow.cluster import ComputedPart
from hedgerow.score_files import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hedgerow import Hierarchy

BLOCK = 10_000
"""Examples that are made at once."""


@dataclass(frozen=True)
class Simulated:
    """The examples of one part."""

    part: int
    examples: int
    listed: int = 20
    seed: int = 0

    def __call__(self, hierarchy: Hierarchy) -> Iterator[Block]:
        random = np.random.default_rng([self.seed, self.part])
        share = len(hierarchy.leaves) // self.listed
        for start in range(0, self.examples, BLOCK):
            rows = min(BLOCK, self.examples - start)
            # One leaf from each of as many equal shares of the leaves, so that none is listed twice.
            place = random.integers(share, size=(rows, self.listed)) + share * np.arange(self.listed)
            leaves = hierarchy.leaves[place]
            mass = random.standard_gamma(0.3, size=(rows, self.listed)) + 1e-12
            p = mass / mass.sum(axis=1, keepdims=True)
            drawn = (np.cumsum(p, axis=1) < random.random((rows, 1))).sum(axis=1).clip(max=self.listed - 1)
            number = np.repeat(np.arange(rows), self.listed)
            q = hr.likelihood.from_top(hierarchy, number, leaves.ravel(), p.ravel(), rows=rows)
            yield Block.of(start, cast("Any", q), labels=leaves[np.arange(rows), drawn])


def sources(examples: int, per_part: int, listed: int = 20) -> list[ComputedPart]:
    """Return simulated examples in parts."""
    sizes = [min(per_part, examples - first) for first in range(0, examples, per_part)]
    return [ComputedPart(f"part {i}", Simulated(i, size, listed)) for i, size in enumerate(sizes)]


@contextmanager
def printed(total: int) -> Iterator[Callable[[int], None]]:
    """Print the progress every ten seconds."""
    began = last = time.monotonic()
    parts = examples = 0

    def advance(number: int) -> None:
        nonlocal last, parts, examples
        parts, examples = parts + 1, examples + number
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print(f"  {parts:,} of {total:,} parts, {examples / (last - began):,.0f} examples/s", flush=True)

    yield advance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--per-part", type=lambda text: int(float(text)), default=100_000)
    parser.add_argument("--listed", type=int, default=20, help="classes with a score, for each example")
    parser.add_argument("--leaves", type=int, default=10_000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--scheduler")
    given = parser.parse_args()
    h = balanced_tree(given.leaves)
    parts = sources(given.examples, given.per_part, given.listed)
    print(f"{h!r}; {given.examples:,} examples of {given.listed} scores in {len(parts):,} parts")
    with hr.cluster.connect(workers=given.workers, scheduler=given.scheduler) as client:
        if client is not None:
            print(f"Dashboard: {client.dashboard_link}")
        began = time.perf_counter()
        evaluation = hr.cluster.evaluate(parts, h, client, progress=printed)
        seconds = time.perf_counter() - began
    print(
        f"{seconds:,.1f} s, {given.examples / seconds:,.0f} examples/s, "
        f"{1e6 * seconds / given.examples:.2f} µs each"
    )
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory of this process, at most: {most:,.0f} MB")
    for name, value in evaluation.summary().items():
        print(f"  {name:17} {value:.5f}")


if __name__ == "__main__":
    main()
