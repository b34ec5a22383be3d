"""Answers in words, as language models give them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.files import InputFile
from hedgerow.score_files import find_format
from tests.score_files.simulated import DATA
from tests.score_files.test_tool_formats import MAMMALS, listed, refused, written

if TYPE_CHECKING:
    from pathlib import Path


def lines(path: Path, *objects: Any) -> Path:
    return written(path, "".join(f"{json.dumps(one)}\n" for one in objects))


def test_answers_become_shares_of_votes() -> None:
    assert find_format(InputFile(DATA / "answers.jsonl")) == "jsonl"
    found = listed(DATA / "answers.jsonl", MAMMALS)
    assert found["photo-1"]["Odocoileus virginianus"] == found["photo-1"]["Mammalia"] == 0.8
    assert found["photo-2"]["Lynx"] == 0.75
    assert found["photo-2"]["Lynx rufus"] == 0.5
    assert found["photo-2"]["Puma concolor"] == 0.25
    assert found["photo-3"]["Ursus"] == pytest.approx(0.7)
    assert found["photo-3"]["Ursus arctos"] == 0.45
    assert found["photo-4"] == found["photo-5"] == {}


def test_what_cannot_be_found_is_named_and_stays_at_the_root() -> None:
    scores = hr.open_scores(DATA / "answers.jsonl", MAMMALS, labels=False, block_rows=2)
    assert sum(map(len, scores)) == 5
    (warning,) = [one for one in scores.warnings if "cannot be found" in one]
    assert "1 class of its 5 examples cannot be found in the tree: 'I cannot tell' (1 example)" in warning


def test_answers_are_bound_as_labels_are(tmp_path: Path) -> None:
    """By folded names, lineages and aliases; an answer below the tree counts for what is above it."""
    tree = hr.Hierarchy.read(DATA / "taxdump")
    alias = next(name for name, node in tree.aliases.items() if tree.names[node] == "Genus0")
    path = lines(
        tmp_path / "a.jsonl",
        {"id": 1, "answer": alias},
        {"id": 2, "answer": "**genus0**"},
        {"id": 3, "answer": "Domain0; Phylum0; Class0; Order0; Family0; Genus0; Genus0 nova"},
        {"id": 4, "answer": "Domain0 > Phylum0 > Class0 > Order0 > Family0 > Genus0"},
    )
    assert [max(found, key=tree.index) for found in listed(path, tree).values()] == ["Genus0"] * 4


def test_aliases_are_folded_too(tmp_path: Path) -> None:
    tree = hr.Hierarchy.from_json(
        {
            "name": "cell",
            "children": [
                {"name": "T cell", "aliases": ["T lymphocyte", "CL:0000084", "both"]},
                {"name": "B cell", "aliases": ["B lymphocyte", "Both"]},
            ],
        }
    )
    path = lines(
        tmp_path / "a.jsonl",
        *({"id": i, "answer": said} for i, said in enumerate(["t_Lymphocyte.", "cl:0000084"])),
    )
    assert [list(found) for found in listed(path, tree).values()] == [["T cell"], ["T cell"]]
    scores = hr.open_scores(lines(tmp_path / "b.jsonl", {"id": 1, "answer": "BOTH"}), tree, labels=False)
    assert sum(map(len, scores)) == 1
    assert any("'BOTH' may be several nodes" in warning for warning in scores.warnings)


def test_the_id_may_have_another_name(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"custom_id": "x", "answer": "Lynx"})
    assert list(listed(path, MAMMALS, id_column="custom_id")) == ["x"]
    refused(HedgerowError, path, MAMMALS, "line 1 has no 'id'")


def test_self_reports_become_a_promise(tmp_path: Path) -> None:
    """Confidences that are too high are no obstacle to a threshold that holds."""
    rows = [{"id": i, "answer": "Lynx rufus", "confidence": 0.99 - i / 1000} for i in range(100)]
    labels = "".join(f"{i},{'Lynx rufus' if i < 50 else 'Lynx canadensis'}\n" for i in range(100))
    how = hr.ScoreReading(labels_file=written(tmp_path / "l.csv", f"id,label\n{labels}"))
    scores = hr.open_scores(lines(tmp_path / "a.jsonl", *rows), MAMMALS, how)
    point = hr.select(MAMMALS, scores, target=("correct", 0.9))
    assert point.threshold > 0.9


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "a", "answer": ["Lynx"', "line 2 cannot be read as JSON"),
        ("[" * 100_000, "line 2 cannot be read as JSON"),
        ("[1]", "line 2"),
        ('{"id": "b", "answers": "Lynx"}', "line 2 has no 'answer'"),
        ('{"id": "b", "answer": 3}', "line 2"),
        ('{"id": "b", "answer": ["Lynx", "Puma"], "confidence": [1]}', "2 answers and 1 confidences"),
        ('{"id": "b", "answer": "Lynx", "confidence": NaN}', "line 2"),
        ('{"id": "b", "answer": "Lynx", "confidence": 90}', "line 2 has the confidence 90. Expected"),
        ('{"id": "b", "answer": ["Lynx", "Puma"], "confidence": [0.5, 1.5]}', "line 2 has the confidence 1.5"),
        ('{"id": "b", "answer": "Lynx", "confidence": -1}', "line 2 has the confidence -1"),
        ('{"id": "photo-1", "answer": "Lynx"}', "duplicate id 'photo-1'"),
    ],
)
def test_flaws(line: str, says: str, tmp_path: Path) -> None:
    first = (DATA / "answers.jsonl").read_text().splitlines()[0]
    refused(HedgerowError, written(tmp_path / "a.jsonl", f"{first}\n{line}\n"), MAMMALS, says)


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_empty(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    refused(HedgerowError, tmp_path / "a.jsonl", MAMMALS, "no rows")


def test_bom_and_crlf(tmp_path: Path) -> None:
    data = (DATA / "answers.jsonl").read_bytes()
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert listed(tmp_path / "a.jsonl", MAMMALS) == listed(DATA / "answers.jsonl", MAMMALS)
