"""A study from beginning to end: find the missing cells, run them, make tables and figures from all records."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import torch

from hedgerow import __version__, methods
from hedgerow.arrays import available_cores
from hedgerow.errors import ParameterError, argument
from hedgerow.files import atomic_write, make_folder, try_folder, write_json
from hedgerow.learn import data, models
from hedgerow.learn.data import DataSplits, ImageFiles
from hedgerow.measure import metrics
from hedgerow.show import require_report
from hedgerow.study import EXPERIMENTS, tuning
from hedgerow.study.cells import PAPER_METHODS, StudyPlan
from hedgerow.study.processes import CellRunner, Failure, Watcher
from hedgerow.study.records import Records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike

    from hedgerow.learn.training.recipe import Recipe
    from hedgerow.study.cells import Cell
    from hedgerow.study.experiment import Findings

_AT_ONCE_ON_GPU = 4
_BYTES_OF_A_PROCESS = 1 << 30
_BYTES_IF_UNKNOWN = 8 << 30
_PLACES: dict[str, dict[str, str]] = {
    "inat21": {"path": "data/inat21"},
    "imagenet": {"path": "data/imagenet", "tree": "data/imagenet/tree.csv"},
}
"""Where to look for the data by default."""


Progress: TypeAlias = "Callable[[int, int], AbstractContextManager[Watcher]]"
"""Called with the number of cells and the number of those to run."""


@final
@dataclass(frozen=True)
class Report:
    """The results of a study."""

    plan: StudyPlan
    folder: Path
    findings: Mapping[str, Findings]
    """By experiment: those requested, and others that the folder has records of."""
    requested: Sequence[str]
    failures: Sequence[Failure]
    cells: int
    files: Sequence[Path] = field(default_factory=tuple)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings ready for JSON."""
        return {
            "hedgerow": __version__,
            "recipe": {k: v for k, v in self.plan.recipe.tables().items() if k != "run"},
            "data": self.plan.data,
            "seeds": self.plan.seeds,
            "rates": self.plan.rates,
            "cells": self.cells,
            "failed": [{"cell": f.cell.title, "task": f.cell.task, "why": f.message} for f in self.failures],
            "experiments": {
                name: {
                    "title": EXPERIMENTS[name].title,
                    "sentences": list(found.sentences),
                    "tables": {key: table.to_dict() for key, table in found.tables.items()},
                }
                for name, found in self.findings.items()
            },
        }


def study(
    experiments: Sequence[str],
    recipe: Recipe,
    folder: str | PathLike[str],
    *,
    seeds: int = 1,
    tune: bool = True,
    chosen: Sequence[str] = PAPER_METHODS,
    measured: Sequence[str] = (),
    splits: DataSplits | None = None,
    jobs: int | None = None,
    imports: Sequence[str | PathLike[str]] = (),
    limit: float | None = None,
    draw: bool = True,
    progress: Progress = lambda _, __: nullcontext(Watcher()),
    client: Any = None,
) -> Report:
    """Run the cells of experiments that have no record yet, and write tables and figures of all records.

    Parameters
    ----------
    experiments
        Names in `hedgerow.study.EXPERIMENTS`, or "all".
    recipe
        How to train. Parameters of its method apply to that method; its seed is the first seed.
    folder
        Where to write records, tables and figures; cells with a record do not run again.
    seeds
        Number of seeds.
    tune
        Choose the learning rate of each method on the validation data first.
    chosen
        Names of methods.
    measured
        Names or paths of metrics to measure in addition; cells without them run again.
    splits
        The data, instead of the recipe's.
    jobs
        Number of cells to run at the same time: see `default_jobs`.
    imports
        Files of records made elsewhere, to be merged first.
    limit
        Seconds after which no further cell starts.
    draw
        Whether to draw the figures.
    progress
        Shows the progress.
    client
        A Dask client whose workers have one thread each; cells then run there, instead of in `jobs` processes.
    """
    names = _experiments(experiments, tune)
    for method in chosen:
        methods.parameters(method)  # an error if the name is unknown
    for metric in measured:
        metrics.as_metric(metric)
    if splits is None:
        recipe = _with_places(recipe)
        splits = data.load(recipe.data.name, **recipe.data.params)
    models.build(recipe.model.name, splits.input_shape, **recipe.model.params)  # fail here, not in every cell
    if tune and (not len(splits.val) or splits.val is splits.test):
        untuned = argument("no_tune", True, python="tune=False")
        found = "The validation data is the test data" if len(splits.val) else "There are no validation examples"
        raise ParameterError(f"{found}, so that learning rates cannot be chosen. Use {untuned}.")
    plan = StudyPlan(recipe, splits, seeds, tuple(dict.fromkeys(chosen)), tuple(measured))
    target = Path(folder)
    records = Records(target / "records")
    try_folder(target)
    for path in imports:
        records.merge(path)
    make_folder(target)
    rounds = _Rounds(plan, records, jobs, limit, progress, client)
    if tune:
        plan = _tuned(plan, names, rounds)
    rounds.run([cell for name in names if name != tuning.TASK for cell in EXPERIMENTS[name].cells(plan)])
    shown = plan.covering(records.all())
    findings = {
        name: _with_note(experiment.findings(shown, records), tuning.note(shown))
        for name, experiment in EXPERIMENTS.items()
        if name != tuning.TASK or tune
    }
    findings = {name: found for name, found in findings.items() if found.tables or name in names}
    report = Report(shown, target, findings, names, rounds.failures, len(rounds.planned))
    return replace(report, files=_write(report, draw=draw))


@final
class _Rounds:
    """Runs the cells of a study, all within one limit of time."""

    def __init__(
        self,
        plan: StudyPlan,
        records: Records,
        jobs: int | None,
        limit: float | None,
        progress: Progress,
        client: Any,
    ) -> None:
        self.records = records
        self.planned: dict[str, Cell] = {}
        self.failures: list[Failure] = []
        self._plan, self._jobs, self._progress, self._client = plan, jobs, progress, client
        self._end = None if limit is None else time.monotonic() + limit

    def run(self, cells: Sequence[Cell]) -> None:
        """Run those cells that have no record."""
        chosen = {cell.name: cell for cell in cells}
        self.planned |= chosen
        missing = [cell for cell in chosen.values() if self.records.read(cell) is None]
        with self._progress(len(chosen), len(missing)) as watcher:
            left = None if self._end is None else max(0.0, self._end - time.monotonic())
            runner = _runner(self._plan, self._jobs, left, watcher, self._client)
            if runner.jobs > 1 or self._client is not None:  # compiling in many processes costs more than it gains
                missing = [replace(cell, recipe=cell.recipe.with_run(compile="no")) for cell in missing]
            if missing:
                self.failures += runner.run(missing, self.records)


def _tuned(plan: StudyPlan, names: Sequence[str], rounds: _Rounds) -> StudyPlan:
    """Return the plan with the best learning rate of each method that the experiments train."""
    trained = {cell.recipe.method.name: None for name in names for cell in EXPERIMENTS[name].cells(plan)}

    def untried() -> list[Cell]:
        ladders = [tuning.ladder(plan, rounds.records, method) for method in trained]
        return [cell for found in ladders for cell, _ in found if cell.name not in rounds.planned]

    while cells := untried():
        rounds.run(cells)
    return replace(plan, rates=tuning.rates(plan, rounds.records))


def _with_note(found: Findings, note: str) -> Findings:
    """Add a note to every table."""
    tables = {key: replace(table, notes=(*table.notes, note)) for key, table in found.tables.items()}
    return replace(found, tables=tables)


def default_jobs(splits: DataSplits, *, gpu: bool) -> int:
    """Return how many cells to run at the same time: several if the data is in memory and copies of it fit.

    Models for such data are small, so parallel cells use the cores better than one cell on all of them.
    """
    if isinstance(splits.train.inputs, ImageFiles):
        return 1  # a cell has its own processes to load them
    held = [part.inputs for part in (splits.train, splits.val, splits.test)]
    each = _BYTES_OF_A_PROCESS + 4 * sum(x.nbytes for x in held if not isinstance(x, ImageFiles))
    return max(1, min(_AT_ONCE_ON_GPU if gpu else available_cores(), _memory() // (2 * each)))


def _memory() -> int:
    """Return the bytes of memory of this machine, or a cautious guess if that is unknown."""
    if not hasattr(os, "sysconf"):  # Windows
        return _BYTES_IF_UNKNOWN
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _runner(plan: StudyPlan, jobs: int | None, limit: float | None, watcher: Watcher, client: Any) -> CellRunner:
    gpu = plan.recipe.run.accelerator != "cpu" and torch.cuda.is_available()
    number = jobs or default_jobs(plan.splits, gpu=gpu)
    # The number of threads decides the order of sums, and a record must not depend on cells that run next to it.
    in_memory = not isinstance(plan.splits.train.inputs, ImageFiles)
    threads: int | None = 1 if in_memory and not gpu else max(1, available_cores() // number)
    if client is not None:
        threads = 1 if in_memory else None  # workers may differ in their number of cores
    return CellRunner(plan.splits, number, client, threads, limit, watcher)


def _experiments(given: Sequence[str], tune: bool) -> list[str]:
    every = [name for name in EXPERIMENTS if tune or name != tuning.TASK]
    names = [name for each in given for name in (every if each == "all" else [each.replace("-", "_")])]
    for name in names:
        EXPERIMENTS.find(name)  # an error if the name is unknown
    if tuning.TASK in names and not tune:
        raise ParameterError(
            f"The experiment {tuning.TASK!r} is what {argument('no_tune', True, python='tune=False')} leaves out."
        )
    return list(dict.fromkeys([tuning.TASK, *names] if tune else names))


def _with_places(recipe: Recipe) -> Recipe:
    """Fill in the default folder of a public data set, so that an error can name what is missing."""
    params = {**_PLACES.get(recipe.data.name, {}), **recipe.data.params}
    return replace(recipe, data=replace(recipe.data, params=params))


def _write(report: Report, *, draw: bool) -> list[Path]:
    """Write tables, figures and the JSON; return the files in the order in which to open them."""
    from hedgerow.show.figures import save_figure

    pages, files = [], []
    for name, found in report.findings.items():
        if not found.tables:
            continue
        page = [f"## {EXPERIMENTS[name].title}", *found.sentences]
        for key, make in found.figures.items() if draw else ():
            figure = make()
            for suffix in ("png", "pdf"):
                save_figure(figure, report.folder / f"{key}.{suffix}")
                files.append(report.folder / f"{key}.{suffix}")
            page.append(f"![{EXPERIMENTS[name].title}]({key}.png)")
        for key, write in found.pages.items() if draw and _has_report() else ():
            write(report.folder / f"{key}.html")
            files.append(report.folder / f"{key}.html")
        for key, table in found.tables.items():
            page.insert(1, table.markdown())
            for suffix, text in (("md", table.markdown()), ("csv", table.csv()), ("tex", table.latex())):
                files.append(_text(report.folder / f"{key}.{suffix}", text))
        pages.append("\n\n".join(page))
    title = f"# Study: {report.plan.splits.name}"
    pages = pages or ["No cell has finished yet: run the same command again to continue."]
    summary = _text(report.folder / "study.md", "\n\n".join([title, *pages]) + "\n")
    failed = report.folder / "failed.txt"
    failed.unlink(missing_ok=True)
    if report.failures:
        _text(
            failed, "\n".join(f"{f.cell.task}: {f.cell.title}: {f.message}\n{f.details}" for f in report.failures)
        )
    write_json(report.folder / "study.json", report.to_dict())
    return [summary, *files, report.folder / "study.json"]


def _has_report() -> bool:
    """Return whether pages can be written; a study does not need them."""
    try:
        require_report()
    except ParameterError:
        return False
    return True


def _text(path: Path, text: str) -> Path:
    with atomic_write(path) as file:
        file.write(text)
    return path
