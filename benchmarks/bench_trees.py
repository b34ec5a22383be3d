"""How long NCBI's whole taxonomy takes to become the tree of a project, against reading the same files alone.

Run with `python -m benchmarks.bench_trees [NODES]`; a made-up taxdump of 2,600,000 taxa by default.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.bench_hierarchy import alternating
from hedgerow import Hierarchy

NODES = 2_600_000
SPECIES = 5_000
GOAL_SECONDS, GOAL_GIB, GOAL_RATIO = 30, 4, 20
LEVELS = {  # rank: share of the taxa, about as in NCBI's taxonomy
    "superkingdom": 2e-6,
    "phylum": 1.2e-4,
    "class": 2e-4,
    "order": 7e-4,
    "family": 4e-3,
    "no rank": 4e-2,
    "genus": 4.2e-2,
    "species": 0.85,
    "strain": 0.05,
}
SYLLABLES = [a + b for a in "bcdfglmnprstvz" for b in ("a", "e", "i", "o", "u", "ae", "is", "um")]


def write_taxdump(folder: Path, nodes: int, seed: int = 0) -> list[str]:
    """Write a taxdump, in the order of its ids; return the names of its species."""
    random = np.random.default_rng(seed)
    ranks, parents = ["no rank"], [np.zeros(1, dtype=np.int64)]
    above, total = np.zeros(1, dtype=np.int64), 1
    for rank, share in LEVELS.items():
        count = max(2, int(nodes * share))
        here = np.arange(total, total + count)
        parents.append(random.choice(above, count))
        ranks += [rank] * count
        above, total = here, total + count
    parent = np.concatenate(parents)
    ids = np.arange(1, total + 1) + np.arange(total) // 3  # some ids are deleted, others merged
    words = ["".join(random.choice(SYLLABLES, 3)).capitalize() for _ in range(40_000)]
    epithets = ["".join(random.choice(SYLLABLES, 3)) for _ in range(40_000)]
    word, epithet = random.integers(40_000, size=(2, total))
    names = []
    for i, rank in enumerate(ranks):
        if rank in ("species", "strain"):
            names.append(
                f"{words[word[parent[i]]]} {epithets[epithet[i]]} {i if rank == 'strain' else ''}".strip()
            )
        elif rank == "no rank" and i:
            names.append("environmental samples" if word[i] % 3 else f"unclassified {words[word[i]]}")
        else:
            names.append(words[word[i]])  # thousands of homonyms
    names[0] = "root"
    rest = "\t|\t\t|\t8\t|\t0\t|\t1\t|\t0\t|\t0\t|\t0\t|\t0\t|\t0\t|\t\t|\n"
    with (folder / "nodes.dmp").open("w") as file:
        file.writelines(
            f"{i}\t|\t{p}\t|\t{rank}{rest}" for i, p, rank in zip(ids, ids[parent], ranks, strict=True)
        )
    with (folder / "names.dmp").open("w") as file:
        for number, name, kind in zip(ids.tolist(), names, (ids % 10).tolist(), strict=True):
            file.write(f"{number}\t|\t{name}\t|\t\t|\tscientific name\t|\n")
            if kind < 4:
                file.write(f"{number}\t|\t{name} (Author, 18{kind}{kind})\t|\t\t|\tauthority\t|\n")
            if kind == 5:
                file.write(f"{number}\t|\t{name} antiqua\t|\t\t|\tsynonym\t|\n")
    with (folder / "merged.dmp").open("w") as file:
        file.writelines(f"{i - 1}\t|\t{i}\t|\n" for i in ids[3::30].tolist())
    return [name for name, rank in zip(names, ranks, strict=True) if rank == "species"]


def read_with_pandas(folder: Path) -> None:
    for name, columns in (("nodes.dmp", [0, 2, 4]), ("names.dmp", [0, 2, 6])):
        pd.read_csv(folder / name, sep="\t", header=None, usecols=columns, quoting=3, keep_default_na=False)


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else NODES
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "taxdump")
        folder.mkdir()
        species = pd.Series(write_taxdump(folder, nodes))
        distinct = species[~species.duplicated(keep=False)]
        keep, tree = Path(place, "keep.txt"), Path(place, "tree.json")
        distinct.sample(min(SPECIES, len(distinct)), random_state=0).to_csv(keep, index=False, header=False)
        start = time.perf_counter()
        command = [sys.executable, "-m", "hedgerow", "tree", str(folder), "--keep", str(keep), "-o", str(tree)]
        subprocess.run(command, check=True)
        taken = time.perf_counter() - start
        gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
        ours, pandas = alternating(lambda: Hierarchy.read(folder), lambda: read_with_pandas(folder), repeats=3)
    for what, value, goal in (
        ("seconds, hedgerow tree", taken, GOAL_SECONDS),
        ("GiB at most, hedgerow tree", gib, GOAL_GIB),
        ("read and build / pandas.read_csv of the same files", ours / pandas, GOAL_RATIO),
    ):
        print(f"{what:52} {value:8.2f}   <= {goal:3} {'met' if value <= goal else 'MISSED'}")


if __name__ == "__main__":
    main()
