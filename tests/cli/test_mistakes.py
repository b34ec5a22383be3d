"""Mistakes that people make on the command line, each answered in plain words."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.cli.test_evaluate import hedgerow

TREE = "parent,child\nroot,pet\nroot,wolf\npet,cat\npet,dog\n"
SCORES = "id,cat,dog,wolf,label\na,0.5,0.3,0.2,cat\nb,0.25,0.5,0.25,dog\n"


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tree.csv").write_text(TREE)
    Path("scores.csv").write_text(SCORES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("evaluate", "tree.csv", "--tree", "scores.csv"),
            "scores.csv looks like a table of scores, not like a tree",
        ),
        (("evaluate", "tree.csv", "--tree", "tree.csv"), "looks like a tree: the scores come first"),
        (("evaluate", "scores.csv", "--tree", "s.npz"), "s.npz is a file of scores or features, not a tree"),
        (
            ("predict", "scores.csv", "--tree", "tree.csv", "--tau", "0,7", "-o", "a.csv"),
            "--tau must be a number, such as 0.9, not '0,7': write its decimal point as '.'",
        ),
        (
            ("predict", "scores.csv", "--tree", "tree.csv", "--tau", "x", "-o", "a.csv"),
            "--tau must be a number, such as 0.9, not 'x'.",
        ),
        (("evaluate", "scores.csv", "--tree", "tree.csv", "--label-column", "C:\\my"), "no column 'C:\\my'"),
        (("evaluate", "scores.csv", "--tree", "tree.csv", "--decimal", ";"), "decimal must be '.' or ','"),
    ],
)
def test_one_sentence(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, error = hedgerow(capsys, *arguments, status=2)
    assert said in error
    assert not Path("a.csv").exists()


def test_a_table_of_a_european_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    text = SCORES.replace(",", ";").replace("0.", "0,").replace("cat;", "cat ;", 1).replace("label", "label ")
    Path("eu.csv").write_text(text)
    tree = ("eu.csv", "--tree", "tree.csv")
    _, error = hedgerow(capsys, "evaluate", *tree, status=2)
    assert "use --delimiter ';'" in error
    _, error = hedgerow(capsys, "evaluate", *tree, "--delimiter", ";", status=2)
    assert (
        "line 2 has '0,5' for 'cat ', which is not a number. If that is its decimal point, use --decimal ','."
        in error
    )
    out, _ = hedgerow(capsys, "evaluate", *tree, "--delimiter", ";", "--decimal", ",")
    assert "hedgerow predict eu.csv --tree tree.csv --delimiter ';' --decimal , --tau" in out
    for name, more in (("eu.csv", ("--delimiter", ";", "--decimal", ",")), ("scores.csv", ())):
        hedgerow(capsys, "predict", name, "--tree", "tree.csv", *more, "--tau", "0.5", "-o", f"a-{name}")
    assert pd.read_csv("a-eu.csv").equals(pd.read_csv("a-scores.csv"))
    Path("eu.csv").write_text(text.replace("0,5", "0.5"))
    _, error = hedgerow(capsys, "evaluate", *tree, "--delimiter", ";", "--decimal", ",", status=2)
    assert (
        "line 2 has '0.5' for 'cat ', which is not a number. If that is its decimal point, use --decimal '.'."
        in error
    )
    long = "id;class;score\na;cat;0,5\na;dog;0,25\n"
    Path("long.csv").write_text(long)
    reading = ("--delimiter", ";", "--decimal", ",")
    hedgerow(capsys, "predict", "long.csv", "--tree", "tree.csv", *reading, "--tau", "0.6", "-o", "l.csv")
    assert pd.read_csv("l.csv")["confidence"].tolist() == [0.75]
