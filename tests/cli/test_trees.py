"""Trees on the command line: options for reading them, and messages that name these options."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from hedgerow import Hierarchy
from hedgerow.doctor import examine
from hedgerow.errors import HedgerowError
from tests.cli.test_evaluate import hedgerow

PYTHON = ("root=", "separator=", "disambiguate=", "format=", "na=", "Hierarchy")
FLAWED = {
    # name: (content, options of the command, what the message must name)
    "both.txt": ("animal/bird;robin\n", (), "--separator ';'"),
    "taken.txt": ("root/bird\nfish\n", (), "--root NAME"),
    "taken.json": ('["root", "fish"]', (), "--root NAME"),
    "taken.nwk": ("(root,fish);", (), "--root NAME"),
    "nameless.txt": ("bird\nfish\n", ("--root", " "), "--root NAME"),
    "twice.txt": ("bird/x\nfish/x\n", (), "--disambiguate"),
    "lineages.csv": ("class,order,species\na,b,c\n", (), "--tree-format lineages"),
    "tree.dat": ("animal,bird\n", (), "--tree-format edges"),
    "edges.csv": ("animal,bird\n", ("--separator", "|"), "--separator '|' only applies to paths"),
    "rooted.csv": (
        "animal,bird\n",
        ("--root", "X"),
        "--root X does not apply to edges, which have their own root; rooted.csv contains edges",
    ),
    "control.txt": ("bird\nfish\n", ("--root", "x\x1b"), "without control characters: --root NAME, not 'x\\x1b'"),
    "na.csv": (
        "animal,bird\n",
        ("--na", "NA", "--na", "-"),
        "--na NA --na '-' only applies to lineages; na.csv contains edges",
    ),
    "more.csv": ("animal,bird\n", ("--disambiguate",), "--disambiguate only applies to lineages and paths"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("scores.csv").write_text("id,label,robin,wren\n1,robin,0.9,0.1\n2,wren,0.2,0.8\n")
    return tmp_path


@pytest.mark.parametrize("name", FLAWED)
@pytest.mark.parametrize("verb", ["evaluate", "compare", "predict", "doctor"])
def test_messages_name_options(place: Path, capsys: pytest.CaptureFixture[str], verb: str, name: str) -> None:
    content, given, part = FLAWED[name]
    Path(name).write_text(content)
    tree = (name,) if verb == "doctor" else ("scores.csv", "--tree", name)
    rest = ("--tau", "0.5", "-o", "out.csv") if verb == "predict" else ()
    # To the doctor what is wrong inside the file is a finding; the rest is the same.
    status = 1 if verb == "doctor" and not given and name != "tree.dat" else 2
    out, err = hedgerow(capsys, verb, *tree, *given, *rest, status=status)
    said = " ".join((out + err).split())
    assert part in said
    assert not any(word in said for word in PYTHON)


def test_the_library_names_its_arguments(place: Path) -> None:
    for name, part in [
        ("both.txt", "separator=';'"),
        ("taken.json", "root='NAME'"),
        ("twice.txt", "disambiguate=True"),
    ]:
        Path(name).write_text(FLAWED[name][0])
        with pytest.raises(HedgerowError, match=part):
            Hierarchy.read(name)
        assert part in str(examine(name).problems[0])


def test_options_help_to_read_a_tree(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tree.txt").write_text("bird > a/robin\nbird > wren\nroot > x;y\n")
    reading = ("--separator", ">", "--root", "life on earth")
    out, _ = hedgerow(capsys, "doctor", "tree.txt", *reading)
    assert "the root, 'life on earth'" in out
    assert "hedgerow doctor tree.txt --root 'life on earth' --separator '>' --labels FILE" in out
    Path("tree.txt").write_text("bird/x\nfish/x\n")
    out, _ = hedgerow(capsys, "doctor", "tree.txt", "--disambiguate")
    assert "bird/x, fish/x" in out


@pytest.mark.parametrize("verb", ["evaluate", "compare", "predict", "doctor"])
def test_the_options_that_are_proposed_for_missing_values_help(
    place: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    Path("ranks.csv").write_text("class,family,species\nbirds,NA,robin\nbirds,-,wren\nfish,n/a,NA\n")
    Path("scores.csv").write_text("label,robin,wren,fish\nrobin,0.9,0.1,0\nwren,0.2,0.8,0\n")
    reading = ("--tree-format", "lineages")
    out, _ = hedgerow(capsys, "doctor", "ranks.csv", *reading, status=1)
    said = " ".join(out.split())
    options = "--na NA --na '-' --na n/a"
    proposed = shlex.split(options)
    assert f"To read them as blank, give {options}, or" in said
    assert "'NA' (ranks.csv, line 2 and 1 other cell); '-' (ranks.csv, line 3)" in said
    shutil.copy("scores.csv", "others.csv")
    files = {"doctor": ("ranks.csv",), "compare": ("scores.csv", "others.csv", "--tree", "ranks.csv")}
    tree = files.get(verb, ("scores.csv", "--tree", "ranks.csv"))
    rest = ("--tau", "0.5", "-o", "out.csv") if verb == "predict" else ()
    out, _ = hedgerow(capsys, verb, *tree, *reading, *rest, *proposed)
    if verb == "doctor":
        assert "ranks.csv is a sound tree" in out
        assert "hedgerow doctor ranks.csv --tree-format lineages --na NA --na - --na n/a --labels FILE" in out


def test_more_problems_are_to_be_had_by_a_command_that_works(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my tree.csv").write_text("class,species\nbirds,x\nfish,x\nfish,y\nbirds,y\n")
    _, err = hedgerow(
        capsys, "evaluate", "scores.csv", "--tree", "my tree.csv", "--tree-format", "lineages", status=2
    )
    command = err.split("`")[1]
    assert command == "hedgerow doctor 'my tree.csv' --tree-format lineages"
    out, _ = hedgerow(capsys, *shlex.split(command)[1:], status=1)
    assert "2 problems" in out


def test_what_evaluate_says_next_can_be_pasted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("my tree.csv").write_text("class,species\nbirds,robin\nbirds,wren\n")
    shutil.copy("scores.csv", "my scores.csv")
    tree = ("--tree", "my tree.csv", "--tree-format", "lineages", "--root", "top")
    out, _ = hedgerow(capsys, "evaluate", "my scores.csv", *tree, "--information", "depth")
    *_, line, _, chosen = out.strip().splitlines()
    assert "SCORES" not in line
    assert "SCORES" not in chosen
    words = shlex.split(line)
    assert words[:9] == ["hedgerow", "predict", "my scores.csv", *tree]
    hedgerow(capsys, *words[1:])
    assert len(Path("answers.csv").read_text().splitlines()) == 3
    words = shlex.split(chosen)
    assert words[:9] == ["hedgerow", "select", "my scores.csv", *tree]
    hedgerow(capsys, *words[1:])
    assert Path("point.json").exists()


def test_what_evaluate_says_next_where_nothing_is_safe(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tree.txt").write_text("birds/robin\nbirds/wren\n")
    Path("scores.csv").write_text("label,robin,wren\nwren,0.9,0.1\nrobin,0.2,0.8\n")
    out, _ = hedgerow(capsys, "evaluate", "scores.csv", "--tree", "tree.txt")
    assert "hedgerow compare scores.csv OTHER --tree tree.txt" in out
    out, err = hedgerow(capsys, "evaluate", "scores.csv", "--tree", "tree.txt", "-o", "one more")
    assert "The evaluation is in one more." in err
    assert "hedgerow compare 'one more' OTHER" in out
    assert json.loads(Path("one more", "evaluation.json").read_text())["examples"] == 2
