"""Ontologies: OBO, and OWL in the JSON of OBO Graphs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hedgerow import Hierarchy, TreeReading
from hedgerow.errors import FileError, HedgerowError, TreeError
from hedgerow.tree import FlawedTreeError

if TYPE_CHECKING:
    from pathlib import Path

TERMS: dict[str, tuple[str, list[str]]] = {
    "CL:0": ("cell", []),
    "CL:1": ("lymphocyte", ["CL:0"]),
    "CL:2": ("T cell", ["CL:1"]),
    "CL:3": ("B cell", ["CL:1"]),
    "CL:4": ("killer cell", ["CL:0"]),
    "CL:5": ("NK T cell", ["CL:4", "CL:2"]),
}
EDGES = {
    "lymphocyte": "cell",
    "T cell": "lymphocyte",
    "B cell": "lymphocyte",
    "killer cell": "cell",
}


def obo(terms: dict[str, tuple[str, list[str]]], more: str = "") -> str:
    """Terms as OBO, with what else stands in such files."""
    text = "format-version: 1.2\ndata-version: x\nontology: cl\n"
    for identifier, (name, parents) in terms.items():
        text += f'\n[Term]\nid: {identifier}\nname: {name}\ndef: "A cell: {name}." [PMID:1]\n'
        text += "".join(f'is_a: {parent} {{gci="x"}} ! {terms[parent][0]}\n' for parent in parents)
        text += "relationship: part_of CL:0 ! cell\n"
    return f"{text}\n[Typedef]\nid: part_of\nname: part of\nis_a: x\n{more}"


def obographs(terms: dict[str, tuple[str, list[str]]], *more: dict[str, Any]) -> str:
    def url(identifier: str) -> str:
        return f"http://purl.obolibrary.org/obo/{identifier.replace(':', '_')}"

    nodes = [{"id": url(one), "lbl": name, "type": "CLASS"} for one, (name, _) in terms.items()]
    edges = [
        {"sub": url(one), "pred": "is_a", "obj": url(parent)}
        for one, (_, above) in terms.items()
        for parent in above
    ]
    edges.append({"sub": url("CL:3"), "pred": url("BFO:50"), "obj": url("CL:0")})
    nodes += [{"id": url("BFO:50"), "lbl": "part of", "type": "PROPERTY"}, {"id": url("GO:1")}, *more]
    return json.dumps({"graphs": [{"id": "cl", "nodes": nodes, "edges": edges}]})


def written(folder: Path, text: str, kind: str) -> Path:
    path = folder / f"cells.{'obo' if kind == 'obo' else 'json'}"
    path.write_text(text)
    return path


def edges(tree: Hierarchy) -> dict[str, str]:
    return {str(tree.names[node]): str(tree.names[tree.parent[node]]) for node in range(1, len(tree))}


@pytest.mark.parametrize("kind", ["obo", "obographs"])
def test_is_a_makes_the_tree(kind: str, tmp_path: Path) -> None:
    terms = {one: found for one, found in TERMS.items() if one != "CL:5"}
    path = written(tmp_path, obo(terms) if kind == "obo" else obographs(terms), kind)
    tree = Hierarchy.read(path, None if kind == "obo" else "obographs")
    assert edges(tree) == EDGES
    assert tree.aliases["CL:2"] == tree.index("T cell")


@pytest.mark.parametrize("kind", ["obo", "obographs"])
def test_several_parents_are_named_and_chosen(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, obo(TERMS) if kind == "obo" else obographs(TERMS), kind)
    with pytest.raises(TreeError) as caught:
        Hierarchy.read(path, kind)
    for part in ("1 term has several parents: 'NK T cell' is below 'killer cell' and 'T cell'", "parents='first'"):
        assert part in str(caught.value)
    first = Hierarchy.read(path, kind, parents="first")
    assert edges(first) == {**EDGES, "NK T cell": "killer cell"}
    choices = tmp_path / "choices.csv"
    for text in ("term,parent\nNK T cell,T cell\n", "CL:5,CL:2\n" if kind == "obo" else "NK T cell,T cell\n"):
        choices.write_text(text)
        tree = Hierarchy.read(path, TreeReading(kind, parents=str(choices)))
        assert edges(tree) == {**EDGES, "NK T cell": "T cell"}
    choices.write_text("NK T cell,B cell\nT-cell,lymphocyte\n")
    with pytest.raises(
        FlawedTreeError, match=r"choices.csv, line 1: 'B cell' is no parent of 'NK T cell'"
    ) as found:
        Hierarchy.read(path, kind, parents=str(choices))
    assert "line 2" in found.value.problems[1].message
    choices.write_text("T cell,lymphocyte\n")
    with pytest.raises(TreeError, match="several parents"):
        Hierarchy.read(path, kind, parents=str(choices))


def test_a_parent_that_is_listed_twice_and_comments(tmp_path: Path) -> None:
    text = "[Term]\nid: A ! the first\nname: a\n\n[Term]\nid: B\nname: b\nis_a: A ! a\nis_a: A\nalt_id: C ! old\n"
    tree = Hierarchy.read(written(tmp_path, text, "obo"))
    assert edges(tree) == {"b": "a"}
    assert tree.aliases["C"] == tree.index("b")


def test_obsolete_terms_synonyms_and_other_ids(tmp_path: Path) -> None:
    more = (
        '\n[Term]\nid: CL:6\nname: T cell\nis_a: CL:0\nsynonym: "helper \\"T\\"" EXACT [x:y]\nalt_id: CL:66\n'
        'synonym: "lymphocytes" BROAD []\n\n[Term]\nid: CL:7\nname: old cell\nis_a: CL:99\nis_obsolete: true\n'
    )
    path = written(tmp_path, obo({one: TERMS[one] for one in ("CL:0", "CL:1", "CL:2")}, more), "obo")
    tree = Hierarchy.read(path)
    assert tree.names.tolist() == ["cell", "lymphocyte", "T cell [CL:2]", "T cell [CL:6]"]
    other = tree.index("T cell [CL:6]")
    assert tree.aliases['helper "T"'] == tree.aliases["CL:66"] == tree.aliases["CL:6"] == other
    assert "lymphocytes" not in tree.aliases
    assert "old cell" not in tree.aliases


def test_obsolete_classes_and_synonyms_of_obographs(tmp_path: Path) -> None:
    old = {"id": "http://x/CL_7", "lbl": "old cell", "type": "CLASS", "meta": {"deprecated": True}}
    synonyms = [
        {"pred": "hasExactSynonym", "val": "granulocyte"},
        {"pred": "hasBroadSynonym", "val": "blood cell"},
    ]
    new = {"id": "http://x/CL_8", "lbl": "neutrophil", "meta": {"synonyms": synonyms}}
    path = written(tmp_path, obographs({"CL:0": TERMS["CL:0"], "CL:1": TERMS["CL:1"]}, old, new), "json")
    tree = Hierarchy.read(path, "obographs", root="everything")
    assert edges(tree) == {"cell": "everything", "lymphocyte": "cell", "neutrophil": "everything"}
    assert tree.aliases["granulocyte"] == tree.aliases["CL:8"] == tree.index("neutrophil")
    assert "blood cell" not in tree.aliases


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("is_a: CL:1", "is_a: CL:77"), "'T cell' is below 'CL:77', which is not there"),
        (("is_a: CL:1 {", "is_a: {"), "'T cell' is below '{gci=.x.}', which is not there"),
        (("id: CL:2", "id: CL:1"), "two terms have the id 'CL:1'"),
        (("id: CL:2\n", ""), "the term 'T cell' has no id"),
        (("name: cell\n", "name: cell\nis_a: CL:2\n"), "each other's ancestors"),
    ],
)
def test_flaws(change: tuple[str, str], says: str, tmp_path: Path) -> None:
    terms = {one: TERMS[one] for one in ("CL:0", "CL:1", "CL:2")}
    path = written(tmp_path, obo(terms).replace(*change), "obo")
    with pytest.raises(HedgerowError, match=says) as caught:
        Hierarchy.read(path)
    assert "cells.obo" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"graphs": 1}', '{"graphs": [{"nodes": [{"id": 3}]}]}', "[" * 10**5]
)
def test_what_is_no_ontology(text: str, tmp_path: Path) -> None:
    with pytest.raises((FileError, TreeError), match=r"cells\.json"):
        Hierarchy.read(written(tmp_path, text, "json"), "obographs")


@pytest.mark.parametrize("text", ["", "format-version: 1.2\n", "[Term]\nid: a\nname: b\nis_obsolete: true\n"])
def test_no_terms(text: str, tmp_path: Path) -> None:
    with pytest.raises((FileError, TreeError), match=r"cells\.obo"):
        Hierarchy.read(written(tmp_path, text, "obo"))


def test_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    terms = {one: TERMS[one] for one in ("CL:0", "CL:1", "CL:2")}
    path = tmp_path / "cells.obo"
    path.write_bytes(b"\xef\xbb\xbf" + obo(terms).replace("\n", "\r\n").encode())
    assert edges(Hierarchy.read(path)) == {"lymphocyte": "cell", "T cell": "lymphocyte"}
