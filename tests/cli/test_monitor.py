"""`hedgerow monitor`, as it is typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import app
from tests.choose.populations import population
from tests.cli.test_select import run

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = population(size=1500, seed=4)
TREE = PEOPLE.hierarchy
LEAVES = TREE.names[TREE.leaves]
TREE_IS = ("--tree", "tree.csv")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    TREE.to_edges("tree.csv")
    table = pd.DataFrame(PEOPLE.q[:, TREE.leaves], columns=LEAVES).assign(
        label=TREE.names[PEOPLE.labels],
        id=[f"i{i}" for i in range(1500)],
        cluster=[f"c{i // 3}" for i in range(1500)],
        group=["north", "south", "north"] * 500,
    )
    table[:700].to_csv("held.csv", index=False)
    table[700:].to_csv("new.csv", index=False)
    table[["id", "label", "cluster"]][700:900].to_csv("labels.csv", index=False)
    bad = table[["id", "label"]][900:].assign(label=np.roll(table["label"][900:], 1))
    bad.to_csv("bad.csv", index=False)
    return tmp_path


def watch(*words: str, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["monitor", *words])
    assert done.exit_code == status, (done.output, done.exception)
    return " ".join(done.output.split())


def test_a_promise_is_watched(folder: Path) -> None:
    run("select", "held.csv", *TREE_IS, "--target", "correct=0.9", "-o", "p.json")
    run("predict", "new.csv", *TREE_IS, "--point", "p.json", "-o", "answers.csv")
    said = watch("p.json", "answers.csv", "--state", "s.json")
    assert "No alarm after 800 answers without labels." in said
    said = watch("p.json", "answers.csv", "--labels", "labels.csv", "--state", "s.json")
    assert "the promise 200" in said
    table = pd.read_csv("labels.csv").rename(columns={"id": "photo", "label": "truth"})
    table.assign(truth=table["truth"].where(table.index >= 50, "?")).to_csv("renamed.csv", index=False)
    options = ("--id-column", "photo", "--label-column", "truth", "--drop-label", "?")
    assert "the promise 150" in watch("p.json", "answers.csv", "--labels", "renamed.csv", *options)
    assert "No alarm after 200 answers with labels and 800 answers without labels." in said
    assert "the probability of a false alarm is at most 1 % for each of the two" in said
    before = (folder / "s.json").read_bytes()
    said = run("monitor", "p.json", "answers.csv", "--state", "s.json", fails=True)
    assert "800 ids were counted before: 'i700'" in said
    said = run("monitor", "p.json", "answers.csv", "--labels", "labels.csv", "--state", "s.json", fails=True)
    assert "200 ids were counted before with a label" in said
    assert (folder / "s.json").read_bytes() == before
    files = ("--json", "found.json", "--figure", "evidence.png")
    said = watch("p.json", "answers.csv", "--labels", "bad.csv", "--state", "s.json", *files, status=3)
    assert "ALARM: the promise is broken. Next: label a random sample of new examples" in said
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert (found["alarm"], found["promise"][0]["units"], found["shift"]["units"]) == (True, 800, 800)
    assert (folder / "evidence.png").stat().st_size > 5000
    monitor = hr.Monitor(hr.OperatingPoint.load("p.json"))
    scores = hr.open_scores("new.csv", TREE)
    block: Any
    (block,) = scores
    monitor.update(block.likelihoods, ids=block.ids)
    labels = np.append(TREE.names[block.labels[:200]], pd.read_csv("bad.csv")["label"])
    monitor.update(block.likelihoods, labels, block.ids)
    assert monitor.evidence == pytest.approx(found["evidence"])
    assert monitor.to_dict()["shift"] == pytest.approx(found["shift"])


def test_without_labels_a_shift_is_found(folder: Path) -> None:
    run("select", "held.csv", *TREE_IS, "--target", "correct=0.9", "-o", "p.json")
    run("predict", "new.csv", *TREE_IS, "--point", "p.json", "-o", "answers.parquet")
    answers = pd.read_parquet("answers.parquet")
    assert answers["tip_likelihood"].tolist() == PEOPLE.q[700:, TREE.leaves].max(axis=1).tolist()
    answers.assign(tip_likelihood=answers["tip_likelihood"] ** 0.5).to_csv("shifted.csv", index=False)
    said = watch("p.json", "shifted.csv", status=3)
    assert "ALARM: the model is no longer as sure of its answers as it was" in said


def test_groups_and_clusters(folder: Path) -> None:
    run("select", "held.csv", *TREE_IS, "--target", "correct=0.8", "--groups", "group", "-o", "g.json")
    run("predict", "new.csv", *TREE_IS, "--point", "g.json", "--groups", "group", "-o", "g.csv")
    said = watch("g.json", "g.csv", "--labels", "labels.csv")
    assert "the promise for north" in said
    assert "the promise for south" in said
    run("select", "held.csv", *TREE_IS, "--target", "correct=0.8", "--clusters", "cluster", "-o", "c.json")
    run("predict", "new.csv", *TREE_IS, "--point", "c.json", "-o", "c.csv")
    assert pd.read_csv("c.csv")["cluster"][0] == "c233"
    assert "clusters" in watch("c.json", "c.csv")
    pd.read_csv("c.csv").drop(columns="cluster").to_csv("d.csv", index=False)
    assert "the promise 67" in watch("c.json", "d.csv", "--labels", "labels.csv")
    run("select", "held.csv", *TREE_IS, "--target", "correct=0.8", "--clades", "1", "-o", "k.json")
    run("predict", "new.csv", *TREE_IS, "--point", "k.json", "-o", "k.csv")
    assert "the promise for n2.0" in watch("k.json", "k.csv", "--labels", "labels.csv")


def test_another_tree_or_point(folder: Path) -> None:
    run("select", "held.csv", *TREE_IS, "--target", "correct=0.9", "-o", "p.json")
    run("select", "held.csv", *TREE_IS, "--target", "correct=0.8", "-o", "q.json")
    run("predict", "new.csv", *TREE_IS, "--point", "p.json", "-o", "answers.csv")
    watch("p.json", "answers.csv", "--state", "s.json")
    before = (folder / "s.json").read_bytes()
    (folder / "other.csv").write_text("id,prediction,tip_likelihood\nx,dragon,0.5\n", encoding="utf-8")
    said = run("monitor", "p.json", "other.csv", "--state", "s.json", fails=True)
    assert "other.csv: the answer 'dragon' is not in the tree of the point" in said
    said = run("monitor", "q.json", "answers.csv", "--state", "s.json", fails=True)
    assert "s.json is the state of a monitor of another point" in said
    said = run("monitor", "p.json", "answers.csv", "--state", "s.json", "--delta", "0.5", fails=True)
    assert "s.json is for delta 0.01, not 0.5" in said
    run("predict", "new.csv", *TREE_IS, "--tau", "0.5", "-o", "tau.csv")
    said = run("monitor", "p.json", "tau.csv", "--state", "s.json", fails=True)
    assert "the column 'tip_likelihood', which hedgerow predict --point writes" in said
    (folder / "none.csv").write_text("id,label\nnobody,leaf1\n", encoding="utf-8")
    said = run("monitor", "p.json", "answers.csv", "--labels", "none.csv", "--state", "s.json", fails=True)
    assert "No id of answers.csv has a label in none.csv" in said
    assert (folder / "s.json").read_bytes() == before
    said = run("monitor", "p.json", "answers.csv", "--state", "answers.csv", fails=True)
    assert "would overwrite" in said
