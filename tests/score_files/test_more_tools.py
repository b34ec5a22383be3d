"""DADA2, IDTAXA and BLCA: the same lineages, written by other tools; and what is wrong with bad files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hedgerow.errors import FileError, HedgerowError, ScoreError
from hedgerow.files import InputFile
from hedgerow.score_files import find_format
from tests.score_files.simulated import DATA
from tests.score_files.test_tool_formats import SPECIES, listed, plain_sintax, refused, written

if TYPE_CHECKING:
    from pathlib import Path

READS = 14
FILES = ("dada2.tsv", "dada2-boot.csv", "dada2-single.tsv", "idtaxa.txt", "blca.txt")


def lineages() -> dict[str, dict[str, float]]:
    """The lineages that the files were made of, with their confidences."""
    lines = (DATA / "sintax.txt").read_text().splitlines()[:READS]
    return {line.split()[0]: plain_sintax(line) for line in lines} | {"none": {}}


def above_half(lineage: dict[str, float]) -> dict[str, float]:
    """A lineage as DADA2 prints it: it ends above the first rank with a bootstrap value below 50."""
    found: dict[str, float] = {}
    for name, value in lineage.items():
        if value < 0.5:
            break
        found[name] = value
    return found


@pytest.mark.parametrize("name", ["idtaxa.txt", "blca.txt"])
def test_lineages_in_lines(name: str) -> None:
    assert listed(DATA / name, SPECIES) == {read: pytest.approx(found) for read, found in lineages().items()}


@pytest.mark.parametrize("name", ["dada2.tsv", "dada2-boot.csv"])
def test_a_bootstrap_value_for_every_rank(name: str) -> None:
    expected = {read: pytest.approx(above_half(found)) for read, found in lineages().items()}
    assert listed(DATA / name, SPECIES) == expected


def test_a_blank_rank_needs_no_bootstrap_value(tmp_path: Path) -> None:
    """R writes NA for both."""
    text = (DATA / "dada2-boot.csv").read_text().replace("7,7,7,7,7,7,7", "NA,NA,NA,NA,NA,NA,NA")
    assert listed(written(tmp_path / "d.csv", text), SPECIES) == listed(DATA / "dada2-boot.csv", SPECIES)


def test_a_single_confidence_is_that_of_the_last_rank() -> None:
    found = listed(DATA / "dada2-single.tsv", SPECIES)
    for read, lineage in lineages().items():
        genus = dict(list(above_half(lineage).items())[:6])
        last = list(genus.values())[-1:]
        assert found[read] == dict.fromkeys(genus, *last)


def test_idtaxa_in_other_notations(tmp_path: Path) -> None:
    """With R's header and quotes, round brackets, and the ranks that the web tool writes."""
    text = (
        '"x"\n"a"\t"Root (99.5%); Domain0 (99.5%); Phylum0 (80%); unclassified_Phylum0 (80%)"\n'
        "b\tRoot [rootrank, 91%]; Domain0 [domain, 91%]; Phylum1 [phylum, 70.5%]\n"
    )
    path = written(tmp_path / "ids.txt", text)
    assert find_format(InputFile(path)) == "idtaxa"
    assert listed(path, SPECIES) == {
        "a": {"Domain0": 0.995, "Phylum0": 0.8},
        "b": {"Domain0": 0.91, "Phylum1": 0.705},
    }


def test_blca_names_with_semicolons_missing_ranks_and_rounded_sums(tmp_path: Path) -> None:
    text = (
        "a\tsuperkingdom:Domain0;100.00000000000001;phylum:Not Available;90.0;class:Class0;80.5;\n"
        "b\tsuperkingdom:Domain0;100.0;phylum:Phylum0;Phylum1;50.0;\n"
    )
    path = written(tmp_path / "reads.blca.out", text)
    assert find_format(InputFile(path)) == "blca"
    found = listed(path, SPECIES, outside=["*"])
    assert found == {"a": {"Domain0": 1, "Class0": 0.805}, "b": {"Domain0": 1}}
    refused(HedgerowError, path, SPECIES, "'Phylum0;Phylum1'")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", ["crlf", "bom", "blank lines"])
def test_files_from_elsewhere(name: str, change: str, tmp_path: Path) -> None:
    data = (DATA / name).read_bytes()
    changed = {
        "crlf": data.replace(b"\n", b"\r\n"),
        "bom": b"\xef\xbb\xbf" + data,
        "blank lines": data + b"\n\n",
    }[change]
    path = tmp_path / name
    path.write_bytes(changed)
    assert listed(path, SPECIES) == listed(DATA / name, SPECIES)


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("idtaxa.txt", "Domain1 [100%]", "Domain1 [nan%]", "'read1' in line 2 has no number (NaN) for 'Domain1'"),
        ("idtaxa.txt", "Domain1 [100%]", "Domain1 [1.0.0%]", "line 2 is not what IDTAXA writes"),
        ("idtaxa.txt", "Domain1 [100%]", "Domain1 [180%]", "1.8"),
        ("idtaxa.txt", "Domain1 [100%]", "Domain1 [95,3%]", "line 2 is not what IDTAXA writes: 'Domain1 [95,3%]'"),
        ("idtaxa.txt", "read1\t", "read1 ", "line 2"),
        ("idtaxa.txt", "Phylum2 [100%]; ", "Phylum2 [10; ", "line 2"),
        ("blca.txt", "Phylum2;100.0", "Phylum2;x", "line 2"),
        ("blca.txt", "Phylum2;100.0;", "Phylum2;", "line 2"),
        ("blca.txt", "read3\t", "read2\t", "duplicate id 'read2'"),
        ("dada2.tsv", "\t1\t1\t1", "\t1\t1.5\t1", "1.5"),
        ("dada2.tsv", "\t1\t1\t1", "\t1\tx\t1", "line 3"),
        ("dada2-boot.csv", ",100,100", ",100,", "no number"),
        ("dada2-boot.csv", "tax.", "rank.", "no bootstrap values"),
        ("dada2-single.tsv", "\tconfidence", "\tscore", "no bootstrap values"),
    ],
)
def test_flaws(name: str, old: str, new: str, says: str, tmp_path: Path) -> None:
    text = (DATA / name).read_text()
    assert old in text
    path = written(tmp_path / name, text.replace(old, new, -1 if "." in old or "conf" in old else 1))
    tool = name.split("-")[0].split(".")[0]
    refused(HedgerowError, path, SPECIES, says, scores_format=tool)


@pytest.mark.parametrize("name", FILES)
def test_empty_files(name: str, tmp_path: Path) -> None:
    tool = name.split("-")[0].split(".")[0]
    with pytest.raises((FileError, ScoreError), match=name):
        listed(written(tmp_path / name, ""), SPECIES, scores_format=tool)
