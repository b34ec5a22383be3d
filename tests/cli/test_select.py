"""`hedgerow select` and `hedgerow predict --point`, as they are typed."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import app
from hedgerow.likelihood import Likelihoods, fit_to_likelihoods, tempered
from hedgerow.measure import Reliability, calibration_error
from tests.choose.populations import population
from tests.choose.test_select import quiet
from tests.cli.test_evaluate import hedgerow

EXAMPLES = Path(__file__).parents[2] / "examples"
PEOPLE = population(size=400)
TREE = PEOPLE.hierarchy
LABELS = TREE.names[PEOPLE.labels]
LEAVES = TREE.names[TREE.leaves]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    TREE.to_edges("tree.csv")
    table = pd.DataFrame(PEOPLE.q[:, TREE.leaves], columns=LEAVES).assign(label=LABELS)
    table.to_csv("scores.csv", index=False)
    more = table.assign(burst=[f"b{i // 4}" for i in range(400)], camera=["north", "south"] * 200)
    more.to_parquet("more.parquet", index=False)
    usual = more.rename(columns={"burst": "cluster", "camera": "group"})
    usual.to_csv("usual.csv", index=False)
    return tmp_path


def run(*words: str, fails: bool = False) -> str:
    done = CliRunner().invoke(app, list(words))
    if fails:
        assert isinstance(done.exception, hr.HedgerowError), done.output
        return str(done.exception)
    assert done.exit_code == 0, (done.output, done.exception)
    return " ".join(done.output.split())


def test_select_and_predict(folder: Path) -> None:
    said = run(
        "select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0.9", "-o", "p.json", "--json", "j"
    )
    assert said.startswith("Right at least 90 % of the time. This holds for a new example like these, on average")
    assert "Next: answer new examples with this point: hedgerow predict NEW.csv --point p.json" in said
    point = hr.OperatingPoint.load("p.json")
    file = hr.open_scores("scores.csv", TREE)
    assert point.threshold == quiet(TREE, file, target=("correct", 0.9)).threshold
    found = json.loads((folder / "j").read_text(encoding="utf-8"))
    assert found["point"]["request"]["target"] == ["correct", 0.9]
    assert found["levels"][0]["name"] == ""
    said = run("predict", "scores.csv", "--point", "p.json", "-o", "answers.csv", "--json", "k")
    assert "400 answers written" in said
    answers = pd.read_csv("answers.csv")["prediction"]
    assert answers.tolist() == TREE.names[point.predict(next(iter(file)).likelihoods)].tolist()


@pytest.mark.parametrize(
    "options",
    [
        ["--target", "correct=0.8", "--guarantee", "pac", "--delta", "0.1"],
        ["--target", "recall=0.4"],
        ["--target", "precision=0.9", "--guarantee", "empirical"],
        ["--target", "correct=0.9", "--rule", "expected-information"],
        ["--target", "correct=0.9", "--rule", "climbing"],
        ["--target", "excess=0.5", "--bounds", "0,4"],
        ["--target", "correct=0.7", "--clades", "1"],
        ["--per-rank", "1=0.9,3=0.5"],
        ["--target", "correct=0.9", "--temperature", "1.5"],
    ],
)
def test_every_kind_of_point_can_be_used(folder: Path, options: list[str]) -> None:
    tree = ["--tree", "tree.csv"]
    run("select", "scores.csv", *tree, *options, "-o", "p.json")
    run("predict", "scores.csv", *tree, "--point", "p.json", "-o", "a.csv")
    assert len(pd.read_csv("a.csv")) == 400


def test_clades_of_listed_files(folder: Path) -> None:
    edges = ["parent,child", "animal,bird", "animal,fish", "bird,robin", "bird,wren", "fish,cod", "fish,eel"]
    (folder / "pets.csv").write_text("\n".join(edges))
    rows = [f"a{i},robin,0.9" for i in range(100)] + [f"b{i},fish,0.6\nb{i},bird,0.4" for i in range(20)]
    (folder / "top.csv").write_text("\n".join(["id,class,score", *rows]))
    labels = [f"a{i},robin" for i in range(100)] + [f"b{i},fish" for i in range(20)]
    (folder / "labels.csv").write_text("\n".join(["id,label", *labels]))
    given = ["top.csv", "--tree", "pets.csv", "--scores-format", "long"]
    run("select", *given, "--labels", "labels.csv", "--target", "correct=0.75", "--clades", "1", "-o", "p.json")
    assert set(hr.OperatingPoint.load("p.json").thresholds) == {"bird", "fish"}
    run("predict", *given, "--point", "p.json", "-o", "a.csv")
    assert pd.read_csv("a.csv")["prediction"].tolist() == ["robin"] * 100 + ["fish"] * 20


def test_the_share_of_examples_stands_beside_that_of_clusters(folder: Path) -> None:
    """In 60 clusters of 1 example all are sure and right; in 10 of 30, half are sure and wrong."""
    rows = [(f"small {i}", "robin", 0.9) for i in range(60)]
    rows += [(f"large {i // 30}", "robin" if i % 2 else "wren", 0.6 + 0.001 * (i % 7)) for i in range(300)]
    lines = [f"{p},{0.98 - p:.3f},0.01,0.01,{label},{cluster}" for cluster, label, p in rows]
    (folder / "edges.csv").write_text("parent,child\nroot,bird\nroot,cod\nroot,eel\nbird,robin\nbird,wren\n")
    (folder / "s.csv").write_text("\n".join(["robin,wren,cod,eel,label,cluster", *lines]))
    options = ["--tree", "edges.csv", "--target", "correct=0.9", "-o", "p.json", "--guarantee", "empirical"]
    said = run("select", "s.csv", *options, "--clusters", "cluster", "--json", "found.json")
    assert said.startswith("Right at least 90 % of the time, where each cluster counts once.")
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    answers = hr.OperatingPoint.load("p.json").predict(
        next(iter(hr.open_scores("s.csv", hr.Hierarchy.read("edges.csv")))).likelihoods
    )
    tree = hr.Hierarchy.read("edges.csv")
    table = pd.DataFrame(rows, columns=["cluster", "label", "p"])
    table["right"] = [
        float(tree.names[answer] in (label, "bird", "root"))
        for answer, label in zip(answers, table["label"], strict=True)
    ]
    of_examples, of_clusters = table["right"].mean(), table.groupby("cluster")["right"].mean().mean()
    assert of_clusters >= 0.9 > of_examples
    assert found["metrics"]["correct"] == pytest.approx(of_examples)
    assert found["cluster_metrics"]["correct"] == pytest.approx(of_clusters)
    assert f"On these 360 examples: correct {100 * of_examples:.1f} %" in said
    assert f"Where each cluster counts once: correct {100 * of_clusters:.1f} %" in said
    assert "Over all these examples, the target is missed: large clusters are harder" in said
    assert "use --unit example with --largest-cluster M" in said
    said = run("select", "s.csv", *options)
    assert "each cluster counts once" not in said


def test_columns_of_clusters_and_groups(folder: Path) -> None:
    tree = ["--tree", "tree.csv", "--class-columns", ",".join(LEAVES)]
    target = ["--target", "correct=0.8", "-o", "p.json"]
    said = run("select", "more.parquet", *tree, *target, "--clusters", "burst", "--groups", "camera")
    assert "in every group, where each cluster counts once. This holds for an example of a new cluster" in said
    assert "400 examples in 100 clusters" in said
    point = hr.OperatingPoint.load("p.json")
    assert set(point.thresholds) == {"north", "south"}
    message = run("predict", "scores.csv", "--tree", "tree.csv", "--point", "p.json", "-o", "a.csv", fails=True)
    assert "it needs the group of each example: give --groups COLUMN" in message
    run("predict", "more.parquet", *tree, "--point", "p.json", "--groups", "camera", "-o", "a.csv")
    run("select", "usual.csv", "--tree", "tree.csv", *target, "--clusters", "cluster", "--groups", "group")
    assert hr.OperatingPoint.load("p.json").thresholds == point.thresholds
    run("predict", "usual.csv", "--tree", "tree.csv", "--point", "p.json", "-o", "a.csv")


def test_groups_in_the_file_of_labels(folder: Path) -> None:
    table = pd.read_csv("scores.csv").assign(id=[f"e{i}" for i in range(400)])
    about = pd.DataFrame({"id": table["id"], "label": table.pop("label"), "camera": ["north", "south"] * 200})
    table.to_csv("plain.csv", index=False)
    about.to_csv("about.csv", index=False)
    about.drop(columns="label").to_csv("cameras.csv", index=False)
    where = ["--tree", "tree.csv", "--groups", "camera"]
    said = run(
        "select", "plain.csv", *where, "--labels", "about.csv", "--target", "correct=0.8", "-o", "point.json"
    )
    assert "--labels NEW-FACTS.csv" in said
    run("predict", "plain.csv", *where, "--labels", "cameras.csv", "--point", "point.json", "-o", "answers.csv")
    run(
        "select",
        "more.parquet",
        *where,
        "--target",
        "correct=0.8",
        "-o",
        "p.json",
        "--class-columns",
        ",".join(LEAVES),
    )
    run("predict", "more.parquet", *where, "--point", "p.json", "-o", "a.csv", "--class-columns", ",".join(LEAVES))
    assert pd.read_csv("answers.csv")["prediction"].tolist() == pd.read_csv("a.csv")["prediction"].tolist()


def test_the_metric_of_the_target_is_shown(folder: Path) -> None:
    words = ["select", "scores.csv", "--tree", "tree.csv", "--guarantee", "empirical", "-o", "p.json"]
    said = run(*words, "--target", "edge_distance=3", "--bounds", "0,6", "--json", "j")
    found = json.loads((folder / "j").read_text(encoding="utf-8"))
    mean = found["metrics"]["edge_distance"]
    assert said.startswith("A mean edge_distance of at most 3.")
    assert f"edge_distance {mean:.4g} on average." in said
    assert "% at the root mean edge_distance" in said
    assert f"{found['looser']['metrics']['edge_distance']:.4g} labels most often" in said
    assert "on average." not in run(*words, "--target", "correct=0.9")


def test_a_promise_among_the_answers(folder: Path) -> None:
    asked = ("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0.8", "-o", "p.json")
    said = run(*asked, "--among", "answered", "--json", "j")
    assert said.startswith("At least 80 % of the answers below the root are right. This is the average over")
    found = json.loads((folder / "j").read_text())
    point = hr.OperatingPoint.load("p.json")
    answers = point.predict(PEOPLE.q)
    right = hr.metrics.correct(TREE, PEOPLE.labels, answers)
    assert found["answered"] == (answers > 0).sum()
    assert found["right_of_answered"] == pytest.approx(right[answers > 0].mean())
    of_all, of_answered = (f"{round(100 * share, 1):g} %" for share in (right.mean(), right[answers > 0].mean()))
    of = f"{of_answered} of the {found['answered']} answered below the root."
    assert f"Correct: {of_all} of all examples (the root counts as correct), {of}" in said
    assert "% right of answered" in said
    said = run("predict", "scores.csv", "--tree", "tree.csv", "--point", "p.json", "-o", "a.csv")
    assert said.startswith("At least 80 % of the answers below the root are right. This is the average over")
    more = ("--clusters", "burst", "--groups", "camera", "--unit", "example", "--largest-cluster", "4")
    said = run("select", "more.parquet", *asked[2:], *more, "--guarantee", "pac")
    assert "many cases of the examples of new clusters of at most 4 like these" in said
    assert "each cluster counts once" not in said
    same = ("more.parquet", "--tree", "tree.csv", "--groups", "camera", "--clusters", "burst")
    assert "left out: 'burst'" not in run("predict", *same, "--point", "p.json", "-o", "a.csv")
    assert "left out: 'burst'" in run("predict", *same[:-2], "--point", "p.json", "-o", "a.csv")


def test_answers_that_are_all_the_root_are_explained(folder: Path) -> None:
    """Of 300 reads of close species, all have a support of 1 for some species, which is wrong for 60 of them."""
    tree = hr.Hierarchy.from_lineages([(f"g{i // 3}", f"s{i}") for i in range(30)], ranks=["genus", "species"])
    tree.write("close.json")
    species = [f"s{i}" for i in range(30)]
    label = np.arange(300) % 30
    found = np.where(np.arange(300) < 60, label // 3 * 3 + (label + 1) % 3, label)
    save = pd.DataFrame(np.eye(30)[found], columns=species).assign(label=np.array(species)[label])
    save.to_csv("reads.csv", index=False)
    asked = ("select", "reads.csv", "--tree", "close.json", "-o", "p.json")
    said = run(*asked, "--target", "correct=0.95", "--json", "j")
    assert "100 % of the answers are the root." in said
    assert "The reason: 60 of 300 examples get wrong answers with a likelihood of 1" in said
    command = "hedgerow select reads.csv --tree close.json --per-rank genus=0.95,species=0.95 -o point.json"
    assert (
        f"Levels per rank may give more answers, since an answer above a rank is not wrong there: {command}"
        in said
    )
    found = json.loads((folder / "j").read_text())["silence"]
    (suggestion,) = found["suggestions"]
    assert suggestion["options"] == ["--target", "correct=0.6"]
    assert suggestion["correct"] == 0.8
    assert f"hedgerow select reads.csv --tree close.json {' '.join(suggestion['options'])} -o point.json" in said
    assert "promises nothing. Choose the point with other examples, or add --guarantee pac --delta 0.0" in said
    run(*command.split()[1:])
    run("predict", "reads.csv", "--tree", "close.json", "--point", "point.json", "-o", "a.csv")
    assert (pd.read_csv("a.csv")["prediction"].str[0] == "g").all()
    assert json.loads((folder / "j").read_text())["silence"]["wrong"] == 60
    assert "The reason" not in run(*asked, "--target", "correct=0.7")


def test_too_few_answers_where_the_search_begins(folder: Path) -> None:
    """Few are wrong, but of the answers that are sure enough, there are too few to promise anything."""
    tree = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    tree.write("two.json")
    sure = np.where(np.arange(300) < 40, 0.97, 0.6)
    table = pd.DataFrame({"cat": sure, "dog": 1 - sure, "label": ["dog"] * 3 + ["cat"] * 297})
    table.to_csv("cats.csv", index=False)
    table.assign(film=np.arange(300) // 2).to_csv("films.csv", index=False)
    asked = ("--tree", "two.json", "-o", "p.json", "--target", "correct=0.95")
    said = run("select", "cats.csv", *asked, "--among", "1")
    assert "The reason: only 40 examples have an answer at depth 1 or below it with a likelihood above 0.9" in said
    assert (
        "; at least 86 are needed. Wrong there: 3 of 300 examples get wrong answers with a likelihood of" in said
    )
    said = run("select", "films.csv", *asked, "--among", "answered", "--clusters", "film")
    assert "The reason: only 20 clusters have an answer below the root with a likelihood above 0.9" in said


def test_small_groups_are_merged(folder: Path) -> None:
    table = pd.read_parquet("more.parquet")
    table["camera"] = [
        "east" if i < 6 else "west" if i < 13 else "north" if i % 2 else "south" for i in range(400)
    ]
    table.to_csv("four.csv", index=False)
    asked = (
        "select",
        "four.csv",
        "--tree",
        "tree.csv",
        "--groups",
        "camera",
        "--clusters",
        "burst",
        "-o",
        "p.json",
    )
    said = run(*asked, "--target", "correct=0.9", "--merge-small", "counted")
    assert "in every group or merged ones" in said
    assert re.search("Merged, with one promise and one threshold: 'east', '(north|south)', 'west'.", said)
    assert "the promise for merged groups is approximate" in said
    (folder / "sizes.csv").write_text("name,size\neast,5\nwest,6\nnorth,50\nsouth,60\n")
    said = run(*asked, "--target", "correct=0.9", "--merge-small", "sizes.csv", "--json", "j")
    assert json.loads((folder / "j").read_text())["point"]["merged"] == [["east", "west"]]
    assert "approximate" not in said
    (folder / "sizes.csv").write_text("name,size\neast,few\n")
    assert "sizes.csv: line 2 has 'few' for 'size', which is not a number" in run(
        *asked, "--target", "correct=0.9", "--merge-small", "sizes.csv", fails=True
    )


def test_no_table_that_is_read_is_overwritten(folder: Path) -> None:
    for option, text in (("--expect", "class,share\nleaf1,1\n"), ("--merge-small", "name,size\nnorth,1\n")):
        (folder / "table.csv").write_text(text)
        asked = ("select", "more.parquet", "--tree", "tree.csv", "--target", "correct=0.8", option, "table.csv")
        for output in (("-o", "table.csv"), ("-o", "p.json", "--json", "table.csv")):
            assert "table.csv would overwrite table.csv" in run(*asked, *output, fails=True)
        assert (folder / "table.csv").read_text() == text


def test_unused_clusters_are_a_warning(folder: Path) -> None:
    said = run("select", "usual.csv", "--tree", "tree.csv", "--target", "correct=0.8", "-o", "p.json")
    assert "Warning: The clusters of the examples are ignored" in said
    assert "give --clusters cluster" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--target", "correct"],
            "A target is a metric and its level, such as --target correct=0.95, not 'correct'",
        ),
        (["--target", "correct=high"], "The level of the target must be a number, not 'high'"),
        (["--target", "correct=nan"], "The level of the target must be a number, not 'nan'."),
        (["--target", "correct=1e999999999"], "The level of the target must be a number, not '1e999999999'"),
        (
            ["--target", "correct=0.9", "--expect", ""],
            "--expect needs numbers by name, or a table with the columns",
        ),
        (["--target", "correct=0.9", "--delta", "x"], "--delta must be a number, not 'x'"),
        (["--target", "correct=0.9", "--largest-cluster", "0"], "--largest-cluster must be a whole number, 1 or"),
        (["--target", "right=0.9"], "There is no metric 'right'"),
        (["--target", "correct=1.2"], "The level of correct must lie between 0 and 1, not at 1.2"),
        (["--target", "correct=0.9", "--delta", "2", "--guarantee", "pac"], "between 0 and 1, not 2"),
        (["--target", "correct=0.9", "--clusters", "site"], "scores.csv has no column 'site' for the clusters"),
        (["--target", "correct=0.9", "--groups", "site"], "scores.csv has no column 'site' for the groups"),
        (
            ["--per-rank", "1"],
            "--per-rank needs a level for each rank, such as --per-rank genus=0.9,species=0.8, not '1'",
        ),
        (["--per-rank", "1=0.9,2=0.8,1=0.5"], "--per-rank has two levels of '1'"),
        (
            ["--target", "excess=0.5", "--bounds", "x"],
            "bounds must be two finite numbers, the smaller one first, such as --bounds 0,6, not 'x'",
        ),
        ([], "Give either a target (--target correct=0.95) or levels per rank (--per-rank family=0.95, or --over"),
        (["--target", "exact=0.99"], "exact >= 0.99 cannot be promised"),
        (
            ["--target", "correct=0.9", "--temperature", "0"],
            "temperature must lie between 1e-06 and 1e+06, not 0",
        ),
        (["--target", "correct=0.9", "--temperature", "1e-308"], "and 1e+06, not 1e-308"),
    ],
)
def test_what_is_refused(folder: Path, options: list[str], message: str) -> None:
    assert message in run("select", "scores.csv", "--tree", "tree.csv", *options, "-o", "p.json", fails=True)
    assert not (folder / "p.json").exists()


def test_a_point_for_another_tree_or_with_a_threshold(folder: Path) -> None:
    run("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0.9", "-o", "p.json")
    edges = pd.read_csv("tree.csv")
    edges.replace("leaf3", "owl").to_csv("other.csv", index=False)
    pd.read_csv("scores.csv").rename(columns={"leaf3": "owl"}).drop(columns="label").to_csv("o.csv", index=False)
    message = run("predict", "o.csv", "--tree", "other.csv", "--point", "p.json", "-o", "a.csv", fails=True)
    assert "The point is for another tree: it lacks 'leaf3'; it also has 'owl'" in message
    both = ["predict", "scores.csv", "--tree", "tree.csv", "--point", "p.json", "-o", "a.csv"]
    assert "leave out --tau, or --point" in run(*both, "--tau", "0", fails=True)
    assert "leave out --temperature" in run(*both, "--temperature", "2", fails=True)
    assert "leave out --information" in run(*both, "--information", "depth", fails=True)
    assert "give --point or --prior FILE too" in run(
        *both[:4], "--tau", "0.5", "--groups", "g", "-o", "a.csv", fails=True
    )


def test_files_elsewhere_are_refused(folder: Path) -> None:
    message = run(
        "select", "s3://bucket/a.csv", "--tree", "tree.csv", "--target", "correct=0.9", "-o", "p", fails=True
    )
    assert "s3://bucket/a.csv is not on this machine" in message


def test_few_examples_say_how_many_are_needed(folder: Path) -> None:
    pd.read_csv("scores.csv").head(10).to_csv("few.csv", index=False)
    said = run("select", "few.csv", "--tree", "tree.csv", "--target", "correct=0.95", "-o", "p.json")
    assert (
        "cannot be promised with 10 examples: at least 19 examples are needed. Until then, the answer is always"
        in said
    )


# Temperature and calibration -----------------------------------------------------------------------------------


def test_a_point_divides_by_its_own_temperature(folder: Path) -> None:
    run(
        "select",
        "scores.csv",
        "--tree",
        "tree.csv",
        "--target",
        "correct=0.9",
        "--temperature",
        "2",
        "-o",
        "p.json",
    )
    point = hr.OperatingPoint.load("p.json")
    assert point.temperature == 2
    q = next(iter(hr.open_scores("scores.csv", TREE))).likelihoods
    with pytest.raises(
        hr.HedgerowError, match=r"these were divided by the temperature 1, not by 2. Give temperature=2"
    ):
        point.predict(q)
    run("predict", "scores.csv", "--tree", "tree.csv", "--point", "p.json", "-o", "a.csv")
    assert (
        pd.read_csv("a.csv")["prediction"].tolist() == TREE.names[point.predict(tempered(TREE, q, 2.0))].tolist()
    )


def test_evaluate_before_and_after(folder: Path) -> None:
    files = ["--json", "e", "--reliability", "r.png"]
    said = run("evaluate", "scores.csv", "--tree", "tree.csv", "--temperature", "scores.csv", *files)
    assert "calibration error (%)" in said
    found = json.loads((folder / "e").read_text(encoding="utf-8"))["calibration"]
    before, after = found.values()
    assert after["log_loss"] <= before["log_loss"]
    assert set(before["ECE"]) == {"1", "2", "3"}
    assert (folder / "r.png").stat().st_size > 1000
    assert "hedgerow select scores.csv --tree tree.csv --temperature" in said


def test_evaluate_counts_mistakes_by_rank(folder: Path) -> None:
    said = run("evaluate", "scores.csv", "--tree", "tree.csv", "--json", "e")
    assert "majority, by depth (%) correct misclassified underclassified" in said
    assert "hedgerow select scores.csv --tree tree.csv --target correct=0.95 -o point.json" in said
    figures = json.loads((folder / "e").read_text(encoding="utf-8"))["ranks"]["leaf"]["3"]
    leaf = hr.infer.leaf(TREE, PEOPLE.q)
    assert figures["correct"] == (leaf == PEOPLE.labels).mean()
    assert figures["underclassified"] == 0


def test_tempering_by_its_definition() -> None:
    p = PEOPLE.q[:20, TREE.leaves]
    sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    expected = np.asarray(hr.likelihood.from_leaves(TREE, sharper))
    given: Any = (("probability", PEOPLE.q[:20]), ("log", np.log(PEOPLE.q[:20])))
    for scale, values in given:
        found: Any = tempered(TREE, values, 0.5, scale=scale)
        np.testing.assert_allclose(found.probabilities(), expected, rtol=1e-9)
        assert found.treatment.temperature == 0.5
    logits = np.random.default_rng(0).normal(size=(5, len(TREE)))
    logits[:, 0] = np.inf
    found = tempered(TREE, logits, 4.0, scale="logit")
    np.testing.assert_array_equal(np.asarray(found), logits / 4)
    with pytest.raises(hr.HedgerowError, match=r"example 0 .* sums to .* leaf probabilities sum to 1"):
        tempered(TREE, np.ones((1, len(TREE))), 2.0)


def test_the_fitted_temperature_undoes_another() -> None:
    q = Likelihoods.of(TREE, PEOPLE.q)
    best = fit_to_likelihoods(TREE, q, PEOPLE.labels).value
    flat = Likelihoods.of(TREE, np.asarray(tempered(TREE, q, 3.0)))
    assert fit_to_likelihoods(TREE, flat, PEOPLE.labels).value == pytest.approx(best / 3, rel=0.01)


def test_reliability_by_its_definition() -> None:
    found = Reliability.of(TREE, PEOPLE.q, PEOPLE.labels)
    for depth in (1, 2, 3):
        nodes = TREE.levels[depth]
        best = nodes[np.argmax(PEOPLE.q[:, nodes], axis=1)]
        sure = PEOPLE.q[np.arange(400), best]
        right = TREE.is_ancestor(best, PEOPLE.labels)
        error: Any = found.errors[depth - 1]
        assert error == pytest.approx(calibration_error(sure, right.astype(float)))
    loss = -np.log(PEOPLE.q[np.arange(400), PEOPLE.labels]).mean()
    assert found.log_loss == pytest.approx(loss)


def test_a_point_from_parts_is_that_from_one_file(tmp_path: Path) -> None:
    everything = PEOPLE.q[:, TREE.leaves]
    whole = tmp_path / "whole.npz"
    settings: dict[str, Any] = {"classes": TREE.names[TREE.leaves].astype(str)}
    names = TREE.names[PEOPLE.labels].astype(str)
    np.savez(whole, probabilities=everything, labels=names, **settings)
    for part, rows in enumerate(np.array_split(np.arange(len(names)), 3)):
        np.savez(tmp_path / f"part-{part}.npz", probabilities=everything[rows], labels=names[rows], **settings)
    TREE.to_edges(tmp_path / "tree.csv")
    points = []
    for scores in (whole, tmp_path / "part-*.npz"):
        made = ("--tree", str(tmp_path / "tree.csv"), "--target", "correct=0.9", "-o", str(tmp_path / "p.json"))
        said = run("select", str(scores), *made)
        points.append(hr.OperatingPoint.load(tmp_path / "p.json").thresholds)
    assert points[0] == points[1]
    assert "hedgerow predict 'NEW/*.npz'" in said
    assert "-o 'answers/*.csv'" in said


def test_what_cannot_be_promised_is_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    garden = ["--tree", str(EXAMPLES / "garden.csv"), "--tree-format", "lineages"]
    scores = str(EXAMPLES / "garden_scores.csv")
    said, _ = hedgerow(capsys, "select", scores, *garden, "--target", "correct=0.999", "-o", "p.json")
    assert "Right at least" not in said
    assert "conformal" not in said
    assert said.index("cannot be promised") < said.index("Every answer is the root: nothing else keeps")
    said, _ = hedgerow(
        capsys, "select", scores, *garden, "--target", "correct=0.8", "--guarantee", "pac", "-o", "p.json"
    )
    assert "average over many cases of a new example" in said
    assert "not a chance for each" in said


def test_a_point_needs_no_tree_file(folder: Path) -> None:
    run("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0.9", "-o", "p.json")
    run("predict", "scores.csv", "--tree", "tree.csv", "--point", "p.json", "-o", "with.csv")
    run("predict", "scores.csv", "--point", "p.json", "-o", "without.csv")
    (folder / "parts").mkdir()
    run("predict", "scores.csv", "--workers", "1", "--point", "p.json", "-o", "parts/*.csv")
    expected = (folder / "with.csv").read_bytes()
    assert (folder / "without.csv").read_bytes() == expected == (folder / "parts" / "scores.csv").read_bytes()


def test_answers_as_json_and_through_pipes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0.9", "-o", "p.json")
    for name in ("a.csv", "a.json", "a.jsonl"):
        run("predict", "scores.csv", "--point", "p.json", "-o", name)
    table = pd.read_csv("a.csv")
    listed = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    text = (folder / "a.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.splitlines()] == listed
    assert [row["prediction"] for row in listed] == table["prediction"].tolist()
    assert [" > ".join(row["lineage"]) for row in listed] == table["lineage"].tolist()
    assert [np.nan if row["confidence"] is None else row["confidence"] for row in listed] == pytest.approx(
        table["confidence"].tolist(), nan_ok=True, abs=0
    )
    piped = SimpleNamespace(buffer=io.BytesIO((folder / "scores.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", piped)
    printed, said = hedgerow(capsys, "predict", "-", "--point", "p.json", "-o", "-")
    said = " ".join(said.split())
    assert printed == text
    assert "Right at least 90 % of the time" in said
    assert "400 answers written to standard output" in said
    piped.buffer = io.BytesIO(b"")
    assert "standard input is empty" in run("predict", "-", "--point", "p.json", "-o", "-", fails=True)
