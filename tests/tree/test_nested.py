from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hedgerow import Hierarchy
from hedgerow.errors import FileError, HedgerowError, TreeError
from tests.tree.helpers import ANIMALS, refused, write

# JSON -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        {
            "name": "animal",
            "children": [{"name": "bird", "children": ["robin", {"name": "wren"}]}, {"name": "fish"}],
        },
        {"animal": {"bird": {"robin": {}, "wren": None}, "fish": []}},
        {"animal": {"bird": ["robin", "wren"], "fish": {}}},
        {"animal": [{"bird": [{"robin": None}, "wren"]}, {"name": "fish", "size": 3}]},
        [{"name": "animal", "children": {"bird": ["robin", "wren"], "fish": None}}],
    ],
)
def test_nested_json(folder: Path, data: Any) -> None:
    assert Hierarchy.from_json(data).names.tolist() == ANIMALS
    assert Hierarchy.from_json(write("tree.json", json.dumps(data, indent=1))).names.tolist() == ANIMALS


def test_json_with_several_tops_ranks_and_titles() -> None:
    h = Hierarchy.from_json([{"name": "n01", "title": "dog", "rank": "species"}, "n02"], root="all")
    assert h.names.tolist() == ["all", "n01", "n02"]
    assert h.title is not None
    assert h.title.tolist() == ["", "dog", ""]
    assert h.rank is not None
    assert h.rank.tolist() == ["", "species", ""]


@pytest.mark.parametrize(
    ("content", "error", "parts"),
    [
        ("", TreeError, ["tree.json is empty"]),
        ("{}", TreeError, ["is empty"]),
        ('{"a": {}}', TreeError, ["only one node ('a')"]),
        (
            '{"a":\n {"b": {},\n  "b": {}}}',
            TreeError,
            ["'b' occurs several times in one object (tree.json, lines 2 and 3)"],
        ),
        (
            '{"a": {"b": ["c"],\n "d": ["c"]}}',
            TreeError,
            ["'c' occurs under 2 parents: a > b > c; a > d > c (tree.json, lines 1 and 2)", "distinct"],
        ),
        ('{"a": {"b": 3}}', TreeError, ["3 where the children of 'b' should be"]),
        ("3", TreeError, ["contains 3 instead of a tree"]),
        (
            '{"a": ["b", ""]}',
            TreeError,
            ["1 class has no name (tree.json, line 1); the first is under 'a'", "needs a name"],
        ),
        ('{"name": null, "children": ["b"]}', TreeError, ["whose name is None"]),
        ('{"a": {"b": {},}}', FileError, ["tree.json, line 1, column 16 is not JSON"]),
        ('{"a": \n{"b"', FileError, ["tree.json, line 2", "is not JSON"]),
    ],
)
def test_bad_json(folder: Path, content: str, error: type[HedgerowError], parts: list[str]) -> None:
    write("tree.json", content)
    refused(lambda: Hierarchy.from_json("tree.json"), *parts, error=error)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([{"name": "bird", "parts": [{"name": "robin"}]}, "fish"], "'bird' has nodes under 'parts'"),
        (
            [{"name": "bird", "parent": None}, {"name": "robin", "parent": "bird"}],
            "'robin' names its parent, 'bird', under 'parent'",
        ),
        (
            [{"id": 1, "name": "robin", "supercategory": "bird"}, {"id": 2, "name": "cod"}],
            "'robin' names its parent, 'bird', under 'supercategory'",
        ),
    ],
)
def test_json_of_another_shape(data: Any, said: str) -> None:
    refused(lambda: Hierarchy.from_json(data), f"a tree of another shape: {said}. Put the children of a node in")


def test_nodes_may_name_the_parent_that_they_are_in() -> None:
    below = [{"name": "bird", "parent": "animal", "colours": ["red"]}, {"name": "fish", "parent": "animal"}]
    h = Hierarchy.from_json({"name": "animal", "parent": "null", "children": below})
    assert h.names.tolist() == ["animal", "bird", "fish"]


def test_json_that_is_nested_too_deeply_names_a_remedy(folder: Path) -> None:
    write("tree.json", 100_000 * '{"a":' + "{}" + 100_000 * "}")
    refused(
        lambda: Hierarchy.from_json("tree.json"),
        "tree.json is nested too deeply for Python's json module",
        "edge list or in Newick",
        error=FileError,
    )


# Newick -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "((robin,wren)bird,fish)animal;",
        "((robin:0.1,wren:1e-3)bird:2,fish:0.5)animal:0;\n",
        "[a comment] (\n ( robin , 'wren' ) bird [&&NHX:S=x] ,\n fish ) 'animal' ; ",
    ],
)
def test_newick(folder: Path, text: str) -> None:
    assert Hierarchy.from_newick(text).names.tolist() == ANIMALS
    assert Hierarchy.from_newick(write("tree.nwk", text)).names.tolist() == ANIMALS
    assert Hierarchy.read("tree.nwk").names.tolist() == ANIMALS


def test_newick_names() -> None:
    h = Hierarchy.from_newick("('it''s',Homo_sapiens,'a b',x|y);", root="life")
    assert h.names.tolist() == ["life", "it's", "Homo_sapiens", "a b", "x|y"]


@pytest.mark.parametrize(
    ("text", "error", "parts"),
    [
        ("", TreeError, ["tree.nwk is empty"]),
        ("a;", TreeError, ["only one node ('a')"]),
        (
            "((a,b),c)r;",
            TreeError,
            ["1 class has no name (tree.nwk, line 1, column 6)", "after the closing bracket"],
        ),
        ("(a,,b)r;", TreeError, ["1 class has no name"]),
        (
            "(a,\na)r;",
            TreeError,
            ["'a' occurs 2 times under 'r' (tree.nwk, line 1, column 2; tree.nwk, line 2, column 1)"],
        ),
        ("((a,b)90,(c,d)90)r;", TreeError, ["'90' occurs 2 times under 'r'", "branch support values"]),
        ("(a,b)r", FileError, ["tree.nwk, line 1, column 7", "semicolon"]),
        ("((a,b)r;", FileError, ["line 1, column 8", "1 '(' still open"]),
        ("(a,b))r;", FileError, ["line 1, column 6", "a ')' without a matching '('"]),
        ("a,b;", FileError, ["outside all brackets"]),
        ("(Homo sapiens,b)r;", FileError, ["line 1, column 7", "'sapiens', follows 'Homo'", "single quotes"]),
        ("(a,b)r;(c,d)s;", FileError, ["line 1, column 8", "more text after the tree"]),
        ("(a,'b)r;", FileError, ["line 1, column 4", "a quote is never closed"]),
        ("(a,b[c)r;", FileError, ["line 1, column 5", "a comment is never closed"]),
        ("(a,b]c)r;", FileError, ["line 1, column 5", "']' is out of place"]),
        ("a(b,c)r;", FileError, ["a '(' follows a name"]),
        ("(a:1x 2,b)r;", FileError, ["a second name"]),
    ],
)
def test_bad_newick(folder: Path, text: str, error: type[HedgerowError], parts: list[str]) -> None:
    write("tree.nwk", text)
    refused(lambda: Hierarchy.from_newick(Path("tree.nwk")), *parts, error=error)


@pytest.mark.parametrize(
    "data",
    [
        {"name": "bird", "parent_id": 48460, "ancestors": [{"name": "life"}], "children": ["robin", "wren"]},
        {"name": "bird", "parent": "#", "children": [{"name": "robin", "parent": "bird"}, {"name": "wren"}]},
        {"name": "bird", "children": [{"name": "robin", "vernacularNames": [{"name": "redbreast"}]}, "wren"]},
    ],
)
def test_other_keys_of_a_nested_tree_are_ignored(data: Any) -> None:
    assert Hierarchy.from_json(data).names.tolist() == ["bird", "robin", "wren"]
