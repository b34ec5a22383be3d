"""The verb report, and evaluate --html, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hedgerow import Evaluation, OperatingPoint
from hedgerow.cli.outputs import command_line
from tests.cli.test_evaluate import hedgerow, place
from tests.make_scores import H, save_table
from tests.show.page.test_document import content

__all__ = ["place"]  # a fixture


def shown(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def test_a_page_of_a_folder_and_a_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", "-o", "first")
    options = ["--title", "Two", "--json", "p.json"]
    out, err = hedgerow(capsys, "report", "first", "b.csv", "--tree", "tree.csv", "-o", "page.html", *options)
    assert (out, err) == ("", "The page is in page.html: open it in a browser.\n")
    html = shown("page.html")
    assert "<h1>Two</h1>" in html
    assert "hedgerow report first b.csv --tree tree.csv -o page.html" in html
    data = content(html)
    assert [model["name"] for model in data["models"]] == ["first", "b"]
    assert data["tree"]["sets"][0]["examples"] == 80
    assert len(data["tree"]["sets"]) == 1
    figures = json.loads(shown("p.json"))
    assert [system["name"] for system in figures["systems"]] == ["first", "b"]


def test_evaluate_writes_a_page(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "photos").mkdir()
    Image.new("RGB", (8, 8)).save(place / "photos" / "one.png")
    save_table(place / "c.csv", np.full((2, 4), 0.25), label=["robin", "wren"], image=["one.png", "two.png"])
    _, err = hedgerow(capsys, "evaluate", "c.csv", "--tree", "tree.csv", "--html", "c.html", "--images", "photos")
    assert "The page is in c.html" in err
    html = shown("c.html")
    examples = content(html)["tree"]["sets"][0]["shown"]
    assert ["image" in example for example in sorted(examples, key=lambda example: example["id"])] == [True, False]
    assert "1 of 2 images are missing from the folder" in html


def test_a_point_is_marked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = ["--target", "correct=0.8", "-o", "point.json"]
    hedgerow(capsys, "select", "a.npz", "--tree", "tree.csv", *target)
    hedgerow(capsys, "report", "a.npz", "--tree", "tree.csv", "--point", "point.json", "-o", "page.html")
    html = shown("page.html")
    assert "Right at least 80 % of the time." in html
    assert content(html)["start"]["mode"] == "threshold"


def test_a_point_and_an_evaluation_have_one_temperature(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for temperature in ("1", "3"):
        given = ["a.npz", "--tree", "tree.csv", "--temperature", temperature]
        hedgerow(capsys, "evaluate", *given, "-o", f"e{temperature}", "--json", "e.json")
        assert json.loads(shown("e.json"))["temperature"] == float(temperature)
        hedgerow(capsys, "select", *given, "--target", "correct=0.8", "-o", f"p{temperature}.json")
    assert Evaluation.load("e3").treatment.temperature == 3
    for temperature, other in (("1", "3"), ("3", "1")):
        hedgerow(capsys, "report", f"e{temperature}", "--point", f"p{temperature}.json", "-o", "page.html")
        wrong = ("report", f"e{temperature}", "--point", f"p{other}.json", "-o", "other.html")
        _, error = hedgerow(capsys, *wrong, status=2)
        assert (
            f"those of e{temperature}: these were divided by the temperature {temperature}, not by {other}."
            in error
        )
        assert f"--temperature {other}" in error
        assert not Path("other.html").exists()
    assert OperatingPoint.load("p3.json").temperature == 3
    _, error = hedgerow(capsys, "merge", "e1", "e3", "-o", "both", status=2)
    assert "temperature (1.0 and 3.0)" in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "a.npz", "--tree", "tree.csv", "-o", "page.pdf"], "page.pdf: a page is written as .html."),
        (["report", "a.npz", "-o", "page.html"], "a.npz is a score file, which needs a tree"),
        (["report", "missing", "-o", "page.html"], "missing does not exist"),
        (["report", "*.npz", "--tree", "tree.csv", "-o", "page.html"], "not the parts *.npz. Evaluate them first"),
        (["report", "a.npz", "--tree", "tree.csv", "-o", "no/page.html"], "the folder"),
        (["report", "a.npz", "--tree", "tree.csv", "--images", "no", "-o", "page.html"], "no is not a folder"),
        (
            ["report", "a.npz", "--tree", "tree.csv", "--point", "tree.csv", "-o", "p.html"],
            "cannot be read as a point",
        ),
        (["evaluate", "a.npz", "--tree", "tree.csv", "--images", "."], "give --html FILE too"),
        (["evaluate", "a.npz", "--tree", "tree.csv", "--html", "page"], "page: a page is written as .html."),
    ],
)
def test_mistakes_are_explained(
    arguments: list[str], said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = hedgerow(capsys, *arguments, status=2)
    assert said in err
    assert not list(place.glob("*.html"))


def test_an_input_is_not_overwritten(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    H.to_edges("tree.html")
    before = shown("tree.html")
    arguments = ["report", "a.npz", "--tree", "tree.html", "--tree-format", "edges", "-o", "tree.html"]
    _, err = hedgerow(capsys, *arguments, status=2)
    assert "would overwrite tree.html" in err
    assert shown("tree.html") == before


def test_models_of_two_trees_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hedgerow(capsys, "evaluate", "a.npz", "--tree", "tree.csv", "-o", "first")
    Path("other.csv").write_text(shown("tree.csv").replace("animal", "beast"), encoding="utf-8")
    hedgerow(capsys, "evaluate", "b.csv", "--tree", "other.csv", "-o", "second")
    _, err = hedgerow(capsys, "report", "first", "second", "-o", "page.html", status=2)
    assert "second was evaluated with another tree than first." in err


def test_the_command_is_shown_as_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/hedgerow", "report", "my model", "-o", "a.html"])
    assert command_line() == "hedgerow report 'my model' -o a.html"
