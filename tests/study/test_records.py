"""Records: whole or absent, bound to their cell, exchanged as one file."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from hedgerow.errors import FileError
from hedgerow.study.cells import StudyPlan
from hedgerow.study.records import Records
from tests.study.small import recipe, splits

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.study.cells import Cell


def cells(seeds: int = 2, *changes: str) -> list[Cell]:
    return StudyPlan(recipe(*changes), splits(), seeds).cells("main", "flat-softmax")


def test_a_record_is_read_as_written(tmp_path: Path) -> None:
    records, (one, two) = Records(tmp_path), cells()
    records.write(one, {"results": [{"summary": {"AP": 0.5}}]})
    found = records.read(one)
    assert found is not None
    assert found["results"] == [{"summary": {"AP": 0.5}}]
    assert found["hedgerow"]
    assert records.read(two) is None
    assert len(records.finished([one, two])) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("0.5", "0.6"),
        lambda _: "",
        lambda _: "[]",
        lambda text: text.replace('"format":1', '"format":0'),
        lambda text: text.replace("0.5", "NaN"),
    ],
)
def test_a_damaged_record_counts_as_absent(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    records, (cell, _) = Records(tmp_path), cells()
    records.write(cell, {"results": [{"AP": 0.5}]})
    path = records.path(cell)
    path.write_text(damage(path.read_text()))
    assert records.read(cell) is None
    assert records.pack(tmp_path / "all.zip") == 0


def test_a_record_under_the_name_of_another_cell_counts_as_absent(tmp_path: Path) -> None:
    records, (one, two) = Records(tmp_path), cells()
    records.write(one, {"results": []})
    records.path(one).rename(records.path(two))
    assert records.read(two) is None


def test_what_decides_a_result_makes_another_cell_and_where_it_runs_does_not() -> None:
    (one, two) = cells()
    assert one.name != two.name  # the seed
    assert one.name == cells(1, "run.accelerator=auto", "run.compile=no", "run.workers=0")[0].name
    assert one.name != cells(1, "optimiser.lr=0.3")[0].name
    spelt_out = StudyPlan(recipe(), splits()).cells("main", "flat-softmax", {"label_smoothing": 0})[0]
    assert one.name == spelt_out.name  # the default
    elsewhere = dataclasses.replace(recipe().data, params={"path": "elsewhere.npz"})
    assert (
        one.name
        == StudyPlan(dataclasses.replace(recipe(), data=elsewhere), splits()).cells("main", "flat-softmax")[0].name
    )


def test_pack_and_merge(tmp_path: Path) -> None:
    there, here, (one, two) = Records(tmp_path / "there"), Records(tmp_path / "here"), cells()
    there.write(one, {"results": [1]})
    there.write(two, {"results": [2]})
    here.write(one, {"results": ["mine"]})
    assert there.pack(tmp_path / "all.zip") == 2
    assert here.merge(tmp_path / "all.zip") == 1
    assert [record["results"] for record in here.finished([one, two])] == [["mine"], [2]]
    other = Records(tmp_path / "other")
    (tmp_path / "list.json").write_text(json.dumps(there.finished([one, two])))
    assert other.merge(tmp_path / "list.json") == 2
    assert other.merge(there.path(one)) == 0


def test_what_cannot_be_merged_says_so_and_changes_nothing(tmp_path: Path) -> None:
    there, here, (one, two) = Records(tmp_path / "there"), Records(tmp_path / "here"), cells()
    there.write(one, {"results": [1]})
    good = there.path(one).read_text()
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("good.json", good)
        archive.writestr("bad.json", good.replace('"results":[1]', '"results":[2]'))
    with pytest.raises(FileError, match=r"bad\.json is damaged"):
        here.merge(tmp_path / "all.zip")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "all.zip").read_bytes()[:100])
    (tmp_path / "table.csv").write_text("parent,child\n")
    for name in ("cut.zip", "table.csv"):
        with pytest.raises(
            FileError, match=rf"{name} holds no records, or is damaged\. Give a \.zip of packed records"
        ):
            here.merge(tmp_path / name)
    for name in ("absent.json", "absent.zip"):
        with pytest.raises(FileError, match=rf"{name} does not exist"):
            here.merge(tmp_path / name)
    assert not (tmp_path / "here").exists()
    assert here.finished([one, two]) == []
