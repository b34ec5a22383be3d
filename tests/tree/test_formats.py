from __future__ import annotations

import copy
import csv
import dataclasses
import json
import os
import pickle
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy
from hedgerow.errors import FileError, HedgerowError, ParameterError, TreeError, closest, nearest
from hedgerow.files.atomic import atomic_write, try_file
from hedgerow.tree.formats import deep_json, large_edges, read_tree
from hedgerow.tree.formats.edges import read_edges
from hedgerow.tree.formats.string_match import WORD, Groups, Strings, group
from hedgerow.tree.formats.table import FlawedTreeError, NodeTable
from tests.tree_strategies import odd_names, trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ANIMALS = ["animal", "bird", "robin", "wren", "fish"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, so that messages show short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def refused(
    read: Callable[[], Any], *parts: str, error: type[HedgerowError] = TreeError
) -> FlawedTreeError | None:
    with pytest.raises(error) as caught:
        read()
    for part in parts:
        assert part in str(caught.value)
    return caught.value if isinstance(caught.value, FlawedTreeError) else None


# Edge lists --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "animal,bird\nanimal,fish\nbird,robin\nbird,wren\n",
        "parent,child\nbird,robin\nanimal,bird\nbird,wren\nanimal,fish\n",
        "Parent,CHILD\r\nbird,robin\r\nbird,wren\r\nanimal,bird\r\nanimal,fish\r\n",
        "\ufeffparent,child\nanimal,bird\n\nanimal,fish\nbird,robin\n\n\nbird,wren",
        '\n"animal","bird"\nanimal,"fish"\nbird,robin\nbird,wren\n\n',
        "animal,bird\ranimal,fish\rbird,robin\rbird,wren\r",
    ],
)
def test_edges_in_any_order_with_or_without_header(folder: Path, content: str) -> None:
    assert Hierarchy.from_edges(write("tree.csv", content)).names.tolist() == ANIMALS


def test_edges_separated_by_tabs(folder: Path) -> None:
    write("tree.tsv", "Parent\tChild\nanimal\tbird, flying\nanimal\tfish\n")
    assert Hierarchy.from_edges("tree.tsv").names.tolist() == ["animal", "bird, flying", "fish"]
    assert Hierarchy.from_edges(Path("tree.tsv")) == Hierarchy.read("tree.tsv")


def test_only_parent_child_is_a_header(folder: Path) -> None:
    h = Hierarchy.from_edges(write("tree.csv", "source,target\ntarget,x\n"))
    assert h.names.tolist() == ["source", "target", "x"]
    h = Hierarchy.from_edges(write("tree.csv", "top,parent\nparent,child\n"))
    assert h.names.tolist() == ["top", "parent", "child"]


def test_names_are_not_altered(folder: Path) -> None:
    h = Hierarchy.from_edges(write("tree.csv", "root, a\nroot,a \nroot,a\nroot,A\n"))
    assert h.names.tolist() == ["root", " a", "a ", "a", "A"]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["tree.csv is empty", "at least one class"]),
        ("\n\n", ["tree.csv is empty"]),
        ("parent,child\n", ["tree.csv is empty"]),
        ("root\n", ["tree.csv, line 1 has 1 column, not 2: 'root'", "parent,child"]),
        ("a,b\nc,d\nc,e\n", ["tree.csv has 2 roots", "'a' and 'c'", "common root"]),
        ("bird,robin\nanimal,bird\nBird,wren\n", ["2 roots", "'Bird' is near 'bird'"]),
        ("a,b\nc,d\n", ["2 roots", "lines such as 'root,a'"]),
        ("root,b\nc,d\n", ["2 roots", "lines such as 'top,root'"]),
        ("root,b\nRoot,Top\n", ["Of these, 'root' is near 'Root'. A tree", "lines such as 'top2,root'"]),
        ("r,a\na,b\nb,c\nc,b\n", ["'b' has 2 parents: 'a' (tree.csv, line 2); 'c' (tree.csv, line 4)"]),
        ("a,b\nb,a\n", ["a -> b -> a", "tree.csv, lines 1 and 2", "Delete or correct"]),
        ("r,x\na,b\nb,c\nc,a\n", ["a -> b -> c -> a", "tree.csv, lines 2, 3 and 4"]),
        ("a,a\n", ["tree.csv, line 1 makes 'a' its own parent", "Delete the line"]),
        ("r,a\nr,b\n\na,c\nb,c\n", ["'c' has 2 parents", "'a' (tree.csv, line 4)", "'b' (tree.csv, line 5)"]),
        ("r,a\nr,b\nr,a\n", ["'r' -> 'a' stands 2 times", "tree.csv, lines 1 and 3", "Keep one"]),
        ("r,a\nr,\n", ["tree.csv, line 2 has an empty child", "needs a name"]),
        ("r,a\n ,b\n", ["tree.csv, line 2 has an empty parent"]),
        ("r,a\nr,b,c\n", ["tree.csv, line 2 has 3 columns, not 2: 'r', 'b', 'c'", "in quotes"]),
        ("r;a\nr;b\n", ["tree.csv, line 1 has 1 column", "not by a semicolon"]),
        ("r\ta\nr\tb\n", ["tree.csv, line 1 has 1 column", "'.tsv'"]),
        ('r,"a\nb"\nr,c\nr,c\n', ["tree.csv, lines 3 and 4"]),
    ],
)
def test_bad_edges(folder: Path, content: str, parts: list[str]) -> None:
    write("tree.csv", content)
    refused(lambda: Hierarchy.from_edges("tree.csv"), *parts)
    refused(lambda: Hierarchy.read("tree.csv"), *parts)


def test_an_unclosed_quote_does_not_swallow_the_file(folder: Path) -> None:
    write("tree.csv", 'r,a\nr,"b\nr,c\n')
    refused(lambda: Hierarchy.from_edges("tree.csv"), "tree.csv, line 2", "quote", error=FileError)


def test_all_problems_are_found_and_the_first_is_shown(folder: Path) -> None:
    write("tree.csv", "parent,child\nr,a\nr,a\ns,b\nx,y\ny,x\nq,q\n,z\na,b,c\na,b\n")
    error = refused(lambda: Hierarchy.from_edges("tree.csv"), "6 more problems", "`hedgerow doctor tree.csv`")
    assert error is not None
    assert [problem.kind for problem in error.problems] == [
        "self-loop",
        "empty name",
        "columns",
        "duplicate",
        "several parents",
        "cycle",
        "several roots",
    ]


def test_bad_pairs() -> None:
    refused(lambda: Hierarchy.from_edges([("a", "b"), ("b", "a")]), "a -> b -> a", "pairs 1 and 2")
    refused(lambda: Hierarchy.from_edges([]), "The tree is empty")
    refused(lambda: Hierarchy.from_edges([("a", "b"), ("a", 3)]), "pair 2", "must be strings")  # type: ignore[list-item]
    refused(lambda: Hierarchy.from_edges([("a", "b", "c")]), "pair 1 has 3 columns")  # type: ignore[list-item]
    refused(lambda: Hierarchy.from_edges(["ab"]), "pair 1 has 1 column")  # type: ignore[list-item]


@given(data=st.data())
def test_any_edges_give_a_tree_or_all_problems(data: st.DataObject) -> None:
    name = st.sampled_from(["a", "b", "c", "d", "", " "])
    edges = data.draw(st.lists(st.tuples(name, name), max_size=6))
    graph = networkx.DiGraph(edges)
    sound = (
        len(edges) == len(set(edges))
        and all(part.strip() for edge in edges for part in edge)
        and bool(edges)
        and networkx.is_arborescence(graph)
    )
    if sound:
        assert set(Hierarchy.from_edges(edges).names) == set(graph.nodes)
    else:
        with pytest.raises(FlawedTreeError):
            Hierarchy.from_edges(edges)


@pytest.mark.parametrize("parent", [None, 1, float("nan"), ["x"]])
def test_a_parent_that_is_no_name(parent: Any) -> None:
    refused(lambda: Hierarchy.from_edges([(parent, "a")]), "pair 1", "Names must be strings")


def test_commas_in_a_table_separated_by_tabs(folder: Path) -> None:
    with pytest.raises(TreeError, match=r"separated by commas: call the file '\.csv'"):
        read_edges(write("tree.tsv", "parent,child\na,b\n"))


def test_a_name_that_is_too_long_for_a_table(folder: Path) -> None:
    with pytest.raises(FileError, match=r"line 2 .* Names have at most 131,072 characters\.$"):
        read_edges(write("tree.csv", "a,b\na," + 200_000 * "x"))


# Large edge lists --------------------------------------------------------------------------------------------


def read_large(content: bytes) -> NodeTable | None:
    padded = np.frombuffer(content + bytes(large_edges.PADDING), dtype=np.uint8).copy()
    return large_edges.read_large_edges(padded, ",", header=False)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["", "Parent,Child"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_large_files_are_read_like_small_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch, end: str, header: str, mark: str
) -> None:
    random = np.random.default_rng(0)
    names = ["höhe", *(f"clade {i} " + "x" * (i % 40) for i in range(1, 3_000))]
    edges = [(names[random.integers(0, i)], names[i]) for i in random.permutation(np.arange(1, 3_000)).tolist()]
    lines = [header] * bool(header) + [",".join(edge) for edge in edges] + [""]
    write("tree.csv", (mark + end.join(lines)))
    expected = Hierarchy.from_edges("tree.csv")
    monkeypatch.setattr("hedgerow.tree.formats.edges.LARGE", 0)
    short_cut = Hierarchy.from_edges("tree.csv")
    assert short_cut == expected == Hierarchy.from_edges(edges)
    for field in ("depth", "end", "leaves"):
        assert getattr(short_cut, field).tolist() == getattr(expected, field).tolist()
    assert all(type(name) is str for name in short_cut.names)


def test_the_short_cut_is_taken() -> None:
    table = read_large(b"a,b\na,c\nc,d")
    assert table is not None
    assert list(table.names) == ["a", "b", "c", "d"]
    assert table.parent.tolist() == [-1, 0, 0, 2]


@pytest.mark.parametrize(
    "content",
    [
        "a,b\nc,d\n",
        "a,b\nb,a\n",
        "r,a\nb,c\nc,b\n",
        "a,b\na,b\n",
        "a,c\nb,c\na,b\n",
        "a,b\na,\n",
        "a,b\na, \n",
        " ,b\n ,c\n",
        ",b\n,c\n",
        "a,b\na,\u2003\n",
        "a,b\na\n",
        "a,b,c\n",
        'a,"b"\n',
        "a,b\na,c\x00\n",
        "a\x1b,b\na\x1b,c\n",
        "a,b\na,c\x7f\n",
        "a,b\na,c\td\n",
        "a,b\na,c\x9b\n",
        "\n",
        "",
    ],
)
def test_the_short_cut_leaves_what_is_wrong_to_the_patient_reader(content: str) -> None:
    assert read_large(content.encode()) is None


def test_names_of_blanks_alone_and_names_that_only_begin_with_one() -> None:
    blanks = [blank for blank in map(chr, range(0x20, sys.maxunicode + 1)) if blank.isspace() and blank != "\x85"]
    assert len(blanks) > 10
    for blank in blanks:
        assert read_large(f"a,{blank}b\na,{2 * blank}\n".encode()) is None
        table = read_large(f"a,{blank}b\na,ж\n".encode())
        assert table is not None
        assert list(table.names) == ["a", f"{blank}b", "ж"]


@pytest.mark.parametrize(
    "before", ["\n", "\r\n", "\ufeff", " \n"], ids=["blank line", "CRLF", "second mark", "blanks"]
)
def test_large_files_with_something_before_their_header(
    folder: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    write("tree.csv", f"\ufeff{before}parent,child\nparent,a\na,b\n")

    def outcome() -> object:
        try:
            return Hierarchy.from_edges("tree.csv").names.tolist()
        except HedgerowError as error:
            return str(error)

    expected = outcome()
    monkeypatch.setattr("hedgerow.tree.formats.edges.LARGE", 0)
    assert outcome() == expected


def test_line_ends_of_old_in_a_large_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.tree.formats.edges.LARGE", 0)
    write("tree.csv", "parent,child\rparent,a\ra,b")
    assert Hierarchy.from_edges("tree.csv").names.tolist() == ["parent", "a", "b"]


def test_bytes_that_are_not_utf8_in_a_large_file() -> None:
    assert read_large(b"a,b\na,\xff\n") is None


def test_large_files_without_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read_large(b"a,b\n") is None


def test_the_errors_of_large_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.tree.formats.edges.LARGE", 0)
    write("tree.csv", "parent,child\nr,a\na,b\nr,b\n")
    refused(
        lambda: Hierarchy.from_edges("tree.csv"),
        "'b' has 2 parents: 'a' (tree.csv, line 3); 'r' (tree.csv, line 4)",
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_many_parts_of_a_large_file(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    lines = [f"node {i // 3},node {i}" for i in range(1, 300)]
    expected = Hierarchy.from_edges([tuple(line.split(",")) for line in lines])  # type: ignore[misc]
    for size in (1, 7, 100, 1_000_000):
        monkeypatch.setattr(large_edges, "_PART_BYTES", size)
        for after in ("", end, 3 * end):
            table = read_large((end.join(lines) + after).encode())
            assert table is not None
            assert list(table.names) == expected.names.tolist()
            assert table.parent.tolist() == expected.parent.tolist()
    for between in (2 * end, 5 * end):
        table = read_large((end.join(lines[:5]) + between + end.join(lines[5:])).encode())
        assert table is not None
        assert list(table.names) == expected.names.tolist()
    for between in ("\r", f"{end} {end}"):
        assert read_large((end.join(lines[:5]) + between + end.join(lines[5:])).encode()) is None


def test_long_lines_are_left_to_the_patient_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_edges, "LONGEST_LINE", 10)
    monkeypatch.setattr(large_edges, "_PART_BYTES", 16)
    for length in range(1, 60):
        name = "x" * length
        for line in (f"root,{name}", f"{name},root", f"a,c{name}", f"{name}b,c"):
            lines = ["root,a", "root,b", line, "root,z"]
            table = read_large("\n".join(lines).encode())
            is_tree = not line.endswith("b,c")
            assert (table is not None) == (is_tree and len(line) < 10)
            if table is not None:
                expected = Hierarchy.from_edges([tuple(row.split(",")) for row in lines])  # type: ignore[misc]
                assert list(table.names) == expected.names.tolist()


def test_names_made_to_have_the_same_hash() -> None:
    # Words in the order of Thue and Morse and the other way round: no polynomial tells them apart.
    turns = [bin(i).count("1") % 2 for i in range(4096)]
    one, other = (b"".join((b"aaaaaaa!", b"aaaaaaaa")[turn ^ flip] for turn in turns) for flip in (0, 1))
    assert not group(as_strings([one, other]), 2).is_first.tolist().count(False)
    first, second = as_strings([one, other]).hashes(slice(0, 2))
    assert first[0] != first[1]
    assert second[0] != second[1]


@given(h=trees(), data=st.data())
def test_any_tree_by_the_short_cut(h: Hierarchy, data: st.DataObject) -> None:
    pairs = list(zip(h.names[h.parent[1:]].tolist(), h.names[1:].tolist(), strict=True))
    shuffled = data.draw(st.permutations(pairs))
    table = read_large("".join(f"{parent},{child}\n" for parent, child in shuffled).encode())
    assert table is not None
    expected = Hierarchy.from_edges(shuffled)
    assert list(table.names) == expected.names.tolist()
    assert table.parent.tolist() == expected.parent.tolist()


@pytest.fixture
def packed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Hierarchy:
    """A tree whose names are not str yet."""
    monkeypatch.setattr("hedgerow.tree.formats.edges.LARGE", 0)
    h = Hierarchy.from_edges(write("tree.csv", "animal,bird\nanimal,fish\nbird,robin\nbird,wren\n"))
    assert "names" not in vars(h)
    return h


USES: list[Callable[[Hierarchy], object]] = [
    lambda h: h.names.tolist(),
    lambda h: h.index("wren"),
    repr,
    hash,
    lambda h: len(h),
    lambda h: h.fingerprint,
    lambda h: h.label(2),
    lambda h: pickle.loads(pickle.dumps(h)),  # noqa: S301
    copy.copy,
    copy.deepcopy,
    lambda h: dataclasses.fields(h)[0].name,
    lambda h: h.with_titles({"fish": "a fish"}),
    lambda h: h.subtree(["wren"])[0],
]


@pytest.mark.parametrize("use", USES)
def test_names_that_are_made_late_are_like_others(packed: Hierarchy, use: Callable[[Hierarchy], object]) -> None:
    plain = Hierarchy(packed.names.copy(), packed.parent)
    fresh = Hierarchy.from_edges("tree.csv")
    assert use(fresh) == use(plain)
    assert fresh == plain
    assert plain == fresh
    assert "_packed_names" not in vars(fresh)  # the bytes are let go of


def test_names_that_are_made_late_are_made_once_and_read_only(packed: Hierarchy) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: packed.names, range(64)))
    assert all(names is packed.names for names in found)
    assert packed.names.tolist() == ANIMALS
    assert packed.names.dtype == object
    assert all(type(name) is str for name in packed.names)
    with pytest.raises(ValueError, match="read-only"):
        packed.names[0] = "x"
    with pytest.raises(dataclasses.FrozenInstanceError):
        packed.names = packed.names  # type: ignore[misc]


def test_other_attributes_are_still_missing(packed: Hierarchy) -> None:
    with pytest.raises(AttributeError, match="'Hierarchy' object has no attribute 'nmes'"):
        packed.nmes  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(object.__new__(Hierarchy), "names")


def test_packed_names_are_a_sequence() -> None:
    table = read_large(b"a,b\na,c\nc,d")
    assert table is not None
    names = table.names
    assert (len(names), names[0], names[1], names[-1]) == (4, "a", "b", "d")
    assert (list(names[1:3]), list(names[::-1])) == (["b", "c"], ["d", "c", "b", "a"])
    assert list(names) == ["a", "b", "c", "d"]
    with pytest.raises(IndexError):
        names[4]


def as_strings(values: Sequence[bytes]) -> Strings:
    text = b"".join(values) + bytes(WORD)
    end = np.cumsum([len(value) for value in values], dtype=np.int32)
    words = np.ndarray(len(text) - WORD + 1, dtype="<u8", buffer=text, strides=(1,))
    return Strings(words, np.concatenate([[0], end])[:-1].astype(np.int32), end)


def parts_of(groups: Groups) -> list[list[int]]:
    """The groups, ordered by their first members."""
    return sorted(part.tolist() for part in np.split(groups.members, np.flatnonzero(groups.is_first)[1:]))


def parts_by_dict(values: Sequence[bytes]) -> list[list[int]]:
    parts: dict[bytes, list[int]] = {}
    for i, value in enumerate(values):
        parts.setdefault(value, []).append(i)
    return list(parts.values())


@st.composite
def keys_and_queries(draw: st.DrawFn) -> tuple[list[bytes], int]:
    """Distinct strings, how many they are, and after them some that need not be distinct."""
    keys = draw(st.lists(st.binary(max_size=30), unique=True, min_size=1))
    return keys + draw(st.lists(st.sampled_from(keys) | st.binary(max_size=3))), len(keys)


@given(case=keys_and_queries())
def test_groups_are_the_strings_that_are_the_same(case: tuple[list[bytes], int]) -> None:
    values, distinct = case
    groups = group(as_strings(values), distinct)
    assert parts_of(groups) == parts_by_dict(values)
    assert groups.agree()


@given(case=keys_and_queries())
def test_strings_that_share_the_upper_bits_of_their_hashes(case: tuple[list[bytes], int]) -> None:
    values, distinct = case
    number = {value: i for i, value in enumerate(dict.fromkeys(values))}
    hashed = np.array([number[value] for value in values], dtype=np.uint64)  # fits into the lower bits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Strings, "hashes", lambda _, rows: (hashed[rows].copy(), hashed[rows]))
        groups = group(as_strings(values), distinct)
    if distinct > 1:
        assert parts_of(groups) == parts_by_dict(values)
        assert groups.agree()


def test_strings_with_the_same_hash_are_told_apart_by_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [b"a", b"b", b"b", b"a"]
    same = np.zeros(4, dtype=np.uint64)
    other = np.array([1, 2, 2, 1], dtype=np.uint64)
    monkeypatch.setattr(Strings, "hashes", lambda _, rows: (same[rows].copy(), other[rows]))
    assert not group(as_strings(values), 2).agree()
    assert read_large(b"a,b\na,c\n") is None


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x40, 0x10])
@pytest.mark.parametrize("size", [8, 16, 21])
def test_names_that_differ_in_few_bits_are_told_apart(size: int, flip: int) -> None:
    at = sorted(range(size), key=lambda i: (i % 4 != 3, i))[:12]  # the last bytes of words and half-words first
    names = np.full((2 ** len(at), size), ord("a"), dtype=np.uint8)
    for k, place in enumerate(at):
        names[:, place] ^= np.where(np.arange(len(names)) >> k & 1, flip, 0).astype(np.uint8)
    strings = as_strings([bytes(row) for row in names])
    for hashes in strings.hashes(slice(0, len(names))):
        assert len(np.unique(hashes)) == len(names)


# Lineages ----------------------------------------------------------------------------------------------------

TABLE = "kingdom,class,species\nAnimals,Birds,robin\nAnimals,Birds,wren\nAnimals,,worm\nPlants,,\nAnimals,Fish,\n"


def test_lineages_with_blanks(folder: Path) -> None:
    h = Hierarchy.from_lineages(write("table.csv", TABLE))
    assert h.names.tolist() == ["root", "Animals", "Birds", "robin", "wren", "worm", "Fish", "Plants"]
    assert h.rank is not None
    assert h.rank.tolist() == ["", "kingdom", "class", "species", "species", "species", "class", "kingdom"]
    assert h == Hierarchy.read("table.csv", "lineages")
    assert h == Hierarchy.from_lineages(pd.read_csv("table.csv"))
    assert h == Hierarchy.from_lineages(pd.read_csv("table.csv", dtype="string[pyarrow]"))
    assert h == Hierarchy.from_lineages(csv.reader(TABLE.splitlines()))
    assert h == Hierarchy.from_lineages(write("table.tsv", TABLE.replace(",", "\t")))
    assert Hierarchy.from_lineages("table.csv", root="Life").names[0] == "Life"


def test_one_top_is_the_root() -> None:
    assert Hierarchy.from_lineages([("a", "b"), ("x", "y")]).names.tolist() == ["x", "y"]


AMBIGUOUS = "class,genus,species\nBirds,Prunella,modularis\nPlants,Prunella,vulgaris\nPlants,Rosa,vulgaris\n"


def test_a_name_under_two_parents_shows_both_lineages(folder: Path) -> None:
    write("table.csv", AMBIGUOUS)
    error = refused(
        lambda: Hierarchy.from_lineages("table.csv"),
        "'Prunella' stands under 2 parents: Birds > Prunella (table.csv, line 2); Plants > Prunella (table.csv",
        "disambiguate=True",
        "1 more problem;",
    )
    assert error is not None
    assert "Plants > Rosa > vulgaris (table.csv, line 4)" in str(error.problems[1])


def test_disambiguation_is_by_parent(folder: Path) -> None:
    h = Hierarchy.from_lineages(write("table.csv", AMBIGUOUS), disambiguate=True)
    assert h.names.tolist() == [
        "root",
        "Birds",
        "Birds/Prunella",
        "modularis",
        "Plants",
        "Plants/Prunella",
        "Plants/Prunella/vulgaris",
        "Rosa",
        "Rosa/vulgaris",
    ]
    h = Hierarchy.from_lineages([("genus", "subgenus"), ("Bison", "Bison")], disambiguate=True)
    assert h.names.tolist() == ["Bison", "Bison/Bison"]
    h = Hierarchy.from_paths(["a/x", "b/x", "x"], disambiguate=True)
    assert h.names.tolist() == ["root", "a", "a/x", "b", "b/x", "root/x"]
    refused(
        lambda: Hierarchy.from_paths(["a;x", "b;x", "c;a/x"], disambiguate=True), "'a/x' stands under 2 parents"
    )


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["table.csv is empty"]),
        ("class,species\n", ["table.csv is empty"]),
        ("class,species\n,\n", ["table.csv is empty"]),
        ("class,species\nBirds,\n", ["table.csv has only one node ('Birds')"]),
        ("class,species\nBirds\n", ["table.csv, line 2 has 1 columns, the header has 2", "blank"]),
        ("class,species\nBirds,robin,x\n", ["table.csv, line 2 has 3 columns"]),
        ("class,class\nBirds,robin\n", ["table.csv, line 1 names the rank 'class' twice"]),
        ("class;species\nBirds;robin\n", ["line 1 has one column, 'class;species'", "write commas instead"]),
        ("class,\nBirds,robin\n", ["table.csv, line 1 has a column without a name"]),
        ("class,species\nroot,a\nb,c\n", ["2 tops", "'root'", "table.csv, line 2", "Choose another name"]),
        (
            "class,family,genus\nBirds,Turdus,\nBirds,,Turdus\n",
            ["'Turdus' stands in column 'family' (table.csv, line 2) and in column 'genus' (table.csv, line 3)"],
        ),
    ],
)
def test_bad_lineages(folder: Path, content: str, parts: list[str]) -> None:
    write("table.csv", content)
    refused(lambda: Hierarchy.from_lineages("table.csv"), *parts)


# Paths -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "animal/bird/robin\nanimal/bird/wren\nanimal/fish\n",
        "animal;bird;robin\r\nanimal;bird;wren\r\n\r\nanimal;fish",
        "\ufeffanimal\nanimal; bird; robin\nanimal; bird ;wren\nanimal; fish\n",
    ],
)
def test_paths(folder: Path, content: str) -> None:
    assert Hierarchy.from_paths(write("paths.txt", content)).names.tolist() == ANIMALS
    assert Hierarchy.read("paths.txt").names.tolist() == ANIMALS


def test_paths_with_another_separator_and_root() -> None:
    h = Hierarchy.from_paths(["a/1 > b", "c > d;e"], separator=">", root="all")
    assert h.names.tolist() == ["all", "a/1", "b", "c", "d;e"]


def test_bad_paths(folder: Path) -> None:
    refused(lambda: Hierarchy.from_paths([]), "is empty")
    refused(lambda: Hierarchy.from_paths(["a"]), "only one node ('a')")
    refused(lambda: Hierarchy.from_paths(["a/b", "a//c"]), "path 2 has an empty name: 'a//c'", "doubled")
    refused(lambda: Hierarchy.from_paths(["/a/b"]), "path 1 has an empty name")
    refused(lambda: Hierarchy.from_paths(["a/b;c"]), "path 1 holds both '/' and ';'", "separator", error=FileError)
    refused(lambda: Hierarchy.from_paths(["a"], separator=""), "at least one character", error=ParameterError)
    refused(lambda: Hierarchy.from_paths(["a/x", "b/y"], root=" "), "root needs a name", error=ParameterError)
    write("paths.txt", "a/x\nb/x\n")
    refused(lambda: Hierarchy.from_paths("paths.txt"), "a > x (paths.txt, line 1); b > x (paths.txt, line 2)")


# JSON --------------------------------------------------------------------------------------------------------


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
            ["'b' stands for several nodes", "tree.json, lines 2 and 3"],
        ),
        ('{"a": {"b": ["c"],\n "d": ["c"]}}', TreeError, ["'c' stands for several", "lines 1 and 2", "distinct"]),
        ('{"a": {"b": 3}}', TreeError, ["3 where the children of 'b' should be"]),
        ("3", TreeError, ["holds 3 instead of a tree"]),
        ('{"a": ["b", ""]}', TreeError, ["a node under 'a' whose name is ''", "needs a name"]),
        ('{"name": null, "children": ["b"]}', TreeError, ["whose name is None"]),
        ('{"a": {"b": {},}}', FileError, ["tree.json, line 1, column 16 is not JSON"]),
        ('{"a": \n{"b"', FileError, ["tree.json, line 2", "is not JSON"]),
    ],
)
def test_bad_json(folder: Path, content: str, error: type[HedgerowError], parts: list[str]) -> None:
    write("tree.json", content)
    refused(lambda: Hierarchy.from_json("tree.json"), *parts, error=error)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(value=JSON_VALUES, indent=st.none() | st.integers(0, 2), ascii_only=st.booleans())
def test_the_deep_parser_reads_json(value: Any, indent: int | None, ascii_only: bool) -> None:
    assert deep_json.loads(json.dumps(value, indent=indent, ensure_ascii=ascii_only), dict) == value


@given(text=st.text(st.sampled_from('{}[]",: \n01e-.tn"ab')))
def test_the_deep_parser_refuses_what_json_refuses(text: str) -> None:
    outcomes = []
    for loads in (json.loads, partial(deep_json.loads, object_pairs_hook=dict)):
        try:
            outcomes.append(loads(text))
        except json.JSONDecodeError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]


# Newick ------------------------------------------------------------------------------------------------------


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
        ("((a,b),c)r;", TreeError, ["1 node has no name", "line 1, column 6", "behind the closing bracket"]),
        ("(a,,b)r;", TreeError, ["1 node has no name"]),
        (
            "(a,\na)r;",
            TreeError,
            ["'a' stands for 2 nodes", "tree.nwk, line 1, column 2; tree.nwk, line 2, column 1"],
        ),
        ("((a,b)90,(c,d)90)r;", TreeError, ["'90' stands for 2 nodes", "branch supports"]),
        ("(a,b)r", FileError, ["tree.nwk, line 1, column 7", "semicolon"]),
        ("((a,b)r;", FileError, ["line 1, column 8", "1 '(' still open"]),
        ("(a,b))r;", FileError, ["line 1, column 6", "a ')' without its '('"]),
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


# networkx ----------------------------------------------------------------------------------------------------


def test_networkx_keeps_ranks_and_titles() -> None:
    h = Hierarchy.from_lineages([("class", "species"), ("birds", "robin")]).with_titles({"robin": "Rotkehlchen"})
    graph = h.to_networkx()
    assert graph.nodes["robin"] == {"rank": "species", "title": "Rotkehlchen"}
    assert networkx.is_arborescence(graph)
    assert Hierarchy.from_networkx(graph) == h


def test_networkx_nodes_become_strings_and_problems_are_named() -> None:
    assert Hierarchy.from_networkx(networkx.DiGraph([(1, 2), (1, 3)])).names.tolist() == ["1", "2", "3"]
    refused(lambda: Hierarchy.from_networkx(networkx.Graph([(1, 2)])), "directed graph")
    refused(lambda: Hierarchy.from_networkx(networkx.DiGraph([(1, 2), (2, "1")])), "both called '1'")
    refused(lambda: Hierarchy.from_networkx(networkx.DiGraph([(1, 2), (2, 1)])), "1 -> 2 -> 1")
    refused(lambda: Hierarchy.from_networkx(networkx.MultiDiGraph([(1, 2), (1, 2)])), "stands 2 times")
    graph = networkx.DiGraph([(1, 2)])
    graph.add_node("hermit")
    refused(lambda: Hierarchy.from_networkx(graph), "'hermit' stand alone")


# Round trips -------------------------------------------------------------------------------------------------


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


@given(names=st.lists(odd_names, min_size=2, max_size=5, unique=True))
def test_odd_names_in_lineage_tables(names: list[str]) -> None:
    ranks = [f"rank {i}" for i in range(len(names))]
    h = Hierarchy.from_lineages([ranks, names])
    assert h.names.tolist() == names


def test_ranks_are_saved(tmp_path: Path) -> None:
    h = Hierarchy.from_lineages([("class", "species"), ("birds", "robin"), ("fish", "cod")])
    h.save(tmp_path / "tree.json")
    assert Hierarchy.load(tmp_path / "tree.json") == h
    h.to_json(tmp_path / "nested.json")
    assert Hierarchy.from_json(tmp_path / "nested.json") == h


def test_a_chain_of_ten_thousand_in_every_format(tmp_path: Path) -> None:
    names = [f"n{i}" for i in range(10_000)]
    chain = Hierarchy.from_edges(pairwise(names))
    chain.to_edges(tmp_path / "tree.csv")
    chain.to_json(tmp_path / "tree.json")
    chain.to_newick(tmp_path / "tree.nwk")
    chain.save(tmp_path / "saved.json")
    for name in ("tree.csv", "tree.json", "tree.nwk", "saved.json"):
        assert Hierarchy.read(tmp_path / name) == chain
    assert Hierarchy.from_networkx(chain.to_networkx()) == chain
    assert Hierarchy.from_paths(["/".join(names)]) == chain
    assert len(Hierarchy.from_lineages([[f"rank {i}" for i in range(10_000)], names])) == 10_000
    nested: dict[str, Any] = {}
    for name in reversed(names):
        nested = {name: nested}
    assert Hierarchy.from_json(nested) == chain


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ('{"a": {"b": {}}}', ["was not written by Hierarchy.save", "from_json"]),
        ('{"format": "hedgerow tree", "version": 99}', ["version 99", "version 1"]),
        ('{"format": "hedgerow tree", "version": 1}', ["damaged"]),
        ('{"format": "hedgerow tree", "version": 1, "names": ["a", "b"], "parent": [-1]}', ["damaged"]),
        ('{"format": "hedgerow tree", "version": 1, "names": ["a", "b"], "parent": [-1, 0.5]}', ["damaged"]),
        ('{"format": "hedgerow tree", "version": 1, "names": ["a", "b"], "parent": [-1, 1e3]}', ["damaged"]),
        (
            '{"format": "hedgerow tree", "version": 1, "names": ["a", "b"], "parent": [-1, 99999999999999999999]}',
            ["damaged"],
        ),
        (
            '{"format": "hedgerow tree", "version": 1, "names": ["a", "b"], "parent": [-1, 7]}',
            ["position of a node"],
        ),
        (
            '{"format": "hedgerow tree", "version": 1, "names": ["a", "a"], "parent": [-1, 0]}',
            ["names are not distinct"],
        ),
        ('{"format": "hedgerow tree", "version": 1, "names": ["a", 3], "parent": [-1, 0]}', ["filled strings"]),
    ],
)
def test_bad_saved_files(folder: Path, content: str, parts: list[str]) -> None:
    write("saved.json", content)
    refused(lambda: Hierarchy.load("saved.json"), *parts, error=HedgerowError)
    if "was not written" not in parts[0]:
        refused(lambda: Hierarchy.read("saved.json"), *parts, error=HedgerowError)


# Files -------------------------------------------------------------------------------------------------------

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
    refused(lambda: read("tre.csv"), "'tree.csv' is near it", error=FileError)
    refused(lambda: read("nul\0.csv"), "cannot be read", error=FileError)


def test_the_format_is_given_or_follows_from_the_extension(folder: Path) -> None:
    write("tree.dat", "a,b\n")
    refused(lambda: read_tree("tree.dat"), "tree.dat", "format='edges'", "lineages", error=FileError)
    assert list(read_tree("tree.dat", "edges").names) == ["a", "b"]
    refused(lambda: read_tree("tree.dat", "xml"), "no tree format 'xml'", "newick", error=ParameterError)


def test_writers_refuse_politely(folder: Path) -> None:
    h = Hierarchy.from_edges([("a", "b")])
    Path("folder").mkdir()
    for save in (h.to_edges, h.to_json, h.to_newick, h.save):
        refused(lambda save=save: save("nowhere/tree"), "nowhere/tree", "does not exist", error=FileError)  # type: ignore[misc]
        refused(lambda save=save: save("folder"), "folder is a folder", error=FileError)  # type: ignore[misc]
    half = Hierarchy.from_edges([("a", "\ud800")])
    write("tree.csv", "precious")
    refused(lambda: half.to_edges("tree.csv"), "has no UTF-8 form", error=FileError)
    assert Path("tree.csv").read_text() == "precious"
    assert sorted(os.listdir()) == ["folder", "tree.csv"]  # noqa: PTH208


# Whole or not at all -----------------------------------------------------------------------------------------


def test_an_interrupted_write_leaves_the_old_file(folder: Path) -> None:
    write("file.txt", "old")
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt(), ZeroDivisionError()):
        expected = FileError if isinstance(error, OSError) else type(error)
        with pytest.raises(expected) as caught, atomic_write("file.txt") as file:  # noqa: PT012
            file.write("new")
            raise error
        if isinstance(error, OSError):
            assert re.search("file.txt cannot be written: No space left", str(caught.value))
        assert [entry.name for entry in folder.iterdir()] == ["file.txt"]
        assert Path("file.txt").read_text() == "old"
    with atomic_write("file.txt", "wb") as binary:
        binary.write(b"\r\n\xff")
    assert Path("file.txt").read_bytes() == b"\r\n\xff"


def test_links_and_permissions_stay(folder: Path) -> None:
    write("file.txt", "old")
    Path("link").symlink_to("file.txt")
    with atomic_write("link") as file:
        file.write("new\n")
    assert Path("link").is_symlink()
    assert Path("file.txt").read_text() == "new\n"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(Path("file.txt").stat().st_mode) == 0o666 & ~umask


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there is no /dev/null")
def test_devices_are_written_to() -> None:
    with atomic_write("/dev/null") as file:
        file.write("x")
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there is no /dev/fd")
def test_pipes_are_written_to() -> None:
    read, write = os.pipe()
    try:
        try_file(f"/dev/fd/{write}")
        with atomic_write(f"/dev/fd/{write}") as file:
            file.write("x")
        assert os.read(read, 10) == b"x"
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(folder: Path) -> None:
    folder.chmod(0o500)
    try:
        refused(
            lambda: Hierarchy.from_edges([("a", "b")]).save("t.json"), "t.json cannot be written", error=FileError
        )
    finally:
        folder.chmod(0o700)


# Spelling ----------------------------------------------------------------------------------------------------


def test_near_names() -> None:
    assert nearest("Turdus merula ", ["turdus merula", "Turdus_merula", "Turdus"]) == [
        "turdus merula",
        "Turdus_merula",
    ]
    assert closest(["xyzzy"], ["robin"]) == ""
    assert closest([], ["robin"]) == ""
    assert closest(["robin"], []) == ""
    assert closest(["robbin"], ["robin", "robins"]) == " Did you mean 'robin' or 'robins'?"


def test_near_names_among_very_many_are_found_quickly() -> None:
    known = {f"species number {i}": i for i in range(200_000)}
    assert "species number 123456" in nearest("species nunber 123456", known)
    assert closest(["Species Number 77"], known) != ""


def test_readers_never_need_pickle(folder: Path) -> None:
    write("tree.csv", b"\x80\x04\x95\x00\x00")
    refused(lambda: read_edges("tree.csv"), "not UTF-8", error=FileError)


def test_a_lineage_table_read_as_edges_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("class,order,species\nbirds,owls,barn owl\nbirds,owls,tawny owl\n")
    with pytest.raises(TreeError, match=r"3 columns on every line.*Hierarchy.from_lineages"):
        read_edges(path)
