"""How fast the output of a tool becomes a curve, as a ratio that means the same on every machine.

Run with `python -m benchmarks.bench_score_files [--examples N]`: that many lineages of seven ranks, as `vsearch
--sintax` writes them, are read, joined with their labels and turned into an operating curve. The yardstick is
`pandas.read_csv` on the same file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import hedgerow as hr
from benchmarks.bench_curves import best_times
from hedgerow.measure import CurveBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

_LETTERS = "dpcofgs"
_CHILDREN = (1, 20, 4, 4, 5, 4, 3)
_GOAL = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000_000)
    examples = parser.parse_args().examples
    lineages = taxonomy()
    h = hr.Hierarchy.from_lineages(lineages, ranks=list(_LETTERS))
    with tempfile.TemporaryDirectory() as folder:
        scores, labels = Path(folder, "sintax.txt"), Path(folder, "labels.csv")
        write(scores, labels, lineages, examples)
        plain, curve = best_times(
            lambda: pd.read_csv(scores, sep="\t", header=None), lambda: read(h, scores, labels), repeats=3
        )
        used = processor_seconds(lambda: read(h, scores, labels))
    ratio = curve / plain
    print(f"{h!r}, {examples:,} lineages\n")
    print("| what | measured | ratio | goal | met |\n|---|---|---|---|---|")
    print(
        f"| SINTAX file to curve, against pandas.read_csv | {curve:.1f} s, {plain:.1f} s | {ratio:.1f} | at most "
        f"{_GOAL} | {'yes' if ratio <= _GOAL else 'NO'} |"
    )
    print(f"\nProcessor time for the curve: {used:.1f} s.")


def processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def taxonomy() -> list[list[str]]:
    """Return the lineages of some 19,200 species."""
    lineages: list[list[str]] = [[]]
    for letter, children in zip(_LETTERS, _CHILDREN, strict=True):
        lineages = [
            [*path, f"{letter.upper()}{number}_{'_'.join(name[0] + name[1:].split('_')[0] for name in path[-2:])}"]
            for number, path in enumerate(path for path in lineages for _ in range(children))
        ]
    return lineages


def write(scores: Path, labels: Path, lineages: list[list[str]], examples: int) -> None:
    """Write lineages with confidences that mostly fall towards the leaves, as bootstrap values do."""
    rng = np.random.default_rng(0)
    species = rng.integers(len(lineages), size=examples)
    confidence = np.minimum.accumulate(rng.beta(8, 1, size=(examples, len(_LETTERS))), axis=1)
    with scores.open("w") as file, labels.open("w") as known:
        known.write("id,label\n")
        for number, (place, row) in enumerate(zip(species.tolist(), confidence.tolist(), strict=True)):
            path = lineages[place]
            text = ",".join(f"{a}:{b}({c:.2f})" for a, b, c in zip(_LETTERS, path, row, strict=True))
            kept = ",".join(f"{a}:{b}" for a, b, c in zip(_LETTERS, path, row, strict=True) if c >= 0.8)
            file.write(f"read{number}\t{text}\t+\t{kept}\n")
            known.write(f"read{number},{path[-1]}\n")


def read(h: hr.Hierarchy, scores: Path, labels: Path) -> hr.OperatingCurve:
    builder = CurveBuilder(h, single_child="answer")
    for block in hr.open_scores(scores, h, hr.ScoreReading(labels_file=labels)):
        assert block.labels is not None
        builder.update(block.likelihoods, block.labels)
    return builder.compute()


if __name__ == "__main__":
    main()
