"""Tree formats of one's own, aliases, and parts of trees."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import Hierarchy, registry
from hedgerow.errors import FileError, ParameterError, TreeError, UnknownNameError
from hedgerow.tree import FORMATS, NodeTable, TreeFormat, cut_down, with_plain_names
from tests.tree.helpers import refused, write

if TYPE_CHECKING:
    from collections.abc import Iterator

CATS = Hierarchy.from_parents(
    ["cat", "big", "lion", "puma"],
    [-1, 0, 1, 0],
    rank=["family", "genus", "species", "species"],
    title=["", "", "Löwe", ""],
    aliases={"cougar": 3, "Felis leo": 2, "puma": 2},
)


# Formats of one's own ---------------------------------------------------------------------------------------


@pytest.fixture
def formats() -> Iterator[None]:
    before = dict(FORMATS)
    yield
    FORMATS.clear()
    FORMATS.update(before)


def read_words(path: Any, root: str = "root") -> NodeTable:
    names = [root, *Path(path).read_text().split()]
    return NodeTable(names, [-1] + [0] * (len(names) - 1))  # type: ignore[arg-type]


WORDS = TreeFormat("words", read_words, extensions=(".words",))


def test_a_format_of_ones_own(folder: Path, formats: None) -> None:
    FORMATS.register(WORDS.name, WORDS)
    h = Hierarchy.read(write("a.words", "robin wren"))
    assert h.names.tolist() == ["root", "robin", "wren"]
    assert Hierarchy.read(write("a.txt", "robin wren"), "words", root="bird").names[0] == "bird"
    refused(
        lambda: Hierarchy.read(write("a.words", "robin robin")),
        "'robin' occurs 2 times",
        "(a.words, positions 1 and 2)",
    )
    refused(
        lambda: h.write("b.xyz"), "does not determine the format to write", "format='edges'", error=ParameterError
    )
    refused(lambda: h.write("b.words"), "not written in the format words, only read", error=ParameterError)
    refused(
        lambda: Hierarchy.read("a.words", na="NA"), "na=('NA',) only applies to lineages", error=ParameterError
    )


def test_formats_that_cannot_be_registered(formats: None) -> None:
    refused(
        lambda: FORMATS.register("edges", TreeFormat("edges", read_words)),
        "'edges' already exists",
        error=ParameterError,
    )
    taken = TreeFormat("words", read_words, extensions=(".csv",))
    refused(
        lambda: FORMATS.register(taken.name, taken),
        ".csv already belongs to the tree format edges",
        error=ParameterError,
    )
    refused(lambda: Hierarchy.read("a", "edge"), "Did you mean 'edges'?", error=ParameterError)


def test_formats_of_installed_packages(folder: Path, formats: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "words"

        def load(self) -> object:
            return WORDS

    monkeypatch.setattr(registry, "entry_points", lambda **_: [Point()])
    assert len(Hierarchy.read(write("a.txt", "robin wren"), "words")) == 3
    refused(
        lambda: Hierarchy.read("a.txt", "other"), "must lead to a TreeFormat of this name", error=ParameterError
    )


@pytest.mark.parametrize("name", [name for name, known in FORMATS.items() if known.write is not None])
def test_compressed_files(name: str, folder: Path) -> None:
    suffix = FORMATS[name].extensions[0] if FORMATS[name].extensions else ".csv"
    plain, packed = Path(f"tree{suffix}"), Path(f"tree{suffix}.gz")
    CATS.write(plain, name)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    found = Hierarchy.read(packed, None if FORMATS[name].extensions else name)
    assert found == Hierarchy.read(plain, name)
    packed.write_bytes(packed.read_bytes()[:-9])
    refused(lambda: Hierarchy.read(packed, name), "truncated or damaged", error=FileError)
    packed.write_bytes(plain.read_bytes())
    refused(lambda: Hierarchy.read(packed, name), "take .gz off its name", error=FileError)
    refused(lambda: CATS.write("new.csv.gz"), "not written compressed", error=ParameterError)


def test_compressed_tables_of_tools(folder: Path) -> None:
    texts = {
        "darwin-core": "taxonID\tparentNameUsageID\tscientificName\n1\t\tFelidae\n2\t1\tPuma\n3\t1\tLynx\n",
        "fasta": ">a;tax=f:Felidae,g:Puma;\nACGT\n>b;tax=f:Felidae,g:Lynx;\nACGT\n",
    }
    for name, text in texts.items():
        data = text.encode()
        Path("plain.txt").write_bytes(data)
        Path("packed.txt.gz").write_bytes(gzip.compress(data))
        assert Hierarchy.read("packed.txt.gz", name) == Hierarchy.read("plain.txt", name)
        Path("packed.txt.gz").write_bytes(gzip.compress(data)[:-9])
        with pytest.raises(FileError, match="truncated or damaged"):
            Hierarchy.read("packed.txt.gz", name)


def test_a_format_of_ones_own_that_cannot_be_read(folder: Path, formats: None) -> None:
    FORMATS.register(WORDS.name, WORDS)
    Path("a.words.gz").write_bytes(gzip.compress(b"robin wren"))
    refused(lambda: Hierarchy.read("a.words.gz"), "cannot be read as words: ", "unpack it first", error=FileError)
    Path("a.words").write_bytes(b"\xff")
    refused(lambda: Hierarchy.read("a.words"), "a.words cannot be read as words: ", error=FileError)


def test_packed_folders(folder: Path) -> None:
    refused(lambda: Hierarchy.read(write("taxdump.tar.gz", "")), "is compressed. Unpack it first", error=FileError)


# Aliases ----------------------------------------------------------------------------------------------------


def test_aliases_find_nodes(folder: Path) -> None:
    assert CATS.index("cougar") == 3
    assert CATS.index("puma") == 3  # the name of a node is not taken for an alias
    assert CATS.indices([["lion", "cougar"], ["Felis leo", "cat"]]).tolist() == [[2, 3], [2, 0]]
    assert "cougar" in CATS
    assert CATS["cougar"].name == "puma"
    assert CATS.lca("cougar", "Felis leo") == 0
    assert CATS.canonical(["cougar", "puma", "bat"]) == ["puma", "puma", "bat"]
    with pytest.raises(UnknownNameError, match="2 names are not in the tree: 'tiger' and '5'"):
        CATS.indices(np.array(["tiger", "cougar", 5], dtype=object))


def test_aliases_do_not_change_the_fingerprint() -> None:
    plain = Hierarchy(CATS.names, CATS.parent, CATS.rank, CATS.title)
    assert plain.fingerprint == CATS.fingerprint
    assert plain != CATS
    assert pickle.loads(pickle.dumps(CATS)) == CATS  # noqa: S301


def test_files_keep_aliases(folder: Path) -> None:
    assert CATS.write("nested.json") == "json"
    assert Hierarchy.read("nested.json") == CATS


def test_columns_and_labels_may_be_aliases(folder: Path) -> None:
    frame = pd.DataFrame({"cougar": [0.9, 0.2], "lion": [0.1, 0.8]})
    dense = hr.likelihood.from_leaves(CATS, [[0.1, 0.9], [0.8, 0.2]])
    assert np.array_equal(hr.likelihood.from_leaves(CATS, frame), dense)
    frame.assign(label=["cougar", "Felis leo"]).to_csv("scores.csv", index=False)
    (block,) = hr.open_scores("scores.csv", CATS)
    assert CATS.names[block.labels].tolist() == ["puma", "lion"]
    assert np.array_equal(block.q, dense)
    twice = pd.DataFrame({"cougar": [0.5], "puma": [0.4], "lion": [0.1]})
    with pytest.raises(UnknownNameError, match="1 repeated \\('puma'\\)"):
        hr.likelihood.from_leaves(CATS, twice)


@pytest.mark.parametrize("aliases", [{"x": 4}, {"x": -1}, {" ": 1}, {"x\x1b": 1}, {3: 1}, {"x": "lion"}])
def test_aliases_that_are_wrong(aliases: Any) -> None:
    with pytest.raises(TreeError, match="alias"):
        Hierarchy(CATS.names, CATS.parent, aliases=aliases)


# Parts ------------------------------------------------------------------------------------------------------


def test_parts_keep_what_belongs_to_their_nodes() -> None:
    part = cut_down(CATS, keep=["Felis leo"])
    assert part.names.tolist() == ["cat", "big", "lion"]
    assert dict(part.aliases) == {"Felis leo": 2, "puma": 2}
    assert part.title is not None
    assert part.title.tolist() == ["", "", "Löwe"]
    assert cut_down(CATS, clade="big").names.tolist() == ["big", "lion"]
    assert cut_down(CATS, ranks=["species"]).parent.tolist() == [-1, 0, 0]
    assert cut_down(CATS, keep=["lion"], clade="big", ranks=["species"]).names.tolist() == ["big", "lion"]


def test_parts_that_cannot_be(folder: Path) -> None:
    refused(lambda: cut_down(CATS, clade="lion"), "'lion (Löwe)' is a leaf", error=ParameterError)
    refused(lambda: cut_down(CATS, clade="cats"), "There is no 'cats' in the tree", error=UnknownNameError)
    refused(
        lambda: cut_down(CATS, keep=["lion", "cougar"], clade="big"),
        "1 name to keep is outside the clade 'big': 'cougar'",
        error=ParameterError,
    )
    refused(lambda: cut_down(CATS, ranks=["order"]), "species (2), family (1), genus (1)", error=ParameterError)
    refused(lambda: cut_down(CATS, ranks=["family"]), "None of these nodes", error=ParameterError)
    bare = Hierarchy(CATS.names, CATS.parent)
    refused(lambda: cut_down(bare, ranks=["order"]), "It has no ranks at all", error=ParameterError)


def test_names_become_plain_where_nothing_else_is_called_so() -> None:
    h = Hierarchy.read(["d__A;o__x;g__y", "d__B;o__x", "d__C"], "prefixed")
    assert with_plain_names(h) == h
    part = with_plain_names(cut_down(h, keep=["g__y", "d__C"]))
    assert part.names.tolist() == ["root", "d__A", "o__x", "g__y", "d__C"]


# Ranks, titles, parents -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parent", [[-1, 0.9], [-1.0, 0.0], ["-1", "0"], [True, False], [[-1], [0]], [[-1], 0], None]
)
def test_parents_are_whole_numbers(parent: Any) -> None:
    refused(lambda: Hierarchy.from_parents(["a", "b"], parent), "Parents must be positions of nodes")
    refused(lambda: Hierarchy(CATS.names[:2], parent), "Parents must be positions of nodes")
    assert len(Hierarchy.from_parents(["a", "b"], np.array([-1, 0], dtype=np.int8))) == 2


@pytest.mark.parametrize("extra", ["rank", "title"])
def test_ranks_and_titles_are_safe_to_print(folder: Path, extra: str) -> None:
    flawed: Any = {extra: ["", "\x1b[2J"]}
    refused(
        lambda: Hierarchy.from_parents(["a", "b"], [-1, 0], **flawed),
        f"position 1: the {extra} of 'b', '\\x1b[2J', contains a control character",
    )
    nested = {"name": "a", "children": [{"name": "b", extra: "\x1b[2J"}]}
    refused(lambda: Hierarchy.read(write("a.json", json.dumps(nested))), f"a.json, line 1: the {extra} of 'b'")
    saved = Hierarchy.from_edges([("a", "b")]).to_dict()
    refused(lambda: Hierarchy.from_dict(saved | {f"{extra}s": ["", "\x9b"]}), f"position 1: the {extra} of 'b'")
    refused(lambda: Hierarchy.from_dict(saved | {f"{extra}s": [1, 2]}), "Its tree is not a tree")


def test_headers_and_new_titles_are_safe_to_print(folder: Path) -> None:
    refused(lambda: Hierarchy.read(write("a.csv", "class\x1b[2J,species\na,b\n"), "lineages"), "control character")
    refused(
        lambda: CATS.with_titles({"lion": "\x07"}), "the title of 'lion', '\\x07', contains a control character"
    )
    assert CATS.with_titles({"lion": "a\r\nb\tc"})["lion"].title == "a  b c"


# Errors in large files --------------------------------------------------------------------------------------

NAMES = [f"name {i}" for i in range(20_000)]


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("a.nwk", "(" + "[" * 200_000, "column 2: not Newick: a comment is never closed"),
        (
            "a.nwk",
            "(" + ",\n".join(NAMES * 2).replace(" ", "") + ")r;",
            "'name0' occurs 2 times under 'r' (a.nwk, line 1",
        ),
        (
            "a.json",
            "[" + ",\n".join(f'"{name}"' for name in NAMES * 2) + "]",
            "'name 0' occurs 2 times at the top (a.json, lines 1 and 20001)",
        ),
        (
            "a.json",
            "[" + ",\n".join(f'"{name}\\u0001"' for name in NAMES) + "]",
            "a.json, line 1: the name 'name 0\\x01'",
        ),
        (
            "a.txt",
            "/".join(NAMES * 2),
            "'name 0' occurs under 2 parents: name 0; ... > name 19995",
        ),
        ("a.json", "[" * 1_000 + '"a"' + "]" * 1_000, "a.json is nested too deeply"),
        ("a.json", "[" * 800 + "7" + "]" * 800, "contains 7 instead of a tree"),
        ("a.json", '{"animal": ["bird", {"fish"', "a.json, line 1, column 28 is not JSON"),
    ],
)
def test_errors_in_large_files(folder: Path, name: str, content: str, part: str) -> None:
    """With work that grew with the square of the size, each of these took a minute or did not end."""
    write(name, content)
    with pytest.raises((TreeError, FileError)) as caught:
        Hierarchy.read(name)
    assert part in str(caught.value)


def test_lists_may_be_nested_to_any_depth() -> None:
    data: list[Any] = ["robin", "wren"]
    for _ in range(5_000):
        data = [data]
    assert Hierarchy.from_json(data).names.tolist() == ["root", "robin", "wren"]
