from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given

from hedgerow import Hierarchy
from hedgerow.errors import FileError, ParameterError, as_options
from tests.tree.helpers import ANIMALS, refused, write
from tests.tree_strategies import trees

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Lineages ---------------------------------------------------------------------------------------------------

TABLE = "kingdom,class,species\nAnimals,Birds,robin\nAnimals,Birds,wren\nAnimals,,worm\nPlants,,\nAnimals,Fish,\n"


def test_lineages_with_blanks(folder: Path) -> None:
    h = Hierarchy.from_lineages(write("table.csv", TABLE))
    assert h.names.tolist() == ["root", "Animals", "Birds", "robin", "wren", "worm", "Fish", "Plants"]
    assert h.rank is not None
    assert h.rank.tolist() == ["", "kingdom", "class", "species", "species", "species", "class", "kingdom"]
    assert h == Hierarchy.read("table.csv", "lineages")
    assert h == Hierarchy.from_lineages(pd.read_csv("table.csv"))
    assert h == Hierarchy.from_lineages(pd.read_csv("table.csv", dtype="string[pyarrow]"))
    ranks, *rows = csv.reader(TABLE.splitlines())
    assert h == Hierarchy.from_lineages(iter(rows), ranks=ranks)
    assert h == Hierarchy.from_lineages(write("table.tsv", TABLE.replace(",", "\t")))
    assert Hierarchy.from_lineages("table.csv", root="Life").names[0] == "Life"


def test_one_top_is_the_root() -> None:
    assert Hierarchy.from_lineages([("x", "y")], ranks=("a", "b")).names.tolist() == ["x", "y"]


AMBIGUOUS = "class,genus,species\nBirds,Prunella,modularis\nPlants,Prunella,vulgaris\nPlants,Rosa,vulgaris\n"


def test_a_name_under_two_parents_shows_both_lineages(folder: Path) -> None:
    write("table.csv", AMBIGUOUS)
    error = refused(
        lambda: Hierarchy.from_lineages("table.csv"),
        "'Prunella' occurs under 2 parents: Birds > Prunella; Plants > Prunella (table.csv, lines 2 and 3)",
        "disambiguate=True",
        "1 more problem;",
    )
    assert error is not None
    assert "Plants > Rosa > vulgaris (table.csv, lines 3 and 4)" in str(error.problems[1])


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
    h = Hierarchy.from_lineages([("Bison", "Bison")], ranks=["genus", "subgenus"], disambiguate=True)
    assert h.names.tolist() == ["Bison", "Bison/Bison"]
    h = Hierarchy.from_paths(["a/x", "b/x", "x"], disambiguate=True)
    assert h.names.tolist() == ["root", "a", "a/x", "b", "b/x", "root/x"]
    refused(
        lambda: Hierarchy.from_paths(["a;x", "b;x", "c;a/x"], disambiguate=True), "'a/x' occurs under 2 parents"
    )


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["table.csv is empty"]),
        ("class,species\n", ["table.csv is empty"]),
        ("class,species\n,\n", ["table.csv is empty"]),
        ("class,species\nBirds,\n", ["table.csv has only one node ('Birds')"]),
        ("class,species\nBirds\n", ["table.csv, line 2 has 1 column, but there are 2 ranks", "blank"]),
        ("class,species\nBirds,robin,x\n", ["table.csv, line 2 has 3 columns"]),
        ("class,class\nBirds,robin\n", ["table.csv, line 1 names the rank 'class' twice"]),
        ("class;species\nBirds;robin;x\n", ["line 2 has 3 columns"]),
        ("class,\nBirds,robin\n", ["table.csv, line 1 has a column without a name"]),
        ("class,species\nroot,a\nb,c\n", ["2 top nodes", "'root'", "table.csv, line 2", "Choose another name"]),
        (
            "class,family,genus\nBirds,Turdus,\nBirds,,Turdus\n",
            ["'Turdus' has the rank 'family' (table.csv, line 2) and the rank 'genus' (table.csv, line 3)"],
        ),
    ],
)
def test_bad_lineages(folder: Path, content: str, parts: list[str]) -> None:
    write("table.csv", content)
    refused(lambda: Hierarchy.from_lineages("table.csv"), *parts)


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"class": ["birds", "birds", "fish"], "species": ["robin", "wren", None]})


def frames(frame: pd.DataFrame) -> list[Any]:
    """The same table in other forms."""
    arrow = pa.Table.from_pandas(frame)

    class Polars:
        """What is used of a polars frame, which need not be installed."""

        columns: ClassVar[list[str]] = list(frame.columns)

        def iter_rows(self) -> Iterator[tuple[Any, ...]]:
            return zip(*(column.to_pylist() for column in arrow.columns), strict=True)

    return [frame, arrow, Polars(), frame.to_dict("records"), (row for row in frame.to_dict("records"))]


def test_frames_and_records_are_taken_for_what_they_are(frame: pd.DataFrame) -> None:
    for source in frames(frame):
        h = Hierarchy.from_lineages(source)
        assert h.names.tolist() == ["root", "birds", "robin", "wren", "fish"]
        assert h.rank is not None
        assert h.rank.tolist() == ["", "class", "species", "species", "class"]


def test_polars_frames(frame: pd.DataFrame) -> None:
    polars = pytest.importorskip("polars")
    assert Hierarchy.from_lineages(polars.from_pandas(frame)) == Hierarchy.from_lineages(frame)


def test_rows_need_the_names_of_their_ranks(frame: pd.DataFrame) -> None:
    rows = frame.values.tolist()
    remedy = ["ranks=['class', 'species']", "ranks=None", "from_lineages(rows[1:], ranks=rows[0])"]
    refused(lambda: Hierarchy.from_lineages(rows), *remedy, error=ParameterError)
    refused(lambda: Hierarchy.from_lineages([["class", "species"], *rows]), *remedy, error=ParameterError)
    refused(lambda: Hierarchy.from_lineages(pd.DataFrame(rows)), *remedy, error=ParameterError)  # columns 0 and 1
    refused(lambda: Hierarchy.from_lineages(rows, ranks="ab"), *remedy, error=ParameterError)
    expected = Hierarchy.from_lineages(frame)
    for table in (rows, map(tuple, rows), np.array(rows, dtype=object), pd.DataFrame(rows)):
        assert Hierarchy.from_lineages(table, ranks=["class", "species"]) == expected
    unranked = Hierarchy.from_lineages(rows, ranks=None)
    assert unranked.rank is None
    assert unranked.names.tolist() == expected.names.tolist()
    assert Hierarchy.from_lineages([("a", "b", "c"), ("a", "d")], ranks=None).parent.tolist() == [-1, 0, 1, 0]


def test_ranks_that_do_not_fit(folder: Path, frame: pd.DataFrame) -> None:
    write("table.csv", TABLE)
    for source in (frame, frame.to_dict("records"), "table.csv"):
        for ranks in (["x", "y"], None):
            refused(
                lambda source=source, ranks=ranks: Hierarchy.from_lineages(source, ranks=ranks),  # type: ignore[misc]
                "ranks= only applies to rows",
                error=ParameterError,
            )
    rows = [("birds", "robin"), ("fish",)]
    refused(lambda: Hierarchy.from_lineages(rows, ranks=["a", "b"]), "row 2 has 1 column, but there are 2 ranks")
    refused(lambda: Hierarchy.from_lineages(rows[:1], ranks=["a", "a"]), "list of ranks names the rank 'a' twice")


def test_records_with_other_columns() -> None:
    first = {"class": "birds", "species": "robin"}
    assert Hierarchy.from_lineages([first, {"class": "fish"}]).names.tolist() == ["root", "birds", "robin", "fish"]
    refused(
        lambda: Hierarchy.from_lineages([first, {"class": "fish", "order": "x"}]),
        "Record 2 has 'order'",
        error=ParameterError,
    )
    refused(lambda: Hierarchy.from_lineages([{1: "a", 2: "b"}]), "keys of records", error=ParameterError)
    refused(lambda: Hierarchy.from_lineages(first), "not as a single dict", "from_json", error=ParameterError)
    refused(lambda: Hierarchy.from_lineages([]), "is empty")


@pytest.mark.parametrize("text", ["NA", "NaN", "nan", "None", "null", "unclassified", "-", "N/A"])
def test_missing_values_do_not_become_classes(folder: Path, text: str) -> None:
    lines = ["class,genus,species", "birds,Turdus,merula", f"birds,{text},wren", f"fish,{text}, {text} "]
    write("table.csv", "\n".join(lines))
    problem = f"look like missing values and would become classes: {text!r} (table.csv, line 3 and 2 other cells)"
    error = refused(lambda: Hierarchy.read("table.csv", "lineages"), problem, f"give na=({text!r},)")
    assert error is not None
    assert [flaw.kind for flaw in error.problems] == ["missing value"]
    with as_options():
        word = "'-'" if text == "-" else text
        refused(lambda: Hierarchy.read("table.csv", "lineages"), f"give --na {word},")
    for na in (text, [text], ("x", text)):
        h = Hierarchy.read("table.csv", "lineages", na=na)
        assert h.names.tolist() == ["root", "birds", "Turdus", "merula", "wren", "fish"]
    rows = [line.split(",") for line in lines[1:]]
    refused(lambda: Hierarchy.from_lineages(rows, ranks=None), f"{text!r} (row 2 and 2 other cells)")
    assert Hierarchy.from_lineages(rows, ranks=None, na=text).names.tolist() == h.names.tolist()


def test_several_missing_values_are_one_problem() -> None:
    error = refused(
        lambda: Hierarchy.from_lineages([("a", "NA"), ("-", "b"), ("c", "c")], ranks=None),
        "'NA' (row 1); '-' (row 2)",
        "na=('NA', '-')",
    )
    assert error is not None
    assert [flaw.kind for flaw in error.problems] == ["missing value", "several parents"]


def test_classes_that_are_called_na_elsewhere(folder: Path) -> None:
    for h in (
        Hierarchy.from_edges([("all", "NA"), ("all", "-")]),
        Hierarchy.from_paths(["all/NA", "all/-"]),
        Hierarchy.from_json({"all": ["NA", "-"]}),
        Hierarchy.from_newick("(NA,-)all;"),
    ):
        assert h.names.tolist() == ["all", "NA", "-"]
    write("tree.csv", "all,NA\n")
    refused(
        lambda: Hierarchy.read("tree.csv", na="NA"),
        "na=('NA',) only applies to lineages",
        "edges",
        error=ParameterError,
    )


# Paths ------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("sign", [" > ", ",", "\t", "|", "::"])
def test_paths_with_a_separator_that_was_not_named(folder: Path, sign: str) -> None:
    path = write("a.txt", f"animal{sign}bird\nanimal{sign}fish\n")
    seen = repr(sign.strip(" ")[0])
    said = f"neither '/' nor ';' on any line, but {seen}. If it separates names, give separator="
    refused(lambda: Hierarchy.read(path), said, "if it is part of them, separator='/'", error=FileError)
    assert len(Hierarchy.read(path, separator=sign)) == 3
    flat = Hierarchy.read(path, separator="/")
    assert flat.names[1:].tolist() == [f"animal{sign}bird", f"animal{sign}fish"]
    refused(lambda: flat.write("b.txt"), f"{seen} in these names would look like the separator", error=FileError)
    steps = write("d.txt", f"animal\nanimal{sign}bird\nanimal{sign}bird{sign}robin\n")
    refused(lambda: Hierarchy.read(steps), said, error=FileError)
    other = write("c.txt", f"one{sign}a\nother{sign}a\n")  # it groups nothing
    assert len(Hierarchy.read(other)) == 3


def test_bad_paths(folder: Path) -> None:
    refused(lambda: Hierarchy.from_paths([]), "is empty")
    refused(lambda: Hierarchy.from_paths(["a"]), "only one node ('a')")
    refused(lambda: Hierarchy.from_paths(["a/b", "a//c"]), "path 2 has an empty name: 'a//c'", "doubled")
    refused(lambda: Hierarchy.from_paths(["/a/b"]), "path 1 has an empty name")
    refused(
        lambda: Hierarchy.from_paths(["a/b;c"]), "path 1 contains both '/' and ';'", "separator", error=FileError
    )
    refused(lambda: Hierarchy.from_paths(["a"], separator=""), "at least one character", error=ParameterError)
    refused(lambda: Hierarchy.from_paths(["a/x", "b/y"], root=" "), "root needs a name", error=ParameterError)
    write("paths.txt", "a/x\nb/x\n")
    refused(lambda: Hierarchy.from_paths("paths.txt"), "a > x; b > x (paths.txt, lines 1 and 2)")


# Writing ----------------------------------------------------------------------------------------------------


def test_lineages_are_written_by_rank(folder: Path) -> None:
    h = Hierarchy.from_lineages(write("table.csv", TABLE))
    h.write("again.csv", "lineages")
    assert Hierarchy.from_lineages("again.csv") == h
    h.write("again.tsv", "lineages")
    assert Hierarchy.from_lineages("again.tsv") == h


@given(h=trees(odd=True))
def test_lineages_are_written_by_level(tmp_path_factory: pytest.TempPathFactory, h: Hierarchy) -> None:
    path = tmp_path_factory.mktemp("lineages") / "tree.csv"
    try:
        h.write(path, "lineages")
    except FileError as error:
        assert "would be read as a missing value" in str(error)  # noqa: PT017
        return
    again = Hierarchy.from_lineages(path)
    assert again.names.tolist() == h.names.tolist()
    assert again.parent.tolist() == h.parent.tolist()


@example(h=Hierarchy.from_parents(["\ufeff", "a"], [-1, 0]))
@example(h=Hierarchy.from_parents(["b", "a\rc"], [-1, 0]))
@given(h=trees(odd=True))
def test_paths_are_written_if_they_can_be_read(tmp_path_factory: pytest.TempPathFactory, h: Hierarchy) -> None:
    path = tmp_path_factory.mktemp("paths") / "tree.txt"
    try:
        h.write(path)
    except FileError as error:
        assert "cannot be part of a path" in str(error)  # noqa: PT017
        return
    assert Hierarchy.read(path) == h


def test_trees_that_have_no_columns(folder: Path) -> None:
    def written(rank: list[str], parent: list[int]) -> None:
        names = [f"n{i}" for i in range(len(rank))]
        Hierarchy.from_parents(names, parent, rank).write("a.csv", "lineages")

    refused(lambda: written(["k", "", "s"], [-1, 0, 1]), "1 class has no rank", "'n1'", error=FileError)
    refused(lambda: written(["k", "s", "s"], [-1, 0, 1]), "two classes of the rank 's'", error=FileError)
    refused(
        lambda: written(["k", "a", "b", "b", "a"], [-1, 0, 1, 0, 3]),
        "The ranks have no common order",
        error=FileError,
    )
