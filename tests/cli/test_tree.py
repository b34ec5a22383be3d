"""The verb tree, as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hedgerow import Hierarchy
from tests.cli.test_evaluate import hedgerow
from tests.tree.test_taxdump import taxdump

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    taxdump()
    return tmp_path


def test_a_list_of_species(place: Path, capsys: Capture) -> None:
    Path("keep.txt").write_text("Vibrio subtilis\n 99 \n\nBacillus cereus\r\n")
    out, _ = hedgerow(capsys, "tree", "taxdump", "--keep", "keep.txt", "-o", "tree.json", "--json", "done.json")
    h = Hierarchy.read("tree.json")
    # The other Bacillus is gone, so that this one needs no tax id.
    assert h.names.tolist() == ["root", "Bacteria", "Bacillus", "Bacillus subtilis", "Bacillus cereus"]
    assert [h[name].rank for name in h] == ["", "superkingdom", "genus", "species", "species"]
    assert h.index("99") == 3
    assert out.splitlines() == [
        "taxdump: 7 nodes, 3 leaves, depth 3. Kept 3 names of keep.txt, and their ancestors.",
        "tree.json: 5 nodes, 2 leaves, depth 3; written as json.",
        "Next: see whether your labels fit the tree:",
        "  hedgerow doctor tree.json --labels FILE",
    ]
    assert json.loads(Path("done.json").read_text()) == {
        "source": "taxdump",
        "format": "taxdump",
        "nodes": 7,
        "leaves": 3,
        "output": "tree.json",
        "output_format": "json",
        "output_nodes": 5,
        "output_leaves": 2,
        "root": "root",
        "fingerprint": h.fingerprint,
        "lost": [],
    }


def test_classes_beside_the_tree(place: Path, capsys: Capture) -> None:
    Path("animals.csv").write_text("animal,bird\nanimal,fish\n")
    beside = ("--beside", "blank", "--beside", "my car")
    out, _ = hedgerow(capsys, "tree", "animals.csv", *beside, "--root", "photo", "-o", "t.csv")
    assert "Added blank, my car below the root 'photo'." in out
    assert Path("t.csv").read_text().splitlines() == [
        *("parent,child", "photo,animal", "animal,bird", "animal,fish", "photo,blank", "photo,my car")
    ]
    hedgerow(capsys, "tree", "taxdump", "--clade", "Bacteria", "--beside", "blank", "-o", "b.csv")
    assert {"root,Bacteria", "root,blank"} < set(Path("b.csv").read_text().splitlines())

    _, error = hedgerow(capsys, "tree", "animals.csv", "--beside", "bird", "-o", "t.csv", status=2)
    assert "'bird' cannot be put beside the tree: the tree has this class already." in error


def test_a_clade_and_some_ranks(place: Path, capsys: Capture) -> None:
    options = ("--clade", "Bacteria", "--ranks", "genus, species", "-o", "tree.csv", "--to", "lineages")
    out, _ = hedgerow(capsys, "tree", "taxdump", *options)
    assert Path("tree.csv").read_text().splitlines() == [
        "superkingdom,genus,species",
        "Bacteria,Bacillus,Bacillus subtilis",
        "Bacteria,Bacillus,Bacillus cereus",
    ]
    assert "The root is 'Bacteria'. Kept the ranks genus, species." in out
    assert "Left out (JSON would keep them): aliases." in out
    assert "hedgerow doctor tree.csv --tree-format lineages --labels FILE" in out


@pytest.mark.parametrize("name", ["tree.csv", "tree.tsv", "tree.nwk", "tree.txt", "tree.json"])
def test_every_format(place: Path, capsys: Capture, name: str) -> None:
    whole = Hierarchy.read("taxdump")
    hedgerow(capsys, "tree", "taxdump", "-o", name)
    again = Hierarchy.read(name)
    assert again.names.tolist() == whole.names.tolist()
    assert again.parent.tolist() == whole.parent.tolist()


def test_codes_need_their_prefixes(place: Path, capsys: Capture) -> None:
    Path("hs.csv").write_text("01,Live animals\n0101,Horses\n0102,Cattle\n")
    hedgerow(capsys, "tree", "hs.csv", "--tree-format", "codes", "--prefixes", "2,4", "-o", "hs.json")
    assert Hierarchy.read("hs.json").display_name("0102") == "0102 (Cattle)"
    _, err = hedgerow(capsys, "tree", "hs.csv", "--tree-format", "codes", "-o", "hs.json", status=2)
    assert "or 'dots' if each dot begins a level, and not None: --prefixes 2,4,6." in err
    out, _ = hedgerow(capsys, "doctor", "hs.csv", "--tree-format", "codes", "--prefixes", "2,4")
    assert "hedgerow doctor hs.csv --tree-format codes --prefixes 2,4 --labels FILE" in out


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (
            ("--keep", "keep.txt"),
            "2 of the 3 names in keep.txt are not in the tree: 'Bacilus cereus' (line 1, similar",
        ),
        (("--keep", "keep.txt"), "'Bacillus' (line 3, which may mean 'Bacillus [10]' and 'Bacillus [20]')"),
        (("--keep", "empty.txt"), "empty.txt contains no names. Write the classes to keep, one per line."),
        (("--keep", "nowhere.txt"), "nowhere.txt does not exist"),
        (("--clade", "Bacterium"), "There is no 'Bacterium' in the tree. Did you mean 'Bacteria'?"),
        (("--ranks", "family"), "No node of the tree has the rank 'family'"),
        (
            ("--to", "fasta"),
            "not written in the format fasta, only read. Choose one of edges, lineages, paths, json",
        ),
        (("--to", "tree"), "There is no tree format 'tree'"),
        (("-o", "taxdump/nodes.tree", "--root", "x"), "--root x does not apply to taxdump"),
    ],
)
def test_mistakes(place: Path, capsys: Capture, options: tuple[str, ...], part: str) -> None:
    Path("keep.txt").write_text("Bacilus cereus\nBacillus rossius\nBacillus\n")
    Path("empty.txt").write_text("\n\n")
    _, err = hedgerow(capsys, "tree", "taxdump", "-o", "tree.csv", *options, status=2)
    assert part in err
    assert not Path("tree.csv").exists()


def test_all_unknown_names_are_listed(place: Path, capsys: Capture) -> None:
    Path("keep.txt").write_text("\n".join(f"name {i}" for i in range(30)))
    options = ("--keep", "keep.txt", "-o", "tree.csv", "--json", "done.json")
    _, err = hedgerow(capsys, "tree", "taxdump", *options, status=2)
    assert "'name 19' (line 20); and 10 more, which --json FILE lists." in err
    assert json.loads(Path("done.json").read_text())["unknown"] == {f"name {i}": i + 1 for i in range(30)}


def test_an_input_is_not_overwritten(place: Path, capsys: Capture) -> None:
    Hierarchy.from_edges([("a", "b"), ("a", "c")]).to_edges("tree.csv")
    _, err = hedgerow(capsys, "tree", "tree.csv", "-o", "tree.csv", status=2)
    assert "tree.csv would overwrite tree.csv, which is an input" in err


def test_the_tree_may_go_to_a_pipe(place: Path) -> None:
    command = [sys.executable, "-m", "hedgerow", "tree", "taxdump", "--to", "newick", "-o", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("((('Bacillus subtilis'")
    assert done.stdout.endswith(";\n")
    assert "/dev/stdout: 7 nodes" in done.stderr
