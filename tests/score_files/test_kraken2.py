"""Kraken 2: its answers at every confidence, from one run."""

from __future__ import annotations

import csv
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import app
from hedgerow.errors import FileError
from hedgerow.files import InputFile
from hedgerow.score_files import find_format
from hedgerow.tree import Settings
from tests.score_files import simulated
from tests.score_files.simulated import CONFIDENCES, DATA
from tests.score_files.test_tool_formats import listed, refused, written

if TYPE_CHECKING:
    from pathlib import Path

TREE = hr.Hierarchy.read(DATA / "taxdump")
ANSWER = Settings(single_child="answer")
needs_kraken2 = pytest.mark.skipif(shutil.which("kraken2-build") is None, reason="kraken2 is not installed")


def answers(path: Path, tree: hr.Hierarchy, confidence: str) -> dict[str, int]:
    """The node of each read by the climbing rule."""
    rule = hr.infer.answering_rule(float(confidence), "climbing", ANSWER)
    found: dict[str, int] = {}
    for block in hr.open_scores(path, tree, labels=False, block_rows=7):
        assert block.ids is not None
        found |= dict(zip(block.ids.tolist(), rule(block).tolist(), strict=True))
    return found


def nodes(tree: hr.Hierarchy, calls: dict[str, str]) -> dict[str, int]:
    return {name: tree.aliases[taxon] for name, taxon in calls.items()}


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_one_recorded_run_gives_the_answers_at_every_confidence(confidence: str) -> None:
    with (DATA / "kraken2-calls.csv").open(newline="") as file:
        recorded = {row["id"]: row[confidence] for row in csv.DictReader(file)}
    assert answers(DATA / "kraken2.txt", TREE, confidence) == nodes(TREE, recorded)


@needs_kraken2
@pytest.mark.parametrize("paired", [True, False])
def test_one_run_gives_the_answers_of_kraken2_at_every_confidence(paired: bool, tmp_path: Path) -> None:
    simulated.build_kraken2(tmp_path, simulated.simulate(seed=3))
    tree = hr.Hierarchy.read(tmp_path / "db" / "taxonomy")
    path = simulated.run_kraken2(tmp_path, "0", paired=paired)
    assert find_format(InputFile(path)) == "kraken2"
    calls = {c: nodes(tree, simulated.kraken2_calls(simulated.run_kraken2(tmp_path, c, paired=paired)))
             for c in CONFIDENCES}  # fmt: skip
    assert {c: answers(path, tree, c) for c in CONFIDENCES} == calls
    assert len({tuple(call.values()) for call in calls.values()}) == len(CONFIDENCES)  # they all differ
    named = simulated.run_kraken2(tmp_path, "0", "--use-names", paired=paired)
    assert answers(named, tree, "0.35") == calls["0.35"]


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    how = ["predict", str(DATA / "kraken2.txt"), "--tree", str(DATA / "taxdump"), "--rule", "climbing"]
    result = CliRunner().invoke(app, [*how, "--tau", "0.35", "-o", str(out)])
    assert result.exit_code == 0, result.output
    with out.open(newline="") as file:
        found = {row["id"]: TREE.index(row["prediction"]) for row in csv.DictReader(file)}
    assert found == answers(DATA / "kraken2.txt", TREE, "0.35")
    assert CliRunner().invoke(app, [*how, "-o", str(out)]).exit_code != 0  # it needs a threshold


def share_by_definition(line: str, node: int) -> float:
    """The share of all k-mers, ambiguous ones included, in the clade of a node."""
    pieces = [piece.split(":") for piece in line.split("\t")[4].split() if piece != "|:|"]
    total = sum(int(count) for _, count in pieces)
    inside = [int(n) for taxon, n in pieces if taxon not in "A0" and TREE.is_ancestor(node, TREE.aliases[taxon])]
    return sum(inside) / total


def test_shares_of_kmers() -> None:
    lines = {line.split("\t")[1]: line for line in (DATA / "kraken2.txt").read_text().splitlines()}
    for name, shares in listed(DATA / "kraken2.txt", TREE).items():
        expected = {
            taxon: pytest.approx(share, abs=1e-15)
            for node, taxon in enumerate(TREE.names.tolist())
            if node and lines[name][0] == "C" and (share := share_by_definition(lines[name], node))
        }
        assert shares == expected


def test_climbing_starts_at_the_call_and_a_tie_at_the_common_ancestor(tmp_path: Path) -> None:
    by_rank = {rank: np.flatnonzero(TREE.rank == rank).tolist() for rank in ("genus", "family")}
    tax_id = {node: name for name, node in TREE.aliases.items() if name.isdigit()}
    family = next(node for node in by_rank["family"] if len(TREE.children(node)) > 1)
    one, other = TREE.children(family)[:2].tolist()
    path = written(tmp_path / "k.txt", f"C\ta\t{tax_id[family]}\t9\t{tax_id[one]}:3 {tax_id[other]}:3 A:1 0:3\n")
    assert answers(path, TREE, "0.6") == {"a": family}
    assert answers(path, TREE, "0.61") == {"a": 0}


def test_a_point_that_climbs_starts_at_the_call() -> None:
    how = hr.ScoreReading(labels_file=DATA / "kraken2-labels.csv")
    point = hr.select(
        TREE, hr.open_scores(DATA / "kraken2.txt", TREE, how), target=("correct", 0.95), rule="climbing"
    )
    (block,) = hr.open_scores(DATA / "kraken2.txt", TREE, labels=False)
    q = block.likelihoods
    assert isinstance(q, hr.likelihood.SparseLikelihoods)
    expected = hr.infer.climbing(TREE, q, point.threshold, single_child="answer")
    np.testing.assert_array_equal(point.predict(q), expected)
    assert q.call is not None
    assert all(TREE.is_ancestor(answer, call) for answer, call in zip(expected, q.call, strict=True))


def test_an_unclassified_read_is_at_the_root(tmp_path: Path) -> None:
    """Kraken 2 voids a call that too few groups of minimizers support, and still lists the k-mers."""
    taxon = next(name for name in TREE.aliases if name.isdigit() and TREE.aliases[name])
    path = written(
        tmp_path / "k.txt", f"U\ta\t0\t50|50\t{taxon}:5 0:9 |:| 0:14\nU\tb\tunclassified (taxid 0)\t3\t0:0\n"
    )
    assert listed(path, TREE) == {"a": {}, "b": {}}
    assert answers(path, TREE, "0") == {"a": 0, "b": 0}


def test_borders_of_reading_frames_count_as_kraken2_counts_them(tmp_path: Path) -> None:
    """With a protein database, Kraken 2 takes three of the five borders in each mate for k-mers."""
    taxon = next(name for name, node in TREE.aliases.items() if name.isdigit() and TREE.names[node] == "Domain0")
    frames = "-:- ".join(["0:1 "] * 5) + f"-:- {taxon}:5"
    text = f"C\ta\t{taxon}\t90\t{frames}\nC\tb\t{taxon}\t90|24\t{frames} |:| -:-\n"
    path = written(tmp_path / "k.txt", text)
    assert find_format(InputFile(path)) == "kraken2"
    assert listed(path, TREE) == {"a": {"Domain0": 5 / 13}, "b": {"Domain0": 5 / 16}}


def test_calls_stay_with_their_examples() -> None:
    (block,) = hr.open_scores(DATA / "kraken2.txt", TREE, labels=False)
    q = block.likelihoods
    assert isinstance(q, hr.likelihood.SparseLikelihoods)
    assert q.call is not None
    kept = np.arange(len(q)) % 3 == 1
    again = hr.likelihood.SparseLikelihoods.concatenate([q[kept], q[~kept]])
    expected = hr.infer.climbing(TREE, q, 0.4, single_child="answer")
    found = hr.infer.climbing(TREE, again, 0.4, single_child="answer")
    np.testing.assert_array_equal(found, np.append(expected[kept], expected[~kept]))
    # A call need not be a candidate itself.
    for node in hr.infer.climbing(TREE, q, 0.4):
        assert not TREE.is_trivial[node]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("C\ta\t5\t50\t5:Q", "without --quick"),
        ("C\ta\t5\t50", "line 2"),
        ("X\ta\t5\t50\t5:3", "C or U"),
        ("C\ta\tBacillus\t50\t5:3", "line 2"),
        ("C\ta\t5\t50\t5:3 6", "line 2"),
        ("C\ta\t5\t50\t5:-3", "line 2"),
        ("50.00\t3\t3\tU\t0\tunclassified", "line 2"),
    ],
)
def test_what_is_no_output_of_kraken2(line: str, says: str, tmp_path: Path) -> None:
    good = (DATA / "kraken2.txt").read_text().splitlines()[0]
    path = written(tmp_path / "k.txt", f"{good}\n{line}\n")
    refused(FileError, path, TREE, says, "separated by tabs", scores_format="kraken2")
