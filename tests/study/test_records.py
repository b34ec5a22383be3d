"""Records: whole or absent, bound to their cell, exchanged as one file."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from hedgerow.errors import FileError
from hedgerow.study.cells import StudyPlan
from hedgerow.study.records import _SUMMARY as SUMMARY
from hedgerow.study.records import RECORD, Records
from tests.sealed import sealed
from tests.study.small import recipe, splits

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.study.cells import Cell


CURVE = ("correct", "exact", "precision", "recall")


def cells(seeds: int = 2, *changes: str) -> list[Cell]:
    return StudyPlan(recipe(*changes), splits(), seeds).cells("main", "flat-softmax")


def content(number: float, **changes: Any) -> dict[str, Any]:
    """The content of a record, as small as it may be."""
    curve = {"logit": ["inf", 0.0, "-inf"], **{name: [0.0, 0.5, 1.0] for name in CURVE}}
    result = {
        "way": "plain",
        "reading": "flat-softmax",
        "part": "all",
        "examples": 1,
        "summary": dict.fromkeys(SUMMARY, number),
        "rules": {"leaf": {"correct": 1.0}},
        "curve": curve,
    }
    return {"results": [result | changes]}


def test_a_record_is_read_as_written(tmp_path: Path) -> None:
    records, (one, two) = Records(tmp_path), cells()
    records.write(one, content(0.5))
    found = records.read(one)
    assert found is not None
    assert found["results"] == content(0.5)["results"]
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
        lambda text: text.replace('"schema": 2', '"schema": 1'),
        lambda text: text.replace("0.5", "NaN"),
    ],
)
def test_a_damaged_record_counts_as_absent(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    records, (cell, _) = Records(tmp_path), cells()
    records.write(cell, content(0.5))
    path = records.path(cell)
    assert records.read(cell) is not None
    path.write_text(damage(path.read_text()))
    assert records.read(cell) is None
    assert records.pack(tmp_path / "all.zip") == 0


def test_a_record_under_the_name_of_another_cell_counts_as_absent(tmp_path: Path) -> None:
    records, (one, two) = Records(tmp_path), cells()
    records.write(one, content(1))
    records.path(one).rename(records.path(two))
    assert records.read(two) is None


def test_what_decides_a_result_makes_another_cell_and_where_it_runs_does_not() -> None:
    (one, two) = cells()
    assert one.name != two.name  # the seed
    assert one.name == cells(1, "run.accelerator=auto", "run.compile=no", "run.workers=0")[0].name
    assert one.name != cells(1, "optimiser.lr=0.2")[0].name
    spelt_out = StudyPlan(recipe(), splits()).cells("main", "flat-softmax", {"label_smoothing": 0})[0]
    assert one.name == spelt_out.name  # the default

    def stored(**params: str) -> str:
        elsewhere = dataclasses.replace(recipe().data, params=params)
        plan = StudyPlan(dataclasses.replace(recipe(), data=elsewhere), splits())
        return plan.cells("main", "flat-softmax")[0].name

    assert one.name == stored(path="elsewhere.npz")
    # Random parts of kept images are less sharp, wherever these are kept.
    assert one.name != stored(cache="here") == stored(cache="there")


def test_pack_and_merge(tmp_path: Path) -> None:
    there, here, (one, two) = Records(tmp_path / "there"), Records(tmp_path / "here"), cells()
    there.write(one, content(1))
    there.write(two, content(2))
    here.write(one, content(3))
    assert there.pack(tmp_path / "all.zip") == 2
    assert here.merge(tmp_path / "all.zip") == 1
    assert [record["results"] for record in here.finished([one, two])] == [
        c["results"] for c in (content(3), content(2))
    ]
    other = Records(tmp_path / "other")
    (tmp_path / "list.json").write_text(json.dumps(there.finished([one, two])))
    assert other.merge(tmp_path / "list.json") == 2
    assert other.merge(there.path(one)) == 0


def test_what_cannot_be_merged_says_so_and_changes_nothing(tmp_path: Path) -> None:
    there, here, (one, two) = Records(tmp_path / "there"), Records(tmp_path / "here"), cells()
    there.write(one, content(1))
    good = there.path(one).read_text()
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("good.json", good)
        archive.writestr("bad.json", good.replace('"AP": 1', '"AP": 2'))
    with pytest.raises(FileError, match=r"all\.zip: bad\.json cannot be read as a record.*changed"):
        here.merge(tmp_path / "all.zip")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "all.zip").read_bytes()[:100])
    (tmp_path / "table.csv").write_text("parent,child\n")
    for name in ("cut.zip", "table.csv"):
        with pytest.raises(FileError, match=rf"{name} cannot be read as"):
            here.merge(tmp_path / name)
    for name in ("absent.json", "absent.zip"):
        with pytest.raises(FileError, match=rf"{name} does not exist"):
            here.merge(tmp_path / name)
    assert not (tmp_path / "here").exists()
    assert here.finished([one, two]) == []


# Records from elsewhere --------------------------------------------------------------------------------------


def forged(folder: Path, change: Any) -> Path:
    """A record with a digest that fits whatever was changed in it."""
    records, (cell, _) = Records(folder), cells()
    records.write(cell, content(0.5))
    record = json.loads(records.path(cell).read_text(encoding="utf-8"))
    change(record)
    path = folder.parent / "forged.json"
    path.write_text(json.dumps(sealed(record)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"task": "../../x"},
        {"task": "/etc/x"},
        {"task": ""},
        {"task": 3},
        {"seed": "../x"},
        {"seed": -1},
        {"seed": True},
        {"seed": 1e300},
        {"method": {"name": "../x"}},
        {"method": {"name": "a/b"}},
        {"method": {"name": "[red]x"}},
        {"method": "hxe"},
        {"method": {}},
        {"data": []},
        {"model": {}},
        {"optimiser": None},
        {"options": {"a b": 1}},
    ],
)
def test_names_in_a_record_do_not_become_paths(change: dict[str, Any], tmp_path: Path) -> None:
    path = forged(tmp_path / "there", lambda record: record["cell"].update(change))
    before = sorted(tmp_path.rglob("*"))
    here = Records(tmp_path / "deep" / "here")
    with pytest.raises(FileError, match=r"forged\.json cannot be read as a record.*cell\."):
        here.merge(path)
    assert sorted(tmp_path.rglob("*")) == before
    path.rename(tmp_path / "there" / "main-x.json")
    assert len(list(Records(tmp_path / "there").all())) == 1, "only the one that was not forged"


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(validation={"AP": 0.5}),
        lambda record: record["cell"].update(task="tuning"),
    ],
    ids=["another task", "tuning without it"],
)
def test_validation_data_is_measured_by_tuning_alone(change: Any, tmp_path: Path) -> None:
    path = forged(tmp_path / "there", change)
    with pytest.raises(FileError, match=r"forged\.json cannot be read as a record.*validation data"):
        Records(tmp_path / "here").merge(path)


@pytest.mark.parametrize(
    "change",
    [
        {"way": "other"},
        {"way": "tempered"},  # without a temperature
        {"reading": "| x |"},
        {"part": "[x](javascript:y)"},
        {"examples": -1},
        {"summary": {"AP": 0.5}},
        {"summary": dict.fromkeys(SUMMARY, "0.5")},
        {"rules": {"leaf": 3}},
        {"curve": {}},
        {"curve": {"logit": [0], **{name: [0, 1] for name in CURVE}}},
        {"curve": {"logit": ["x"], **{name: [0] for name in CURVE}}},
        {"curve": {"logit": [[]], **{name: [0] for name in CURVE}}},
        {"level": 1},
    ],
)
def test_results_of_a_record_are_checked(change: dict[str, Any], tmp_path: Path) -> None:
    path = forged(tmp_path / "there", lambda record: record["results"][0].update(change))
    with pytest.raises(FileError, match=r"forged\.json cannot be read as a record"):
        Records(tmp_path / "here").merge(path)


def test_archives_of_records_are_bounded(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "all.zip", "w", ZIP_DEFLATED) as archive:
        archive.writestr("big.json", b" " * (1 << 28))
    here = Records(tmp_path / "here")
    with pytest.raises(FileError, match=r"'big\.json' is read as a whole, and would take 268,435,456 bytes"):
        here.merge(tmp_path / "all.zip")
    (tmp_path / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(FileError, match=r"deep\.json cannot be read as records"):
        here.merge(tmp_path / "deep.json")


def test_methods_and_seeds_of_records_are_shown_only_if_they_are_near_and_ours(tmp_path: Path) -> None:
    plan = StudyPlan(recipe(), splits(), methods=("flat-softmax",))
    records, mine = Records(tmp_path), plan.cells("main", "flat-softmax")[0].identity
    for method, seed in (("hxe", 2), ("no_such_module:x", 0), ("os:system", 1), ("hxe", 2**32 - 1)):
        identity = mine | {"method": {"name": method}, "seed": seed}
        record = RECORD.wrapped({"hedgerow": "", "cell": identity, **content(0.5)})
        records._put(f"main-{method}-{seed}", record)
    shown = plan.covering(records.all())
    assert (shown.methods, shown.seeds) == (("flat-softmax", "hxe"), 3)
