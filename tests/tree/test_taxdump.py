"""NCBI's taxdump, against a reader of a few plain lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy
from hedgerow.errors import FileError, UnknownNameError
from tests.tree.helpers import refused

NODES = [(1, 1, "no rank"), (2, 1, "superkingdom"), (10, 2, "genus"), (11, 10, "species"), (12, 10, "species")]
NODES += [(20, 1, "genus"), (21, 20, "species")]
NAMES = [
    (1, "root", "scientific name"),
    (1, "all", "synonym"),
    (2, "Bacteria", "scientific name"),
    (10, "Bacillus", "scientific name"),
    (11, "Bacillus subtilis", "scientific name"),
    (11, "Vibrio subtilis", "synonym"),
    (11, "Bacillus subtilis (Ehrenberg 1835)", "authority"),
    (12, "Bacillus cereus", "scientific name"),
    (20, "Bacillus", "scientific name"),
    (21, "Bacillus rossius", "scientific name"),
    (21, "Mediterranean stick insect", "genbank common name"),
]


def dump(rows: list[tuple[object, ...]]) -> str:
    return "".join("\t|\t".join(map(str, row)) + "\t|\n" for row in rows)


def taxdump(
    nodes: list[tuple[int, int, str]] = NODES,
    names: list[tuple[int, str, str]] = NAMES,
    merged: tuple[tuple[int, int], ...] = ((99, 11), (98, 55)),
    folder: str = "taxdump",
) -> str:
    place = Path(folder)
    place.mkdir(exist_ok=True)
    (place / "nodes.dmp").write_text(
        dump([(*row, "", "8", "0") for row in nodes])
    )  # more columns, as in the real one
    (place / "names.dmp").write_text(dump([(tax_id, name, "", kind) for tax_id, name, kind in names]))
    (place / "merged.dmp").write_text(dump(list(merged)))
    return folder


def test_taxdump(folder: Path) -> None:
    h = Hierarchy.read(taxdump())
    assert h.names.tolist() == [
        *("root", "Bacteria", "Bacillus [10]", "Bacillus subtilis", "Bacillus cereus"),
        *("Bacillus [20]", "Bacillus rossius"),
    ]
    assert h.rank is not None
    assert h.title is not None
    assert h.rank.tolist() == ["", "superkingdom", "genus", "species", "species", "genus", "species"]
    assert h.display_name("21") == "Bacillus rossius (Mediterranean stick insect)"
    assert h.names[h.indices(["11", "99", "Vibrio subtilis", "all"])].tolist() == ["Bacillus subtilis"] * 3 + [
        "root"
    ]
    assert "98" not in h  # merged into a taxon that is not there
    assert h == Hierarchy.read("taxdump", "taxdump")
    with pytest.raises(UnknownNameError, match=r"'Bacillus' may mean 'Bacillus \[10\]' and 'Bacillus \[20\]'"):
        h.index("Bacillus")
    with pytest.raises(UnknownNameError, match=r"'Bacillus' may mean"):
        h.indices(["Bacteria", "Bacillus"])


def test_merged_ids_are_optional(folder: Path) -> None:
    taxdump()
    Path("taxdump/merged.dmp").unlink()
    assert "99" not in Hierarchy.read("taxdump")


@given(data=st.data())
def test_against_plain_lines(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 12))
    ids = data.draw(st.lists(st.integers(1, 10**9), min_size=count, max_size=count, unique=True))
    above = [0] + [data.draw(st.integers(0, i - 1)) for i in range(1, count)]
    called = data.draw(
        st.lists(st.sampled_from(["a", "b", "c d", "é", '"q"', "#"]), min_size=count, max_size=count)
    )
    order = data.draw(st.permutations(range(count)))
    place = taxdump(
        [(ids[i], ids[above[i]], "species") for i in order],
        [(ids[i], called[i], "scientific name") for i in reversed(order)],
        folder=str(tmp_path_factory.mktemp("taxdump")),
    )
    h = Hierarchy.read(place)
    twice = {name for name, times in Counter(called).items() if times > 1}
    names = [f"{name} [{number}]" if name in twice else name for name, number in zip(called, ids, strict=True)]
    expected = {names[i]: None if i == 0 else names[above[i]] for i in range(count)}
    assert {name: h[name].parent for name in h} == expected
    assert all(h.names[h.index(str(number))] == name for number, name in zip(ids, names, strict=True))


def test_files_that_are_missing(folder: Path) -> None:
    taxdump()
    Path("taxdump/names.dmp").unlink()
    refused(
        lambda: Hierarchy.read("taxdump"),
        "taxdump has no names.dmp, which belongs beside nodes.dmp. Unpack NCBI's taxdump.tar.gz again",
        error=FileError,
    )
    refused(lambda: Hierarchy.read("nowhere", "taxdump"), "nowhere does not exist; a tree in the", error=FileError)
    Path("nodes.dmp").write_text("")
    refused(lambda: Hierarchy.read("nodes.dmp", "taxdump"), "nodes.dmp is a file; a tree", error=FileError)
    Path("other").mkdir()
    refused(lambda: Hierarchy.read("other"), "other is a folder, not a file", error=FileError)


@pytest.mark.parametrize(
    ("nodes", "names", "parts"),
    [
        (NODES, NAMES[:-2], ["1 taxon has no scientific name in taxdump/names.dmp: tax id '21'"]),
        (NODES, [*NAMES, (2, "Bakteria", "scientific name")], ["1 taxon has several scientific names", "'2'"]),
        (
            [*NODES, (30, 31, "species")],
            NAMES,
            ["a parent without a row of its own: 30 has 31 (taxdump/nodes.dmp, line 8)"],
        ),
        ([*NODES, (21, 1, "species")], NAMES, ["such as 21 (taxdump/nodes.dmp, lines 7 and 8)", "Keep one row"]),
        ([*NODES[:5], (20, 21, "genus"), *NODES[6:]], NAMES, ["each other's ancestors", "lines 6 and 7"]),
        (
            [*NODES[:5], (20, 20, "genus"), *NODES[6:]],
            NAMES,
            ["has 2 roots", "'root' and 'Bacillus [20]' (taxdump/nodes.dmp, lines 1 and 6)"],
        ),
        (NODES, [*NAMES[:-2], (21, "\x1b[31m", "scientific name")], ["'\\x1b[31m' contains a control character"]),
        (NODES, [*NAMES, (21, "\x1b[2J", "synonym")], ["The alias '\\x1b[2J' is not a name"]),
        (NODES, [*NAMES[:-2], (21, " ", "scientific name")], ["1 class has no name (taxdump/nodes.dmp, line 7)"]),
    ],
)
def test_what_is_wrong(
    folder: Path, nodes: list[tuple[int, int, str]], names: list[tuple[int, str, str]], parts: list[str]
) -> None:
    taxdump(nodes, names)
    refused(lambda: Hierarchy.read("taxdump"), *parts)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("1,1,root\n", "nodes.dmp, line 1 is not a line of a taxdump"),
        (dump([(1, 1, "x"), ("two", 1, "x")]), "nodes.dmp, line 2 has 'two', which is not a whole number"),
        (dump([(1, 1, "x"), ("", 1, "x")]), "nodes.dmp, line 2 has '', which is not a whole number"),
        (dump([(1, 1, "x"), (2, 1, "x")])[:-9], "nodes.dmp, line 2 has 2 columns, but line 1 has 6"),
        (dump([(1, 1, "x"), (10**30, 1, "x")]), "is not a whole number"),
        (dump([(1, 1, "é")]).encode("latin-1"), "nodes.dmp, line 1 is not UTF-8"),
    ],
)
def test_lines_that_cannot_be_read(folder: Path, content: str | bytes, part: str) -> None:
    taxdump()
    Path("taxdump/nodes.dmp").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(lambda: Hierarchy.read("taxdump"), part, error=FileError)


def test_an_empty_taxdump(folder: Path) -> None:
    taxdump([], [], ())
    refused(lambda: Hierarchy.read("taxdump"), "taxdump/nodes.dmp is empty")
