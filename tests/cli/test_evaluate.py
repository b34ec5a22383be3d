"""The verbs evaluate, compare and predict, as a user meets them."""

from __future__ import annotations

import json
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import cli, infer
from hedgerow.cli import outputs
from hedgerow.measure.evaluation import Evaluation
from tests.make_scores import LEAVES, H, probabilities, save_npz, save_table
from tests.measure.test_evaluation import FIGURES


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, made current, with a tree and two score files for the same 80 examples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    H.to_edges("tree.csv")
    labels = np.array(LEAVES)[np.random.default_rng(0).integers(4, size=80)].tolist()
    truth = np.eye(4)[[LEAVES.index(label) for label in labels]]
    ids = [f"e{i}" for i in range(80)]
    save_npz(tmp_path / "a.npz", probabilities=0.5 * probabilities(80) + 0.5 * truth, labels=labels, ids=ids)
    save_table(tmp_path / "b.csv", probabilities(80, seed=1), label=labels, id=ids)
    return tmp_path


def hedgerow(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    """Run the command; return what it printed, and its errors."""
    before = sys.argv
    sys.argv = ["hedgerow", *arguments]
    try:
        cli.main()
        code: object = 0
    except SystemExit as done:
        code = done.code or 0
    finally:
        sys.argv = before
    printed = capsys.readouterr()
    assert code == status, printed.err
    assert "Traceback" not in printed.err
    return re.sub(r"\x1b\[[0-9;]*m", "", printed.out), re.sub(r"\x1b\[[0-9;]*m", "", printed.err)


def test_scores_as_other_tools_write_them(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv("b.csv").rename(columns={"label": "species", "id": "ID"})
    table[LEAVES] = table[LEAVES].round(2)
    table.rename(columns={name: f"p_{name}" for name in LEAVES}).assign(note="x").to_csv(
        "c.csv", sep=";", index=False
    )
    options: list[str] = []
    # Every message names the option that helps.
    for said, *more in (
        ("--delimiter ';'", "--delimiter", ";"),
        ("--label-column NAME", "--label-column", "species"),
        ("--class-prefix p_", "--class-prefix", "p_"),
        ("--renormalise", "--renormalise"),
    ):
        _, error = hedgerow(capsys, "evaluate", "c.csv", "--tree", "tree.csv", *options, status=2)
        assert said in error
        assert "--logits" not in error
        options += more
    options += ["--id-column", "ID"]
    out, _ = hedgerow(capsys, "evaluate", "c.csv", "--tree", "tree.csv", *options, "--json", "c.json")
    again = "--renormalise --label-column species --id-column ID --class-prefix p_ --delimiter ';' --tau"
    assert again in out
    pd.DataFrame(table[LEAVES].div(table[LEAVES].sum(axis=1), axis=0)).assign(
        label=table["species"], id=table["ID"]
    ).to_csv("d.csv", index=False)
    hedgerow(capsys, "evaluate", "d.csv", "--tree", "tree.csv", "--json", "d.json")
    found, expected = (json.loads(Path(name).read_text())["summary"] for name in ("c.json", "d.json"))
    assert found == pytest.approx(expected, abs=1e-12)
    hedgerow(capsys, "predict", "c.csv", "--tree", "tree.csv", *options, "--tau", "0.5", "-o", "out.csv")
    assert pd.read_csv("out.csv")["id"].tolist() == table["ID"].tolist()
    out, _ = hedgerow(capsys, "compare", "c.csv", "c.csv", "--tree", "tree.csv", *options)
    assert "c " in out
    options.remove("--renormalise")
    out, _ = hedgerow(capsys, "doctor", "tree.csv", "--scores", "c.csv", *options)
    assert "80 examples" in out


@pytest.mark.parametrize("column", ["id", "photo"])
def test_labels_of_another_table_and_what_is_next(
    column: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv("b.csv")
    table[["id", "label"]].set_axis(["photo", "taxon"], axis=1).to_csv("taxa.csv", index=False)
    table.drop(columns="label").rename(columns={"id": column}).to_csv("NEW.csv", index=False)
    named = ["--labels", "taxa.csv", "--id-column", "photo", "--label-column", "taxon"]
    plain, _ = hedgerow(capsys, "evaluate", "b.csv", "--tree", "tree.csv")
    said, _ = hedgerow(capsys, "evaluate", "NEW.csv", "--tree", "tree.csv", *named)
    assert plain.split("\n")[1:10] == said.split("\n")[1:10]
    point = ["--target", "correct=0.9", "-o", "p.json"]
    more, _ = hedgerow(capsys, "select", "NEW.csv", "--tree", "tree.csv", *named, *point)
    for command in re.findall(r"hedgerow (predict .*)", said + more):
        assert ("--id-column" in command) == (column == "photo")
        hedgerow(capsys, *shlex.split(command))
        assert pd.read_csv("answers.csv")["id"].tolist() == table["id"].tolist()


def test_ids_of_several_examples_are_a_warning(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv("b.csv")
    pd.concat([table, table[3:5]]).assign(burst=[*range(80), 3, 4]).to_csv("twice.csv", index=False)
    warning = "2 ids are shared by several examples, such as 'e3' (2 of them)"
    columns = ["--class-columns", ",".join(LEAVES)]
    assert warning in hedgerow(capsys, "evaluate", "twice.csv", "--tree", "tree.csv", *columns)[0]
    table.to_csv("again.csv", index=False)
    parts, _ = hedgerow(capsys, "evaluate", "b.csv", "again.csv", "--tree", "tree.csv")
    assert "80 ids are shared by several examples, such as 'e0' (2 of them)" in parts
    point = ["twice.csv", "--tree", "tree.csv", *columns, "--target", "correct=0.5", "-o", "p.json"]
    assert warning in hedgerow(capsys, "select", *point)[0]
    assert warning not in hedgerow(capsys, "select", *point, "--clusters", "burst")[0]
    assert "several examples" not in hedgerow(capsys, "evaluate", "b.csv", "--tree", "tree.csv")[0]


def test_class_columns_from_a_file_or_a_list(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.read_csv("b.csv").assign(width=7).to_csv("c.csv", index=False)
    Path("classes.txt").write_text("\n".join(LEAVES) + "\n")
    for given in ("classes.txt", ",".join(LEAVES)):
        hedgerow(capsys, "evaluate", "c.csv", "--tree", "tree.csv", "--class-columns", given)
        hedgerow(capsys, "doctor", "tree.csv", "--scores", "c.csv", "--class-columns", given)
    _, error = hedgerow(
        capsys, "evaluate", "c.csv", "--tree", "tree.csv", "--class-columns", "class.txt", status=2
    )
    assert "no column 'class.txt', which --class-columns FILE lists" in error


def test_evaluate_explains_its_figures(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", "--bootstrap", "20")
    assert "a: 80 examples, a tree of 7 nodes with 4 leaves" in out
    assert "average precision" in out
    assert "95 % interval" in out
    assert re.search(r"majority +[\d.]+ +[\d.]+", out)
    tau = re.search(r"hedgerow predict a.npz --tree tree.csv --tau ([\d.]+) -o answers.csv\n", out)
    assert tau is not None
    assert 0 <= float(tau[1]) <= 1


@pytest.mark.parametrize("doubt", [1e-5, 1e-9, 1e-14])
def test_the_advice_fits_models_that_are_very_sure(
    doubt: float, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # All are very sure; the last two, which are a little less so, are wrong.
    doubts = doubt * np.r_[np.full(8, 1.27), 3.0, 3.0]
    p = np.tile(doubts[:, None] / 3, 4)
    p[np.arange(10), np.arange(10) % 4] = 1 - doubts
    labels = [LEAVES[i % 4] if i < 8 else LEAVES[(i + 2) % 4] for i in range(10)]
    save_npz(place / "sure.npz", probabilities=p, labels=labels)
    out, _ = hedgerow(capsys, "evaluate", "sure.npz", "--tree", "tree.csv")
    said = re.search(
        r"At threshold (\S+), close to R@95C, 100.0 % of these answers .* contain 80.0 %", " ".join(out.split())
    )
    assert said is not None, out
    assert f"--tau {said[1]} -o answers.csv" in out
    hedgerow(capsys, "predict", "sure.npz", "--tree", "tree.csv", "--tau", said[1], "-o", "answers.csv")
    assert pd.read_csv("answers.csv")["prediction"].tolist() == [*labels[:8], "animal", "animal"]


def test_evaluate_writes_json_folder_and_figure(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    options = ("-o", "out", "--json", "out.json", "--figure", "curves.svg")
    _, err = hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", *options)
    assert "The figure is in curves.svg.\n" in err
    found = json.loads((place / "out.json").read_text(encoding="utf-8"))
    assert found["examples"] == 80
    assert set(FIGURES) <= found["summary"].keys()
    assert all(0 <= found["summary"][name] <= 1 for name in FIGURES)
    assert {"evaluation.json", "examples.npz"} == {path.name for path in (place / "out").iterdir()}
    saved = Evaluation.load("out")
    assert saved.to_dict() == found
    with np.load("a.npz") as scores:
        q = hr.likelihood.from_leaves(H, scores["probabilities"], classes=scores["classes"])
        curve = hr.operating_curve(H, q, scores["labels"])
    assert curve.summary() == {name: found["summary"][name] for name in curve.summary()}
    assert (place / "curves.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_evaluate_options(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--logits", "--information", "depth", "--below-label", "wrong", "--json", "out.json")
    out, _ = hedgerow(capsys, "evaluate", "b.csv", "--tree", "tree.csv", *options)
    found = json.loads((place / "out.json").read_text(encoding="utf-8"))
    assert found["settings"] == {"information": "depth", "single_child": "skip", "below_label": "wrong"}
    assert "Warning: The scores were read as logits" in out
    assert "looks like probabilities" in found["warnings"][0]


def test_without_matplotlib_there_is_a_notice(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "hedgerow.show.figures", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out, err = hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", "--figure", "curves.png")
    assert "AP" in out
    assert "needs matplotlib" in err
    assert "hedgerow[plot]" in err
    assert not (place / "curves.png").exists()


def test_compare_folders_and_files(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", "-o", "first")
    options = ("--tree", "tree.csv", "--bootstrap", "100", "--json", "c.json")
    out, _ = hedgerow(capsys, "compare", "first", "b.csv", *options)
    assert re.search(r"^b .*▼", out, re.MULTILINE)
    assert "paired bootstrap" in out
    found = json.loads((place / "c.json").read_text(encoding="utf-8"))
    assert [system["name"] for system in found["systems"]] == ["first", "b"]
    assert found["systems"][1]["differences"]["AP"]["verdict"] == "worse"
    assert found["systems"][1]["differences"]["AP"]["high"] < 0


def test_clusters_are_drawn_whole_and_it_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = pd.read_csv("b.csv")["label"].tolist()
    for name, seed in (("c", 1), ("d", 2)):
        sites = [f"site {i // 10}" for i in range(80)]
        save_table(place / f"{name}.csv", probabilities(80, seed=seed), label=labels, cluster=sites)
    options = ("--tree", "tree.csv", "--bootstrap", "20", "--json", "found.json")
    out, _ = hedgerow(capsys, "compare", "c.csv", "d.csv", *options)
    said = "The examples are in 8 clusters, and each replicate draws clusters whole."
    assert said in " ".join(out.split())
    assert json.loads(Path("found.json").read_text(encoding="utf-8"))["clusters"] == 8
    out, _ = hedgerow(capsys, "evaluate", "c.csv", *options, "-o", "saved")
    assert said in " ".join(out.split())
    found = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert (found["clusters"], found["replicates"], len(found["intervals"]) > 0) == (8, 20, True)
    out, _ = hedgerow(capsys, "compare", "saved", "a.npz", *options)
    assert said in " ".join(out.split())


def test_too_few_clusters_say_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = pd.read_csv("b.csv")["label"].tolist()
    for name, size in (("c", 20), ("d", 20), ("e", 10)):
        sites = [f"site {i // size}" for i in range(80)]
        save_table(place / f"{name}.csv", probabilities(80), label=labels, cluster=sites)
    options = ("--tree", "tree.csv", "--bootstrap", "20", "--json", "found.json")
    out, _ = hedgerow(capsys, "compare", "c.csv", "d.csv", "e.csv", *options)
    assert (
        "d cannot be compared example by example with c: the examples are in 4 clusters, too few to tell what is "
        "chance: at least 6 are needed."
    ) in " ".join(out.split())
    assert "with c: its examples are in other clusters." in " ".join(out.split())
    out, _ = hedgerow(capsys, "evaluate", "c.csv", *options, "-o", "few")
    assert "There are no intervals: the examples are in 4 clusters, too few" in " ".join(out.split())
    assert json.loads(Path("found.json").read_text(encoding="utf-8"))["intervals"] == {}
    hedgerow(capsys, "evaluate", "e.csv", "--tree", "tree.csv", "-o", "more")
    out, _ = hedgerow(capsys, "merge", "few", "more", "-o", "all")  # 8 clusters in all
    assert "There are no intervals" not in out


def test_scores_that_list_no_leaf_have_no_leaf_figures(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"r{i},{'bird' if i % 3 else 'fish'},0.9" for i in range(80)]
    labels = [f"r{i},{'bird' if i % 3 else 'cod'}" for i in range(80)]
    Path("genera.csv").write_text("\n".join(["id,class,class_confidence", *rows]))
    Path("labels.csv").write_text("\n".join(["id,label", *labels]))
    save_npz(place / "leaves.npz", probabilities=probabilities(80), ids=[f"r{i}" for i in range(80)])
    given = ("--tree", "tree.csv", "--labels", "labels.csv", "--single-child", "skip")
    out, _ = hedgerow(
        capsys, "evaluate", "genera.csv", *given, "-o", "saved", "--json", "e.json", "--bootstrap", "9"
    )
    assert re.search(r"^leaf_F1 +– +no leaf scores *$", out, re.MULTILINE)
    assert re.search(r"^majority_F1 +[0-9.]+ ", out, re.MULTILINE)
    assert not re.search(r"^leaf +[0-9.]+ ", out, re.MULTILINE)
    found = json.loads(Path("e.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert (found["summary"]["leaf_F1"], found["summary"]["leaf_exact"]) == (None, None)
    assert "leaf" not in found["rules"]
    options = (*given, "--bootstrap", "9", "--json", "c.json", "--figure", "f.png")
    out, _ = hedgerow(capsys, "compare", "leaves.npz", "saved", *options)
    assert re.search(r"^saved .* –  +– *$", out, re.MULTILINE)
    assert "saved has no leaf scores: no leaf_F1, no leaf_exact." in out
    found = json.loads(Path("c.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert "leaf_F1" not in found["systems"][1]["differences"]
    hedgerow(capsys, "report", "saved", "-o", "page.html")
    assert math.isnan(Evaluation.load("saved").summary()["leaf_F1"])


def test_compare_wants_folders_of_the_same_settings(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("uneven.csv").write_text("animal,bird\nanimal,cod\nanimal,eel\nbird,robin\nbird,wren\n")
    settings = ("--information", "depth", "--below-label", "wrong")
    hedgerow(capsys, "evaluate", "a.npz", "--tree", "uneven.csv", "-o", "plain")
    hedgerow(capsys, "evaluate", "a.npz", "--tree", "uneven.csv", "-o", "other", *settings)
    for option, was in zip(settings[::2], ("leaves", "label"), strict=True):
        asked = settings[settings.index(option) + 1]
        _, err = hedgerow(capsys, "compare", "other", "plain", option, asked, status=2)
        assert f"plain was evaluated with {option} {was}, not with {option} {asked}. Leave the option out" in err
    out, _ = hedgerow(capsys, "compare", "other", "b.csv", "--tree", "uneven.csv", "--bootstrap", "9", *settings)
    assert "cannot be compared" not in out
    out, _ = hedgerow(capsys, "compare", "other", "plain", "--bootstrap", "9")
    assert "plain cannot be compared example by example with other" in out


@pytest.mark.parametrize("columns", ["60", "80"])
def test_compare_is_whole_in_a_pipe(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    name = "a-network-with-a-name-that-is-rather-long"
    labels = np.load("a.npz")["labels"].tolist()
    save_npz(
        place / f"{name}.npz", probabilities=np.eye(4)[[LEAVES.index(label) for label in labels]], labels=labels
    )
    out, _ = hedgerow(capsys, "compare", f"{name}.npz", "b.csv", "--tree", "tree.csv", "--bootstrap", "20")
    assert re.search(rf"^{name}( +100\.0){{7}}\s*$", out, re.MULTILINE)
    assert re.search(r"^b( +[-+][\d.]+ to [-+][\d.]+){4}\s*$", out, re.MULTILINE)


def test_compare_draws_one_figure(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    options = ("--tree", "tree.csv", "--bootstrap", "0", "--figure", "c.pdf", "--against", "best")
    hedgerow(capsys, "compare", "a.npz", "b.csv", *options)
    assert (place / "c.pdf").read_bytes().startswith(b"%PDF")


def test_rules_are_marked_in_figures_by_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    drawn = {}
    for rules in (None, "majority,leaf", "plurality, expected-information", "none"):
        asked = () if rules is None else ("--rules", rules)
        hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", "--figure", "c.svg", *asked)
        drawn[rules] = (place / "c.svg").read_bytes()
    assert drawn[None] == drawn["majority,leaf"]
    assert len(set(drawn.values())) == 3
    options = ("--tree", "tree.csv", "--bootstrap", "0")
    hedgerow(capsys, "compare", "a.npz", "b.csv", *options, "--figure", "d.svg", "--rules", "expected-information")
    for verb in (("evaluate", "a.npz"), ("compare", "a.npz", "b.csv")):
        _, err = hedgerow(capsys, *verb, *options[:2], "--figure", "e.svg", "--rules", "leaf,best", status=2)
        assert "there is no rule 'best'. Choose from leaf, majority, plurality, expected-information" in err
        _, err = hedgerow(capsys, *verb, *options[:2], "--rules", "leaf", status=2)
        assert "give --figure FILE" in err


def test_compare_says_why_not(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_npz(place / "c.npz", probabilities=probabilities(30), labels=["cod"] * 30)
    out, _ = hedgerow(capsys, "compare", "a.npz", "c.npz", "--tree", "tree.csv", "--bootstrap", "10")
    assert "c cannot be compared example by example with a: it has 30 examples, not 80." in out
    assert re.search(r"^c +[\d.]+", out, re.MULTILINE)
    _, err = hedgerow(capsys, "compare", "a.npz", "b.csv", status=2)
    assert "give --tree TREE" in err
    _, err = hedgerow(capsys, "compare", "a.npz", "--tree", "tree.csv", status=2)
    assert "at least two evaluations" in err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predict_at_a_threshold(suffix: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = f"answers.{suffix}"
    options = ("--tree", "tree.csv", "--tau", "0.7", "-o", output, "--json", "p.json")
    out, _ = hedgerow(capsys, "predict", "a.npz", *options)
    assert f"80 answers written to {output}" in out
    frame = pd.read_csv(output) if suffix == "csv" else pd.read_parquet(output)
    with np.load("a.npz") as scores:
        q = hr.likelihood.from_leaves(H, scores["probabilities"], classes=scores["classes"])
        ids = scores["ids"].tolist()
    expected = infer.threshold(H, q, 0.7)
    assert frame["example"].tolist() == list(range(80))
    assert frame["id"].tolist() == ids
    assert frame["prediction"].tolist() == H.names[expected].tolist()
    assert (expected == 0).any()
    sure = np.where(expected == 0, np.nan, np.asarray(q)[np.arange(80), expected])  # the root is no answer
    np.testing.assert_allclose(frame["confidence"], sure)
    assert frame["lineage"][0] == " > ".join(H.names[H.lineage(int(expected[0]))])
    found = json.loads((place / "p.json").read_text(encoding="utf-8"))
    assert found["examples"] == 80
    assert found["by_depth"] == np.bincount(H.depth[expected], minlength=3).tolist()


def test_predict_sums_up_by_rank(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("ranks.csv").write_text("class,order,species\nbirds,,robin\nbirds,owls,barn owl\nfish,,cod\n,,moss\n")
    h = hr.Hierarchy.from_lineages("ranks.csv")
    save_table(Path("s.csv"), np.eye(4), columns=h.names[h.leaves].tolist())
    given = ("--tree", "ranks.csv", "--tree-format", "lineages", "-o", "p.csv")
    out, _ = hedgerow(capsys, "predict", "s.csv", *given, "--tau", "0.5", "--json", "p.json")
    assert [line.split() for line in out.splitlines()[-5:]] == [
        ["rank", "answers", "%"],
        ["the", "root:", "no", "answer", "0", "0.0"],
        ["class", "0", "0.0"],
        ["order", "0", "0.0"],
        ["species", "4", "100.0"],
    ]
    found = json.loads(Path("p.json").read_text(encoding="utf-8"))
    assert found["by_rank"] == {"class": 0, "order": 0, "species": 4}
    assert sum(found["by_depth"]) == 4


def test_predict_needs_no_labels(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_table(place / "new.csv", probabilities(5))
    hedgerow(capsys, "predict", "new.csv", "--tree", "tree.csv", "--rule", "expected-information", "-o", "a.csv")
    assert pd.read_csv("a.csv")["example"].tolist() == [0, 1, 2, 3, 4]
    _, err = hedgerow(capsys, "evaluate", "new.csv", "--tree", "tree.csv", status=2)
    assert "no column 'label'. Its columns: 'robin', 'wren'" in err


def test_predict_wants_a_threshold_or_a_rule(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for extra, said in (
        ((), "with --point FILE"),
        (("--tau", "0.5", "--rule", "leaf"), "either a threshold"),
        (("--tau", "1.5"), "between 0 and 1"),
    ):
        _, err = hedgerow(capsys, "predict", "a.npz", "--tree", "tree.csv", "-o", "out.csv", *extra, status=2)
        assert said in err
    assert not (place / "out.csv").exists()


def test_mistakes_are_one_message_and_leave_nothing_behind(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    p = probabilities(30)
    p[20, 1] = np.nan
    save_table(place / "bad.csv", p, label=["cod"] * 30)
    before = sorted(place.iterdir())
    for verb, *more in (
        ("evaluate", "-o", "out", "--json", "o.json"),
        ("predict", "--tau", "0.5", "-o", "out.csv"),
    ):
        out, err = hedgerow(capsys, verb, "bad.csv", "--tree", "tree.csv", *more, status=2)
        assert out == ""
        assert "line 22 has no number (NaN) for 'wren'" in err
        assert sorted(place.iterdir()) == before


def test_what_cannot_be_written_is_refused_early(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "folder").mkdir()
    (place / "folder.png").mkdir()
    before = sorted(place.iterdir())
    for option, said in (
        (("--json", "none/o.json"), "Create it first"),
        (("--figure", "none/f.png"), "Create it first"),
        (("--figure", "f.bmp"), ".png, .pdf or .svg"),
        (("-o", "tree.csv"), "tree.csv is a file. Give the name of a folder"),
        (("-o", "tree.csv/out"), "tree.csv is a file. Give the name of a folder"),
        (("--json", "folder"), "folder is a folder; give the name of a file"),
        (("--figure", "folder.png"), "folder.png is a folder; give the name of a file"),
        *([(("-o", "/proc/x/y"), "/proc/x/y cannot be written")] if sys.platform == "linux" else []),
    ):
        out, err = hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", *option, status=2)
        assert out == ""
        assert said in " ".join(err.split())
    for verb, more in (("compare", ("b.csv",)), ("predict", ("--tau", "0.5", "-o", "out.csv"))):
        out, err = hedgerow(capsys, verb, "a.npz", *more, "--tree", "tree.csv", "--json", "folder", status=2)
        assert out == ""
        assert "folder is a folder" in err
    assert sorted(place.iterdir()) == before


def test_two_outputs_in_one_place_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(place.iterdir())
    for verb, *more in (
        ("predict", "--tau", "0.5", "-o", "both.csv", "--json", "./both.csv"),
        ("evaluate", "-o", "both", "--json", str(place / "both")),
        ("evaluate", "-o", "both", "--json", "both/evaluation.json"),
        ("evaluate", "-o", ".", "--json", "examples.npz"),
        ("evaluate", "--figure", "both.png", "--json", "both.png"),
        ("compare", "b.csv", "--figure", "both.png", "--json", "both.png"),
    ):
        out, err = hedgerow(capsys, verb, "a.npz", *more, "--tree", "tree.csv", status=2)
        assert out == ""
        assert "is named for two outputs. Give each output its own name" in " ".join(err.split())
    assert sorted(place.iterdir()) == before
    hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", "--json", "/dev/null")


def test_an_evaluation_replaces_only_evaluations(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*given: str, said: str) -> None:
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        out, err = hedgerow(capsys, *given, status=2)
        assert out == ""
        assert said in " ".join(err.split())
        assert before == {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}

    tree = ("--tree", "tree.csv")
    for name in ("examples.npz", "evaluation.json"):
        Path("mine").mkdir(exist_ok=True)
        Path("mine", name).write_text("{}")
        said = f"mine/{name} would be overwritten, but is not part of an evaluation."
        refused("evaluate", "a.npz", *tree, "-o", "mine", said=said)
        Path("mine", name).unlink()
    for _ in range(2):
        hedgerow(capsys, "evaluate", "a.npz", *tree, "-o", ".")  # beside other files, and again
    hedgerow(capsys, "evaluate", "a.npz", *tree, "-o", "one")
    said = "one/examples.npz would overwrite one/examples.npz, which is an input"
    refused("compare", "one", "b.csv", *tree, "--json", "one/examples.npz", said=said)


def test_outputs_may_stand_in_a_folder_that_is_made(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = ("-o", "new/out", "--json", "new/out/f.json")
    hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", *outputs)
    assert json.loads((place / "new" / "out" / "f.json").read_text(encoding="utf-8"))["examples"] == 80
    assert len(Evaluation.load("new/out")) == 80


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_encoding_of_the_output_will_do(encoding: str, place: Path) -> None:
    def printed(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hedgerow", *arguments],
            env=os.environ | {"PYTHONIOENCODING": encoding},
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == b""
        return done.stdout.decode(encoding)

    Path("names.csv").write_text("life,日本\nlife,robin\n", encoding="utf-8")
    out = printed("compare", "a.npz", "b.csv", "--tree", "tree.csv", "--bootstrap", "20")
    better, worse, unclear = "▲▼≈" if encoding == "utf-8" else "+-~"
    assert f"{better} better, {worse} worse, {unclear} no clear difference" in " ".join(out.split())
    assert re.search(rf"^b +[\d.]+ {worse}", out, re.MULTILINE)
    assert "95 % interval" in printed("evaluate", "a.npz", "--tree", "tree.csv", "--bootstrap", "20")
    assert ("日本" if encoding == "utf-8" else "??") in printed("doctor", "names.csv")


@pytest.mark.parametrize("pipe", ["|", "2>&1 |"])
def test_files_are_written_though_nobody_reads_on(pipe: str, place: Path) -> None:
    command = f"{sys.executable} -m hedgerow evaluate a.npz --tree tree.csv -o out --json e.json"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} {pipe} true"],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ("The evaluation is in out.\n" if pipe == "|" else "")
    assert json.loads(Path("e.json").read_text(encoding="utf-8"))["examples"] == 80
    assert len(Evaluation.load("out")) == 80


@pytest.mark.parametrize("verb", ["evaluate", "compare", "predict"])
def test_help_has_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = hedgerow(capsys, verb, "--help")
    assert "Examples" in out
    assert "--json" in out


def test_long_work_shows_a_bar_and_short_work_none(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr("rich.progress.Progress.start", lambda self: begun.append(self.tasks[0].description))
    with outputs.bar("Reading scores", 3) as advance:
        advance(1)
    assert begun == []
    with outputs.bar("Saving", None):
        time.sleep(1.2)  # though no step is done
    assert begun == ["Saving"]


def test_the_two_models_of_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = Path(__file__).parents[2] / "examples"
    if not examples.is_dir():
        pytest.skip("the examples ship with the sources only")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    runpy.run_path(str(examples / "two_models.py"))
    capsys.readouterr()
    tree = ("--tree", str(examples / "garden.csv"), "--tree-format", "lineages")
    out, _ = hedgerow(capsys, "compare", "keen.csv", "careful.csv", *tree)
    shown = (examples.parent / "docs" / "evaluate.md").read_text(encoding="utf-8")
    rows = [line.rstrip() for line in out.splitlines() if line.startswith(("system", "keen", "careful"))]
    assert "\n".join(rows[:3]) in shown


def test_the_example_that_ships_with_the_sources(capsys: pytest.CaptureFixture[str]) -> None:
    examples = Path(__file__).parents[2] / "examples"
    if not examples.is_dir():
        pytest.skip("the examples ship with the sources only")
    tree = ("--tree", str(examples / "garden.csv"), "--tree-format", "lineages")
    out, _ = hedgerow(capsys, "evaluate", str(examples / "garden_scores.csv"), *tree)
    shown = (examples.parent / "docs" / "evaluate.md").read_text(encoding="utf-8")
    row = re.search(r"^majority +(.*)$", out, re.MULTILINE)
    assert row is not None
    assert row[0].rstrip() in shown


def test_the_name_of_a_score_file_is_not_a_formula(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "a.npz").rename(place / "m$_^$.npz")
    (place / "b.csv").rename(place / "a$b.csv")
    hedgerow(capsys, "evaluate", "m$_^$.npz", "--tree", "tree.csv", "--figure", "one.png")
    hedgerow(capsys, "compare", "m$_^$.npz", "a$b.csv", "--tree", "tree.csv", "--figure", "two.svg")
    drawn = (place / "two.svg").read_text(encoding="utf-8")
    assert "m$_^$" in drawn
    assert "a$b" in drawn


def test_metrics_of_ones_own_and_tables(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = ["--tree", "tree.csv", "--metrics", "edge_distance, tests.own:leaf_answers"]
    said, errors = hedgerow(capsys, "evaluate", "a.npz", *tree, "-o", "a", "--table", "a.csv", "--json", "a.json")
    summary = json.loads((place / "a.json").read_text())["summary"]
    assert re.search(rf"majority_edge_distance +{summary['majority_edge_distance']:.3g} ", said)
    assert re.search(rf"majority_leaf_answers +{100 * summary['majority_leaf_answers']:.1f} ", said)
    assert "averaged over classes (%)" in said
    assert "The tables are in a.csv." in errors
    written = pd.read_csv("a.csv").set_index(["table", "row", "column"])["value"]
    assert written["Summary", "a", "leaf_edge_distance"] == pytest.approx(summary["leaf_edge_distance"])
    said, _ = hedgerow(capsys, "compare", "a", "b.csv", *tree, "--bootstrap", "20", "--table", "both.md")
    assert f"{summary['majority_edge_distance']:.3g}" in said
    assert "Not in per cent: 'edge_distance'." in said
    assert "| b: leaf" in (place / "both.md").read_text()


def test_tables_and_metrics_are_checked_early(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, message in (
        (["--table", "a.xlsx"], "written as .csv, .md or .tex"),
        (["--metrics", "f2"], "There is no metric 'f2'"),
        (["--metrics", "no_such:thing"], "cannot be imported"),
    ):
        _, errors = hedgerow(capsys, "evaluate", "none.npz", "--tree", "tree.csv", *given, status=2)
        assert message in errors


def test_warnings_come_before_the_tables(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv("b.csv")
    table["id"] = "same"
    table.to_csv("c.csv", index=False)
    said, _ = hedgerow(capsys, "evaluate", "c.csv", "--tree", "tree.csv")
    assert said.index("Warning: 1 id is shared") < said.index("measure ")
    said, _ = hedgerow(capsys, "compare", "b.csv", "c.csv", "--tree", "tree.csv")
    assert said.index("Warning, c: 1 id is shared") < said.index("cannot be compared") < said.index("system (%)")
