"""Many parts give what one pass gives, bit for bit, however they are shared out."""

from __future__ import annotations

import itertools
import os
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import cluster
from hedgerow.cluster import ComputedPart, DataPart, FilePart, PartsError, connect, engine
from hedgerow.cluster.data_parts import divided
from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError
from hedgerow.measure import Evaluation
from tests.cluster.conftest import ROWS
from tests.curve_strategies import raw
from tests.make_scores import H, probabilities, save_npz

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hedgerow.score_files import Block


def same_folder(one: Evaluation, other: Evaluation, place: Path) -> None:
    """Save and load two evaluations: apart from the names of parts, they are the same."""
    for name, evaluation in (("one", one), ("other", other)):
        evaluation.save(place / name)
    loaded = [Evaluation.load(place / name) for name in ("one", "other")]
    same_figures(*loaded)
    for found, expected in zip(*(in_arrays(each) for each in loaded), strict=True):
        np.testing.assert_array_equal(found, expected)


def in_arrays(evaluation: Evaluation) -> list[Any]:
    """All that is known of the examples."""
    events = evaluation.events
    rules = [kind[rule] for kind in (evaluation.predictions, evaluation.confidence) for rule in kind]
    return [events.label, events.count, events.node, events.score, *rules, evaluation.examples.ids]


def same_figures(one: Evaluation, other: Evaluation) -> None:
    assert one.to_dict() == other.to_dict()
    assert raw(one.curve) == raw(other.curve)


def whole(folder: Path) -> Any:
    return hr.evaluate(H, hr.open_scores(folder / "whole.npz", H))


def test_one_after_the_other(folder: Path, parts: list[Path], tmp_path: Path) -> None:
    same_folder(cluster.evaluate(parts, H), whole(folder), tmp_path)


def test_on_two_workers(client: Any, folder: Path, parts: list[Path], tmp_path: Path) -> None:
    same_folder(cluster.evaluate(parts, H, client), whole(folder), tmp_path)
    same_folder(cluster.evaluate(parts[::-1], H, client), whole(folder), tmp_path)


def some_labels(place: Path, left_out: str = "4-") -> Path:
    """Write labels for all examples, apart from one part and one example, and for two that are not there."""
    names = [f"{i}-{row}" for i, rows in enumerate(ROWS) for row in range(rows)]
    kept = [name for name in names if not name.startswith(left_out) and name != "0-0"]
    rows = "".join(f"{name};{H.names[1 + i % 6]}\n" for i, name in enumerate([*kept, "x", "y"]))
    (place / "labels.csv").write_text(f"id;label\n{rows}")
    return place / "labels.csv"


def test_labels_that_only_the_workers_can_see(parts: list[Path], tmp_path: Path) -> None:
    labels = some_labels(tmp_path)

    @contextmanager
    def progress(count: int) -> Iterator[Callable[[int], None]]:
        yield lambda _examples: None
        labels.unlink()  # all parts are done: from here on, only this process is at work

    found = cluster.evaluate(parts, H, reading=hr.ScoreReading(labels_file=labels), progress=progress)
    assert not any("not in any part" in warning for warning in found.warnings)


def test_labels_in_a_file_of_their_own(folder: Path, parts: list[Path], tmp_path: Path) -> None:
    labels = some_labels(tmp_path)
    one = hr.evaluate(H, hr.open_scores(folder / "whole.npz", H, hr.ScoreReading(labels_file=labels)))
    many: Any = cluster.evaluate(parts, H, reading=hr.ScoreReading(labels_file=labels))
    np.testing.assert_array_equal(many.examples.ids, one.examples.ids)
    assert raw(many.curve) == raw(one.curve)
    said = (
        f"1 example has no label in {labels} and is left out: '0-0'.",
        f"2 labels in {labels} are for ids not in any part: 'x' and 'y'.",
        f"part-4.npz is left out: none of its ids, '4-0', '4-1' and {ROWS[4] - 2} more, is in {labels}",
    )
    others = [warning for warning in many.warnings if "give different labels" not in warning]
    for sentence, warning in zip(said, others[:3], strict=True):
        assert warning.startswith(sentence)


def test_parts_of_which_no_example_has_a_label(parts: list[Path], tmp_path: Path) -> None:
    labels = some_labels(tmp_path, left_out="")
    with pytest.raises(ScoreError, match=r"no examples to evaluate. part-0.npz is left out: none of its ids"):
        cluster.evaluate(parts, H, reading=hr.ScoreReading(labels_file=labels))


def scale(client: Any, workers: int) -> None:
    client.cluster.scale(workers)
    deadline = time.monotonic() + 120
    while len(client.scheduler_info(n_workers=-1)["workers"]) != workers:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_on_one_worker_and_on_four(client: Any, folder: Path, parts: list[Path], tmp_path: Path) -> None:
    try:
        for workers in (1, 4):
            scale(client, workers)
            same_folder(cluster.evaluate(parts, H, client), whole(folder), tmp_path)
    finally:
        scale(client, 2)


def test_any_partition(client: Any, folder: Path, tmp_path: Path) -> None:
    with np.load(folder / "whole.npz") as file:
        arrays = {name: file[name] for name in ("probabilities", "labels")}
    order = np.random.default_rng(0).permutation(sum(ROWS))
    cuts = [0, 1, 50, 52, len(order)]
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        save_npz(tmp_path / f"other-{i}.npz", **{name: array[order[a:b]] for name, array in arrays.items()})
    found = cluster.evaluate(sorted(tmp_path.glob("other-*")), H, client)
    same_figures(found, whole(folder))


def test_progress_tells_every_part_once(client: Any, parts: list[Path]) -> None:
    from contextlib import contextmanager

    told: list[int] = []

    @contextmanager
    def progress(total: int) -> Iterator[Any]:
        assert total == len(ROWS)
        yield told.append

    cluster.evaluate(parts, H, progress=progress)
    assert sorted(told) == sorted(ROWS)
    told.clear()
    cluster.evaluate(parts, H, client, progress=progress)
    deadline = time.monotonic() + 5  # events may come after results
    while len(told) < len(ROWS) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(told) == sorted(ROWS)


# What goes wrong -------------------------------------------------------------------------------------------


def bad_parts(place: Path, folder: Path) -> dict[Path, str]:
    other = place / "b-other.npz"
    np.savez(other, classes=["oak", "elm"], labels=["oak"], probabilities=[[0.5, 0.5]])
    cut = place / "c-cut.npz"
    cut.write_bytes((folder / "part-8.npz").read_bytes()[:-300])
    return {place / "a-missing.npz": "does not exist", other: "oak", cut: "truncated|cannot be read"}


@pytest.mark.parametrize("on_workers", [False, True])
def test_parts_that_fail_are_named_and_the_others_are_finished(
    on_workers: bool, client: Any, folder: Path, parts: list[Path], tmp_path: Path
) -> None:
    bad = bad_parts(tmp_path, folder)
    with pytest.raises(PartsError, match="3 of 14 parts failed") as caught:
        cluster.evaluate([*parts, *bad], H, client if on_workers else None)
    failures = {failure.part: failure.message for failure in caught.value.failures}
    assert set(failures) == set(map(str, bad))
    for path, said in bad.items():
        with pytest.raises(ValueError, match=said):
            raise ValueError(failures[str(path)])
    same_figures(caught.value.finished, whole(folder))


def test_all_parts_fail(client: Any, tmp_path: Path) -> None:
    for where in (None, client):
        with pytest.raises(PartsError, match="1 of 1 part failed") as caught:
            cluster.evaluate([tmp_path / "none.npz"], H, where)
        assert caught.value.finished is None


class Deadly:
    """A part whose first reader is killed."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def __call__(self, hierarchy: hr.Hierarchy) -> Iterator[Block]:
        if not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from hr.open_scores(self.flag.with_name("deadly.npz"), hierarchy)


def always_deadly(_: hr.Hierarchy) -> list[Block]:
    time.sleep(2)  # Dask does not start a process again that dies while it is still starting
    os.kill(os.getpid(), signal.SIGKILL)
    return []


def test_a_killed_worker_changes_nothing(mortals: Any, folder: Path, parts: list[Path], tmp_path: Path) -> None:
    p = probabilities(20, seed=99)
    save_npz(tmp_path / "deadly.npz", probabilities=p, labels=["robin"] * 20)
    sources: list[Path | DataPart] = [*parts, ComputedPart("deadly", Deadly(tmp_path / "flag"))]
    found = cluster.evaluate(sources, H, mortals)
    assert (tmp_path / "flag").exists()
    same_figures(found, cluster.evaluate(sources, H))


def test_a_part_that_kills_every_process_is_named(mortals: Any, folder: Path, parts: list[Path]) -> None:
    with pytest.raises(PartsError, match=r"1 of 12 parts failed:\n  killer: the processes .* died") as caught:
        cluster.evaluate([*parts, ComputedPart("killer", always_deadly)], H, mortals)
    same_figures(caught.value.finished, whole(folder))


def at_once_deadly(_: hr.Hierarchy) -> list[Block]:
    os.kill(os.getpid(), signal.SIGKILL)
    return []


def test_no_worker_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_PATIENCE", 0.0)
    with connect(workers=1) as client, pytest.raises(HedgerowError, match="No worker is left: all processes died"):
        cluster.evaluate([ComputedPart("killer", at_once_deadly)], H, client)


def test_no_scheduler_there() -> None:
    said = r"No Dask scheduler answers at tcp://127\.0\.0\.1:1, after 10 seconds"
    with pytest.raises(ParameterError, match=said), connect(scheduler="tcp://127.0.0.1:1"):
        pass
    with pytest.raises(ParameterError, match="answers at nonsense"), connect(scheduler="nonsense://x"):
        pass
    with pytest.raises(ParameterError, match="not both"), connect(workers=2, scheduler="tcp://127.0.0.1:1"):
        pass


def pretend(version: str) -> str:
    before = cluster.client.VERSION
    cluster.client.VERSION = version
    return before


def test_a_worker_with_another_version_is_refused(client: Any) -> None:
    worker = sorted(client.scheduler_info()["workers"])[0]
    before = client.run(pretend, "0.0.9", workers=[worker])[worker]
    try:
        said = r"has hedgerow 0\.0\.9, and this process .*Install hedgerow"
        with pytest.raises(ParameterError, match=said), connect(scheduler=client.scheduler.address):
            pass
    finally:
        client.run(pretend, before, workers=[worker])
    with connect(scheduler=client.scheduler.address) as again:
        assert again is not None


def test_dask_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"pip install 'hedgerow\[dask\]'"), connect(workers=1):
        pass


# Where parts are --------------------------------------------------------------------------------------------


def test_patterns(folder: Path) -> None:
    found = cluster.expand([f"{folder}/part-*.npz", f"{folder}/part-3.npz"])
    assert [path.rsplit("-")[-1] for path in found] == [f"{i}.npz" for i in range(11)]
    with pytest.raises(FileError, match="No file matches"):
        cluster.expand([f"{folder}/none-*.npz"])


def test_the_same_part_twice(parts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"part-3\.npz is given twice"):
        cluster.evaluate([*parts, parts[0]], H)
    link = tmp_path / "link.npz"
    link.symlink_to(parts[0])
    for other in (f"{parts[0].parent}/./{parts[0].name}", str(link), os.path.relpath(parts[0])):
        with pytest.raises(ParameterError, match=r"part-3\.npz is given twice"):
            cluster.evaluate([parts[0], other], H)
        with pytest.raises(ParameterError, match=r"part-3\.npz is given twice"):
            cluster.expand([str(parts[0]), other])
    (tmp_path / "other.npz").symlink_to(parts[0])
    assert cluster.expand([f"{tmp_path}/*.npz"]) == [str(link)]  # a pattern matches every file once
    with pytest.raises(ParameterError, match="no parts"):
        cluster.evaluate([], H)


def test_settings_are_checked_first(parts: list[Path]) -> None:
    with pytest.raises(ParameterError, match="below_label must be"):
        cluster.evaluate(parts, H, below_label="right")  # type: ignore[arg-type]


def test_other_file_systems(folder: Path, parts: list[Path]) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    for path in parts:
        memory.pipe_file(f"/bucket/{path.name}", path.read_bytes())
    found = cluster.expand(["memory://bucket/part-*.npz"])
    assert len(found) == len(parts)
    same_figures(cluster.evaluate(found, H), whole(folder))
    local = cluster.expand([f"file://{folder}/part-*.npz"])
    same_figures(cluster.evaluate(local, H), whole(folder))
    with pytest.raises(PartsError, match=r"memory://bucket/none\.npz: does not exist"):
        cluster.evaluate([*found, "memory://bucket/none.npz"], H)
    memory.pipe_file("/bucket/bad.npz", b"no archive")
    with pytest.raises(PartsError, match=r"memory://bucket/bad\.npz: cannot be read as \.npz"):
        cluster.evaluate(["memory://bucket/bad.npz"], H)
    with pytest.raises(FileError, match="nosuch://x/y cannot be opened"):
        cluster.expand(["nosuch://x/y"])


def test_large_parquet_files_are_divided_by_their_row_groups(client: Any, folder: Path, tmp_path: Path) -> None:

    with np.load(folder / "whole.npz") as file:
        frame = pd.DataFrame(file["probabilities"], columns=file["classes"]).assign(
            label=file["labels"], id=file["ids"]
        )
    path = tmp_path / "big.parquet"
    frame.to_parquet(path, index=False, row_group_size=13)
    whole_file = FilePart(str(path))
    size = 700  # a little more than one row group
    parts = divided([whole_file], size)
    assert len(parts) > 5
    assert parts[1].name.endswith("big.parquet [row groups 1 to 1]")
    same_folder(cluster.evaluate(parts, H, client), whole(folder), tmp_path)
    assert divided([whole_file], 1 << 30) == [whole_file]
    frame.iloc[100, 0] = -1
    frame.to_parquet(path, index=False, row_group_size=13)
    with pytest.raises(PartsError, match=r"\[row groups 7 to 7\]: .*row 100 "):
        cluster.evaluate(divided([whole_file], size), H)
    long = tmp_path / "long.parquet"
    frame.rename(columns={"robin": "class", "wren": "score"}).to_parquet(long, row_group_size=13)
    assert divided([FilePart(str(long))], size) == [FilePart(str(long))]
    assert divided([FilePart(str(tmp_path / "none.parquet"))]) == [FilePart(str(tmp_path / "none.parquet"))]
    with pytest.raises(FileError, match="Was it replaced"):
        hr.open_scores(path, H, row_groups=range(5, 99))


def test_workers_that_are_killed_while_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    def killed(**_: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", killed)
    with (
        pytest.raises(ParameterError, match=r"could not be started \(Nanny failed to start\.\)\. .* use fewer"),
        cluster.connect(workers=2),
    ):
        pass
