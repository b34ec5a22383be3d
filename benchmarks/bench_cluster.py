"""How much many workers gain, and what Dask costs, as ratios measured in one run.

Run with `python -m benchmarks.bench_cluster` on a machine with two idle cores.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import hedgerow as hr
from benchmarks.bench_curves import balanced_tree
from benchmarks.simulate import sources
from hedgerow.arrays import at_most_threads

if TYPE_CHECKING:
    from hedgerow import Hierarchy

PART = 10_000
PARTS = 60
REPEATS = 3


def seconds(h: Hierarchy, client: Any) -> float:
    """Return the time of an evaluation of all parts."""
    parts = sources(PART * PARTS, PART)
    began = time.perf_counter()
    with at_most_threads(1):
        hr.cluster.evaluate(parts, h, client)
    return time.perf_counter() - began


def main() -> None:
    h = balanced_tree(10_000)
    with hr.cluster.connect(workers=1) as one, hr.cluster.connect(workers=2) as two:
        clients = (None, one, two)
        for client in clients:
            hr.cluster.evaluate(sources(PART * 8, PART), h, client)  # imports, and what is derived from the tree
        # In turns, since machines are faster at some times than at others.
        rounds = [[seconds(h, client) for client in clients] for _ in range(REPEATS)]
    loop, alone, both = map(min, zip(*rounds, strict=True))
    print(f"{PARTS} parts of {PART:,} examples with 20 scores each; {len(h):,} nodes; exact\n")
    print("| what | measured | ratio | goal | met |\n|---|---|---|---|---|")
    told = f"{both:.2f} s; one worker {alone:.2f} s"
    print(f"| two workers against one | {told} | {alone / both:.2f} | >= 1.6 | {yes(alone / both >= 1.6)} |")
    told = f"{alone:.2f} s; a plain loop {loop:.2f} s"
    print(
        f"| one worker against a plain loop | {told} | {alone / loop:.2f} | <= 1.1 | {yes(alone / loop <= 1.1)} |"
    )


def yes(met: bool) -> str:
    return "yes" if met else "NO"


if __name__ == "__main__":
    main()
