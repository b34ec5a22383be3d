"""Cells of a study as Dask tasks: the same records as in this process; a cell that fails stops no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hedgerow import study
from hedgerow.cluster import run_tasks
from hedgerow.errors import ParameterError
from hedgerow.study.processes import CellRunner
from tests.study.small import EndedCells, recipe, run, splits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_cells_on_workers_are_cells_here(client: Any, tmp_path: Path) -> None:
    here = run(tmp_path / "here", chosen=["flat-softmax"])
    there = run(tmp_path / "there", chosen=["flat-softmax"], client=client)
    assert there.failures == []
    one, other = (
        [record["results"] for record in study.Records(tmp_path / name / "records").all()]
        for name in ("here", "there")
    )
    assert one == other
    assert there.to_dict() == here.to_dict()


@pytest.fixture
def blames_at_once(client: Any) -> Iterator[Any]:
    """The workers, of which a cell may kill one and not both: a new process imports torch once more."""
    scheduler = client.cluster.scheduler
    before, scheduler.allowed_failures = scheduler.allowed_failures, 0
    yield client
    scheduler.allowed_failures = before


def test_a_cell_that_fails_or_kills_its_process_stops_no_other(blames_at_once: Any, tmp_path: Path) -> None:
    plan = study.StudyPlan(recipe(), splits())
    deadly = study.StudyPlan(recipe("model.name=tests.study.deadly:build"), splits())
    cells = [
        *deadly.cells("main", "flat-softmax"),
        *plan.cells("no such task", "flat-softmax"),
        *plan.cells("main", "flat-softmax"),
    ]
    ended: list[study.Cell] = []
    records = study.Records(tmp_path)
    runner = CellRunner(splits(), client=blames_at_once, threads=1, watcher=EndedCells(ended))
    failures = runner.run(cells, records)
    messages = {failure.cell.name: failure.message for failure in failures}
    assert set(messages) == {cells[0].name, cells[1].name}
    assert "died" in messages[cells[0].name]
    assert len(ended) == 3
    assert records.read(cells[2]) is not None


def test_no_cell_starts_after_the_limit(client: Any, tmp_path: Path) -> None:
    cells = study.StudyPlan(recipe(), splits()).cells("main", "flat-softmax")
    failures = CellRunner(splits(), client=client, limit=0).run(cells, study.Records(tmp_path))
    assert [failure.message for failure in failures] == ["it was not started: the time limit was reached"]


def test_workers_with_several_threads_are_refused() -> None:
    workers = {"tcp://a": {"nthreads": 1}, "tcp://b": {"nthreads": 4}}
    client = SimpleNamespace(scheduler_info=lambda **_: {"workers": workers})
    with pytest.raises(ParameterError, match="tcp://b has 4 threads"):
        list(run_tasks(client, print, [1], None))
