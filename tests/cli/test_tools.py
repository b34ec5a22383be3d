"""From the output of a tool to a curve and to answers, by the command."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

import hedgerow as hr
from tests.cli.test_evaluate import hedgerow
from tests.make_scores import H, probabilities, save_table
from tests.score_files.simulated import DATA

SPECIES = ("--tree", str(DATA / "lineages.csv"), "--tree-format", "lineages")
MAMMALS = ("--tree", str(DATA / "mammals.csv"), "--tree-format", "lineages")

MAMMAL_TREE = hr.Hierarchy.from_lineages(DATA / "mammals.csv")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("traps.csv").write_text(
        "id,label\ncam1/0001.jpg,odocoileus virginianus\ncam1/0002.jpg,blank\n"
        "cam2/0003.jpg,puma concolor\ncam2/0004.jpg,puma concolor\n"
    )
    Path("photos.csv").write_text("id,label\na.jpg,Ursus arctos\nb.jpg,Lynx canadensis\n")
    Path("asvs.csv").write_text(
        "id,label\nasv1,g__Bacillus\nasv2,Lactobacillus\nasv3,d__Archaea\nasv4,Firmicutes\n"
    )


@pytest.mark.parametrize(
    ("arguments", "examples"),
    [
        (("sintax.txt", *SPECIES, "--labels", str(DATA / "labels.csv")), 60),
        (("rdp-allrank.txt", *SPECIES, "--labels", str(DATA / "genus-labels.csv")), 60),
        (("rdp-fixrank.txt", *SPECIES, "--labels", str(DATA / "genus-labels.csv")), 60),
        (("taxonomy.tsv", "--tree", str(DATA / "bacteria.txt"), "--labels", "asvs.csv"), 4),
        (("speciesnet.json", *MAMMALS, "--labels", "traps.csv", "--outside", "*", "--outside", "blank"), 4),
        (("pybioclip.csv", *MAMMALS, "--labels", "photos.csv"), 2),
        (("kraken2.txt", "--tree", str(DATA / "taxdump"), "--labels", str(DATA / "kraken2-labels.csv")), 60),
        (("dada2.tsv", *SPECIES, "--labels", str(DATA / "labels.csv")), 14),
        (("dada2-single.tsv", *SPECIES, "--labels", str(DATA / "labels.csv")), 14),
        (("dada2-boot.csv", *SPECIES, "--labels", str(DATA / "labels.csv")), 14),
        (("idtaxa.txt", *SPECIES, "--labels", str(DATA / "labels.csv")), 14),
        (("blca.txt", *SPECIES, "--labels", str(DATA / "labels.csv")), 14),
    ],
)
def test_from_a_tool_to_a_curve(
    arguments: tuple[str, ...], examples: int, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = arguments
    out, _ = hedgerow(capsys, "evaluate", str(DATA / name), *rest, "--json", "e.json", "-o", "saved")
    assert "Nodes with a single child are answers of their own" in out
    found = json.loads(Path("e.json").read_text())
    assert found["examples"] == examples
    assert found["settings"]["single_child"] == "answer"
    assert 0 <= found["summary"]["AP"] <= 1
    # What the command proposes works as it stands, and the answers can be read by other tools.
    hedgerow(capsys, "compare", "saved", str(DATA / name), *rest, "--bootstrap", "0")
    kept = rest[: rest.index("--labels")] + rest[rest.index("--labels") + 2 :]
    out, _ = hedgerow(capsys, "predict", str(DATA / name), *kept, "--tau", "0.5", "-o", "answers.csv")
    assert "Nodes with a single child are answers of their own" in out
    assert len(pd.read_csv("answers.csv")) >= examples
    hedgerow(capsys, "predict", str(DATA / name), *kept, "--tau", "0.5", "--as", "qiime2", "-o", "t.tsv")
    assert Path("t.tsv").read_text().startswith("Feature ID\tTaxon\tConfidence\n")
    hedgerow(capsys, "predict", str(DATA / name), *kept, "--tau", "0.5", "--as", "camtrap-dp", "-o", "o.csv")
    assert "classificationProbability" in Path("o.csv").read_text()


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("birdnet.csv", {"site1/a.wav 0.0-3.0": "Cervidae", "site2/b.wav 0.0-3.0": "Ursus arctos"}),
        (
            "answers.jsonl",
            {"photo-1": "Odocoileus virginianus", "photo-2": "Lynx rufus", "photo-3": "Ursus americanus"},
        ),
    ],
)
def test_from_curve_to_point_to_answers(
    name: str, labels: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    pd.Series(labels, name="label").rename_axis("id").to_csv("l.csv")
    given = (str(DATA / name), *MAMMALS)
    hedgerow(capsys, "evaluate", *given, "--labels", "l.csv", "--json", "e.json")
    assert json.loads(Path("e.json").read_text())["examples"] == len(labels)
    promised = ("--target", "correct=0.5", "--guarantee", "empirical", "-o", "p.json")
    hedgerow(capsys, "select", *given, "--labels", "l.csv", *promised)
    hedgerow(capsys, "predict", *given, "--point", "p.json", "-o", "answers.csv")
    answers = pd.read_csv("answers.csv", index_col="id")["prediction"]
    known = [MAMMAL_TREE.is_ancestor(answers[name], label) for name, label in labels.items()]
    assert sum(known) >= len(labels) / 2


def test_warnings_say_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    labels = str(DATA / "labels.csv")
    out, _ = hedgerow(
        capsys, "evaluate", str(DATA / "sintax.txt"), *SPECIES, "--labels", labels, "--json", "e.json"
    )
    said = " ".join(out.split())
    assert "Warning: 8 of 61 examples are unclassified" in said
    assert f"Warning: 1 example has no label in {labels} and is left out: 'short'." in said
    assert (
        f"hedgerow predict {DATA / 'sintax.txt'} --tree {DATA / 'lineages.csv'} --tree-format lineages --tau"
        in said
    )
    assert len(json.loads(Path("e.json").read_text())["warnings"]) == 2


def test_single_child_may_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (str(DATA / "sintax.txt"), *SPECIES, "--labels", str(DATA / "labels.csv"), "--json", "e.json")
    out, _ = hedgerow(capsys, "evaluate", *arguments, "--single-child", "skip")
    assert "Nodes with a single child" not in out
    assert json.loads(Path("e.json").read_text())["settings"]["single_child"] == "skip"


def test_a_part_of_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    H.to_edges("tree.csv")
    save_table(Path("s.csv"), probabilities(4, columns=3), ["robin", "wren", "cod"], label=["cod"] * 4)
    out, _ = hedgerow(capsys, "evaluate", "s.csv", "--tree", "tree.csv")
    assert "Warning: s.csv: 1 leaf has no column, and so probability 0: 'eel'." in out
    hedgerow(capsys, "evaluate", "s.csv", "--tree", "tree.csv", "--columns", "own", "--json", "e.json")
    hedgerow(capsys, "evaluate", "s.csv", "--tree", "tree.csv", "--columns", "own", "--only", "bird")
    Path("here.txt").write_text("robin\ncod\n")
    only = ("--columns", "own", "--only", "here.txt")
    hedgerow(capsys, "predict", "s.csv", "--tree", "tree.csv", *only, "--tau", "0.1", "-o", "a.csv")
    assert "wren" not in set(pd.read_csv("a.csv")["prediction"])


def test_votes(capsys: pytest.CaptureFixture[str]) -> None:
    H.to_edges("tree.csv")
    Path("votes.csv").write_text("id,class,score\na,cod,3\na,eel,1\nb,unsure,2\nb,bird,2\n")
    Path("labels.csv").write_text("id,label\na,cod\nb,robin\n")
    arguments = ("votes.csv", "--tree", "tree.csv", "--labels", "labels.csv")
    _, error = hedgerow(capsys, "evaluate", *arguments, "--outside", "unsure", status=2)
    assert "use --votes" in error
    hedgerow(capsys, "evaluate", *arguments, "--outside", "unsure", "--votes", "--json", "e.json")
    assert json.loads(Path("e.json").read_text())["examples"] == 2
    _, error = hedgerow(capsys, "evaluate", *arguments, "--votes", status=2)
    assert "use --outside unsure; --outside '*' means" in error


def test_messages_name_options(capsys: pytest.CaptureFixture[str]) -> None:
    _, error = hedgerow(capsys, "evaluate", str(DATA / "sintax.txt"), *SPECIES, status=2)
    assert "--labels FILE" in error
    Path("x.txt").write_text("what is this\n")
    _, error = hedgerow(capsys, "evaluate", "x.txt", *SPECIES, status=2)
    assert "--scores-format sintax; there are wide, long, lineage" in error
    _, error = hedgerow(capsys, "evaluate", "x.txt", *SPECIES, "--scores-format", "fasta", status=2)
    assert "no score format 'fasta'" in error


def test_the_doctor_of_what_a_tool_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    tree = str(DATA / "lineages.csv")
    labels, scores = str(DATA / "labels.csv"), str(DATA / "sintax.txt")
    out, _ = hedgerow(capsys, "doctor", tree, "--tree-format", "lineages", "--scores", scores, "--labels", labels)
    assert "lists for its 61 examples is in the tree (format sintax)" in " ".join(out.split())
    assert f"hedgerow evaluate {scores} --labels {labels} --tree {tree} --tree-format lineages" in out
    mammals = str(DATA / "mammals.csv")
    scores = str(DATA / "speciesnet.json")
    out, _ = hedgerow(capsys, "doctor", mammals, "--tree-format", "lineages", "--scores", scores, status=1)
    assert "--outside blank" in out


LINEAGES = ("--tree-format", "lineages")
OUTSIDE = ("--outside", "*", "--outside", "blank")


@pytest.mark.parametrize(
    ("arguments", "scores", "labels"),
    [
        ((DATA / "lineages.csv", *LINEAGES), DATA / "sintax.txt", DATA / "labels.csv"),
        ((DATA / "genera.csv", *LINEAGES), DATA / "rdp-allrank.txt", DATA / "genus-labels.csv"),
        ((DATA / "bacteria.txt",), DATA / "taxonomy.tsv", "asvs.csv"),
        ((DATA / "mammals.csv", *LINEAGES, *OUTSIDE), DATA / "speciesnet.json", "traps.csv"),
        ((DATA / "mammals.csv", *LINEAGES), DATA / "pybioclip.csv", "photos.csv"),
        (("tree.json",), "long.csv", "fish.csv"),
        (("tree.json",), "labelled.csv", None),
        (("tree.json",), "lineage.csv", "fish.csv"),
        (("tree.json",), "wide.csv", "fish.csv"),
        (("tree.json",), "wide-labelled.csv", None),
        (("tree.json",), "wide.csv", "taxa.tsv"),
        (("tree.json",), "wide.csv", "ranks.csv"),
        (("tree.json", "--id-column", "photo", "--label-column", "kind"), "wide.csv", "kinds.csv"),
    ],
)
def test_following_the_doctor_leads_to_figures(
    arguments: tuple[str | Path, ...],
    scores: str | Path,
    labels: str | Path | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    H.write("tree.json")
    Path("fish.csv").write_text("id,label\na,cod\nb,eel\n")
    Path("taxa.tsv").write_text("Feature ID\tTaxon\na\tfish; cod\nb\tfish; s__\n")
    Path("ranks.csv").write_text("id,class,species\na,fish,cod\nb,fish,\n")
    Path("kinds.csv").write_text("photo,kind\na,cod\nb,eel\n")
    Path("long.csv").write_text("id,class,score\na,cod,0.75\na,eel,0.25\nb,eel,0.5\n")
    Path("labelled.csv").write_text("id,label,class,score\na,cod,cod,0.75\na,cod,eel,0.25\nb,fish,eel,0.5\n")
    Path("lineage.csv").write_text("id,class,class_confidence,species,species_confidence\na,fish,0.75,cod,0.5\n")
    save_table(Path("wide.csv"), probabilities(2), id=["a", "b"])
    save_table(Path("wide-labelled.csv"), probabilities(2), label=["cod", "eel"])

    def proposed(*words: object) -> str:
        out, _ = hedgerow(capsys, *map(str, words))
        return next(line for line in out.splitlines() if line.startswith("  hedgerow "))

    tree, *reading = arguments
    if labels == "kinds.csv":  # these columns are in the labels alone
        command = proposed("doctor", tree, "--scores", scores, "--labels", labels, *reading)
    else:
        command = proposed("doctor", tree, *reading[:2], "--scores", scores, *reading[2:])
    if "--labels FILE" in command:
        command = proposed(*shlex.split(command.replace("--labels FILE", f"--labels {labels}"))[1:])
    assert command.startswith("  hedgerow evaluate ")
    hedgerow(capsys, *shlex.split(command)[1:], "--json", "e.json")
    assert json.loads(Path("e.json").read_text())["examples"] > 0
    if labels == "fish.csv":  # labels first, then scores
        other = proposed("doctor", tree, "--labels", labels).replace("--scores FILE", f"--scores {scores}")
        assert proposed(*shlex.split(other)[1:]) == command


def test_cells_safe_for_spreadsheets(capsys: pytest.CaptureFixture[str]) -> None:
    H.to_edges("tree.csv")
    Path("long.csv").write_text("id,class,score\n=1+1,cod,1\n")
    arguments = ("long.csv", "--tree", "tree.csv", "--tau", "0.5", "-o", "a.csv")
    hedgerow(capsys, "predict", *arguments)
    assert "\n0,=1+1," in Path("a.csv").read_text()
    hedgerow(capsys, "predict", *arguments, "--spreadsheet-safe")
    assert "\n0,'=1+1," in Path("a.csv").read_text()


def test_lineages_of_the_rdp_classifier_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own taxonomy has one name at several ranks; the scores are as version 2.10.2 wrote them."""
    monkeypatch.chdir(tmp_path)
    ranks = ("domain", "phylum", "class", "order", "family", "genus")
    lineages = (
        ("Bacteria", "Acidobacteria", "Acidobacteria_Gp1", "Gp1", "Gp1", "Gp1"),
        ("Bacteria", "Acidobacteria", "Acidobacteria_Gp2", "Gp2", "Gp2", "Gp2"),
        ("Bacteria", "Firmicutes", "Bacilli", "Bacillales", "Bacillaceae 1", "Bacillus"),
    )
    rows = [",".join(row) for row in (ranks, *lineages)]
    Path("genera.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    scores, labels = "", "id,label\n"
    for number, lineage in enumerate(lineages):
        scores += f"r{number}\t\tRoot\trootrank\t1.0\t"
        scores += "\t".join(f"{name}\t{rank}\t0.9" for name, rank in zip(lineage, ranks, strict=True)) + "\n"
        labels += f"r{number},{';'.join(lineage)}\n"
    Path("rdp.txt").write_text(scores, encoding="utf-8")
    Path("labels.csv").write_text(labels, encoding="utf-8")
    page = (Path(__file__).parents[2] / "docs" / "tools-reads.md").read_text(encoding="utf-8")
    section = page.split("## RDP classifier")[1].split("\n## ")[0]
    evaluate, predict = re.findall(r"^hedgerow (.*)", section, re.MULTILINE)
    said, _ = hedgerow(capsys, *evaluate.split())
    assert re.search(r"leaf_exact +100\.0", said)
    hedgerow(capsys, *predict.split())
    assert "Acidobacteria_Gp1/Gp1" in Path("answers.csv").read_text(encoding="utf-8")
