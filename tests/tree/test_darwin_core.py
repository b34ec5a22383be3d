"""Darwin Core tables of taxa."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hedgerow import Hierarchy
from hedgerow.errors import FileError
from tests.tree.helpers import refused, write

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = "taxonID,parentNameUsageID,acceptedNameUsageID,scientificName,canonicalName,taxonRank,taxonomicStatus"
ROWS = [
    "1,,,Animalia,Animalia,kingdom,accepted",
    '2,1,,"Puma Jardine, 1834",Puma,genus,accepted',
    '3,2,3,"Puma concolor (Linnaeus, 1771)",Puma concolor,species,accepted',
    '4,2,3,"Felis concolor Linnaeus, 1771",Felis concolor,species,homotypic synonym',
    "5,,4,Felis cougar Kerr,Felis cougar,species,synonym",
    "6,,,Plantae,Plantae,kingdom,accepted",
    "7,1,,Oenanthe Vieillot,Oenanthe,genus,accepted",
    "8,6,,Oenanthe L.,Oenanthe,genus,doubtful",
]


def table(rows: list[str] = ROWS, header: str = HEADER) -> str:
    return write("taxa.csv", "\n".join([header, *rows]) + "\n")


def test_darwin_core(folder: Path) -> None:
    h = Hierarchy.read(table(), "darwin-core")
    assert h.names.tolist() == [
        *("root", "Animalia", "Puma", "Puma concolor", "Oenanthe [7]", "Plantae", "Oenanthe [8]"),
    ]
    assert h.rank is not None
    assert h.rank.tolist() == ["", "kingdom", "genus", "species", "genus", "kingdom", "genus"]
    synonyms = ["Felis concolor", "Felis cougar", "Felis cougar Kerr", "Puma concolor (Linnaeus, 1771)", "3", "5"]
    assert set(h.names[h.indices(synonyms)]) == {"Puma concolor"}
    assert h.names[h.index("Oenanthe L.")] == "Oenanthe [8]"
    assert "Oenanthe" not in h
    assert h == Hierarchy.read("taxa.csv", "darwin-core")
    assert Hierarchy.read("taxa.csv", "darwin-core", root="Life").names[0] == "Life"


def test_tabs_name_spaces_and_authors(folder: Path) -> None:
    header = "dwc:taxonID\tdwc:parentNameUsageID\tdwc:scientificName\tdwc:scientificNameAuthorship"
    rows = ["a\t\tPuma\t", 'b\ta\tPuma "concolor" (Linnaeus, 1771)\t(Linnaeus, 1771)']
    write("taxa.txt", "\r\n".join([header, *rows]))
    h = Hierarchy.read("taxa.txt", "darwin-core")
    assert h.names.tolist() == ["Puma", 'Puma "concolor"']
    assert h.index('Puma "concolor" (Linnaeus, 1771)') == 1


def test_a_parent_that_is_a_synonym_means_its_accepted_taxon(folder: Path) -> None:
    h = Hierarchy.read(table([*ROWS, "9,4,,Puma x,Puma x,form,accepted"]), "darwin-core")
    assert h["Puma x"].parent == "Puma concolor"


def changed(place: int, row: str) -> list[str]:
    return [*ROWS[:place], row, *ROWS[place + 1 :]]


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (
            changed(2, "3,2,5,Puma concolor,Puma concolor,species,synonym"),
            [
                "synonyms of each other, and none of them is accepted",
                "'Puma concolor' -> 'Felis cougar Kerr' -> 'Felis concolor Linnaeus, 1771' -> 'Puma concolor'",
                "(taxa.csv, lines 4, 5 and 6)",
                "clear its acceptedNameUsageID",
            ],
        ),
        (
            changed(4, "5,,44,Felis cougar,,species,synonym"),
            ["an accepted name", "5 has 44 (taxa.csv, line 6)"],
        ),
        (
            changed(4, "5,,,Felis cougar,,species,synonym"),
            ["1 row is called a synonym", "'Felis cougar' (taxa.csv"],
        ),
        (
            changed(1, "2,11,,Puma,,genus,accepted"),
            ["a parent without a row of its own: 2 has 11 (taxa.csv, line 3)"],
        ),
        (changed(1, "2,3,,Puma,,genus,accepted"), ["each other's ancestors", "lines 3 and 4"]),
        (
            changed(1, "1,,,Puma,,genus,accepted"),
            ["1 row repeats an id, such as 1 (taxa.csv, lines 2 and 3)"],
        ),
        (changed(1, ",1,,Puma,,genus,accepted"), ["line 3 has no taxonID"]),
        (changed(1, "2,1,,,,genus,accepted"), ["1 class has no name (taxa.csv, line 3)"]),
        (changed(1, "2,1,,\x1b[31m,,genus,accepted"), ["'\\x1b[31m' contains a control character"]),
        (changed(1, "2,1,,root,,genus,accepted"), ["root named 'root' must be added"]),
        ([], ["is empty"]),
    ],
)
def test_what_is_wrong(folder: Path, rows: list[str], parts: list[str]) -> None:
    refused(lambda: Hierarchy.read(table(rows), "darwin-core"), *parts)


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: table(header="taxonID,kingdom,scientificName"), ["no column parentNameUsageID", "lineages"]),
        (
            lambda: table([*ROWS, "9,1"]),
            ["taxa.csv, line 10 has 2 columns, but line 1 has 7. Is the file cut off"],
        ),
        (lambda: write("taxa.csv", table() and Path("taxa.csv").read_bytes() + b"9,1,,\xff,,,\n"), ["not UTF-8"]),
        (lambda: write("taxa.csv", b"\xff\xfe"), ["UTF-16"]),
    ],
)
def test_tables_that_cannot_be_read(folder: Path, make: Callable[[], str], parts: list[str]) -> None:
    refused(lambda: Hierarchy.read(make(), "darwin-core"), *parts, error=FileError)


def test_an_edge_list_that_is_darwin_core(folder: Path) -> None:
    refused(
        lambda: Hierarchy.read(table()), "is the header of another format, darwin-core", "format='darwin-core'"
    )
