"""Events, priors and weights, as they are typed: one file of options for every verb that reads scores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.measure import Evaluation
from tests.choose.populations import population
from tests.cli.test_select import run

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = population(size=600)
TREE = PEOPLE.hierarchy
LEAVES = TREE.names[TREE.leaves]
TREE_IS = ("--tree", "tree.csv")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bursts of up to three photographs of one class."""
    monkeypatch.chdir(tmp_path)
    TREE.to_edges("tree.csv")
    order = np.argsort(PEOPLE.labels, kind="stable")
    labels = TREE.names[PEOPLE.labels[order]]
    place = pd.Series(labels).groupby(labels).cumcount().to_numpy() // 3
    table = pd.DataFrame(PEOPLE.q[order][:, TREE.leaves], columns=LEAVES).assign(
        id=[f"p{i}" for i in range(600)],
        label=labels,
        burst=[f"{label}-{number}" for label, number in zip(labels, place, strict=True)],
        group=np.where(place % 2, "north", "south"),
    )
    table.sample(frac=1, random_state=1).to_csv("photos.csv", index=False)
    return tmp_path


def test_events_in_every_verb(folder: Path) -> None:
    events = ("--events", "burst", "--pool", "geometric")
    said = run("select", "photos.csv", *TREE_IS, *events, "--target", "correct=0.9", "-o", "p.json", "--json", "j")
    point = hr.OperatingPoint.load("p.json")
    bursts = pd.read_csv("photos.csv")["burst"].nunique()
    assert (point.pool, point.examples) == ("geometric", bursts)
    assert f"This holds for a new event like these, on average over all sets of {bursts} events" in said
    assert "predict NEW.csv --events burst --pool geometric --point p.json" in said
    assert json.loads((folder / "j").read_text(encoding="utf-8"))["point"]["pool"] == "geometric"
    run("predict", "photos.csv", *TREE_IS, *events, "--point", "p.json", "-o", "answers.csv")
    answers = pd.read_csv("answers.csv")
    assert len(answers) == bursts == answers["id"].nunique()
    label = pd.read_csv("photos.csv").groupby("burst")["label"].first()
    right = TREE.is_ancestor(TREE.indices(answers["prediction"]), TREE.indices(label[answers["id"]].to_numpy()))
    assert right.mean() == pytest.approx(0.9, abs=0.03)
    run("predict", "photos.csv", *TREE_IS, *events, "--tau", "0.5", "--as", "camtrap-dp", "-o", "o.csv")
    observed = pd.read_csv("o.csv", dtype=str)
    assert set(observed["observationLevel"]) == {"event"}
    assert observed["eventID"].tolist() == answers["id"].tolist()
    assert observed["mediaID"].isna().all()
    said = run("predict", "photos.csv", *TREE_IS, "--point", "p.json", "-o", "other.csv", fails=True)
    assert "these are single examples, not events. Give --events COLUMN and --pool geometric" in said
    said = run(
        "predict", "photos.csv", *TREE_IS, "--events", "burst", "--point", "p.json", "-o", "x.csv", fails=True
    )
    assert "these events are pooled by mean, not by geometric. Give --pool geometric" in said
    assert not (folder / "other.csv").exists()
    run("evaluate", "photos.csv", *TREE_IS, *events, "-o", "E")
    evaluation = Evaluation.load("E")
    assert (len(evaluation), evaluation.treatment.pool) == (bursts, "geometric")
    run("report", "E", "--point", "p.json", "-o", "page.html")
    run("evaluate", "photos.csv", *TREE_IS, "--class-columns", ",".join(LEAVES), "-o", "single")
    said = run("report", "single", "--point", "p.json", "-o", "other.html", fails=True)
    assert "these are single examples, not events" in said


def test_prior(folder: Path) -> None:
    pd.DataFrame({"class": LEAVES[:6]}).to_csv("list.csv", index=False)
    given = ("--class-columns", ",".join(LEAVES), "--prior", "list.csv")
    run("select", "photos.csv", *TREE_IS, *given, "--target", "correct=0.5", "-o", "p.json")
    point = hr.OperatingPoint.load("p.json")
    assert point.prior is not None
    run("predict", "photos.csv", *TREE_IS, *given, "--point", "p.json", "-o", "answers.csv")
    below = TREE.indices(pd.read_csv("answers.csv")["prediction"])
    assert any(below > 0)
    assert all(TREE.is_ancestor(node, TREE.leaves[:6]).any() for node in below)
    said = run("predict", "photos.csv", *TREE_IS, *given[:2], "--point", "p.json", "-o", "b.csv", fails=True)
    assert "these have no prior. Give --prior FILE" in said
    pd.DataFrame({"class": LEAVES[:5]}).to_csv("list.csv", index=False)
    said = run("predict", "photos.csv", *TREE_IS, *given, "--point", "p.json", "-o", "b.csv", fails=True)
    assert "these have another prior" in said
    said = run(
        "predict",
        "photos.csv",
        *TREE_IS,
        *given[:2],
        "--trained-prior",
        "list.csv",
        "--tau",
        "0.5",
        "-o",
        "b.csv",
        fails=True,
    )
    assert said == "--trained-prior X goes with --prior X: give both, or leave it out."


def test_a_prior_for_each_place(folder: Path) -> None:
    rows = [(name, 1 + i, "north") for i, name in enumerate(LEAVES)] + [(str(TREE.names[1]), 1, "south")]
    pd.DataFrame(rows, columns=["class", "prior", "group"]).to_csv("places.csv", index=False)
    given = ("--class-columns", ",".join(LEAVES), "--prior", "places.csv", "--groups", "group")
    said = run("select", "photos.csv", *TREE_IS, *given, "--target", "correct=0.6", "-o", "p.json")
    assert hr.OperatingPoint.load("p.json").by == "all"
    command = said.partition("hedgerow predict NEW.csv ")[2].partition(" The point")[0]
    run("predict", "photos.csv", *command.replace("--point", "--spreadsheet-safe --point").split())
    answers = pd.read_csv("answers.csv")
    photos = pd.read_csv("photos.csv").set_index("id").loc[answers["id"]]
    south = TREE.indices(answers["prediction"][(photos["group"] == "south").to_numpy()])
    assert all((south <= 1) | TREE.is_ancestor(1, south))
    run("evaluate", "photos.csv", *TREE_IS, *given, "--json", "e.json")


def test_weights_and_expected_shares(folder: Path) -> None:
    table = pd.read_csv("photos.csv").drop(columns=["burst", "group"])
    table.assign(ratio=np.linspace(0.5, 2, 600)).to_csv("weighed.csv", index=False)
    given = ("weighed.csv", *TREE_IS, "--weights", "ratio")
    said = run("select", *given, "--target", "correct=0.9", "-o", "p.json")
    assert "is approximate if the weights were estimated" in said
    said = run("predict", *given, "--point", "p.json", "-o", "answers.csv")
    assert "is approximate if the weights were estimated" in said
    point = hr.OperatingPoint.load("p.json")
    scores = hr.open_scores("weighed.csv", TREE, hr.ScoreReading(weight_column="ratio"))
    assert np.array_equal(TREE.indices(pd.read_csv("answers.csv")["prediction"]), point.predict(scores))
    plain = (*TREE_IS, "--class-columns", ",".join(LEAVES))
    said = run("predict", "weighed.csv", *plain, "--point", "p.json", "-o", "b.csv", fails=True)
    assert "needs the weight of each example: give --weights COLUMN" in said
    table.assign(ratio="-1").to_csv("bad.csv", index=False)
    said = run("select", "bad.csv", *given[1:], "--target", "correct=0.9", "-o", "p.json", fails=True)
    assert "line 2 has the weight '-1'. A weight is a number from 0 on" in said
    (folder / "shares.csv").write_text("class,share\nleaf1,3\nleaf2,1\n", encoding="utf-8")
    table.to_csv("plain.csv", index=False)
    more = ("plain.csv", *TREE_IS, "--target", "correct=0.7")
    said = run("select", *more, "--expect", "shares.csv", "-o", "q.json")
    assert "It is for new data with the expected shares of classes, and is approximate if these" in said
    assert "do not count: the label is in none of the expected classes" in said
    assert [*(hr.OperatingPoint.load("q.json").request.expect or {}).values()] == [3, 1]
    run("report", "plain.csv", *TREE_IS, "--point", "q.json", "-o", "page.html")
    assert "is approximate if these were estimated" in (folder / "page.html").read_text(encoding="utf-8")
    both = ("--target", "correct=0.7", "--expect", "shares.csv", "-o", "r.json")
    said = run("select", *given, *both, fails=True)
    assert said == "--weights COLUMN and --expect FILE are two ways to describe new data: give one of them."
