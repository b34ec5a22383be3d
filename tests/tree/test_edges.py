from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy
from hedgerow.errors import FileError, HedgerowError, ParameterError, TreeError
from hedgerow.tree import FlawedTreeError
from hedgerow.tree.formats.edges import _read_large, read_edges
from tests.tree.helpers import ANIMALS, refused, write
from tests.tree_strategies import trees

# Edge lists -------------------------------------------------------------------------------------------------


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
        ("bird,robin\nanimal,bird\nBird,wren\n", ["2 roots", "'Bird' is similar to 'bird'"]),
        ("a,b\nc,d\n", ["2 roots", "lines such as 'root,a'"]),
        ("root,b\nc,d\n", ["2 roots", "lines such as 'top,root'"]),
        ("root,b\nRoot,Top\n", ["Of these, 'root' is similar to 'Root'. A tree", "lines such as 'top2,root'"]),
        (
            "r,a\na,b\nb,c\nc,b\n",
            ["'b' occurs under 2 parents: r > a > b; r > a > b > c > b (tree.csv", "lines 2 and 4)"],
        ),
        ("a,b\nb,a\n", ["a -> b -> a", "tree.csv, lines 1 and 2", "Delete or correct"]),
        ("r,x\na,b\nb,c\nc,a\n", ["a -> b -> c -> a", "tree.csv, lines 2, 3 and 4"]),
        ("a,a\n", ["tree.csv, line 1: 'a' is its own parent", "Delete the line"]),
        ("r,a\nr,b\n\na,c\nb,c\n", ["'c' occurs under 2 parents: r > a > c; r > b > c (tree.csv, lines 4 and 5)"]),
        ("r,a\nr,b\nr,a\n", ["'a' occurs 2 times under 'r' (tree.csv, lines 1 and 3)", "Keep one"]),
        ("r,a\nr,\n", ["1 class has no name (tree.csv, line 2); the first is under 'r'", "needs a name"]),
        ("r,a\n ,b\n", ["1 class has no name (tree.csv, line 2); the first is above 'b'"]),
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


@pytest.mark.parametrize("line", ["sep=;", "SEP=,\r"])
def test_a_line_for_excel(folder: Path, line: str) -> None:
    path = write("a.csv", f"{line}\nanimal,bird\nanimal,fish\n")
    refused(lambda: Hierarchy.read(path), f"a.csv, line 1 is {line.strip()!r}, which only Excel", error=FileError)


def test_an_unclosed_quote_does_not_swallow_the_file(folder: Path) -> None:
    write("tree.csv", 'r,a\nr,"b\nr,c\n')
    refused(
        lambda: Hierarchy.from_edges("tree.csv"), "tree.csv: a quotation mark opens in line 2", error=FileError
    )


def test_all_problems_are_found_and_the_first_is_shown(folder: Path) -> None:
    write("tree.csv", "parent,child\nr,a\nr,a\ns,b\nx,y\ny,x\nq,q\n,z\na,b,c\na,b\n")
    error = refused(lambda: Hierarchy.from_edges("tree.csv"), "6 more problems", "`hedgerow doctor tree.csv`")
    assert error is not None
    assert [problem.kind for problem in error.problems] == [
        "columns",
        "empty name",
        "duplicate name",
        "several parents",
        "cycle",
        "self-loop",
        "several roots",
    ]


def test_a_table_of_two_ranks_is_recognised(folder: Path) -> None:
    write("tree.csv", "genus,species\nMorus,alba\nRosa,canina\n")
    refused(lambda: Hierarchy.from_edges("tree.csv"), "3 roots", "two ranks", "Hierarchy.from_lineages")
    write("tree.csv", "genus,species\nMorus,alba\nalba,canina\n")
    error = refused(lambda: Hierarchy.from_edges("tree.csv"), "2 roots")
    assert "lineages" not in str(error)


def test_the_error_survives_pickling() -> None:
    error = refused(lambda: Hierarchy.from_edges([("a", "a"), ("b", "b")]), "1 more problem")
    assert error is not None
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.problems) == (str(error), error.problems)


def test_bad_pairs() -> None:
    refused(lambda: Hierarchy.from_edges([("a", "b"), ("b", "a")]), "a -> b -> a", "pairs 1 and 2")
    refused(lambda: Hierarchy.from_edges([]), "The tree is empty")
    refused(lambda: Hierarchy.from_edges([("a", "b"), ("a", 3)]), "pair 2", "must be strings")
    refused(lambda: Hierarchy.from_edges([("a", "b", "c")]), "pair 1 has 3 columns")
    refused(lambda: Hierarchy.from_edges(["ab"]), "pair 1 has 1 column")


PAIRS = {"parent": ["animal", "animal", "bird"], "child": ["bird", "fish", "robin"]}


@pytest.mark.parametrize("columns", [["parent", "child"], ["Parent ", "CHILD"], ["a", "b"], [0, 1]])
def test_frames_and_records(columns: list[Any]) -> None:
    frame = pd.DataFrame(PAIRS).set_axis(columns, axis=1)
    for source in (frame, pa.table([PAIRS["parent"], PAIRS["child"]], names=list(map(str, columns)))):
        assert Hierarchy.from_edges(source).names.tolist() == ["animal", "bird", "robin", "fish"]
    if columns != [0, 1]:
        assert Hierarchy.from_edges(frame.to_dict("records")) == Hierarchy.from_edges(frame)


def test_columns_of_frames_are_found_by_name() -> None:
    frame = pd.DataFrame(PAIRS).assign(size=[1, 2, 3])
    expected = Hierarchy.from_edges(frame[["parent", "child"]])
    for columns in (["child", "parent"], ["size", "child", "parent"], ["parent", "size", "child"]):
        assert Hierarchy.from_edges(frame[columns]) == expected
    three = frame.rename(columns={"child": "species"})
    refused(
        lambda: Hierarchy.from_edges(three),
        "needs the columns 'parent' and 'child'",
        "'parent', 'species', 'size'",
        "from_lineages",
        error=ParameterError,
    )
    refused(lambda: Hierarchy.from_edges(PAIRS), "not as a single dict", error=ParameterError)


@given(h=trees(odd=True))
def test_any_tree_as_a_frame(h: Hierarchy) -> None:
    frame = pd.DataFrame({"child": h.names[1:], "parent": h.names[h.parent[1:]]}, dtype=object)
    assert Hierarchy.from_edges(frame) == h
    assert Hierarchy.from_edges(frame.to_dict("records")) == h
    assert Hierarchy.from_edges(pa.Table.from_pandas(frame)) == h
    lineages = [dict(zip(h.depth[path], h.names[path], strict=True)) for path in map(h.lineage, h.leaves)]
    ranked = pd.DataFrame(lineages, dtype=object).rename(columns="level {}".format)
    if all(name.strip() != "-" for name in h.names):
        assert Hierarchy.from_lineages(ranked).names.tolist() == h.names.tolist()


@pytest.mark.parametrize("source", [5, None, 2.5])
def test_what_holds_no_edges(source: Any) -> None:
    kind = type(source).__name__
    refused(lambda: Hierarchy.from_edges(source), f"not as a single {kind}", error=ParameterError)
    refused(lambda: Hierarchy.from_lineages(source), f"not as a single {kind}", error=ParameterError)
    refused(lambda: Hierarchy.from_edges([source]), "pair 1 has 1 column")


def test_missing_values_in_frames() -> None:
    frame = pd.DataFrame({"parent": [None, "animal"], "child": ["animal", "bird"]})
    refused(
        lambda: Hierarchy.from_edges(frame),
        "1 class has no name (pair 1); the first is above 'animal'",
        "delete the line",
    )
    numbers = pd.DataFrame({"parent": [1, 1], "child": [2, 3]})
    refused(lambda: Hierarchy.from_edges(numbers), "pair 1", "convert them with str()")


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


def test_columns_in_the_other_order(folder: Path) -> None:
    with pytest.raises(
        TreeError, match=r"tree\.csv, line 1 is the header of columns in the other order: 'Child' and"
    ):
        read_edges(write("tree.csv", "Child,Parent\nrobin,bird\nwren,bird\n"))


def test_commas_in_a_table_separated_by_tabs(folder: Path) -> None:
    with pytest.raises(TreeError, match=r"separated by commas: give the file the extension '\.csv'"):
        read_edges(write("tree.tsv", "parent,child\na,b\n"))


def test_a_name_that_is_too_long_for_a_table(folder: Path) -> None:
    with pytest.raises(FileError, match=r"tree\.csv, line 2: a quotation mark opens there and is not closed, or"):
        read_edges(write("tree.csv", "a,b\na," + 200_000 * "x"))


def test_readers_never_need_pickle(folder: Path) -> None:
    write("tree.csv", b"\x80\x04\x95\x00\x00")
    refused(lambda: read_edges("tree.csv"), "not UTF-8", error=FileError)


def test_a_lineage_table_read_as_edges_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("class,order,species\nbirds,owls,barn owl\nbirds,owls,tawny owl\n")
    with pytest.raises(TreeError, match=r"3 columns on every line.*Hierarchy.from_lineages"):
        read_edges(path)


# Large edge lists -------------------------------------------------------------------------------------------
@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size are read by Arrow."""
    monkeypatch.setattr("hedgerow.tree.formats.edges._LARGE", 0)


def outcome(path: str) -> object:
    """What reading gives: a tree, or a message."""
    try:
        return Hierarchy.from_edges(path)
    except HedgerowError as error:
        return str(error)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["", "Parent,Child"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_large_files_are_read_like_small_ones(folder: Path, end: str, header: str, mark: str) -> None:
    random = np.random.default_rng(0)
    names = ["höhe", *(f"clade {i} " + "x" * (i % 40) for i in range(1, 30_000))]
    edges = [(names[random.integers(0, i)], names[i]) for i in random.permutation(np.arange(1, 30_000)).tolist()]
    lines = [header] * bool(header) + [",".join(edge) for edge in edges] + [""]
    write("tree.csv", mark + end.join(lines))
    assert Path("tree.csv").stat().st_size > 1 << 20
    h = Hierarchy.from_edges("tree.csv")
    assert h == Hierarchy.from_edges(edges)
    assert all(type(name) is str for name in h.names)


def test_arrow_reads_what_is_plain(folder: Path) -> None:
    write("tree.csv", "a,b\na,ç\r\n\nç,d")
    table = _read_large("tree.csv")
    assert table is not None
    assert table.names == ["a", "b", "ç", "d"]
    assert table.parent.tolist() == [-1, 0, 0, 2]


@pytest.mark.parametrize("content", [b"a,b\na,b\n", b"a,b\na\n", b"a,b,c\n", b'a,"b"\n', b"a,b\na,\xff\n", b""])
def test_arrow_leaves_the_rest_to_the_csv_module(content: bytes, folder: Path) -> None:
    write("tree.csv", content)
    assert _read_large("tree.csv") is None


def test_large_files_without_arrow(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    write("tree.csv", "a,b\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert _read_large("tree.csv") is None


@pytest.mark.parametrize("before", ["", "\n", "\r\n", "\ufeff", " \n", " ", "\r"])
@pytest.mark.parametrize(
    "content",
    [
        "parent,child\nparent,a\na,b\n",
        "parent,child\rparent,a\ra,b",
        "parent,a\r\na,b\r\n\r\na,c",
        "a,b\nc,d\n",
        "a,b\nb,a\n",
        "r,a\nb,c\nc,b\n",
        "a,c\nb,c\na,b\n",
        "a,b\na, \n",
        " ,b\n ,c\n",
        ",b\n,c\n",
        "a,b\na,\u2003\n",
        "a,NA\na,null\n",
        "a,1\na,1.0\n",
        'a,b\na,"c\nd"\n',
        "a,b\na,c\x00\n",
        "a\x1b,b\na\x1b,c\n",
        "a,b\na,c\x9b\n",
        "a,b\na,c\td\n",
        "\n",
        "",
    ],
)
def test_odd_files_are_read_alike_by_both(
    folder: Path, monkeypatch: pytest.MonkeyPatch, content: str, before: str
) -> None:
    write("tree.csv", before + content)
    expected = outcome("tree.csv")
    monkeypatch.setattr("hedgerow.tree.formats.edges._LARGE", 0)
    assert outcome("tree.csv") == expected


@given(h=trees(odd=True), data=st.data())
def test_any_tree_is_read_alike_by_both(
    tmp_path_factory: pytest.TempPathFactory, h: Hierarchy, data: st.DataObject
) -> None:
    pairs = list(zip(h.names[h.parent[1:]].tolist(), h.names[1:].tolist(), strict=True))
    path = tmp_path_factory.mktemp("trees") / "tree.csv"
    lines = data.draw(st.permutations([",".join(pair) for pair in pairs]))
    path.write_bytes("\n".join(lines).encode())
    expected = outcome(str(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hedgerow.tree.formats.edges._LARGE", 0)
        assert outcome(str(path)) == expected


@pytest.mark.usefixtures("all_large")
def test_the_errors_of_large_files(folder: Path) -> None:
    write("tree.csv", "parent,child\nr,a\na,b\nr,b\n")
    refused(
        lambda: Hierarchy.from_edges("tree.csv"),
        "'b' occurs under 2 parents: r > a > b; r > b (tree.csv, lines 3 and 4)",
    )
