from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy
from hedgerow.errors import FileError, ParameterError
from hedgerow.tree import FORMATS, TreeFormat, TreeReading
from tests.tree.helpers import refused, write
from tests.tree_strategies import odd_names, trees

if TYPE_CHECKING:
    from collections.abc import Callable


# networkx ---------------------------------------------------------------------------------------------------


def test_networkx_keeps_ranks_and_titles() -> None:
    h = Hierarchy.from_lineages([{"class": "birds", "species": "robin"}]).with_titles({"robin": "Rotkehlchen"})
    graph = h.to_networkx()
    assert graph.nodes["robin"] == {"rank": "species", "title": "Rotkehlchen"}
    assert networkx.is_arborescence(graph)
    assert Hierarchy.from_networkx(graph) == h


def test_networkx_nodes_become_strings_and_problems_are_named() -> None:
    assert Hierarchy.from_networkx(networkx.DiGraph([(1, 2), (1, 3)])).names.tolist() == ["1", "2", "3"]
    refused(lambda: Hierarchy.from_networkx(networkx.Graph([(1, 2)])), "directed graph")
    refused(
        lambda: Hierarchy.from_networkx(networkx.DiGraph([(1, 2), (2, "1")])),
        "Two nodes of the graph are called '1'",
    )
    refused(lambda: Hierarchy.from_networkx(networkx.DiGraph([(1, 2), (2, 1)])), "1 -> 2 -> 1")
    refused(
        lambda: Hierarchy.from_networkx(networkx.MultiDiGraph([(1, 2), (1, 2)])), "'2' occurs 2 times under '1'"
    )
    graph = networkx.DiGraph([(1, 2)])
    graph.add_node("hermit")
    refused(lambda: Hierarchy.from_networkx(graph), "Isolated nodes, without any edge: 'hermit'")


def test_networkx_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="needs networkx, which is not installed: pip install networkx"):
        Hierarchy.from_edges([("a", "b")]).to_networkx()


# Round trips ------------------------------------------------------------------------------------------------


@given(h=trees(odd=True), extra=st.booleans())
def test_odd_names_survive_every_format(
    tmp_path_factory: pytest.TempPathFactory, h: Hierarchy, extra: bool
) -> None:
    folder = tmp_path_factory.mktemp("trees")
    h.to_edges(folder / "tree.csv")
    assert Hierarchy.from_edges(folder / "tree.csv") == h
    h.to_edges(folder / "tree.tsv")
    assert Hierarchy.from_edges(folder / "tree.tsv") == h
    h.write(folder / "tree.nwk")
    assert Hierarchy.from_newick(folder / "tree.nwk") == h
    if extra:
        h = h.with_titles({name: name[::-1] for name in h.names[::2]})
    h.write(folder / "tree.json")
    assert Hierarchy.from_json(folder / "tree.json") == h
    assert Hierarchy.read(folder / "tree.json") == h
    assert Hierarchy.from_dict(h.to_dict()) == h
    assert Hierarchy.from_networkx(h.to_networkx()) == h


@given(names=st.lists(odd_names.filter(lambda name: name.strip() != "-"), min_size=2, max_size=5, unique=True))
def test_odd_names_in_lineage_tables(names: list[str]) -> None:
    ranks = [f"rank {i}" for i in range(len(names))]
    h = Hierarchy.from_lineages([names], ranks=ranks)
    assert h.names.tolist() == names


def test_ranks_are_saved(tmp_path: Path) -> None:
    h = Hierarchy.from_lineages([("birds", "robin"), ("fish", "cod")], ranks=["class", "species"])
    h.write(tmp_path / "tree.json")
    assert Hierarchy.from_json(tmp_path / "tree.json") == h
    assert Hierarchy.from_dict(h.to_dict()) == h


def test_a_chain_of_ten_thousand_in_every_format(tmp_path: Path) -> None:
    names = [f"n{i}" for i in range(10_000)]
    chain = Hierarchy.from_edges(pairwise(names))
    chain.to_edges(tmp_path / "tree.csv")
    chain.write(tmp_path / "tree.nwk")
    for name in ("tree.csv", "tree.nwk"):
        assert Hierarchy.read(tmp_path / name) == chain
    assert Hierarchy.from_dict(chain.to_dict()) == chain
    refused(lambda: chain.write(tmp_path / "tree.json"), "9,999 levels, too many for nested JSON", error=FileError)
    assert not (tmp_path / "tree.json").exists()
    assert Hierarchy.from_networkx(chain.to_networkx()) == chain
    assert Hierarchy.from_paths(["/".join(names)]) == chain
    assert len(Hierarchy.from_lineages([names], ranks=None)) == 10_000
    nested: dict[str, Any] = {}
    for name in reversed(names):
        nested = {name: nested}
    assert Hierarchy.from_json(nested) == chain


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"names": None}, "names"),
        ({"parents": [-1]}, "position of a node"),
        ({"parents": [-1, 0.5]}, "parents"),
        ({"parents": [-1, 99999999999999999999]}, "not a tree"),
        ({"parents": [-1, 7]}, "position of a node"),
        ({"names": ["a", "a"]}, "'a' occurs"),
        ({"names": ["a", 3]}, "Expected `str`, got `int`"),
        ({"names": ["a", "c"]}, "does not agree with its fingerprint"),
        ({"more": 1}, "unknown field"),
    ],
)
def test_bad_trees_inside_other_files(change: dict[str, Any], problem: str) -> None:
    saved = Hierarchy.from_edges([("a", "b")]).to_dict()
    refused(lambda: Hierarchy.from_dict(saved | change), "Its tree", problem)


def test_data_in_memory_is_read_if_its_format_is_named() -> None:
    pairs = [("a", "b"), ("a", "c")]
    assert Hierarchy.read(pairs, "edges") == Hierarchy.from_edges(pairs)
    assert Hierarchy.read({"a": ["b", "c"]}, TreeReading("json")) == Hierarchy.from_edges(pairs)
    assert Hierarchy.read(["b", "c"], "paths", root="a") == Hierarchy.from_edges(pairs)
    refused(lambda: Hierarchy.read(pairs), "the format must be named", "edges", "codes", error=ParameterError)
    refused(lambda: Hierarchy.read(pairs, "taxdump"), "taxdump is read from files only", error=ParameterError)
    refused(lambda: Hierarchy.read(pairs, "edges", na="NA"), "the source contains edges", error=ParameterError)


# Files ------------------------------------------------------------------------------------------------------

READERS: list[Callable[[Any], Hierarchy]] = [
    Hierarchy.from_edges,
    Hierarchy.from_lineages,
    Hierarchy.from_paths,
    Hierarchy.from_json,
    lambda path: Hierarchy.from_newick(Path(path)),
]


@pytest.mark.parametrize("read", READERS)
def test_files_that_cannot_be_read(folder: Path, read: Callable[[Any], Hierarchy]) -> None:
    refused(lambda: read("absent.csv"), "absent.csv does not exist", "Check the name", error=FileError)
    refused(lambda: read("nowhere/tree.csv"), "there is no folder nowhere", error=FileError)
    Path("folder.csv").mkdir()
    refused(lambda: read("folder.csv"), "folder.csv is a folder", error=FileError)
    write("latin.csv", b"parent,child\na,b\na,caf\xe9\n")
    refused(
        lambda: read("latin.csv"), "latin.csv, line 3 is not UTF-8", "0xe9 at offset 22", "Save", error=FileError
    )
    write("marked.csv", b"\xef\xbb\xbfa,b\n\xffa,c\n")
    refused(lambda: read("marked.csv"), "marked.csv, line 2 is not UTF-8", "0xff at offset 7", error=FileError)
    write("wide.csv", "a,b\n".encode("utf-16"))
    refused(lambda: read("wide.csv"), "wide.csv is UTF-16", error=FileError)
    write("tree.csv", "a,b\n")
    refused(lambda: read("tre.csv"), "the folder contains 'tree.csv'", error=FileError)
    refused(lambda: read("nul\0.csv"), "cannot be read", error=FileError)


def test_the_format_is_given_or_follows_from_the_extension(folder: Path) -> None:
    write("tree.dat", "a,b\n")
    refused(lambda: Hierarchy.read("tree.dat"), "tree.dat", "format='edges'", "lineages", error=FileError)
    assert Hierarchy.read("tree.dat", "edges").names.tolist() == ["a", "b"]
    assert Hierarchy.read("tree.dat", TreeReading("edges")) == Hierarchy.read("tree.dat", format="edges")
    refused(
        lambda: Hierarchy.read("tree.dat", TreeReading("edges"), na="NA"),
        "only applies to lineages",
        error=ParameterError,
    )
    refused(lambda: Hierarchy.read("tree.dat", "xml"), "no tree format 'xml'", "newick", error=ParameterError)


def test_writers_refuse_politely(folder: Path) -> None:
    h = Hierarchy.from_edges([("a", "b")])
    Path("folder").mkdir()
    for name in ("edges", "json", "newick"):
        refused(lambda name=name: h.write("nowhere/tree", name), "nowhere/tree", "not exist", error=FileError)  # type: ignore[misc]
        refused(lambda name=name: h.write("folder", name), "folder is a folder", error=FileError)  # type: ignore[misc]
    half = Hierarchy.from_edges([("a", "\ud800")])
    write("tree.csv", "precious")
    refused(lambda: half.to_edges("tree.csv"), "cannot be encoded as UTF-8", error=FileError)
    assert Path("tree.csv").read_text() == "precious"
    assert sorted(os.listdir()) == ["folder", "tree.csv"]  # noqa: PTH208


# What is documented ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", FORMATS.values(), ids=str)
def test_a_format_is_in_the_docstring_of_read(known: TreeFormat) -> None:
    """Guards the docstring: a new format is added to it by hand."""
    text = str(Hierarchy.read.__doc__)
    missing = [
        each for each in (f'"{known.name}"', *(f"`{suffix}`" for suffix in known.extensions)) if each not in text
    ]
    assert not missing, f"Hierarchy.read in src/hedgerow/tree/hierarchy.py: name {missing} in its docstring"
