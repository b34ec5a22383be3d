"""The engine: resume, failures, processes, imports, the command."""

from __future__ import annotations

import json
import multiprocessing
import signal
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
import torch
from typer.testing import CliRunner

from hedgerow import study
from hedgerow.cli import app
from hedgerow.errors import FileError, ParameterError
from hedgerow.study import EXPERIMENTS
from hedgerow.study.processes import CellRunner
from hedgerow.study.run import default_jobs
from tests.learn.training.toy import write_files
from tests.study.small import TWO, EndedCells, recipe, run, splits

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell

command = CliRunner()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the cells that the main experiment works on."""
    worked: list[str] = []
    original = study.EXPERIMENTS["main"]

    def work(cell: Cell, data: DataSplits) -> dict[str, Any]:
        worked.append(cell.title)
        return original.work(cell, data)

    counting = study.Experiment(original.title, original.cells, work, original.findings)
    monkeypatch.setitem(study.EXPERIMENTS, "main", counting)
    return worked


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worked = counted(monkeypatch)
    first = run(tmp_path, seeds=2)
    assert len(worked) == 4
    assert first.failures == []
    again = run(tmp_path, seeds=2)
    assert len(worked) == 4
    assert again.to_dict() == first.to_dict()
    run(tmp_path, "calibration", seeds=2)
    assert len(worked) == 4  # the same cells
    run(tmp_path, seeds=3)
    assert len(worked) == 6


def test_a_damaged_record_is_done_again_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(tmp_path).to_dict()
    worked = counted(monkeypatch)
    record = next((tmp_path / "records").glob("main-flat*"))
    record.write_text(record.read_text()[:1000])
    (tmp_path / "records" / ".main-half-written.json.tmp").write_text("{")
    assert run(tmp_path).to_dict() == first
    assert worked == ["flat-softmax, seed 0"]


def test_outputs(tmp_path: Path) -> None:
    report = run(tmp_path, "main", "calibration", "unseen", seeds=2, draw=True)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"main.md", "main.csv", "main.tex", "main.png", "main.pdf", "study.md", "study.json"} <= names
    assert {"unseen.png", "calibration_change.csv", "main.html"} <= names
    assert "Methods on" in (tmp_path / "main.html").read_text(encoding="utf-8")
    assert "failed.txt" not in names
    content = json.loads((tmp_path / "study.json").read_text())
    assert content["seeds"] == 2
    rows = {row["name"]: row["figures"] for row in content["experiments"]["main"]["tables"]["main"]["rows"]}
    assert list(rows) == ["Flat softmax", "Deep RTC (PS weights)", "PS softmax"]
    assert len(rows["Flat softmax"]["AP"]["values"]) == 2
    assert len(content["experiments"]["main"]["sentences"]) == 4
    assert "![" in (tmp_path / "study.md").read_text()
    record = json.loads(next((tmp_path / "records").glob("main-ps*")).read_text())
    assert record["seconds"]["train"] > 0
    assert report.files[0].name == "study.md"


def test_the_page_shows_all_records_of_the_folder(tmp_path: Path) -> None:
    run(tmp_path, chosen=["flat-softmax"], seeds=2)
    run(tmp_path, "levels", chosen=["softmax-margin"])
    page = (tmp_path / "study.md").read_text()
    assert EXPERIMENTS["main"].title in page
    assert EXPERIMENTS["levels"].title in page
    assert "Mean ± 2 standard deviations over 2 seeds" in page
    run(tmp_path, chosen=["hxe"], limit=0)
    assert (tmp_path / "study.md").read_text() == page
    run(tmp_path / "empty", limit=0)
    assert "No cell has finished yet" in (tmp_path / "empty" / "study.md").read_text()


def test_a_table_says_how_many_seeds_its_columns_have(tmp_path: Path) -> None:
    run(tmp_path, chosen=["flat-softmax"], seeds=3)
    run(tmp_path, "mixed_granularity", chosen=["flat-softmax"], seeds=2)  # the labels as they are: three seeds
    assert "over 2 to 3 seeds." in (tmp_path / "mixed_granularity.md").read_text()


def test_progress_inside_cells_is_told(tmp_path: Path) -> None:
    class Watcher:
        def __init__(self) -> None:
            self.shares: list[float] = []
            self.ended = 0

        def done(self, _: Any) -> None:
            self.ended += 1

        def moved(self, _: Any, share: float) -> None:
            self.shares.append(share)

    watcher = Watcher()
    run(tmp_path, chosen=["flat-softmax"], progress=lambda *_: nullcontext(watcher))
    assert watcher.ended == 1
    assert watcher.shares == sorted(watcher.shares)
    assert 0 < watcher.shares[0] < 1
    assert watcher.shares[-1] == 1


def test_a_failing_cell_stops_no_other(tmp_path: Path) -> None:
    bad = recipe("method.name=ps-softmax", "method.nonsense=1")
    report = run(tmp_path, recipe=bad)
    assert [failure.cell.recipe.method.name for failure in report.failures] == ["ps-softmax"]
    assert "nonsense" in report.failures[0].message
    assert "Traceback" in (tmp_path / "failed.txt").read_text()
    assert [row.name for row in report.findings["main"].tables["main"].rows] == ["Flat softmax"]
    assert run(tmp_path).failures == []
    assert not (tmp_path / "failed.txt").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process")
def test_processes_work_like_one_and_one_that_dies_takes_only_its_cell_with_it(tmp_path: Path) -> None:
    deadly = study.StudyPlan(recipe("model.name=tests.study.deadly:build"), splits())
    cells = [
        *deadly.cells("main", "flat-softmax"),
        *study.StudyPlan(recipe(), splits()).cells("main", "flat-softmax"),
        *study.StudyPlan(recipe(), splits()).cells("no such task", "flat-softmax"),
    ]
    records, ended = study.Records(tmp_path / "pool"), list[study.Cell]()
    failures = CellRunner(splits(), jobs=2, watcher=EndedCells(ended)).run(cells, records)
    assert {failure.cell.name for failure in failures} == {cells[0].name, cells[2].name}
    assert "its process was killed" in {f.cell.name: f.message for f in failures}[cells[0].name]
    assert len(ended) == 3
    run(tmp_path / "alone", chosen=["flat-softmax"])
    together, alone = records.read(cells[1]), study.Records(tmp_path / "alone" / "records").read(cells[1])
    assert together is not None
    assert alone is not None
    assert together["results"] == alone["results"]


def test_running_cells_are_stopped_at_the_limit(tmp_path: Path) -> None:
    endless = study.StudyPlan(recipe("model.name=tests.study.deadly:sleep"), splits(), seeds=3)
    cells = endless.cells("main", "flat-softmax")
    others = set(multiprocessing.active_children())  # such as workers that other tests keep
    failures = CellRunner(splits(), jobs=2, limit=3.0).run(cells, study.Records(tmp_path))
    assert [failure.message for failure in failures] == [
        "it was stopped: the time limit was reached",
        "it was stopped: the time limit was reached",
        "it was not started: the time limit was reached",
    ]
    assert set(multiprocessing.active_children()) <= others


def test_a_record_does_not_depend_on_how_many_cells_run_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, seen = list[int](), list[int]()

    def watch(runner: CellRunner, *_: object) -> list[object]:
        told.append(runner.threads or 0)
        return []

    with monkeypatch.context() as patched:
        patched.setattr(CellRunner, "run", watch)
        for jobs in (1, 2):
            run(tmp_path / "none", jobs=jobs)
    assert told == [1, 1]

    def work(*_: object) -> dict[str, Any]:
        seen.append(torch.get_num_threads())
        return {"results": []}

    original = study.EXPERIMENTS["main"]
    watching = study.Experiment(original.title, original.cells, work, original.findings)
    monkeypatch.setitem(study.EXPERIMENTS, "main", watching)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        cells = study.StudyPlan(recipe(), splits()).cells("main", "flat-softmax")
        CellRunner(splits(), jobs=1, threads=1).run(cells, study.Records(tmp_path / "records"))
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)


def test_no_cell_starts_after_the_limit(tmp_path: Path) -> None:
    for jobs in (1, 2):
        report = run(tmp_path, limit=0.0, jobs=jobs)
        messages = [failure.message for failure in report.failures]
        assert messages == ["it was not started: the time limit was reached"] * 2
        assert report.findings["main"].tables == {}


def test_records_made_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "there")
    study.Records(tmp_path / "there" / "records").pack(tmp_path / "all.zip")
    worked = counted(monkeypatch)
    report = run(tmp_path / "here", imports=[tmp_path / "all.zip"])
    assert report.cells == 2
    assert worked == []


def test_mistakes_are_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"There is no experiment 'mian'.*main"):
        run(tmp_path, "mian")
    with pytest.raises(ParameterError, match="There is no method 'flat'"):
        run(tmp_path, chosen=["flat"])
    with pytest.raises(ParameterError, match="model 'resnet0'"):
        run(tmp_path, recipe=recipe("model.name=resnet0"))
    with pytest.raises(FileError, match=r"none\.zip does not exist"):
        run(tmp_path / "out", imports=[tmp_path / "none.zip"])
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"file is a file\. Give the name of a folder"):
        run(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_as_many_jobs_as_cores_or_as_the_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.study.run.available_cores", lambda: 64)
    monkeypatch.setattr("hedgerow.study.run._memory", lambda: 1 << 40)
    assert default_jobs(splits(), gpu=True) == 4
    assert default_jobs(splits(), gpu=False) == 64
    monkeypatch.setattr("hedgerow.study.run._memory", lambda: 7 << 30)
    assert default_jobs(splits(), gpu=False) == 3
    monkeypatch.setattr("hedgerow.study.run._memory", lambda: 1 << 20)
    assert default_jobs(splits(), gpu=False) == 1


def test_jobs_where_memory_cannot_be_asked_as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.study.run.available_cores", lambda: 64)
    monkeypatch.delattr("os.sysconf")
    assert 1 <= default_jobs(splits(), gpu=False) < 64


def invoke(*args: object) -> Any:
    return command.invoke(app, ["study", *map(str, args)])


def test_command(tmp_path: Path) -> None:
    toml, out = write_files(tmp_path, epochs=1), tmp_path / "out"
    common = ("--no-tune", "--methods", ",".join(TWO), "--jobs", 1, "-o", out)
    packed, found = tmp_path / "all.zip", tmp_path / "found.json"
    result = invoke("main", toml, *common, "--pack", packed, "--json", found)
    assert result.exit_code == 0, result.output
    for said in ("[1/2] 0:0", "[2/2] 0:0", "Flat softmax", "One seed does not tell", "study.md", "2 records"):
        assert said in result.output
    assert "emperature" not in result.output  # the table after temperature scaling, made from the same records
    assert "emperature" in (out / "study.md").read_text()
    assert json.loads(found.read_text()) == json.loads((out / "study.json").read_text())
    again = invoke("main", toml, *common, "--import", packed)
    assert again.exit_code == 0
    failing = invoke("main", toml, *common, "--set", "method.name=ps-softmax", "--set", "method.wrong=1")
    assert failing.exit_code == 1
    assert "1 of 2 cells have no record" in failing.output
    tuned = invoke("tuning", toml, "--methods", "hxe", "--jobs", 1, "--limit", 0, "-o", out)
    assert tuned.exit_code == 1
    assert "3 of 3 cells have no record" in tuned.output


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("inat21mini-resnet18", r"Download train_mini\.json\.tar\.gz .* unpack both in data.inat21"),
        ("imagenet-resnet50", r"Download ILSVRC2012_img_train\.tar .* unpack them into data.imagenet"),
    ],
)
def test_missing_data_says_what_to_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("main", name, "-o", "out")
    assert isinstance(result.exception, FileError)
    with pytest.raises(FileError, match=said):
        raise result.exception
    assert not (tmp_path / "out").exists()
