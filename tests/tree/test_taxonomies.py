"""Lineages as tools for DNA barcodes and camera traps write them, and lists of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hedgerow import Hierarchy
from hedgerow.errors import FileError, ParameterError, TreeError
from tests.tree.helpers import refused, write

if TYPE_CHECKING:
    from pathlib import Path

STRINGS = [
    "k__Fungi; p__Ascomycota; c__Leotiomycetes; o__Incertae sedis; f__Myxotrichaceae; g__; s__",
    "k__Fungi;p__Ascomycota;c__Sordariomycetes;o__Incertae sedis;f__;g__Kumbhamaya;s__indica",
    "k__Fungi; p__; c__; o__; f__; g__; s__",
    "k__Fungi; p__Basidiomycota",
    "Unassigned",
    "",
]
NODES = {  # name: parent, rank
    "k__Fungi": (None, "kingdom"),
    "p__Ascomycota": ("k__Fungi", "phylum"),
    "c__Leotiomycetes": ("p__Ascomycota", "class"),
    "c__Leotiomycetes/o__Incertae sedis": ("c__Leotiomycetes", "order"),
    "f__Myxotrichaceae": ("c__Leotiomycetes/o__Incertae sedis", "family"),
    "c__Sordariomycetes": ("p__Ascomycota", "class"),
    "c__Sordariomycetes/o__Incertae sedis": ("c__Sordariomycetes", "order"),
    "g__Kumbhamaya": ("c__Sordariomycetes/o__Incertae sedis", "genus"),
    "s__indica": ("g__Kumbhamaya", "species"),
    "p__Basidiomycota": ("k__Fungi", "phylum"),
}


def nodes(h: Hierarchy) -> dict[str, tuple[str | None, str]]:
    return {name: (h[name].parent, h[name].rank) for name in h}


# Prefixed strings -------------------------------------------------------------------------------------------


def test_prefixed_strings(folder: Path) -> None:
    h = Hierarchy.read(STRINGS, "prefixed")
    assert nodes(h) == NODES
    assert h.names[h.index("Kumbhamaya")] == "g__Kumbhamaya"
    assert "Incertae sedis" not in h  # it could be either
    for end in ("\r\n", "\r"):
        assert h == Hierarchy.read(write("strings.txt", end.join(STRINGS)), "prefixed")
    with_ids = "".join(f"seq{i}\t{lineage}\n" for i, lineage in enumerate(STRINGS))
    assert h == Hierarchy.read(write("strings.txt", with_ids), "prefixed")


def test_other_prefixes() -> None:
    h = Hierarchy.read(["D_0__Bacteria;D_5__Bacillus", "D_0__Bacteria;D_9__x", "D_0__Bacteria;zz__y"], "prefixed")
    assert [h[name].rank for name in h] == ["domain", "genus", "D_9", "zz"]


def test_prefixed_strings_that_are_wrong(folder: Path) -> None:
    refused(
        lambda: Hierarchy.read(write("a.txt", "k__Fungi;Ascomycota\n"), "prefixed"),
        "a.txt, line 1: 'Ascomycota' has no rank in front, such as g__. If no name has one, read",
    )
    refused(lambda: Hierarchy.read(["", "Unassigned"], "prefixed"), "is empty")
    refused(lambda: Hierarchy.read(["k__a\x1b;p__b"], "prefixed"), "control character")


# QIIME 2 ----------------------------------------------------------------------------------------------------


def qiime2(lineages: list[str]) -> str:
    rows = "".join(f"seq{i}\t{lineage}\t0.9\n" for i, lineage in enumerate(lineages))
    return write("taxonomy.tsv", "Feature ID\tTaxon\tConfidence\n#q2:types\tcategorical\tnumeric\n" + rows)


def test_qiime2(folder: Path) -> None:
    h = Hierarchy.read(qiime2(STRINGS), "qiime2")
    assert nodes(h) == NODES
    plain = Hierarchy.read(qiime2(["Bacteria;Firmicutes;", "Bacteria; Proteobacteria"]), "qiime2")
    assert plain == Hierarchy.from_paths(["Bacteria/Firmicutes", "Bacteria/Proteobacteria"])


def test_qiime2_tables_that_are_wrong(folder: Path) -> None:
    refused(
        lambda: Hierarchy.read(write("a.tsv", "seq\tk__Fungi\n"), "qiime2"),
        "a.tsv, line 1 has no column 'Taxon'",
        "format='prefixed'",
        error=FileError,
    )
    refused(lambda: Hierarchy.read(write("a.tsv", "Feature ID\tTaxon\nx\n"), "qiime2"), "line 2 has no taxon: 'x'")
    refused(lambda: Hierarchy.read(write("a.tsv", "Feature ID\tTaxon\n"), "qiime2"), "is empty")
    refused(lambda: Hierarchy.read(qiime2(STRINGS)), "is the header of another format, qiime2", "format='qiime2'")


# FASTA ------------------------------------------------------------------------------------------------------


def test_fasta(folder: Path) -> None:
    text = (
        ">AB1;tax=d:Bacteria,p:Firmicutes,g:Bacillus,s:Bacillus_subtilis;\nACGT\nACGT\n"
        ">AB2;tax=d:Bacteria,p:Firmicutes,g:Bacillus,s:;size=3;\nACGT\n"
        ">AB3;size=4;tax=d:Animalia,p:Insecta,g:Bacillus\nACGT\n"
    )
    h = Hierarchy.read(write("reference.fasta", text))
    assert nodes(h) == {
        "root": (None, ""),
        "Bacteria": ("root", "domain"),
        "Firmicutes": ("Bacteria", "phylum"),
        "Firmicutes/Bacillus": ("Firmicutes", "genus"),
        "Bacillus_subtilis": ("Firmicutes/Bacillus", "species"),
        "Animalia": ("root", "domain"),
        "Insecta": ("Animalia", "phylum"),
        "Insecta/Bacillus": ("Insecta", "genus"),
    }
    assert h.names[h.index("s:Bacillus_subtilis")] == "Bacillus_subtilis"
    assert h == Hierarchy.read(write("reference.txt", text), "fasta")


def test_fasta_that_is_wrong(folder: Path) -> None:
    refused(
        lambda: Hierarchy.read(write("a.fa", ">x;tax=d:Bacteria,p:Firmicutes;\nA\n>y\nA\n>z\n")),
        "2 headers have no lineage (a.fa, lines 3 and 5). Headers must read >id;tax=d:Bacteria",
    )
    refused(lambda: Hierarchy.read(write("a.fa", ">x;tax=d:B,Firmicutes;\n")), "line 1: 'Firmicutes' has no rank")
    refused(lambda: Hierarchy.read(write("a.fa", b">x;tax=d:\xff;\n")), "line 1 is not UTF-8", error=FileError)
    refused(lambda: Hierarchy.read(write("a.fa", "ACGT\n")), "is empty")
    old = ">x;tax=d:B;\rA\r>y;tax=d:C;\rA\r"
    refused(lambda: Hierarchy.read(write("a.fa", old)), "line 1 ends with CR, as in old files", error=FileError)
    refused(
        lambda: Hierarchy.read(write("a.fa", ">;tax=d:B,p:F\n>;tax=d:B,c:F\n")),
        "'F' has the rank 'phylum' (a.fa, line 1) and the rank 'class' (a.fa, line 2)",
    )


# SpeciesNet -------------------------------------------------------------------------------------------------

LABELS = [
    "00000000-0000-0000-0000-000000000001;;;;;;blank",
    "00000000-0000-0000-0000-000000000002;;;;;;animal",
    "00000000-0000-0000-0000-000000000003;mammalia;carnivora;felidae;puma;;puma species",
    "00000000-0000-0000-0000-000000000004;mammalia;carnivora;felidae;puma;concolor;puma",
    "00000000-0000-0000-0000-000000000005;aves;;;;;bird",
    "00000000-0000-0000-0000-000000000006" + 6 * ";no cv result",
    "00000000-0000-0000-0000-000000000007;;;;;;vehicle",
    "00000000-0000-0000-0000-000000000008;mammalia;primates;hominidae;homo;sapiens;human",
]


def test_speciesnet(folder: Path) -> None:
    h = Hierarchy.read(write("labels.txt", "\n".join(LABELS)), "speciesnet")
    assert nodes(h) == {
        "root": (None, ""),
        "blank": ("root", ""),
        "animal": ("root", ""),
        "mammalia": ("animal", "class"),
        "carnivora": ("mammalia", "order"),
        "felidae": ("carnivora", "family"),
        "puma": ("felidae", "genus"),
        "puma concolor": ("puma", "species"),
        "aves": ("animal", "class"),
        "vehicle": ("root", ""),
        "human": ("root", ""),
    }
    assert h.title is not None
    assert h.title.tolist() == ["", "", "", "", "", "", "puma species", "puma", "bird", "", "homo sapiens"]
    assert h.names[h.indices(LABELS[:5])].tolist() == ["blank", "animal", "puma", "puma concolor", "aves"]
    assert h.names[h.index(LABELS[3].partition(";")[0])] == "puma concolor"
    assert h.names[h.indices(["homo sapiens", LABELS[-1]])].tolist() == ["human", "human"]
    assert LABELS[5] not in h


def test_speciesnet_labels_that_are_wrong(folder: Path) -> None:
    write("labels.txt", "\n".join([*LABELS, "x;y"]))
    refused(lambda: Hierarchy.read("labels.txt", "speciesnet"), "labels.txt, line 9 has 2 parts, not 7: 'x;y'")
    refused(lambda: Hierarchy.read("labels.txt"), "format='speciesnet'")
    refused(lambda: Hierarchy.read(write("labels.txt", LABELS[5]), "speciesnet"), "is empty")


# Codes ------------------------------------------------------------------------------------------------------


def test_codes(folder: Path) -> None:
    h = Hierarchy.read(
        write("hs.csv", 'Code,Description\n01,Live animals\n010121,"Horses, pure-bred"\n0102\n02,Meat\n'),
        "codes",
        prefixes="2,4,6",
    )
    assert {name: h[name].parent for name in h} == {
        "root": None,
        "01": "root",
        "0101": "01",
        "010121": "0101",
        "0102": "01",
        "02": "root",
    }
    assert h.display_name("010121") == "010121 (Horses, pure-bred)"
    assert h == Hierarchy.read(
        write("hs.tsv", "01\tLive animals\n010121\tHorses, pure-bred\n0102\n02\tMeat\n"),
        "codes",
        prefixes=(2, 4, 6),
    )


def test_codes_with_dots() -> None:
    h = Hierarchy.read(["A", "A.01", "A.01.1", "B.05.2"], "codes", prefixes="dots")
    assert {name: h[name].parent for name in h} == {
        "root": None,
        "A": "root",
        "A.01": "A",
        "A.01.1": "A.01",
        "B": "root",
        "B.05": "B",
        "B.05.2": "B.05",
    }


@pytest.mark.parametrize(
    ("content", "prefixes", "part"),
    [
        (
            "10121\n",
            "2,4,6",
            "line 1 has the code '10121' with 5 characters, not 2 or 4 or 6. Correct it (spreadsheets",
        ),
        ("01,a,b\n", "2", "line 1 has 3 columns, not a code and its title"),
        (",a\n", "2", "line 1 has no code"),
        ("A..1\n", "dots", "line 1 has an empty part: 'A..1'"),
        ("01,a\n01,b\n", "2", "line 2 gives the code '01' the title 'b', but it already has 'a'"),
        (".".join("a" * 100), "dots", "more than 64 levels"),
        ("code\n", "dots", "is empty"),
        ("code,title\nA01,a\nA02,b.c\n", "dots", "has no code with a dot, so that all codes would be children"),
    ],
)
def test_codes_that_are_wrong(folder: Path, content: str, prefixes: str, part: str) -> None:
    refused(lambda: Hierarchy.read(write("a.csv", content), "codes", prefixes=prefixes), part)


@pytest.mark.parametrize("prefixes", [None, "", "two", "4,2", "0,2", (2, 2), 7])
def test_prefixes_that_are_wrong(folder: Path, prefixes: str | None) -> None:
    refused(
        lambda: Hierarchy.read(write("a.csv", "01\n"), "codes", prefixes=prefixes),
        "Which prefixes of a code are its ancestors?",
        "prefixes='2,4,6'",
        error=ParameterError,
    )


def test_names_do_not_grow_without_end(folder: Path) -> None:
    names = [f"g__{i}" for i in range(20_000)]
    refused(lambda: Hierarchy.read([";".join(names + names)], "prefixed"), "would be too long", error=TreeError)
