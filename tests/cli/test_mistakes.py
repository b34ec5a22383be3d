"""Mistakes that people make on the command line, each answered in plain words."""

from __future__ import annotations

import signal
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import FileError, ParameterError, ScoreError
from tests.cli.test_evaluate import hedgerow

TREE = "parent,child\nroot,pet\nroot,wolf\npet,cat\npet,dog\n"
SCORES = "id,cat,dog,wolf,label\na,0.5,0.3,0.2,cat\nb,0.25,0.5,0.25,dog\n"


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tree.csv").write_text(TREE)
    Path("scores.csv").write_text(SCORES)
    Path("eu.csv").write_text(SCORES.replace(",", ";").replace("0.", "0,"))
    Path("answers.json").write_text('{"predictions": []}')
    Path("sizes.csv").write_text("name,size\npet,10\nwolf,many\n")
    Path("shares.csv").write_text("class,share\ncat,0.5\ndog,half\n")
    Path("twice.csv").write_text("class,share\ncat,0.5\ncat,0.5\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("evaluate", "tree.csv", "--tree", "scores.csv"),
            "scores.csv looks like a table of scores, not like a tree",
        ),
        (("evaluate", "tree.csv", "--tree", "eu.csv"), "eu.csv looks like a table of scores, not like a tree"),
        (
            ("evaluate", "tree.csv", "--tree", "scores.csv", "--tree-format", "lineages"),
            "scores.csv looks like a table of scores, not like a tree",
        ),
        (
            ("evaluate", "tree.csv", "--tree", "scores.csv"),
            "doctor takes the tree first, and the scores after --scores.",
        ),
        (("train", "features-linear", "-o", "run"), "needs the parameter 'path': give --set data.path=VALUE."),
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
        (
            ("evaluate", "scores.csv", "--tree", "tree.csv", "--temperature", "0,5"),
            "--temperature must be a number",
        ),
        (
            ("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0,95", "-o", "a.csv"),
            "The level of the target must be a number, not '0,95': write 0.95.",
        ),
        (
            ("evaluate", "scores.csv", "--tree", "tree.csv", "--only", "bird"),
            "--only NAME takes classes of the tree, or a file that exists, with one on each line: 1 name is not",
        ),
        (("tree", "tree.csv", "--beside", "", "-o", "a.csv"), "A class beside the tree needs a name"),
        (("predict", "scores.csv", "--tree", "tree.csv", "--tau", "70%", "-o", "a.csv"), "not '70%': write 0.7"),
        (("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=95 %", "-o", "a.csv"), "write 0.95"),
        (("evaluate", "score.csv", "--tree", "tree.csv"), "Check the name; the folder contains 'scores.csv'"),
        (("evaluate", "-", "--tree", "tree.csv"), "Only `hedgerow predict` reads standard input"),
        (("evaluate", "scores.csv", "--tree", "answers.json"), "answers.json holds predictions, not a tree"),
        (
            (
                "select",
                "scores.csv",
                "--tree",
                "tree.csv",
                "--target",
                "correct=0.9",
                "--merge-small",
                "counted",
                "-o",
                "a.csv",
            ),
            "--merge-small needs groups or clades",
        ),
        (
            (
                *("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0.5", "--clades", "1"),
                *("--merge-small", "sizes.csv", "-o", "a.csv"),
            ),
            "sizes.csv: line 3 has 'many' for 'size', which is not a number",
        ),
        (
            (
                *("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0.5", "--expect"),
                *("shares.csv", "-o", "a.csv"),
            ),
            "shares.csv: line 3 has 'half' for 'share', which is not a number",
        ),
        (
            (
                *("select", "scores.csv", "--tree", "tree.csv", "--target", "correct=0.5", "--expect"),
                *("twice.csv", "-o", "a.csv"),
            ),
            "twice.csv lists 'cat' twice",
        ),
        (("merge", "scores.csv", "-o", "a.csv"), "scores.csv is a file, not an evaluation"),
        (("evaluate", "scores.csv", "--tree", "tree.csv", "--decimal", ";"), "decimal must be '.' or ','"),
    ],
)
def test_one_sentence(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, error = hedgerow(capsys, *arguments, status=2)
    assert said in error
    assert not Path("a.csv").exists()


def test_an_evaluation_holds_no_scores(capsys: pytest.CaptureFixture[str]) -> None:
    hedgerow(capsys, "evaluate", "scores.csv", "--tree", "tree.csv", "-o", "saved")
    for verb in (("evaluate", "saved"), ("predict", "saved", "--tau", "0.5", "-o", "a.csv")):
        _, error = hedgerow(capsys, *verb, status=2)
        assert error.startswith("saved is an evaluation, which holds no scores: give the scores.")


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


def test_ids_with_two_names_are_explained_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("photos.csv").write_text("photo,cat,dog,wolf\na,0.5,0.3,0.2\n")
    Path("labels.csv").write_text("image,label\na,cat\n")
    given = ("photos.csv", "--tree", "tree.csv", "--labels", "labels.csv")
    _, error = hedgerow(capsys, "evaluate", *given, "--id-column", "photo", status=2)
    assert "labels.csv has no column 'photo' or 'id', which holds the ids." in error
    assert "rename the column in one of the files" in error


@pytest.mark.parametrize(("ours", "theirs"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_accents_of_ids_may_be_letters_of_their_own(
    ours: Literal["NFC", "NFD"], theirs: Literal["NFC", "NFD"], capsys: pytest.CaptureFixture[str]
) -> None:
    name = "caf\u00e9.jpg"
    scores = f"id,cat,dog,wolf\n{unicodedata.normalize(ours, name)},0.5,0.3,0.2\nb,1,0,0\n"
    Path("accents.csv").write_text(scores, encoding="utf-8")
    Path("labels.csv").write_text(f"id,label\n{unicodedata.normalize(theirs, name)},cat\n", encoding="utf-8")
    out, _ = hedgerow(capsys, "evaluate", "accents.csv", "--tree", "tree.csv", "--labels", "labels.csv")
    assert "accents: 1 example," in out


def test_ids_that_differ_in_nothing_but_their_accents_are_two(capsys: pytest.CaptureFixture[str]) -> None:
    both = [unicodedata.normalize(form, "\u00e9") for form in ("NFC", "NFD")]
    Path("accents.csv").write_text("id,cat,dog,wolf\n" + "".join(f"{name},1,0,0\n" for name in both), "utf-8")
    Path("labels.csv").write_text("id,label\n" + "".join(f"{name},cat\n" for name in both), "utf-8")
    out, _ = hedgerow(capsys, "evaluate", "accents.csv", "--tree", "tree.csv", "--labels", "labels.csv")
    assert "accents: 2 examples" in out


def test_lineages_separated_by_semicolons(capsys: pytest.CaptureFixture[str]) -> None:
    Path("taxa.csv").write_text("class;species\npet;cat\npet;dog\nwolf;grey\n")
    out, _ = hedgerow(capsys, "doctor", "taxa.csv", status=1)
    assert "read it as lineages: --tree-format lineages" in " ".join(out.split())
    hedgerow(capsys, "tree", "taxa.csv", "--tree-format", "lineages", "-o", "t.json")
    expected = hr.Hierarchy.from_lineages(
        [{"class": c, "species": s} for c, s in (("pet", "cat"), ("pet", "dog"), ("wolf", "grey"))]
    )
    assert hr.Hierarchy.read("t.json") == expected


def test_a_confidence_that_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Feature ID\tTaxon\tConfidence\n#q2:types\tcategorical\tnumeric\na\tpet; cat\t0.5\nb\tpet\thigh\n"
    Path("taxonomy.tsv").write_text(text)
    _, error = hedgerow(
        capsys, "predict", "taxonomy.tsv", "--tree", "tree.csv", "--tau", "0.5", "-o", "a.csv", status=2
    )
    assert "taxonomy.tsv: line 4 has the confidence 'high', which is not a number. Correct it." in error


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
@pytest.mark.parametrize("seconds", [0.2, 0.5, 1.0])
def test_an_interrupted_start_is_no_traceback(seconds: float) -> None:
    start = "import sys; sys.argv[0] = 'hedgerow'; print(flush=True); from hedgerow.cli import main; main()"
    arguments = ["evaluate", "scores.csv", "--tree", "tree.csv", "--bootstrap", "500000"]
    command = [sys.executable, "-c", start, *arguments]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    try:
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert started.stdout is not None
    started.stdout.readline()  # Python itself has started
    try:
        started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        started.send_signal(signal.SIGINT)
    _, error = started.communicate(timeout=60)
    assert started.returncode != 0
    assert "Traceback" not in error


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits there")
def test_a_full_disk_names_the_folder_that_was_given() -> None:
    code = (
        "import resource, signal, hedgerow as hr\n"
        "h = hr.Hierarchy.read('tree.csv')\n"
        "e = hr.evaluate(h, hr.open_scores('scores.csv', h))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "e.save('saved')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    (said,) = done.stderr.strip().splitlines()[-1:]
    assert f"{Path('saved').resolve() if 'saved' not in said else 'saved'}" in said
    assert "cannot be written" in said
    assert ".tmp" not in said


# In Python -----------------------------------------------------------------------------------------------------


def test_misspelt_keywords_name_the_function() -> None:
    h = hr.Hierarchy.read("tree.csv")
    q, labels = np.asarray(hr.likelihood.from_leaves(h, [[0.5, 0.3, 0.2]])), ["cat"]
    with pytest.raises(
        TypeError,
        match=r"^evaluate\(\) has no keyword 'bellow_label'\. Did you mean 'below_label'\?.* metrics, scale,",
    ):
        hr.evaluate(h, q, labels, bellow_label="wrong")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^evaluate\(\) has no keyword 'replicate'\. Did you mean 'replicates'\?"):
        hr.evaluate(h, q, labels, replicate=3)  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"^select\(\) has no keyword 'singlechild'\. Did you mean 'single_child'\?"
    ):
        hr.select(h, q, labels, target=("correct", 0.9), singlechild="skip")  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"^Hierarchy\.read\(\) has no keyword 'seperator'\. Did you mean 'separator'\?"
    ):
        hr.Hierarchy.read("tree.csv", seperator="/")


def test_messages_are_for_python() -> None:
    h = hr.Hierarchy.read("tree.csv")
    with pytest.raises(ParameterError, match=r"Choose one of .*: format='edges'"):
        h.write("tree.xyz")
    Path("new.csv").write_text("id,cat,dog,wolf\na,0.5,0.3,0.2\n")
    with pytest.raises(
        ScoreError, match=r"To read scores without labels, use open_scores\(\.\.\., labels=False\)"
    ):
        hr.open_scores("new.csv", h)
    q = hr.likelihood.Likelihoods.of(h, np.zeros((1, 5)), "log")
    builder = hr.CurveBuilder(h)
    with pytest.raises(
        ParameterError, match="on the scale 'log', and 'probability' is expected here: give scale='log'"
    ):
        builder.update(q, ["cat"])
    with pytest.raises(FileError, match="not a tree"):
        hr.Hierarchy.read("scores.npz")


def test_a_point_answers_a_score_file() -> None:
    h = hr.Hierarchy.read("tree.csv")
    scores = hr.open_scores("scores.csv", h)
    point = hr.select(h, scores, target=("correct", 0.5), guarantee="empirical")
    expected = np.concatenate([point.predict(block.likelihoods) for block in scores])
    np.testing.assert_array_equal(point.predict(hr.open_scores("scores.csv", h, labels=False)), expected)
