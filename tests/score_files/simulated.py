"""A small reference of simulated sequences, and what real classifiers say of reads from it.

A random tree of taxa evolves random sequences; reads are mutated pieces of them. `write_excerpts` made the files
in the folder `data`: ``python -m tests.score_files.simulated``.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA = Path(__file__).parent / "data"
RANKS = ("domain", "phylum", "class", "order", "family", "genus", "species")
READS = 60
CONFIDENCES = ("0", "0.05", "0.1", "0.2", "0.35", "0.5", "0.6", "0.7", "0.9", "1")
_LENGTH = 900
_CHANGES = (0.4, 0.1, 0.08, 0.05, 0.03, 0.02, 0.01)  # the share of letters that change at each rank
_MODEL = """\
bergeyTree=bergeyTrainingTree.xml
probabilityList=genus_wordConditionalProbList.txt
probabilityIndex=wordConditionalProbIndexArr.txt
wordPrior=logWordPrior.txt
classifierVersion=a test
"""


@dataclass(frozen=True)
class Reference:
    """Species with their lineages and sequences, and reads with the species they come from."""

    lineages: list[list[str]]
    sequences: list[str]
    reads: list[str]
    species: list[int]


def simulate(seed: int = 0) -> Reference:
    """Grow a tree of taxa, some of them with one child, and cut reads from its sequences."""
    rng = np.random.default_rng(seed)

    def changed(sequence: NDArray[np.int64], share: float) -> NDArray[np.int64]:
        return np.where(rng.random(len(sequence)) < share, rng.integers(4, size=len(sequence)), sequence)

    grown = [(list[str](), rng.integers(4, size=_LENGTH))]
    for rank, share in zip(RANKS, _CHANGES, strict=True):
        children = [2 if rank in ("domain", "phylum") else int(rng.integers(1, 3)) for _ in grown]
        parents = [pair for pair, count in zip(grown, children, strict=True) for _ in range(count)]
        grown = [
            (
                [*path, f"{path[-1]}_alba{number}" if rank == "species" else f"{rank.capitalize()}{number}"],
                sequence,
            )
            for number, (path, before) in enumerate(parents)
            for sequence in [changed(before, share)]
        ]
    species = rng.integers(len(grown), size=READS)
    starts = rng.integers(_LENGTH - 120, size=READS)
    noise = rng.choice([0.01, 0.06, 0.12], size=READS)
    reads = [
        changed(grown[i][1][start : start + 120], share)
        for i, start, share in zip(species, starts, noise, strict=True)
    ]
    return Reference(
        [path for path, _ in grown],
        [_letters(sequence) for _, sequence in grown],
        [_letters(read) for read in reads],
        species.tolist(),
    )


def _letters(sequence: NDArray[np.int64]) -> str:
    return "".join(np.array(list("ACGT"))[sequence])


def write_tree(path: Path, reference: Reference, ranks: int = len(RANKS)) -> None:
    """Write the lineages as a table."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(RANKS[:ranks])
        writer.writerows(dict.fromkeys(tuple(lineage[:ranks]) for lineage in reference.lineages))


def write_labels(path: Path, reference: Reference, rank: int = len(RANKS) - 1) -> None:
    """Write the true class of each read."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "label"])
        writer.writerows(
            [f"read{number}", reference.lineages[i][rank]] for number, i in enumerate(reference.species)
        )


def _write_reads(path: Path, reference: Reference) -> None:
    lines = [f">read{number} sample=A\n{read}\n" for number, read in enumerate(reference.reads)]
    path.write_text("".join(lines) + ">short sample=A\nACGTACGTAC\n")


def run_sintax(folder: Path, reference: Reference, *, cutoff: bool = True) -> Path:
    """Classify the reads by `vsearch --sintax`."""
    with (folder / "reference.fa").open("w") as file:
        for number, (lineage, sequence) in enumerate(zip(reference.lineages, reference.sequences, strict=True)):
            taxa = ",".join(f"{rank[0]}:{name}" for rank, name in zip(RANKS, lineage, strict=True))
            file.write(f">s{number};tax={taxa};\n{sequence}\n")
    _write_reads(folder / "reads.fa", reference)
    out = folder / f"sintax{'' if cutoff else '-all'}.txt"
    command = [
        "vsearch",
        "--sintax",
        "reads.fa",
        "--db",
        "reference.fa",
        "--tabbedout",
        out.name,
        "--randseed",
        "1",
    ]
    _run([*command, "--threads", "1", *(["--sintax_cutoff", "0.8"] if cutoff else [])], folder)
    return out


def run_rdp(folder: Path, reference: Reference, kind: str) -> Path:
    """Train the RDP classifier on the genera, and classify the reads; `kind` is allrank or fixrank."""
    model = folder / "model"
    if not model.exists():
        model.mkdir()
        _write_rdp_training(folder, reference)
        jar = "/usr/share/rdp-classifier/rdp_classifier.jar"
        trainer = "edu.msu.cme.rdp.classifier.cli.ClassifierMain"
        _run(["java", "-cp", jar, trainer, "train", "-o", "model", "-s", "train.fa", "-t", "taxa.txt"], folder)
        (model / "rRNAClassifier.properties").write_text(_MODEL)
        _write_reads(folder / "reads.fa", reference)
    out = folder / f"rdp-{kind}.txt"
    properties = "model/rRNAClassifier.properties"
    _run(["rdp_classifier", "-f", kind, "-t", properties, "-o", out.name, "reads.fa"], folder)
    return out


def _write_rdp_training(folder: Path, reference: Reference) -> None:
    numbers: dict[tuple[str, ...], int] = {(): 0}
    taxa = ["0*Root*-1*0*rootrank"]
    lines = []
    for number, (lineage, sequence) in enumerate(zip(reference.lineages, reference.sequences, strict=True)):
        for depth in range(1, 7):
            path = tuple(lineage[:depth])
            if path not in numbers:
                numbers[path] = len(numbers)
                taxa.append(f"{numbers[path]}*{path[-1]}*{numbers[path[:-1]]}*{depth}*{RANKS[depth - 1]}")
        lines.append(f">s{number}\tRoot;{';'.join(lineage[:6])}\n{sequence}\n")
    (folder / "taxa.txt").write_text("\n".join(taxa) + "\n")
    (folder / "train.fa").write_text("".join(lines))


def kraken2_calls(path: Path) -> dict[str, str]:
    """Return the tax id of each read; Kraken 2's 0, for none, is the root."""
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return {row[1]: "1" if row[2] == "0" else row[2] for row in rows}


def write_taxdump(folder: Path, reference: Reference) -> list[int]:
    """Write the lineages as a taxdump; return the tax id of each species."""
    ids: dict[tuple[str, ...], int] = {(): 1}
    nodes, names = ["1\t|\t1\t|\tno rank\t|\n"], ["1\t|\troot\t|\t\t|\tscientific name\t|\n"]
    for lineage in reference.lineages:
        for depth, rank in enumerate(RANKS, 1):
            path = tuple(lineage[:depth])
            if path not in ids:
                ids[path] = 7 * len(ids) + 3
                nodes.append(f"{ids[path]}\t|\t{ids[path[:-1]]}\t|\t{rank}\t|\n")
                names.append(f"{ids[path]}\t|\t{path[-1].replace('_', ' ')}\t|\t\t|\tscientific name\t|\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes.dmp").write_text("".join(nodes))
    (folder / "names.dmp").write_text("".join(names))
    return [ids[tuple(lineage)] for lineage in reference.lineages]


def build_kraken2(folder: Path, reference: Reference, pairs: int = 200) -> None:
    """Build a database of Kraken 2 from the sequences, and write pairs of reads, some short or ambiguous."""
    rng = np.random.default_rng(5)
    species = write_taxdump(folder / "db" / "taxonomy", reference)
    with (folder / "library.fa").open("w") as file:
        for number, sequence in zip(species, reference.sequences, strict=True):
            file.write(f">s{number}|kraken:taxid|{number}\n{sequence}\n")
    _run(["kraken2-build", "--add-to-library", "library.fa", "--db", "db", "--no-masking"], folder)
    lengths = ["--kmer-len", "25", "--minimizer-len", "21", "--minimizer-spaces", "5"]
    _run(["kraken2-build", "--build", "--db", "db", *lengths], folder)
    first, second, labels = list[str](), list[str](), ["id,label\n"]
    for number in range(pairs):
        mates = rng.integers(len(species), size=2) if number % 9 == 0 else [rng.integers(len(species))] * 2
        labels.append(f"read{number},{species[mates[0]]}\n")
        for written, mate, length in zip((first, second), mates, rng.choice([20, 60, 104], size=2), strict=True):
            start = int(rng.integers(_LENGTH - 120))
            read = np.array(list(reference.sequences[mate][start : start + length]))
            wrong = rng.random(length) < rng.choice([0, 0.01, 0.05])
            read[wrong] = rng.choice(list("ACGTN"), size=int(wrong.sum()))
            written.append(f">read{number} x\n{''.join(read)}\n")
    (folder / "kraken2-labels.csv").write_text("".join(labels))
    (folder / "reads1.fa").write_text("".join(first))
    (folder / "reads2.fa").write_text("".join(second))


def run_kraken2(folder: Path, confidence: str, *options: str, paired: bool = True) -> Path:
    """Classify the reads by `kraken2`."""
    out = folder / f"kraken2-{confidence}.txt"
    reads = ["--paired", "reads1.fa", "reads2.fa"] if paired else ["reads1.fa"]
    _run(["kraken2", "--db", "db", "--confidence", confidence, "--output", out.name, *options, *reads], folder)
    return out


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def write_excerpts() -> None:
    """Write the files in the folder `data`."""
    reference = simulate()
    DATA.mkdir(exist_ok=True)
    write_tree(DATA / "lineages.csv", reference)
    write_tree(DATA / "genera.csv", reference, 6)
    write_labels(DATA / "labels.csv", reference)
    write_labels(DATA / "genus-labels.csv", reference, 5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for made in (
            run_sintax(folder, reference),
            *(run_rdp(folder, reference, k) for k in ("allrank", "fixrank")),
        ):
            shutil.copy(made, DATA / made.name)
        write_kraken2(folder, reference)


def write_kraken2(folder: Path, reference: Reference) -> None:
    """Write what Kraken 2 says of pairs of reads, and its answers at several values of `--confidence`."""
    build_kraken2(folder, reference, 60)
    for name in ("nodes.dmp", "names.dmp"):
        (DATA / "taxdump").mkdir(exist_ok=True)
        shutil.copy(folder / "db" / "taxonomy" / name, DATA / "taxdump" / name)
    calls = {confidence: kraken2_calls(run_kraken2(folder, confidence)) for confidence in CONFIDENCES}
    shutil.copy(folder / "kraken2-0.txt", DATA / "kraken2.txt")
    shutil.copy(folder / "kraken2-labels.csv", DATA / "kraken2-labels.csv")
    with (DATA / "kraken2-calls.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", *CONFIDENCES])
        writer.writerows([name, *(calls[c][name] for c in CONFIDENCES)] for name in calls["0"])


if __name__ == "__main__":
    write_excerpts()
