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
from hedgerow.errors import FileError, HedgerowError, ParameterError
from hedgerow.tree import TreeReading
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
    h.to_newick(folder / "tree.nwk")
    assert Hierarchy.from_newick(folder / "tree.nwk") == h
    if extra:
        h = h.with_titles({name: name[::-1] for name in h.names[::2]})
    h.to_json(folder / "tree.json")
    assert Hierarchy.from_json(folder / "tree.json") == h
    assert Hierarchy.read(folder / "tree.json") == h
    h.save(folder / "saved.json")
    assert Hierarchy.load(folder / "saved.json") == h
    assert Hierarchy.read(folder / "saved.json") == h
    assert Hierarchy.from_networkx(h.to_networkx()) == h


@given(names=st.lists(odd_names.filter(lambda name: name.strip() != "-"), min_size=2, max_size=5, unique=True))
def test_odd_names_in_lineage_tables(names: list[str]) -> None:
    ranks = [f"rank {i}" for i in range(len(names))]
    h = Hierarchy.from_lineages([names], ranks=ranks)
    assert h.names.tolist() == names


def test_ranks_are_saved(tmp_path: Path) -> None:
    h = Hierarchy.from_lineages([("birds", "robin"), ("fish", "cod")], ranks=["class", "species"])
    h.save(tmp_path / "tree.json")
    assert Hierarchy.load(tmp_path / "tree.json") == h
    h.to_json(tmp_path / "nested.json")
    assert Hierarchy.from_json(tmp_path / "nested.json") == h


def test_a_chain_of_ten_thousand_in_every_format(tmp_path: Path) -> None:
    names = [f"n{i}" for i in range(10_000)]
    chain = Hierarchy.from_edges(pairwise(names))
    chain.to_edges(tmp_path / "tree.csv")
    chain.to_newick(tmp_path / "tree.nwk")
    chain.save(tmp_path / "saved.json")
    for name in ("tree.csv", "tree.nwk", "saved.json"):
        assert Hierarchy.read(tmp_path / name) == chain
    assert Hierarchy.from_networkx(chain.to_networkx()) == chain
    assert Hierarchy.from_paths(["/".join(names)]) == chain
    assert len(Hierarchy.from_lineages([names], ranks=None)) == 10_000
    nested: dict[str, Any] = {}
    for name in reversed(names):
        nested = {name: nested}
    assert Hierarchy.from_json(nested) == chain


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ('{"format": "hedgerow tree"}', ["saved.json is damaged", "names"]),
        ('{"format": "hedgerow tree", "names": ["a", "b"], "parents": [-1]}', ["damaged"]),
        ('{"format": "hedgerow tree", "names": ["a", "b"], "parents": [-1, 0.5]}', ["damaged"]),
        ('{"format": "hedgerow tree", "names": ["a", "b"], "parents": [-1, 1e3]}', ["damaged"]),
        (
            '{"format": "hedgerow tree", "names": ["a", "b"], "parents": [-1, 99999999999999999999]}',
            ["damaged"],
        ),
        (
            '{"format": "hedgerow tree", "names": ["a", "b"], "parents": [-1, 7]}',
            ["position of a node"],
        ),
        (
            '{"format": "hedgerow tree", "names": ["a", "a"], "parents": [-1, 0]}',
            ["'a' occurs", "(saved.json, positions 0 and 1)", "Names must be distinct"],
        ),
        (
            '{"format": "hedgerow tree", "names": ["a", 3], "parents": [-1, 0]}',
            ["saved.json is damaged", "Expected `str`, got `int`"],
        ),
    ],
)
def test_bad_saved_files(folder: Path, content: str, parts: list[str]) -> None:
    write("saved.json", content)
    refused(lambda: Hierarchy.load("saved.json"), *parts, error=HedgerowError)
    refused(lambda: Hierarchy.read("saved.json"), *parts, error=HedgerowError)


# Files ------------------------------------------------------------------------------------------------------

READERS: list[Callable[[Any], Hierarchy]] = [
    Hierarchy.from_edges,
    Hierarchy.from_lineages,
    Hierarchy.from_paths,
    Hierarchy.from_json,
    lambda path: Hierarchy.from_newick(Path(path)),
    Hierarchy.load,
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
    for save in (h.to_edges, h.to_json, h.to_newick, h.save):
        refused(lambda save=save: save("nowhere/tree"), "nowhere/tree", "does not exist", error=FileError)  # type: ignore[misc]
        refused(lambda save=save: save("folder"), "folder is a folder", error=FileError)  # type: ignore[misc]
    half = Hierarchy.from_edges([("a", "\ud800")])
    write("tree.csv", "precious")
    refused(lambda: half.to_edges("tree.csv"), "cannot be encoded as UTF-8", error=FileError)
    assert Path("tree.csv").read_text() == "precious"
    assert sorted(os.listdir()) == ["folder", "tree.csv"]  # noqa: PTH208
